package engine

import (
	"context"

	"github.com/redis/rueidis"
)

// couriers is how many batches can be under way. With one, the server waits while a reply travels; with
// many, batches are small.
const couriers = 8

// carry is a courier: it brings batches to the server and the answers back, and understands nothing.
// A call has no deadline: it ends with an answer or with a broken connection, because a call that is
// given up still runs. Limits in time are the coordinator's.
func carry(client rueidis.Client, id string, batches <-chan *batch, to *mailbox) {
	w := writer{id: id}
	for b := range batches {
		read(client.Do(context.Background(), w.call(client, b)), b)
		to.post(&b.mail)
	}
}
