package locktest

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// CriticalSection counts visits, and notices when two visitors are inside at once. Its counter is not atomic: the lock
// guards it, and the race detector checks that.
type CriticalSection struct {
	Visits  int
	inside  atomic.Int32
	Crowded atomic.Bool
}

func (r *CriticalSection) Enter(while func()) {
	if r.inside.Add(1) != 1 {
		r.Crowded.Store(true)
	}
	r.Visits++
	while()
	r.inside.Add(-1)
}

func (r *CriticalSection) Require(t testing.TB, visits int) {
	t.Helper()
	require.False(t, r.Crowded.Load(), "two were inside at once")
	require.Equal(t, visits, r.Visits)
}

func ShortRun() { time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond) }

// EnterWith locks, visits and unlocks, and returns what went wrong.
func EnterWith(ctx context.Context, m lockwheel.Mutex, r *CriticalSection, opts ...lockwheel.Option) error {
	hold, err := m.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	r.Enter(ShortRun)
	return hold.Unlock(ctx)
}

// Crowd runs f in n goroutines and requires that none returns an error.
func Crowd(t testing.TB, n int, f func(i int) error) {
	t.Helper()
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs <- f(i) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}
