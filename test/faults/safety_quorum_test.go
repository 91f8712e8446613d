package faults_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Faults that keep a server's keys strike one or two of three servers at a time. Meanwhile callers of three clients
// lock quorums of each kind of lock.
func TestQuorum_ServersFail_NoTwoHolders(t *testing.T) {
	long.Only(t, "servers fail again and again")
	t.Parallel()
	const clients, workers = 3, 4
	names := locktest.NamesOfKinds("n")
	var scenes []*faultEnv
	engines := make([][]*lockwheel.Engine, clients)
	var ways [][]*proxy.Proxy // to each server, from each client
	for range 3 {
		s := realFaultEnv(t)
		s.names = names
		var links []*proxy.Proxy
		for c := range clients {
			e, p := s.enter(lockwheel.Options{Lease: locktest.FlashLease})
			engines[c], links = append(engines[c], e), append(links, p)
		}
		scenes, ways = append(scenes, s), append(ways, links)
	}
	ctx, stop := context.WithTimeout(t.Context(), chaosTime(t))
	defer stop()
	thrones := make([]singleHolder, len(names))
	var granted, faults atomic.Int64
	locktest.Crowd(t, 2+clients*workers, func(i int) error {
		switch i {
		case 0: // strikes one server
			for ; ctx.Err() == nil; faults.Add(1) {
				strikesSomehow(ctx, scenes[0], ways[0])
			}
			return nil
		case 1: // strikes one of the others at a time
			for ; ctx.Err() == nil; faults.Add(1) {
				at := 1 + rand.IntN(2)
				strikesSomehow(ctx, scenes[at], ways[at])
			}
			return nil
		}
		for ctx.Err() == nil {
			at := rand.IntN(len(names))
			hold, err := quorumOf(engines[i%clients], names[at]).Lock(ctx, someOptions()...)
			if err != nil {
				if err = known(err); err != nil {
					return err
				}
				continue
			}
			granted.Add(1)
			if err := thrones[at].take(hold); err != nil {
				return err
			}
			misuseRandomly(ctx, hold)
			_ = hold.Unlock(ctx)
		}
		return nil
	})
	for i, s := range scenes {
		for _, p := range ways[i] {
			require.NoError(t, p.Heal())
			p.Cut() // also half-open connections
		}
		for c := range clients {
			locktest.RequireIdle(t, engines[c][i])
		}
		s.RequireNothingLeft(t, locktest.FlashLease, names)
		locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
	}
	t.Logf("%d grants, %d faults", granted.Load(), faults.Load())
	require.NotZero(t, granted.Load())
}

// strikesSomehow makes one fault that keeps a server's keys, after a short pause.
func strikesSomehow(ctx context.Context, s *faultEnv, ways []*proxy.Proxy) {
	locktest.Pause(ctx, time.Duration(rand.IntN(200))*time.Millisecond)
	s.spell = time.Duration(20+rand.IntN(300)) * time.Millisecond
	s.links = nil
	for _, p := range ways {
		if rand.IntN(2) == 0 {
			s.links = append(s.links, p)
		}
	}
	catalogue := everyFault()
	f := catalogue[rand.IntN(len(catalogue))]
	for f.fate == keyLost {
		f = catalogue[rand.IntN(len(catalogue))]
	}
	f.strike(s)
}
