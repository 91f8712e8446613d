package engine

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// runSender runs a sender: it sends batches to one node and posts their replies. It does not interpret them. A batch
// has no deadline, because a batch that is given up still runs. It ends with a reply or with a broken connection.
// Limits in time belong to the coordinator. A write of the engine's record goes along, if there is one.
func runSender(to *nodeConn, w *wire.Encoder, batches <-chan *coordinator.Batch, record *recordWrite, box *mpsc.Mailbox[any], relays *relayer) {
	for b := range batches {
		switch client := to.nodeClient(); {
		case client != nil:
			sendToNode(client, w, b, record)
		case to.sentinelMaster:
			to.failReplaced(b)
		default:
			to.sendViaCluster(w, b)
		}
		to.dropIfBroken(b, box)
		relayed := w.RelayedMessages(b)
		box.Post(&b.Msg)
		relays.relay(relayed)
	}
}

// sendToNode sends a batch or a bundle to its node, with a write of the record if there is one.
func sendToNode(client rueidis.Client, w *wire.Encoder, b *coordinator.Batch, record *recordWrite) {
	if along := record.take(client); len(along) == 0 && b.Next == nil && !b.Asking {
		wire.DecodeResult(client.Do(context.Background(), w.Encode(client, b)), b)
	} else {
		record.done(w.SendBundle(client, b, along...))
	}
}
