package engine

import (
	"context"

	"github.com/redis/rueidis"
)

// couriers is how many batches can be under way to a node. With one, the server waits while a reply
// travels; with many, batches are small.
const couriers = 8

// carry is a courier: it brings batches to the server and the answers back, and understands nothing.
// A call has no deadline: it ends with an answer or with a broken connection, because a call that is
// given up still runs. Limits in time are the coordinator's.
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

// caller is a client, or one connection of it.
type caller interface {
	B() rueidis.Builder
	DoMulti(ctx context.Context, calls ...rueidis.Completed) []rueidis.RedisResult
}

// bundle sends several calls in one go, each that needs it behind an ASKING, and then what else there is to
// ask. It returns the answers to that.
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
