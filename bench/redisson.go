package bench

import (
	"errors"
	"math"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// redissonRunner is Redisson, with its workers in a process of their own. Without Java it takes no part, and err says
// why.
type redissonRunner struct {
	java *peers.Java
	err  error // why it takes no part
}

func openRedissonRunner(c peers.Config, clients int, p Plan) redissonRunner {
	java, err := peers.OpenRedisson(c, clients, p.WarmUp)
	return redissonRunner{java, err}
}

func (a redissonRunner) close() {
	if a.err == nil {
		a.java.Close()
	}
}

// entry returns its entry in a comparison.
func (a redissonRunner) entry(run func(*peers.Java) (int, time.Duration, error)) entry {
	e := entry{name: peers.Redisson.Name, run: func() (int, time.Duration, error) { return 0, 0, a.err }}
	if a.err == nil {
		e.run, e.used, e.setRunning = func() (int, time.Duration, error) { return run(a.java) }, a.java.Used, a.java.SetRunning
	}
	return e
}

// pair runs a round of Pair.
func (a redissonRunner) pair(names int, d time.Duration) entry {
	return a.entry(func(j *peers.Java) (int, time.Duration, error) { return j.Pair(names, d) })
}

// pairOf runs a round with locks of one kind.
func (a redissonRunner) pairOf(name string, locks peers.JavaLocks, number int, d time.Duration) entry {
	e := a.entry(func(j *peers.Java) (int, time.Duration, error) { return j.PairOf(locks, number, d) })
	e.name = name
	return e
}

// warmUp lets the Java process compile what a kind of lock needs.
func (a redissonRunner) warmUp(locks peers.JavaLocks, d time.Duration) error {
	if a.err != nil {
		return nil
	}
	if err := a.java.SetRunning(true); err != nil {
		return err
	}
	_, _, err := a.java.PairOf(locks, warmUpLocks, d)
	return errors.Join(err, a.java.SetRunning(false))
}

const warmUpLocks = 64

// hot runs a round of Hot and stores the result in an arena.
func (a redissonRunner) hot(s *Server, into *contentionRun, workers int, d time.Duration) entry {
	return a.entry(func(j *peers.Java) (int, time.Duration, error) {
		defer s.Clear() // as for the others
		b, err := j.Hot(hotName(peers.Redisson.Name), workers, d)
		if err != nil {
			return 0, 0, err
		}
		into.overlaps.Add(int32(b.Overlaps))
		first := float64(b.First) / float64(max(b.Pairs, 1))
		into.rounds = append(into.rounds, roundResult{
			fewest: b.Fewest, most: b.Most, shares: [2]float64{first, 1 - first}, longest: b.Longest, stalled: b.Stalled,
		})
		return b.Pairs, b.Took, nil
	})
}

// hold keeps locks for the plan's leases. Their heap is what becomes free when they are released. HeapNoise is by how
// much the heap with all of them differed between the first lease and the last.
func (a redissonRunner) hold(k *HoldResult, s *Server, p Plan) error {
	if a.err != nil {
		return a.err
	}
	if err := a.java.SetRunning(true); err != nil {
		return err
	}
	_, threads, err := a.java.StableHeap()
	if err != nil {
		return err
	}
	p.logf("%s: acquires %d locks", k.Name, k.Keep.Locks)
	began := time.Now()
	if err := a.java.Acquire(k.Keep.Locks); err != nil {
		return err
	}
	k.Taken = time.Since(began)
	first, threadsThen, err := a.java.StableHeap()
	if err != nil {
		return err
	}
	k.Goroutines = float64(threadsThen-threads) / float64(k.Keep.Locks)
	if err := k.observe(s, p, a.java.Used); err != nil {
		return err
	}
	last, _, err := a.java.StableHeap()
	if err != nil {
		return err
	}
	if k.Lost, err = a.java.Lost(); err != nil {
		return err
	}
	if err := a.java.Release(); err != nil && k.Lost == 0 { // lost locks cannot be released
		return err
	}
	without, _, err := a.java.StableHeap()
	k.Heap = float64(last-without) / float64(k.Keep.Locks)
	k.HeapNoise = math.Abs(float64(last-first)) / float64(k.Keep.Locks)
	return err
}

// processUsage returns what this process has used.
func processUsage() (measure.Usage, error) { return measure.Used(), nil }
