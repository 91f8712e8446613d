package engine

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// nodeConn is a worker's access to a node. Each worker has its own, so that none waits for another; it belongs to the
// worker's goroutine. Server.nodeConn makes one; the zero value has no client.
type nodeConn struct {
	client         rueidis.Client
	address        string         // "" with one server and without Sentinel
	sentinelMaster bool           // it is a master that Sentinel named
	cached         rueidis.Client // the node's client, as long as it works; nil: to be looked up
}

// errMasterChanged is the error for a batch to a replaced master: it was not sent.
var errMasterChanged = errors.New("lockwheel: Sentinel names another master")

// nodeClient returns the node's own client: one ordered connection. It returns nil while the cluster's client does not
// know the node, and for a replaced master.
func (n *nodeConn) nodeClient() rueidis.Client {
	if n.address == "" {
		return n.client
	}
	if n.cached == nil {
		n.cached = n.client.Nodes()[n.address]
	}
	return n.cached
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

// newMaster returns the master that Sentinel names instead of this one, or "".
func (n *nodeConn) newMaster() string {
	if !n.sentinelMaster {
		return ""
	}
	if now := masterOf(n.client); now != n.address {
		return now
	}
	return ""
}

// sendViaCluster sends batches by the topology of the cluster's client, which follows redirections.
func (n *nodeConn) sendViaCluster(writer *wire.Encoder, b *coordinator.Batch) {
	for ; b != nil; b = b.Next {
		b.ViaClusterClient = true
		wire.DecodeResult(n.client.Do(context.Background(), writer.Encode(n.client, b)), b)
	}
}

// failReplaced fails batches for a master that Sentinel has replaced: they must not go to another one.
func (n *nodeConn) failReplaced(b *coordinator.Batch) {
	for ; b != nil; b = b.Next {
		b.Failed, b.NoReply = errMasterChanged, true
	}
}

// dropIfBroken drops a cached client that brought no reply, because the cluster's client may have a new one. If the
// master was replaced meanwhile, it posts that before the reply is posted.
func (n *nodeConn) dropIfBroken(b *coordinator.Batch, box *mpsc.Mailbox[any]) {
	for ; b != nil; b = b.Next {
		if b.NoReply {
			n.cached = nil
		}
	}
	if next := n.newMaster(); next != "" {
		box.Post(&coordinator.LoopMessage{Value: coordinator.MasterChanged{Address: next}})
	}
}
