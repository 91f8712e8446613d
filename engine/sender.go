package engine

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/mpsc"
)

// sendersPerNode is the number of senders per node, and so the maximum number of batches in flight. With one, the server
// idles while a reply travels; with many, batches are small.
const sendersPerNode = 8

// runSender runs a sender: it sends batches to one node and posts their replies. It does not interpret them. A call has no
// deadline, because a call that is given up still runs. It ends with a reply or with a broken connection. Limits in
// time belong to the coordinator.
func runSender(to *nodeConn, w *encoder, batches <-chan *batch, box *mpsc.Mailbox[any]) {
	for b := range batches {
		switch client := to.nodeClient(); {
		case client == nil:
			to.sendViaCluster(w, b)
		case b.next == nil && !b.asking:
			decodeResult(client.Do(context.Background(), w.call(client, b)), b)
		default:
			w.sendBundle(client, b)
		}
		to.dropIfBroken(b, box)
		relayed := w.relayedMessages(b)
		box.Post(&b.msg)
		to.relay(relayed)
	}
}

// redisClient is a client, or one of its connections.
type redisClient interface {
	B() rueidis.Builder
	DoMulti(ctx context.Context, calls ...rueidis.Completed) []rueidis.RedisResult
}

// sendBundle sends several calls in one pipeline, with an ASKING before each that needs it, followed by the commands in
// more. It decodes the replies of the calls and returns the results of more.
func (w *encoder) sendBundle(client redisClient, first *batch, more ...rueidis.Completed) []rueidis.RedisResult {
	calls := make([]rueidis.Completed, 0, 2*maxBundleCalls)
	for b := first; b != nil; b = b.next {
		if b.asking {
			calls = append(calls, client.B().Asking().Build())
		}
		calls = append(calls, w.call(client, b))
	}
	results := client.DoMulti(context.Background(), append(calls, more...)...)
	for b := first; b != nil; b = b.next {
		if b.asking {
			results = results[1:]
		}
		decodeResult(results[0], b)
		results = results[1:]
	}
	return results
}
