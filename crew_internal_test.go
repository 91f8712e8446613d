package lockwheel

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Functions that hang delay the others only when all goroutines are in use, and the number of goroutines is bounded.
func TestACrewIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := workerPool{maxWorkers: 3, maxTasks: 10}
		gate := make(chan struct{})
		var ran, hang, most atomic.Int32
		for range 2 {
			c.submit(func() { <-gate })
		}
		for range 4 {
			c.submit(func() { ran.Add(1) })
		}
		synctest.Wait()
		require.EqualValues(t, 4, ran.Load())
		for range 12 {
			c.submit(func() {
				most.Store(max(most.Load(), hang.Add(1)))
				<-gate
				hang.Add(-1)
			})
		}
		synctest.Wait()
		require.EqualValues(t, 1, hang.Load())
		require.EqualValues(t, 4, c.dropped.Load())
		begun := time.Now()
		c.wait(begun.Add(time.Second))
		require.Equal(t, time.Second, time.Since(begun))
		close(gate)
		c.wait(time.Time{})
		require.LessOrEqual(t, most.Load(), int32(3))
		require.Equal(t, time.Second, time.Since(begun), "nothing hangs any more")
	})
}

func TestACrewGoesOnAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := workerPool{maxWorkers: 1, maxTasks: 100}
		var ran atomic.Int32
		for range 10 {
			c.submit(func() { panic("oops") })
			c.submit(runtime.Goexit)
			c.submit(func() { ran.Add(1) })
		}
		c.wait(time.Time{})
		require.EqualValues(t, 10, ran.Load())
		require.EqualValues(t, 20, c.panics.Load())
	})
}

// Each function runs once, whenever and by however many goroutines it is put in.
func TestACrewForgetsNothing(t *testing.T) {
	c := workerPool{maxWorkers: 4, maxTasks: 1 << 20}
	var ran atomic.Int32
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 2000 {
				c.submit(func() { ran.Add(1) })
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	c.wait(time.Time{})
	require.EqualValues(t, 16_000, ran.Load())
}
