package engine

import (
	"context"
	"errors"

	"github.com/redis/rueidis"
)

// way is a worker's access to a node. Each worker has its own, so that none waits for another.
type way struct {
	client  rueidis.Client
	address string         // "" with one server and without Sentinel
	master  bool           // it is a master that Sentinel named
	known   rueidis.Client // the node's client, as long as it works; nil: to be looked up
}

// errReplaced is the error for a call to a replaced master: it was not sent.
var errReplaced = errors.New("lockwheel: Sentinel names another master")

// node returns the node's own client: one ordered connection. It returns nil while the cluster's client does not know
// the node, and for a replaced master.
func (w *way) node() rueidis.Client {
	if w.address == "" {
		return w.client
	}
	if w.known == nil {
		w.known = w.client.Nodes()[w.address]
	}
	return w.known
}

// masterOf returns the address of the master that Sentinel has named. It returns "" without Sentinel, and for a client
// that also uses replicas, which does not tell which of its nodes is the master.
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

// replaced returns the master that Sentinel names instead of this one, or "".
func (w *way) replaced() string {
	if !w.master {
		return ""
	}
	if now := masterOf(w.client); now != w.address {
		return now
	}
	return ""
}

// lead sends calls by the topology of the cluster's client, which follows redirections. Behind Sentinel it fails the
// calls instead: they must not go to another master.
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

// judge drops a cached client that brought no reply, because the cluster's client may have a new one. If the master was
// replaced meanwhile, it posts that before the reply is posted.
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
