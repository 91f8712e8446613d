package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// While a machine is suspended, the monotonic clock stops and leases run on. The wall clock shows it by running ahead.
// A wall clock that is put back shows nothing.
func TestWallClock_RanAhead_Reconfirms(t *testing.T) {
	e := newEngine(actor.Config{ID: "id", Lease: 30 * time.Second}, nil, Hooks{}, nil)
	doubted := func() time.Duration { return e.coordinator.Fx.ReconfirmSince }
	runsAhead := func(d time.Duration) {
		e.clocks.expected -= d
		e.clocks.last -= d
	}
	e.readClock()
	require.Zero(t, doubted())
	runsAhead(-time.Hour)
	e.readClock()
	require.Zero(t, doubted(), "put back")
	e.readClock()
	runsAhead(20 * time.Millisecond)
	now := e.readClock()
	require.Equal(t, now, doubted(), "suspended")
	e.readClock()
	require.Equal(t, now, doubted(), "once")
}

// Processes compare wall clock times, and each batch of a bundle has that time.
func TestBundle_EachBatchHasTime(t *testing.T) {
	e := newEngine(actor.Config{ID: "id", Lease: 30 * time.Second}, nil, Hooks{}, nil)
	e.wallNanos = 1234e6
	w := &nodeWorkers{batches: make(chan *coordinator.Batch, 1)}
	e.workers[e.coordinator.Fallback] = w
	first, second, third := coordinator.NewBatch(), coordinator.NewBatch(), coordinator.NewBatch()
	for _, b := range []*coordinator.Batch{first, second, third} {
		b.Reset(actor.SendFairAcquire)
		b.Node = e.coordinator.Fallback
	}
	first.Next, second.Next = second, third
	e.coordinator.Batches = append(e.coordinator.Batches, first)
	e.flush(0)
	require.Same(t, first, <-w.batches)
	for _, b := range []*coordinator.Batch{first, second, third} {
		require.EqualValues(t, 1234, b.SentWallMillis)
	}
}

// An engine that sleeps until a late timer wakes up for an earlier one, and for the late one after it.
func TestLoop_EarlierTimer_Wakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(actor.Config{ID: "id", Lease: time.Hour, RenewInterval: time.Hour / 3, CallTimeout: time.Minute}, nil, Hooks{}, nil)
		p := &nodeWorkers{batches: make(chan *coordinator.Batch, coordinator.SendersPerNode), replicaBatches: make(chan *coordinator.Batch), orders: make(chan *coordinator.Order, 1)}
		e.workers[e.coordinator.Fallback] = p // the node has no workers: no reply wakes the engine
		go e.run()
		defer func() {
			call := NewCallback(nil)
			call.Op = coordinator.AskClose
			e.Post(call)
			synctest.Wait()
			late := <-p.batches // the engine waits for its reply, for a minute at most: the timer is set
			late.Replies = append(late.Replies, actor.Reply{Status: actor.Rejected, Err: errors.New("NOPERM")})
			e.box.Post(&late.Msg)
			<-e.Stopped()
			require.False(t, e.timer.Stop(), "it is set though the engine has ended")
		}()
		told := make(chan time.Duration, 5)
		for _, wait := range []time.Duration{20 * time.Second, 40 * time.Second, 10 * time.Second, 30 * time.Second, time.Hour} {
			call := NewCallback(func() { told <- e.Now() })
			call.Op, call.Name, call.Key, call.Hold, call.Wait = actor.Acquire, "n", "n", &actor.Hold{}, wait
			require.True(t, e.Post(call))
			synctest.Wait()
		}
		for i := range 4 { // the engine ends before the last
			require.InDelta(t, time.Duration(i+1)*10*time.Second, <-told, float64(5*time.Millisecond))
		}
	})
}

// A turn that takes long delays what is due after it by no more than itself.
func TestLoop_LongTurn_NextTimerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := true
		hooks := Hooks{HoldEnded: func(*actor.HoldEnd) {}, Result: func(*actor.Request, time.Duration) {
			if slow {
				time.Sleep(5 * time.Second)
			}
			slow = false
		}}
		e := newEngine(actor.Config{ID: "id", Lease: time.Hour, RenewInterval: time.Hour / 3, CallTimeout: time.Minute}, nil, hooks, nil)
		e.workers[e.coordinator.Fallback] = &nodeWorkers{batches: make(chan *coordinator.Batch, coordinator.SendersPerNode), replicaBatches: make(chan *coordinator.Batch), orders: make(chan *coordinator.Order, 1)}
		go e.run()
		defer func() {
			call := NewCallback(nil)
			call.Op = coordinator.AskClose
			e.Post(call)
			<-e.Stopped()
		}()
		told := make(chan time.Duration, 5)
		for _, wait := range []time.Duration{10 * time.Second, 12 * time.Second, 20 * time.Second} {
			call := NewCallback(func() { told <- e.Now() })
			call.Op, call.Name, call.Key, call.Hold, call.Wait = actor.Acquire, "n", "n", &actor.Hold{}, wait
			require.True(t, e.Post(call))
			synctest.Wait()
		}
		for _, at := range []time.Duration{15 * time.Second, 15 * time.Second, 20 * time.Second} { // the first turn takes until 15 s
			require.InDelta(t, at, <-told, float64(5*time.Millisecond))
		}
	})
}
