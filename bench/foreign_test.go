package bench

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// contest is a section that clients of two libraries enter in turn.
type contest struct {
	inside         atomic.Int32
	overlaps       atomic.Int64
	ours, theirs   atomic.Int64
	longestOurs    atomic.Int64
	longestOfTheir atomic.Int64
}

func (c *contest) enter(number, longest *atomic.Int64, asked time.Time) {
	if c.inside.Add(1) != 1 {
		c.overlaps.Add(1)
	}
	waited := int64(time.Since(asked))
	for last := longest.Load(); waited > last && !longest.CompareAndSwap(last, waited); last = longest.Load() {
	}
	number.Add(1)
	time.Sleep(100 * time.Microsecond)
	c.inside.Add(-1)
}

// With Options.Foreign, lockwheel and each of the libraries that lock with a string exclude each other under
// contention, and each gets its turn.
func TestForeign_OldClients_NoOverlap(t *testing.T) {
	const workers, starved = 4, 20 * time.Second // a busy machine stands still for seconds
	lasts, sections := long.Pick(3*time.Second, 30*time.Second), long.Pick(300, 10_000)
	for _, c := range []struct {
		peer peers.ContestantSpec
		key  string // of the lock that the peer calls n
	}{{peers.Redislock, "n"}, {peers.Redsync, "n"}, {peers.Rueidislock, "rueidislock:0:n"}} {
		t.Run(c.peer.Name, func(t *testing.T) {
			server := redistest.Start(t)
			locks, err := lockwheel.Open(t.Context(), lockwheel.Options{
				Redis: rueidis.ClientOption{InitAddress: []string{server.Addr()}}, Foreign: true,
			})
			require.NoError(t, err)
			defer locks.Close()
			peer, err := c.peer.Open(peers.Config{Addr: server.Addr(), Callers: workers, Contended: true})
			require.NoError(t, err)
			defer peer.Close()

			ctx, cancel := context.WithTimeout(t.Context(), 10*lasts)
			defer cancel()
			var section contest
			var all sync.WaitGroup
			all.Go(func() {
				defer cancel()
				time.Sleep(lasts)
				for section.ours.Load()+section.theirs.Load() < int64(sections) && ctx.Err() == nil { // on a busy machine
					time.Sleep(lasts / 100)
				}
			})
			for number := range workers {
				all.Go(func() {
					for ctx.Err() == nil {
						asked := time.Now()
						hold, err := locks.Mutex(c.key).Lock(ctx)
						if err != nil {
							if ctx.Err() == nil {
								t.Error(err)
							}
							return
						}
						section.enter(&section.ours, &section.longestOurs, asked)
						if err := hold.Unlock(context.WithoutCancel(ctx)); err != nil {
							t.Error(err)
						}
					}
				})
				all.Go(func() {
					worker := peer.Worker("n", number)
					for asked := time.Now(); ctx.Err() == nil; {
						err := worker.Lock(ctx)
						if err != nil {
							if ctx.Err() == nil && !strings.Contains(err.Error(), "WRONGTYPE") {
								t.Error(err)
								return
							}
							time.Sleep(time.Millisecond) // redislock at lockwheel's hash
							continue
						}
						section.enter(&section.theirs, &section.longestOfTheir, asked)
						if err := worker.Unlock(); err != nil {
							t.Error(err)
						}
						asked = time.Now()
					}
				})
			}
			all.Wait()
			ours, theirs := section.ours.Load(), section.theirs.Load()
			longest, theirLongest := time.Duration(section.longestOurs.Load()), time.Duration(section.longestOfTheir.Load())
			t.Logf("sections: %d of lockwheel, %d of %s; longest waits %v and %v", ours, theirs, c.peer.Name, longest, theirLongest)
			require.Zero(t, section.overlaps.Load())
			require.GreaterOrEqual(t, ours+theirs, int64(sections))
			require.Positive(t, ours)
			require.Positive(t, theirs)
			require.Less(t, longest, starved)
			require.Less(t, theirLongest, starved)
		})
	}
}

// What each old client does at lockwheel's lock: none gets it, and the errors are those of docs/migrate/README.md.
func TestForeign_OldClients_AtOurHash(t *testing.T) {
	server := redistest.Start(t)
	opts := rueidis.ClientOption{InitAddress: []string{server.Addr()}}
	locks, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: opts})
	require.NoError(t, err)
	defer locks.Close()
	for _, name := range []string{"n", "rueidislock:0:n"} {
		hold, err := locks.Mutex(name).Lock(t.Context())
		require.NoError(t, err)
		defer hold.Unlock(context.WithoutCancel(t.Context()))
	}
	old := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer old.Close()

	retry := &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)}
	_, err = redislock.New(old).Obtain(t.Context(), "n", time.Minute, retry)
	require.ErrorContains(t, err, "WRONGTYPE", "at once, whatever the strategy")
	require.NotErrorIs(t, err, redislock.ErrNotObtained)

	var taken *redsync.ErrTaken
	err = redsync.New(goredis.NewPool(old)).NewMutex("n", redsync.WithTries(2)).Lock()
	require.ErrorAs(t, err, &taken)

	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: opts, KeyMajority: 1})
	require.NoError(t, err)
	defer locker.Close()
	_, _, err = locker.TryWithContext(t.Context(), "n")
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NotErrorIs(t, err, rueidislock.ErrNotLocked)
}

// rueidislock with its default majority of three keys, and a Multi of the first two of them, exclude each other.
func TestForeign_RueidislockMajority_Multi(t *testing.T) {
	server := redistest.Start(t)
	opts := rueidis.ClientOption{InitAddress: []string{server.Addr()}}
	locks, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: opts, Foreign: true})
	require.NoError(t, err)
	defer locks.Close()
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: opts, TryNextAfter: 10 * time.Second})
	require.NoError(t, err)
	defer locker.Close()
	both := locks.Multi(locks.Mutex("rueidislock:0:n"), locks.Mutex("rueidislock:1:n"))

	hold, err := both.Lock(t.Context())
	require.NoError(t, err)
	_, _, err = locker.TryWithContext(t.Context(), "n")
	require.Error(t, err)
	require.NoError(t, hold.Unlock(t.Context()))

	_, release, err := locker.WithContext(t.Context(), "n")
	require.NoError(t, err)
	_, err = both.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	release()
	hold, err = both.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
}
