package engine

import (
	"context"

	"github.com/redis/rueidis"
)

// couriers is the number of senders per node, and so the maximum number of batches in flight. With one, the server
// idles while a reply travels; with many, batches are small.
const couriers = 8

// carry runs a sender: it sends batches to one node and posts their replies. It does not interpret them. A call has no
// deadline, because a call that is given up still runs. It ends with a reply or with a broken connection. Limits in
// time belong to the coordinator.
func carry(to *way, w *writer, batches <-chan *batch, box *mailbox) {
	for b := range batches {
		switch client := to.node(); {
		case client == nil:
			to.lead(w, b)
		case b.next == nil && !b.asking:
			read(client.Do(context.Background(), w.call(client, b)), b)
		default:
			w.bundle(client, b)
		}
		to.judge(b, box)
		sayings := w.sayings(b)
		box.post(&b.mail)
		to.say(sayings)
	}
}

// caller is a client, or one of its connections.
type caller interface {
	B() rueidis.Builder
	DoMulti(ctx context.Context, calls ...rueidis.Completed) []rueidis.RedisResult
}

// bundle sends several calls in one pipeline, with an ASKING before each that needs it, followed by the commands in
// more. It decodes the replies of the calls and returns the results of more.
func (w *writer) bundle(client caller, first *batch, more ...rueidis.Completed) []rueidis.RedisResult {
	calls := make([]rueidis.Completed, 0, 2*mostCalls)
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
		read(results[0], b)
		results = results[1:]
	}
	return results
}
