package lockwheel

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever is at the desk works off what others bring meanwhile, and they do not wait: nothing is left lying when it leaves.
func TestADeskLeavesNoEventLying(t *testing.T) {
	t.Parallel()
	var d desk
	var order []int
	d.bring(func() {
		order = append(order, 1)
		brought := make(chan struct{})
		go func() {
			defer close(brought)
			d.bring(func() { order = append(order, 2) })
			d.bring(func() { order = append(order, 3) })
		}()
		<-brought // they were brought while the desk was manned, and nobody waited
		d.bring(func() { order = append(order, 4) })
		require.Equal(t, []int{1}, order, "one event after the other")
	})
	require.Equal(t, []int{1, 2, 3, 4}, order)
}

// However close they come: when all who brought events have gone, each event has happened, once and alone.
func TestEventsOfManyAtOnceAllHappenOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for range 500 {
		var d desk
		var happened, inside atomic.Int32
		const crowd = 4
		start := make(chan struct{})
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				<-start
				for range 2 {
					d.bring(func() {
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
