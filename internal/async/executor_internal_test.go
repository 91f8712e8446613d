package async

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The goroutine that runs them also runs the events that others bring meanwhile, and they do not wait. When it leaves,
// no event is left.
func TestExecutor_SubmitMeanwhile_AllRun(t *testing.T) {
	t.Parallel()
	var d Executor
	var order []int
	d.Submit(func() {
		order = append(order, 1)
		brought := make(chan struct{})
		go func() {
			defer close(brought)
			d.Submit(func() { order = append(order, 2) })
			d.Submit(func() { order = append(order, 3) })
		}()
		<-brought // they were brought while another goroutine was that runs them, and did not block
		d.Submit(func() { order = append(order, 4) })
		require.Equal(t, []int{1}, order, "one event after the other")
	})
	require.Equal(t, []int{1, 2, 3, 4}, order)
}

// Events are brought concurrently. When all bringers have returned, each event has run once, and never beside
// another.
func TestExecutor_Concurrent_OneAtATime(t *testing.T) {
	t.Parallel()
	for range 500 {
		var d Executor
		var happened, inside atomic.Int32
		const crowd = 4
		start := make(chan struct{})
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				<-start
				for range 2 {
					d.Submit(func() {
						if inside.Add(1) != 1 {
							t.Error("two events at once")
						}
						happened.Add(1)
						inside.Add(-1)
					})
				}
			})
		}
		close(start)
		all.Wait()
		require.EqualValues(t, 2*crowd, happened.Load())
	}
}
