package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/leader"
)

// here returns file and line of its caller, that many lines later.
func here(later int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line+later)
}

// A lock that an owner has for too long is logged once, with what it is for and where it was locked, and counted. The
// next owner counts anew, and a short hold does not.
func TestHeldTooLong_OldHold_LoggedOnce(t *testing.T) {
	t.Parallel()
	const tooLong = 50 * time.Millisecond
	var log locktest.LogBuffer
	e := locktest.AnyServer(t).Open(lockwheel.Options{
		HeldTooLong: tooLong, CallSites: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	ctx := lockwheel.WithLabel(t.Context(), "import 7")
	count := func() int { return strings.Count(log.String(), "held for longer than Options.HeldTooLong") }
	for owner := range 2 {
		site := here(1)
		hold, err := e.Mutex("n").Lock(ctx)
		require.NoError(t, err)
		again := locktest.LockWith(t, hold.Context(), e.Mutex("n"))
		locktest.Eventually(t, "logged", func() bool { return count() == owner+1 })
		require.Contains(t, log.String(), `label="import 7" site=`+site)
		require.Contains(t, log.String(), "lock=n ")
		locktest.Always(t, 200*time.Millisecond, "not again", func() bool { return count() == owner+1 && hold.Err() == nil })
		require.Equal(t, uint64(owner+1), e.Stats().HeldTooLong)
		locktest.Unlock(t, again)
		locktest.Unlock(t, hold)
	}
	locktest.Eventually(t, "a hold that is short also on a busy machine", func() bool {
		before, began := e.Stats().HeldTooLong, time.Now()
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
		short := time.Since(began) < tooLong
		if short {
			require.Equal(t, before, e.Stats().HeldTooLong)
		}
		return short
	})
}

// An owner's first hold is unlocked in time, and an inner one is not: the record names the one to look for.
func TestHeldTooLong_FirstHoldUnlocked_OtherNamed(t *testing.T) {
	t.Parallel()
	var log locktest.LogBuffer
	e := locktest.AnyServer(t).Open(lockwheel.Options{HeldTooLong: 2 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	owner := lockwheel.WithOwner(t.Context())
	outer := locktest.LockWith(t, lockwheel.WithLabel(owner, "outer"), e.Mutex("n"))
	inner := locktest.LockWith(t, lockwheel.WithLabel(owner, "inner"), e.Mutex("n"))
	locktest.Unlock(t, outer)
	locktest.Eventually(t, "logged", func() bool { return log.String() != "" })
	require.Contains(t, log.String(), "label=inner")
	locktest.Unlock(t, inner)
}

// Very many old holds are named a few at a time, so that other records are not displaced; all are counted.
func TestHeldTooLong_VeryMany_BoundedRecords(t *testing.T) {
	t.Parallel()
	var log locktest.LogBuffer
	e := locktest.AnyServer(t).Open(lockwheel.Options{HeldTooLong: 300 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	const n = 2000
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	locktest.TakesMany(t, e, names)
	locktest.Eventually(t, "all counted", func() bool { return e.Stats().HeldTooLong == n })
	require.Less(t, strings.Count(log.String(), "lock=n"), n/2)
	require.Contains(t, log.String(), "more=")
	require.Zero(t, e.Stats().Lost)
}

// Call sites name the caller's line in each way to lock, and nothing is recorded without the option.
func TestCallSites_EachWay_CallersLine(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, silent := s.Open(lockwheel.Options{CallSites: true}), s.Open(lockwheel.Options{})
	var want []string
	want = append(want, here(1))
	_, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	want = append(want, here(1))
	_, err = e.Mutex("b").TryLock(t.Context())
	require.NoError(t, err)
	want = append(want, here(1))
	e.Mutex("c").Locker().Lock()
	want = append(want, here(1))
	p := e.FairMutex("d").LockAsync(t.Context())
	locktest.Receive(t, p.Done())
	want = append(want, here(1))
	_, err = e.Multi(e.Mutex("e")).Lock(t.Context())
	require.NoError(t, err)
	want = append(want, here(1))
	_, err = lockwheel.Quorum(e.Mutex("f")).Lock(t.Context())
	require.NoError(t, err)
	want = append(want, here(1))
	_, err = e.RWMutex("g").Lock(t.Context())
	require.NoError(t, err)
	belowFrames(20, func() {
		want = append(want, here(1))
		_, err = e.Mutex("h").Lock(t.Context())
	})
	require.NoError(t, err)
	got := map[string]string{}
	for lock, err := range e.Locks(t.Context()) {
		require.NoError(t, err)
		got[lock.Name] = lock.CallSite
	}
	for i, site := range want {
		require.Equal(t, site, got[string(rune('a'+i))])
	}
	locktest.Lock(t, silent.Mutex("other"))
	for lock := range silent.Locks(t.Context()) {
		require.Empty(t, lock.CallSite)
	}
	require.False(t, bytes.Contains([]byte(got["a"]), []byte("lock.go")))
}

// belowFrames calls f with at least n frames above it.
func belowFrames(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	belowFrames(n-1, f)
}

// silentTracer follows calls, and does nothing with that.
type silentTracer struct{}

func (silentTracer) CallStart(ctx context.Context, _ lockwheel.TracedCall) context.Context {
	return ctx
}
func (silentTracer) CallEnd(context.Context, lockwheel.TracedCall, *lockwheel.Hold, error) {}

// Call sites name the caller's line for each lock of a Multi, however these are acquired, and with a Tracer as well.
func TestCallSites_MultiTraced_CallersLine(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{CallSites: true, Tracer: silentTracer{}})
	sitesOf := func(hold *lockwheel.Hold) (sites map[string]string) {
		sites = make(map[string]string)
		for lock, err := range e.Locks(t.Context()) {
			require.NoError(t, err)
			if lock.Holds > 0 {
				sites[lock.Name] = lock.CallSite
			}
		}
		locktest.Unlock(t, hold)
		return sites
	}
	for name, multi := range map[string]lockwheel.Multi{
		"atomic":     e.Multi(e.Mutex("a"), e.Mutex("b")),
		"sequential": e.Multi(e.FairMutex("a"), e.FairMutex("b")),
	} {
		site := here(1)
		hold, err := multi.Lock(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": site, "b": site}, sitesOf(hold), name)

		site = here(1)
		require.NoError(t, multi.Do(t.Context(), func(context.Context) error {
			for lock := range e.Locks(t.Context()) {
				require.Equal(t, site, lock.CallSite, name)
			}
			return nil
		}))
	}
	// It waits for one lock alone, and acquires the other one then.
	other, released := locktest.Lock(t, e.FairMutex("b")), e.Stats().Released
	site, taken := make(chan string, 1), make(chan *lockwheel.Hold, 1)
	go func() {
		site <- here(1)
		hold, _ := e.Multi(e.FairMutex("a"), e.FairMutex("b")).Lock(t.Context())
		taken <- hold
	}()
	want := locktest.Receive(t, site)
	// It gives the first one back after a part of a second, which a busy machine may sleep through.
	gaveBack := func() bool { return e.Stats().Released > released }
	held := func(n int64) func() bool {
		return func() bool { stats := e.Stats(); return stats.Held == n && stats.Waiting == 1 }
	}
	locktest.Eventually(t, "it holds one and waits for the other, now or before", func() bool { return held(2)() || gaveBack() })
	locktest.Eventually(t, "it holds none while it waits", held(1))
	locktest.Unlock(t, other)
	require.Equal(t, map[string]string{"a": want, "b": want}, sitesOf(locktest.Receive(t, taken)))
}

// Code of the library that locks for a caller is no caller. A go statement that calls the library has no line.
func TestCallSites_ThroughLibrary_CallersLine(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{CallSites: true})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	untilEnd := func(ctx context.Context) error {
		<-ctx.Done()
		ended <- nil
		return nil
	}
	go e.Mutex("go").Do(ctx, untilEnd)
	site := make(chan string, 1)
	go func() {
		site <- here(1)
		ended <- leader.Run(ctx, e.Mutex("leader"), func(ctx context.Context, _ *lockwheel.Hold) error { return ctx.Err() }, leader.Options{Pause: time.Hour, Gained: func(*lockwheel.Hold) { <-ctx.Done() }})
	}()
	got := map[string]string{}
	locktest.Eventually(t, "both held", func() bool {
		for lock := range e.Locks(t.Context()) {
			if lock.Holds > 0 {
				got[lock.Name] = lock.CallSite
			}
		}
		return len(got) == 2
	})
	require.Equal(t, map[string]string{"go": "", "leader": <-site}, got)
	cancel()
	locktest.Receive(t, ended)
	locktest.Receive(t, ended)
}
