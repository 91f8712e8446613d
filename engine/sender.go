package engine

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/mpsc"
)

// SendersPerNode is the number of senders per node, and so the maximum number of batches in flight. With one, the server
// idles while a reply travels; with many, batches are small.
const SendersPerNode = 8

// runSender runs a sender: it sends batches to one node and posts their replies. It does not interpret them. A call has no
// deadline, because a call that is given up still runs. It ends with a reply or with a broken connection. Limits in
// time belong to the coordinator.
func runSender(to *nodeConn, w *Encoder, batches <-chan *Batch, box *mpsc.Mailbox[any]) {
	for b := range batches {
		switch client := to.nodeClient(); {
		case client == nil:
			to.sendViaCluster(w, b)
		case b.Next == nil && !b.Asking:
			DecodeResult(client.Do(context.Background(), w.Call(client, b)), b)
		default:
			w.SendBundle(client, b)
		}
		to.dropIfBroken(b, box)
		relayed := w.RelayedMessages(b)
		box.Post(&b.Msg)
		to.relay(relayed)
	}
}

// RedisClient is a client, or one of its connections.
type RedisClient interface {
	B() rueidis.Builder
	DoMulti(ctx context.Context, calls ...rueidis.Completed) []rueidis.RedisResult
}

// SendBundle sends several calls in one pipeline, with an ASKING before each that needs it, followed by the commands in
// more. It decodes the replies of the calls and returns the results of more.
func (w *Encoder) SendBundle(client RedisClient, first *Batch, more ...rueidis.Completed) []rueidis.RedisResult {
	calls := make([]rueidis.Completed, 0, 2*MaxBundleCalls)
	for b := first; b != nil; b = b.Next {
		if b.Asking {
			calls = append(calls, client.B().Asking().Build())
		}
		calls = append(calls, w.Call(client, b))
	}
	results := client.DoMulti(context.Background(), append(calls, more...)...)
	for b := first; b != nil; b = b.Next {
		if b.Asking {
			results = results[1:]
		}
		DecodeResult(results[0], b)
		results = results[1:]
	}
	return results
}
