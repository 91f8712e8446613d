package engine

import (
	"context"
	"errors"

	"github.com/redis/rueidis"
)

// way is how one helper reaches a node: each has its own, so that nobody waits for another.
type way struct {
	client  rueidis.Client
	address string         // "" where there is one server
	master  bool           // it is a master that Sentinel named
	known   rueidis.Client // the node's, as long as it works
}

// errReplaced is for a master that is none any more: nothing was sent.
var errReplaced = errors.New("lockwheel: Sentinel names another master")

// node is the node's own client: one ordered connection. It is nil while the cluster's client has not
// heard of the node, and for a master that was replaced.
func (w *way) node() rueidis.Client {
	if w.address == "" {
		return w.client
	}
	if w.known == nil {
		w.known = w.client.Nodes()[w.address]
	}
	return w.known
}

// masterOf is the address of the master that Sentinel has named; "" where it has no say, and of a client that asks replicas as
// well: which of its nodes is the master is not known then.
func masterOf(client rueidis.Client) (master string) {
	if client.Mode() != rueidis.ClientModeSentinel {
		return ""
	}
	nodes := client.Nodes()
	if len(nodes) != 1 {
		return ""
	}
	for address := range nodes {
		master = address
	}
	return master
}

// replaced is the master that Sentinel has named in the place of this one; "" if it has not.
func (w *way) replaced() string {
	if !w.master {
		return ""
	}
	if now := masterOf(w.client); now != w.address {
		return now
	}
	return ""
}

// lead sends calls by the map of the cluster's client, which asks around for what it does not know. Behind Sentinel there is no
// such way: nothing goes to another master than the one that the calls are for.
func (w *way) lead(writer *writer, b *batch) {
	for ; b != nil; b = b.next {
		if w.master {
			b.failed, b.lost = errReplaced, true
			continue
		}
		b.led = true
		read(w.client.Do(context.Background(), writer.call(w.client, b)), b)
	}
}

// judge forgets a client that brought no answer: the cluster's client may have another one since. If the master was replaced
// meanwhile it says so, before anybody looks at the answer.
func (w *way) judge(b *batch, box *mailbox) {
	for ; b != nil; b = b.next {
		if b.lost {
			w.known = nil
		}
	}
	if next := w.replaced(); next != "" {
		box.post(&mail{what: replaced{next}})
	}
}
