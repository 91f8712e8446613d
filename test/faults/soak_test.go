//go:build unix

package faults_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

var soakTime = flag.Duration("soak", 8*time.Second, "how long TestSoak goes on")

const (
	soakRound     = 12 * time.Second // then the engines become idle and are checked
	soakEngines   = 3                // in this process
	soakProcesses = 2                // worker processes
	soakWorkers   = 4                // workers of each
	// soakHeap is how much more heap a round may leave. A connection of rueidis has 1 MiB of buffers, and the number of
	// connections varies after a round.
	soakHeap = 16 << 20
)

// soakRun is a running soak test.
type soakRun struct {
	*faultEnv
	t         *testing.T
	numbers   *locktest.Server
	engines   []*lockwheel.Engine
	all       []*proxy.Proxy // the links of the engines, then those of the worker processes
	processes []*workerProcess
	record    record
	did       workerCounts
	round     int
	processID int

	// The results.
	faults    map[string]int
	histories int
	deeds     int
	first     leftovers // after the first round
	last      leftovers
}

// leftovers are the quantities that must not grow.
type leftovers struct {
	goroutines int
	heap       uint64
}

// Faults strike in any order, for as long as -soak says, while engines and worker processes use locks of several kinds.
// Each history is linearizable, and keys, channels, goroutines and heap do not grow.
func TestSoak(t *testing.T) {
	long.Only(t, "faults strike in any order, for as long as one likes")
	c := &soakRun{faultEnv: realFaultEnv(t), t: t, numbers: locktest.RealServer(t), faults: map[string]int{}}
	c.lost = c.wiped
	for range soakEngines {
		e, p := c.enter(lockwheel.Options{Lease: locktest.FlashLease})
		c.engines, c.all = append(c.engines, e), append(c.all, p)
	}
	for range soakProcesses {
		c.all = append(c.all, proxy.Start(t, c.Addr))
	}
	for end := time.Now().Add(*soakTime); time.Now().Before(end) || c.round == 0; c.round++ {
		c.goesOn(min(soakRound, max(time.Until(end), time.Second)))
		c.idles()
		if c.round%20 == 19 {
			c.configure()
		}
	}
	c.configure()
	require.LessOrEqual(t, c.last.goroutines, c.first.goroutines+40, "goroutines")
	require.LessOrEqual(t, c.last.heap, c.first.heap+soakHeap, "heap")
	require.NotZero(t, c.did.uses.Load())
}

// wiped records that the server lost keys.
func (c *soakRun) wiped(names []string, from, to time.Time) {
	for _, name := range names {
		d := op{What: wiped, Lock: name, From: from.UnixNano(), To: to.UnixNano()}
		if counted, ok := strings.CutPrefix(name, locktest.TokenKeys); ok {
			d.What, d.Lock = forgot, strings.Trim(counted, "{}")
		}
		c.record.note(d)
	}
}

// goesOn runs one round: all workers, and one fault after the other.
func (c *soakRun) goesOn(d time.Duration) {
	c.names = locktest.NamesOfKinds(fmt.Sprint("round", c.round))
	ctx, stop := context.WithTimeout(c.t.Context(), d)
	defer stop()
	var workers sync.WaitGroup
	failed := make(chan error, soakEngines*soakWorkers)
	for i, e := range c.engines {
		for j := range soakWorkers {
			number, err := redistest.Dial(c.numbers.Addr) // not a connection that is kept until the test ends
			require.NoError(c.t, err)
			l := &worker{
				id: fmt.Sprint(sameProcess, i, ".", j), engine: e, names: c.names,
				number: number, note: c.record.note, did: &c.did,
			}
			workers.Go(func() {
				defer l.number.Close()
				failed <- l.work(ctx)
			})
		}
	}
	for i := range soakProcesses {
		c.processes = append(c.processes, c.newWorkerProcess(i))
	}
	for ctx.Err() == nil {
		locktest.Pause(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
		c.strikes()
	}
	for _, p := range c.all {
		require.NoError(c.t, p.Heal())
		p.Cut() // also half-open connections
	}
	for _, process := range c.processes {
		process.ends()
	}
	c.processes = nil
	workers.Wait()
	close(failed)
	for err := range failed {
		require.NoError(c.t, err)
	}
}

func (c *soakRun) newWorkerProcess(i int) *workerProcess {
	c.processID++
	return startWorkerProcess(c.t, workerConfig{
		ID:   fmt.Sprint("process", c.processID),
		Addr: c.all[soakEngines+i].Addr(), Numbers: c.numbers.Addr,
		Names: c.names, Workers: soakWorkers, Lease: locktest.FlashLease,
	}, &c.record)
}

// strikes makes one fault of any kind, on any of the links.
func (c *soakRun) strikes() {
	c.spell = time.Duration(20+rand.IntN(400)) * time.Millisecond
	if rand.IntN(10) == 0 {
		c.spell = locktest.FlashLease * 5 / 4
	}
	c.links = nil
	for _, p := range c.all {
		if rand.IntN(2) == 0 {
			c.links = append(c.links, p)
		}
	}
	catalogue := everyFault()
	switch i := rand.IntN(len(catalogue) + 4); i {
	case len(catalogue), len(catalogue) + 1:
		defer c.counts("a process killed", now())
		victim := rand.IntN(soakProcesses)
		c.processes[victim].dies()
		c.processes[victim] = c.newWorkerProcess(victim)
	case len(catalogue) + 2, len(catalogue) + 3:
		defer c.counts("a process stopped", now())
		c.processes[rand.IntN(soakProcesses)].standsStill(2 * c.spell)
	default:
		defer c.counts(catalogue[i].name, now())
		catalogue[i].strike(c.faultEnv)
	}
}

// counts counts a fault, and adds it to every history for its readers.
func (c *soakRun) counts(fault string, from int64) {
	c.faults[fault]++
	struck := ""
	for i, p := range c.all {
		if slices.Contains(c.links, p) {
			struck += fmt.Sprint(" ", i)
		}
	}
	for _, name := range c.names {
		c.record.note(op{What: noted, Lock: name, Note: fault + " on links" + struck, From: from, To: now()})
	}
}

// idles waits until nothing is left of a round, and checks its histories.
func (c *soakRun) idles() {
	for _, e := range c.engines {
		locktest.RequireIdle(c.t, e)
		stats := e.Stats()
		require.Equal(c.t, stats.Acquired, stats.Released+stats.Lost)
	}
	c.RequireNoLock(c.t, c.engines[0], c.names)
	locktest.Eventually(c.t, "no channel", func() bool { return len(c.Channels()) == 0 })
	for name, deeds := range c.record.byLock() {
		c.histories++
		c.deeds += len(deeds)
		requireLinear(c.t, name, deeds)
		requireLosersKnew(c.t, deeds, locktest.FlashLease)
	}
	runtime.GC()
	c.last = leftovers{goroutines: runtime.NumGoroutine(), heap: locktest.LiveHeap()}
	if c.round < 2 { // the first round allocates what the others keep
		c.first = c.last
	}
}

// configure prints the results.
func (c *soakRun) configure() {
	var faults strings.Builder
	total := 0
	for _, name := range slices.Sorted(maps.Keys(c.faults)) {
		fmt.Fprintf(&faults, "\n  %4d  %s", c.faults[name], name)
		total += c.faults[name]
	}
	c.t.Logf("%d rounds: %d grants in this process, %d refusals, %d uses of what a lock guards, %d holds lost\n"+
		"%d faults of %d kinds:%s\n%d histories checked, %d deeds; violations: 0\n"+
		"left over: keys 0, channels 0; goroutines %d after two rounds, %d now; heap %d KiB then, %d KiB now",
		c.histories/len(c.names), c.did.granted.Load(), c.did.refused.Load(), c.did.uses.Load(), c.did.losses.Load(),
		total, len(c.faults), faults.String(), c.histories, c.deeds,
		c.first.goroutines, c.last.goroutines, c.first.heap>>10, c.last.heap>>10)
}
