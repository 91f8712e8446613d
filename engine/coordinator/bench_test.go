package coordinator

import (
	"strconv"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// BenchmarkCoordinator_LockPairs measures the coordinator's work for a lock and its unlock, without a server and
// without callers. Several callers request a lock in one turn, as when the loop is busy, and their replies come in the
// next. One operation is one pair.
func BenchmarkCoordinator_LockPairs(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) { turnsOfPairs(b, callers) })
	}
}

func turnsOfPairs(b *testing.B, callers int) {
	config := harnessConfig()
	config.RenewSpread = config.RenewInterval / 2
	c := New(config, SendersPerNode)
	now := time.Duration(0)
	holds, requests := make([]actor.Hold, callers), make([]actor.Request, callers)
	messages, names := make([]LoopMessage, callers), make([]string, callers)
	for i := range names {
		names[i] = "orders/" + strconv.Itoa(i)
		requests[i].Ready = make(chan struct{}, 1)
	}
	turns := func() {
		for i := range messages {
			messages[i].Value = &requests[i]
			if messages[i].Next = nil; i+1 < callers {
				messages[i].Next = &messages[i+1]
			}
		}
		now += 100 * time.Microsecond
		c.Turn(now, &messages[0])
		out := c.Batches[0]
		c.ResetOutputs()
		out.Replies = out.Replies[:0]
		for range out.Commands {
			out.Replies = append(out.Replies, actor.Reply{Status: actor.OK, Listeners: -1})
		}
		out.Msg.Next = nil
		now += 100 * time.Microsecond
		c.Turn(now, &out.Msg)
		c.ResetOutputs()
	}
	b.ReportAllocs()
	for n := 0; n < b.N; n += callers {
		for i := range requests {
			holds[i] = actor.Hold{}
			requests[i].Reset()
			requests[i].Op, requests[i].Key, requests[i].Hold = actor.Acquire, names[i], &holds[i]
		}
		turns()
		for i := range requests {
			requests[i].Reset()
			requests[i].Op, requests[i].Hold = actor.Unlock, &holds[i]
		}
		turns()
	}
	if requests[0].Err != nil || c.Locks.Len() != 0 {
		b.Fatal(requests[0].Err, c.Locks.Len())
	}
}
