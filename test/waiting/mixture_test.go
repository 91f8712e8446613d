package waiting_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// turns contains the waits of one side.
type turns struct {
	granted int
	longest time.Duration
}

// takeTurns locks, holds for a moment and unlocks repeatedly for that time. A wait that the end interrupts counts.
func takeTurns(m lockwheel.Mutex, r *locktest.CriticalSection, d time.Duration) (got turns, err error) {
	ends := time.Now().Add(d)
	ctx, cancel := context.WithDeadline(context.Background(), ends)
	defer cancel()
	for time.Now().Before(ends) {
		asked := time.Now()
		hold, err := m.Lock(ctx)
		got.longest = max(got.longest, time.Since(asked))
		if ctx.Err() != nil {
			if err == nil {
				_ = hold.Unlock(context.Background())
			}
			break
		}
		if err != nil {
			return got, err
		}
		r.Enter(func() { time.Sleep(time.Millisecond) })
		got.granted++
		if err := hold.Unlock(context.Background()); err != nil {
			return got, err
		}
	}
	return got, nil
}

// busyWith keeps a lock of an engine busy with a few callers until the returned function is called, which returns
// their number of grants.
func busyWith(t *testing.T, m lockwheel.Mutex, callers int, r *locktest.CriticalSection, d time.Duration) (grants func() int) {
	t.Helper()
	var wg sync.WaitGroup
	all := make([]turns, callers)
	errs := make([]error, callers)
	for i := range callers {
		wg.Go(func() { all[i], errs[i] = takeTurns(m, r, d) })
	}
	return func() (sum int) {
		wg.Wait()
		for i := range all {
			require.NoError(t, errs[i])
			sum += all[i].granted
		}
		return sum
	}
}

// A waiter beside a busy engine is granted the lock again and again, whether either of them subscribes or polls.
func TestBusyEngine_OtherWaiter_HasItsTurns(t *testing.T) {
	long.Only(t, "a lock is hot for eight seconds, in four mixtures")
	const spell, least = 8 * time.Second, 20
	for name, wakes := range map[string][2]lockwheel.Notify{
		"a listener beside listeners": {lockwheel.PubSub, lockwheel.PubSub},
		"a poller beside listeners":   {lockwheel.PubSub, lockwheel.Poll},
		"a listener beside pollers":   {lockwheel.Poll, lockwheel.PubSub},
		"a poller beside pollers":     {lockwheel.Poll, lockwheel.Poll},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			busy, other := s.Open(lockwheel.Options{Notify: wakes[0]}), s.Open(lockwheel.Options{Notify: wakes[1]})
			var r locktest.CriticalSection
			grants := busyWith(t, busy.Mutex("n"), 4, &r, spell+200*time.Millisecond)
			locktest.Eventually(t, "the lock hot", func() bool { return busy.Stats().Acquired > 20 })
			got, err := takeTurns(other.Mutex("n"), &r, spell)
			require.NoError(t, err)
			theirs := grants()
			require.False(t, r.Crowded.Load())
			t.Logf("%d grants, the longest wait %v; the others %d", got.granted, got.longest, theirs)
			require.GreaterOrEqual(t, got.granted, least)
			require.Less(t, got.longest, spell/2)
			require.GreaterOrEqual(t, theirs, least)
		})
	}
}

// spinner is a client that follows the protocol of Redisson's spin lock. It never subscribes, publishes nothing, and
// doubles its sleep between tries, up to 128 ms.
type spinner struct {
	conn *redistest.Conn
	id   string
	turns
}

const (
	spinAcquire = `if redis.call('exists', KEYS[1]) == 0 then redis.call('hset', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], 30000) return 1 end return redis.call('pttl', KEYS[1])`
	spinRelease = `return redis.call('hdel', KEYS[1], ARGV[1])`
)

// spinLongest is the maximum wait of a spinner among others. Spinners try every 128 ms and find the lock free by
// chance. They need about 2 s at most, and twice that if all other clients are spinners, too.
const spinLongest = 5 * time.Second

// spin takes turns for that time.
func (p *spinner) spin(r *locktest.CriticalSection, d time.Duration) error {
	for ends := time.Now().Add(d); time.Now().Before(ends); {
		asked := time.Now()
		got, err := p.wait(ends)
		if p.longest = max(p.longest, time.Since(asked)); err != nil || !got {
			return err
		}
		p.granted++
		r.Enter(func() { time.Sleep(time.Millisecond) })
		if _, err := p.conn.Do("EVAL", spinRelease, 1, "n", p.id); err != nil {
			return err
		}
	}
	return nil
}

func (p *spinner) wait(ends time.Time) (got bool, err error) {
	sleep := time.Millisecond
	for number := 1; time.Now().Before(ends); number++ {
		reply, err := p.conn.Do("EVAL", spinAcquire, 1, "n", p.id)
		if err != nil || reply == int64(1) {
			return err == nil, err
		}
		time.Sleep(sleep)
		sleep = min(2*sleep+time.Duration(rand.IntN(number))*time.Millisecond, 128*time.Millisecond)
	}
	return false, nil
}

// Redisson's spin lock beside an engine that polls, as any engine that shares locks with it does.
func TestBusyEngine_SpinLock_HasItsTurns(t *testing.T) {
	long.Only(t, "a lock is hot for eight seconds, twice")
	const spell = 8 * time.Second
	for name, spinners := range map[string]int{"four": 4, "one": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			busy := s.Open(lockwheel.Options{Notify: lockwheel.Poll})
			var r locktest.CriticalSection
			grants := busyWith(t, busy.Mutex("n"), 4, &r, spell)
			locktest.Eventually(t, "the lock hot", func() bool { return busy.Stats().Acquired > 20 })
			all, errs := make([]*spinner, spinners), make([]error, spinners)
			var wg sync.WaitGroup
			for i := range all {
				conn, err := redistest.Dial(s.Addr)
				require.NoError(t, err)
				t.Cleanup(func() { conn.Close() })
				all[i] = &spinner{conn: conn, id: fmt.Sprintf("spinner:%d", i)}
				wg.Go(func() { errs[i] = all[i].spin(&r, spell-500*time.Millisecond) })
			}
			wg.Wait()
			ours, theirs, longest := grants(), 0, time.Duration(0)
			for i, p := range all {
				require.NoError(t, errs[i])
				theirs, longest = theirs+p.granted, max(longest, p.longest)
			}
			require.False(t, r.Crowded.Load())
			t.Logf("%d grants, the longest wait %v; ours %d", theirs, longest, ours)
			require.GreaterOrEqual(t, 3*theirs, ours*spinners/4, "a quarter of it, of as many")
			require.GreaterOrEqual(t, 9*ours, theirs, "a tenth")
			require.Less(t, longest, spinLongest)
		})
	}
}
