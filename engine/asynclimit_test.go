package engine

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// maxWaiting is the limit of the engines of these tests, most is what they let asynchronous requests come to.
const (
	maxWaiting = 10
	most       = maxWaiting + AsyncBacklog
)

// heldLoop is an engine with a loop that runs only when the test says so. Its node has no workers, so no command is
// replied to.
type heldLoop struct{ *Engine }

func newHeldLoop() heldLoop {
	e := newEngine(actor.Config{ID: "id", Lease: time.Hour, RenewInterval: time.Hour / 3, CallTimeout: time.Minute, MaxWaiting: maxWaiting}, nil, Hooks{}, nil)
	e.workers[e.coordinator.Fallback] = &nodeWorkers{batches: make(chan *coordinator.Batch, coordinator.SendersPerNode), replicaBatches: make(chan *coordinator.Batch), orders: make(chan *coordinator.Order, 1)}
	return heldLoop{e}
}

// turn runs one turn.
func (e heldLoop) turn() {
	e.coordinator.Turn(e.Now(), e.box.TakeAll())
	e.flush(e.Now())
	e.coordinator.ResetOutputs()
}

// drain runs as many turns as the loop may need to decide and forget all requests.
func (e heldLoop) drain() {
	for range 4*most/coordinator.MaxMessagesPerTurn + 1 {
		e.turn()
	}
}

// post posts a request with an owner, 0 for none, and returns it unless it was rejected.
func (e heldLoop) post(t *testing.T, owner uint64) *Call {
	call := NewAsync()
	call.Op, call.Name, call.Key, call.Owner, call.Hold, call.OnDone = actor.Acquire, "n", "n", owner, &actor.Hold{}, func() {}
	switch err, cause := e.PostAsync(call); err {
	case nil:
		return call
	case actor.ErrTooManyWaiters:
		require.EqualError(t, cause, "more than 10 in this engine (Options.MaxWaiting)")
	default:
		t.Error(err)
	}
	return nil
}

// flood posts requests until one is rejected, and cancels each. It returns the number of those that were posted.
func (e heldLoop) flood(t *testing.T) (posted int) {
	for posted < 4*most {
		call := e.post(t, 0)
		if call == nil {
			return posted
		}
		e.Cancel(call, context.Canceled)
		posted++
	}
	return posted
}

// floodThenCancel is flood for requests that are canceled when all have been posted: the loop sees those beyond
// MaxWaiting before their cancellations, and rejects them at once.
func (e heldLoop) floodThenCancel(t *testing.T) (posted int) {
	var calls []*Call
	for call := e.post(t, 0); call != nil && len(calls) < 4*most; call = e.post(t, 0) {
		calls = append(calls, call)
	}
	for _, call := range calls {
		e.Cancel(call, context.Canceled)
	}
	return len(calls)
}

// While the loop is busy, callers that wait for nothing post a bounded number of requests. That holds however many of
// them there are and although they cancel what they post. The requests leave the count when the loop has taken and
// decided them.
func TestPostAsync_BusyLoop_IsBounded(t *testing.T) {
	e := newHeldLoop()
	var wg sync.WaitGroup
	var posted atomic.Int64
	for range 4 {
		wg.Go(func() {
			for range most {
				if call := e.post(t, 0); call != nil {
					e.Cancel(call, context.Canceled)
					posted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	posted.Add(int64(e.flood(t)))
	require.EqualValues(t, most, posted.Load())
	require.Nil(t, e.post(t, 0), "its cancel does not make room before the loop has taken it")

	requests, cancels := 0, 0
	messages := e.box.TakeAll()
	for m := messages; m != nil; m = m.Next {
		switch m.Value.(type) {
		case *actor.Request:
			requests++
		case coordinator.CancelRequest:
			cancels++
		}
	}
	require.Equal(t, []int{most, most}, []int{requests, cancels}, "no cancel is rejected")
	e.coordinator.Turn(e.Now(), messages)
	e.flush(e.Now())
	e.coordinator.ResetOutputs()
	require.NotNil(t, e.post(t, 0), "the results of a turn make room")
}

// Requests beyond the limit get their results faster than the loop handles their cancellations. Were these not counted,
// they would pile up.
func TestPostAsync_CancelFlood_IsBounded(t *testing.T) {
	for _, flood := range []func(heldLoop, *testing.T) int{heldLoop.flood, heldLoop.floodThenCancel} {
		e := newHeldLoop()
		total := 0
		for range 50 {
			total += flood(e, t)
			e.turn()
			require.LessOrEqual(t, e.coordinator.AsyncCancelsLeft(), 2*most)
			require.LessOrEqual(t, e.async.pending.Load(), int64(most))
		}
		require.Greater(t, total, 4*most, "the loop makes room")
		e.drain()
		require.Zero(t, e.async.pending.Load())
		require.Zero(t, e.coordinator.AsyncCancelsLeft())
		require.Equal(t, most, flood(e, t), "as at first")
	}
}

// A request with an owner may re-enter a lock, so it is admitted when others are not. A flood of such is bounded, too.
func TestPostAsync_Owner_HasRoomOfItsOwn(t *testing.T) {
	e := newHeldLoop()
	e.flood(t)
	for range AsyncBacklog {
		require.NotNil(t, e.post(t, 1))
	}
	require.Nil(t, e.post(t, 1))
}

// Requests that share a context are canceled together, and count one by one.
func TestPostAsync_CanceledTogether_EachCounts(t *testing.T) {
	e := newHeldLoop()
	var together []*actor.Request
	for call := e.post(t, 0); call != nil; call = e.post(t, 0) {
		together = append(together, &call.Request)
	}
	for len(together) > 0 {
		n := min(len(together), coordinator.MaxMessagesPerTurn)
		e.CancelAll(together[:n], context.Canceled)
		together = together[n:]
	}
	e.turn()
	require.Equal(t, most-coordinator.MaxMessagesPerTurn, e.coordinator.AsyncCancelsLeft())
	e.drain()
	require.Zero(t, e.async.pending.Load())
	require.Zero(t, e.coordinator.AsyncCancelsLeft())
}

// After a flood, a closed engine counts nothing. It says that it is closed, and its last snapshot has all rejections.
func TestPostAsync_ClosedEngine_SaysSo(t *testing.T) {
	e := newHeldLoop()
	e.flood(t)
	e.drain()
	call := NewCallback(nil)
	call.Op = coordinator.AskClose
	require.True(t, e.Post(call))
	e.turn()
	require.True(t, e.coordinator.Closed)
	require.NotZero(t, e.flood(t))
	rejected := e.async.rejected.Load()
	go e.run()
	<-e.Stopped()
	require.Zero(t, e.async.pending.Load())
	require.Zero(t, e.async.cancels.Load())
	for range 2 * most {
		err, _ := e.PostAsync(NewAsync())
		require.Equal(t, actor.ErrClosed, err)
	}
	require.Zero(t, e.async.pending.Load())
	stats, loops := e.Stats(), e.lastStats
	require.NotZero(t, rejected)
	require.Equal(t, rejected, stats.Shed-loops.Shed)
	require.Equal(t, rejected, stats.Failed-loops.Failed)
	require.Equal(t, rejected, stats.AcquireWaits.Count()-loops.AcquireWaits.Count(), "each has waited for no time")
}

// A program that wants no limit sets the largest number.
func TestPostAsync_LargestLimit_Admitted(t *testing.T) {
	for _, limit := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - AsyncBacklog} {
		a := newAsyncLimit(&actor.Config{MaxWaiting: limit})
		require.True(t, a.admit(&actor.Request{}), limit)
		require.True(t, a.admit(&actor.Request{Owner: 1}), limit)
	}
}

// A goroutine that posts very many requests, unlocks or cancellations without a pause lets others run meanwhile, also
// on one processor.
func TestPostAsync_Flood_OthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const cancelBatches = 100
	for what, post := range map[string]func(heldLoop) (yields int){
		"requests": func(e heldLoop) int { return e.flood(t) / callsPerYield / 2 },
		"unlocks": func(e heldLoop) int {
			for range most {
				require.True(t, e.PostAsyncUnlock(NewAsync()))
			}
			return most / callsPerYield / 2
		},
		"cancellations": func(e heldLoop) int {
			for range cancelBatches {
				e.CancelAll(nil, context.Canceled)
			}
			return cancelBatches / 2
		},
	} {
		e := newHeldLoop()
		stop, ended := make(chan struct{}), make(chan int)
		go func() {
			for times := 0; ; times++ {
				select {
				case <-stop:
					ended <- times
					return
				default:
					runtime.Gosched()
				}
			}
		}()
		want := post(e)
		close(stop)
		require.GreaterOrEqual(t, <-ended, want, what)
	}
}
