package engine

import (
	"context"

	"github.com/redis/rueidis"
)

// way is how one helper reaches a node: each has its own, so that nobody waits for another.
type way struct {
	client  rueidis.Client
	address string         // "" outside a cluster
	known   rueidis.Client // the node's, as long as it works
}

// node is the node's own client: one ordered connection. It is nil while the cluster's client has not
// heard of the node.
func (w *way) node() rueidis.Client {
	if w.address == "" {
		return w.client
	}
	if w.known == nil {
		w.known = w.client.Nodes()[w.address]
	}
	return w.known
}

// master is the address of the master that Sentinel named; "" where it has no say.
func (w *way) master() string {
	if w.client.Mode() != rueidis.ClientModeSentinel {
		return ""
	}
	for address := range w.client.Nodes() {
		return address
	}
	return ""
}

// lead sends calls by the map of the cluster's client, which asks around for what it does not know.
func (w *way) lead(writer *writer, b *batch) {
	for ; b != nil; b = b.next {
		b.led = true
		read(w.client.Do(context.Background(), writer.call(w.client, b)), b)
	}
}

// judge forgets a client that brought no answer: the cluster's client may have another one since.
func (w *way) judge(b *batch) {
	for ; b != nil; b = b.next {
		if b.lost {
			w.known = nil
		}
	}
}
