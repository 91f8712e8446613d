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
		to.judge(b)
		box.post(&b.mail)
	}
}

// bundle sends several calls in one go, each that needs it behind an ASKING.
func (w *writer) bundle(client rueidis.Client, first *batch) {
	calls := make([]rueidis.Completed, 0, 2*mostCalls)
	for b := first; b != nil; b = b.next {
		if b.asking {
			calls = append(calls, client.B().Asking().Build())
		}
		calls = append(calls, w.call(client, b))
	}
	results := client.DoMulti(context.Background(), calls...)
	for b := first; b != nil; b = b.next {
		if b.asking {
			results = results[1:]
		}
		read(results[0], b)
		results = results[1:]
	}
}
