package main

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/exampletest"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

// A member crashes in the middle: another one goes on at the next batch, and all members that are left serve.
func TestMigration_Crash_SuccessorGoesOn(t *testing.T) {
	e := exampletest.Start(t, run, "-takes", "2ms", "-lease", "3s", "-crash", "7")
	first := e.Await(`(member \d) migrates from batch 1 on, with token 1`)[0]
	e.Await(first + ` has applied batch 7`)
	e.Await(first + ` has crashed`)
	second := e.Await(`(member \d) migrates from batch 8 on, with token 2`)[0]
	require.NotEqual(t, first, second)
	third := e.Await(`(member \d) migrates from batch 15 on, with token 3`)[0]
	e.End()
	require.Equal(t, 1, e.Count(third+` serves`))
	require.Equal(t, 1, e.Count(` serves`))
	require.Equal(t, batches, e.Count(`has applied batch`))
}

// A member is interrupted between two batches: it says that it does not serve, and leaves the lock free.
func TestMigration_Interrupt_BatchEnds(t *testing.T) {
	e := exampletest.Start(t, run, "-takes", "50ms", "-members", "1", "-lease", "1h", "-crash", "0")
	e.Await(`has applied batch 2`)
	e.Interrupt()
	require.Equal(t, 1, e.Count(`member 1 does not serve: context canceled`), e.Said)
}

// site is a store with members that share it.
type site struct {
	store
	members []*member
}

func newSite(t *testing.T) *site {
	s, err := server.Start("")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	client, err := s.Client()
	require.NoError(t, err)
	t.Cleanup(client.Close)
	log := server.NewLog(t.Output())
	t.Cleanup(log.Close)
	opened, err := s.Open(t.Context(), 3, lockwheel.Options{})
	require.NoError(t, err)
	all := &site{store: store{client}}
	for _, o := range opened {
		all.members = append(all.members, &member{name: o.Name, locks: o.Locks, store: all.store, log: log})
	}
	return all
}

// requireMigrated requires that each user was changed once by each step.
func (s *site) requireMigrated(t *testing.T) {
	t.Helper()
	done, err := s.done(t.Context())
	require.NoError(t, err)
	require.Equal(t, batches, done)
	for user := range users {
		has, err := s.redis.Do(t.Context(), s.redis.B().Hgetall().Key(key(user)).Build()).AsStrMap()
		require.NoError(t, err)
		created, err := steps[0].change(user, nil)
		require.NoError(t, err)
		cents, err := steps[2].change(user, created)
		require.NoError(t, err)
		require.Equal(t, cents["balance"], has["balance"], "user %d", user)
		require.Equal(t, "Ada", has["first"])
	}
}

// All members start at once: together they apply each batch once, and each returns when all is done. A further start
// does not need the lock.
func TestMigration_ManyStart_EachBatchOnce(t *testing.T) {
	s := newSite(t)
	var all sync.WaitGroup
	for _, m := range s.members {
		all.Go(func() {
			if err := m.migrate(t.Context()); err != nil {
				t.Error(err)
			}
			if done, err := s.done(t.Context()); err != nil || done != batches {
				t.Errorf("%s goes on after %d batches, %v", m.name, done, err)
			}
		})
	}
	all.Wait()
	s.requireMigrated(t)
	hold, err := s.members[0].locks.FencedMutex("example/migration/lock").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.members[1].migrate(t.Context()))
	require.NoError(t, hold.Unlock(t.Context()))
}

// A member was suspended in the middle and lost the lock, but does not know yet. From the claim of its successor on it
// writes nothing, also where its batch is the next one.
func TestMigration_LateMember_WritesNothing(t *testing.T) {
	s := newSite(t)
	_, err := s.claim(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, s.apply(t.Context(), 1, 0))
	done, err := s.claim(t.Context(), 2) // by the successor
	require.NoError(t, err)
	require.Equal(t, 1, done)
	require.ErrorIs(t, s.apply(t.Context(), 1, 1), errOldToken)
	_, err = s.claim(t.Context(), 1)
	require.ErrorIs(t, err, errOldToken)
	has, err := s.redis.Do(t.Context(), s.redis.B().Hlen().Key(key(batchSize)).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, has)
	require.NoError(t, s.apply(t.Context(), 2, 1))
}

// A batch that is done is not applied again, nor one before its turn.
func TestMigration_BatchOutOfTurn_WritesNothing(t *testing.T) {
	s := newSite(t)
	for batch := range batches {
		if batch+1 < batches {
			require.ErrorIs(t, s.apply(t.Context(), 1, batch+1), errOutOfTurn)
		}
		require.NoError(t, s.apply(t.Context(), 1, batch))
		require.ErrorIs(t, s.apply(t.Context(), 1, batch), errOutOfTurn)
	}
	s.requireMigrated(t)
}

// The lock is lost between two batches: the member stops, and the next one goes on where it ended.
func TestMigration_LockLost_Stops(t *testing.T) {
	s := newSite(t)
	ctx, lose := context.WithCancelCause(t.Context())
	says := make(chan string, 10)
	log := server.NewLog(lines(says))
	t.Cleanup(log.Close)
	s.members[0].log, s.members[0].takes = log, time.Hour
	stopped := make(chan error, 1)
	go func() { stopped <- s.members[0].apply(ctx, 1) }()
	require.Contains(t, <-says, "migrates from batch 1 on") // then it waits for its context, and for an hour
	lose(lockwheel.ErrLost)
	require.ErrorIs(t, <-stopped, lockwheel.ErrLost)
	require.NoError(t, s.members[1].migrate(t.Context()))
	s.requireMigrated(t)
}

// lines is a writer that passes on what is written.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
