package lockwheel

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// However many callers lock concurrently, none of their holds is lost from the list.
func TestALockerRemembersEveryHold(t *testing.T) {
	t.Parallel()
	for range 5 { // two callers must overlap within a few instructions, which is rare on one processor
		const crowd, each = 8, 100_000
		var l locker
		start := make(chan struct{})
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				<-start
				for range each {
					l.keep(nil)
				}
			})
		}
		close(start)
		all.Wait()
		count := 0
		for h := l.holds.Load(); h != nil; h = h.next {
			count++
		}
		require.Equal(t, crowd*each, count)
	}
}

func TestALockerAsksAgainWhereThatHelps(t *testing.T) {
	for _, err := range []error{ErrTooManyWaiters, ErrNotReplicated, ErrLost} {
		require.True(t, isTransient(&lockError{name: "n", err: err}), err)
	}
	for _, err := range []error{nil, ErrClosed, ErrKindMismatch, ErrUpgrade, ServerError("no")} {
		require.False(t, isTransient(err), err)
	}
}
