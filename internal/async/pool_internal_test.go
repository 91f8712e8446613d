package async

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Functions that hang delay the others only when all goroutines are in use, and the number of goroutines is bounded.
func TestWorkerPool_HangingTasks_Bounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := WorkerPool{MaxWorkers: 3, MaxTasks: 10}
		gate := make(chan struct{})
		var ran, hang, most atomic.Int32
		for range 2 {
			c.Submit(func() { <-gate })
		}
		for range 4 {
			c.Submit(func() { ran.Add(1) })
		}
		synctest.Wait()
		require.EqualValues(t, 4, ran.Load())
		for range 12 {
			c.Submit(func() {
				most.Store(max(most.Load(), hang.Add(1)))
				<-gate
				hang.Add(-1)
			})
		}
		synctest.Wait()
		require.EqualValues(t, 1, hang.Load())
		require.EqualValues(t, 4, c.dropped.Load())
		begun := time.Now()
		c.Wait(begun.Add(time.Second))
		require.Equal(t, time.Second, time.Since(begun))
		close(gate)
		c.Wait(time.Time{})
		require.LessOrEqual(t, most.Load(), int32(3))
		require.Equal(t, time.Second, time.Since(begun), "nothing hangs any more")
	})
}

// A pool continues, and counts, after a function that panics or ends its goroutine.
func TestWorkerPool_Panic_GoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := WorkerPool{MaxWorkers: 1, MaxTasks: 100}
		var ran atomic.Int32
		for range 10 {
			c.Submit(func() { panic("oops") })
			c.Submit(runtime.Goexit)
			c.Submit(func() { ran.Add(1) })
		}
		c.Wait(time.Time{})
		require.EqualValues(t, 10, ran.Load())
		require.EqualValues(t, 20, c.Panics.Load())
	})
}

// Each function runs once, whenever and by however many goroutines it is put in.
func TestWorkerPool_EachTaskRunsOnce(t *testing.T) {
	c := WorkerPool{MaxWorkers: 4, MaxTasks: 1 << 20}
	var ran atomic.Int32
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 2000 {
				c.Submit(func() { ran.Add(1) })
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	c.Wait(time.Time{})
	require.EqualValues(t, 16_000, ran.Load())
}
