//go:build unix

package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Two engines and another process continue while a replica without their locks becomes the master, and one of the
// engines is not notified. Only then may a lock have two holders. The history contains when the server lost it, and
// the loser stops before its lease expires.
func TestHistory_StaleFailover_LoserStops(t *testing.T) {
	long.Only(t, "a history of several failovers is written and looked at")
	t.Parallel()
	master, replica := locktest.WithReplica(t, "--user", locktest.User, "on", ">"+locktest.Password, "~*", "&*", "+@all")
	numbers := locktest.RealServer(t)
	names := locktest.NamesOfKinds("n")
	var record record
	var did workerCounts
	var links []*proxy.Proxy
	var engines []*lockwheel.Engine
	link := func() *proxy.Proxy {
		links = append(links, proxy.Start(t, master.Addr))
		return links[len(links)-1]
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers sync.WaitGroup
	failed := make(chan error, 2*soakWorkers)
	for i := range 2 {
		e := master.OpenAt(link().Addr(), lockwheel.Options{Lease: locktest.FlashLease})
		engines = append(engines, e)
		for j := range soakWorkers {
			l := &worker{
				id: fmt.Sprint(sameProcess, i, ".", j), engine: e, names: names,
				number: numbers.Real.Conn(t), note: record.note, did: &did,
			}
			workers.Go(func() { failed <- l.work(ctx) })
		}
	}
	process := startWorkerProcess(t, workerConfig{
		ID: "process", Addr: link().Addr(), Numbers: numbers.Addr, Names: names, Workers: soakWorkers, Lease: locktest.FlashLease,
	}, &record)

	more := func(grants int64) {
		t.Helper()
		before := did.granted.Load()
		locktest.Eventually(t, "grants going on", func() bool { return did.granted.Load() >= before+grants })
	}
	more(20)
	require.NoError(t, replica.Real.Pause())
	require.Equal(t, 1, master.Real.Int(t, "CLIENT", "KILL", "TYPE", "replica")) // or its socket would still contain later writes
	locktest.Pause(ctx, locktest.FlashLease*5/4)                                 // its holds end
	more(20)
	links[0].Set(proxy.Both, proxy.Hold)
	from := now()
	locktest.FailOver(t, master.Real, replica.Real, links[1:]...)
	for _, name := range names {
		record.note(op{What: wiped, Lock: name, From: from, To: now()})
	}
	record.note(op{What: forgot, Lock: "n/fenced", From: from, To: now()})
	locktest.Pause(ctx, locktest.FlashLease*5/4)
	links[0].Retarget(replica.Addr)
	links[0].Cut()
	require.NoError(t, links[0].Heal())
	more(40)

	stop()
	process.ends()
	workers.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
	replica.RequireNoLock(t, engines[0], names)
	for name, deeds := range record.byLock() {
		requireLinear(t, name, deeds)
		requireLosersKnew(t, deeds, locktest.FlashLease)
	}
	t.Logf("%d grants in this process, %d uses, %d holds lost", did.granted.Load(), did.uses.Load(), did.losses.Load())
}
