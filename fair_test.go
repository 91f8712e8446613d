package lockwheel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Whoever comes first is served first, whichever engine asked.
func TestAFairLockIsGivenInTheOrderInWhichTheyCame(t *testing.T) {
	s := anySite(t)
	engines := []*lockwheel.Engine{s.open(lockwheel.Options{}), s.open(lockwheel.Options{}), s.open(lockwheel.Options{})}
	first := lock(t, engines[0].FairMutex("n"))
	const waiters = 12
	order := make(chan int, waiters)
	var done []<-chan error
	for i := range waiters {
		result := make(chan error, 1)
		go func() {
			result <- engines[i%3].FairMutex("n").Do(t.Context(), func(ctx context.Context) error {
				order <- i
				return nil
			})
		}()
		done = append(done, result)
		eventually(t, "a place in the queue", func() bool { return s.waiting("n") == i+1 })
	}
	unlock(t, first)
	for i := range waiters {
		require.NoError(t, receive(t, done[i]))
		require.Equal(t, i, <-order)
	}
	require.Equal(t, []any{}, s.do("KEYS", "*"))
	for _, e := range engines {
		require.Zero(t, e.Stats().Handed)
		settled(t, e)
	}
}

// waiting is how many stand in the queue of a fair lock.
func (s *site) waiting(name string) int {
	s.t.Helper()
	return int(s.do("LLEN", "redisson_lock_queue:{"+name+"}").(int64))
}
