package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// The names of the standings of Kinds.
const (
	KindPlain     = "Mutex"
	KindFenced    = "FencedMutex"
	KindFair      = "FairMutex"
	KindWrite     = "RWMutex, write"
	KindRead      = "RWMutex, read"
	TenAsOne      = "ten names, Multi"
	TenSequential = "ten names, one Mutex after the other"
)

const (
	kindNames  = 2048 // goroutines, each with a name of its own
	multiNames = 10   // names of a Multi
)

// KindsOfLock compares lockwheel's kinds of lock.
type KindsOfLock struct {
	Alike []Result // of 2048 goroutines with a name each, plain first
	Ten   []Result // of one caller that locks ten names and unlocks them, which is one pair: TenAsOne, TenSequential
}

// Kinds compares lockwheel's kinds of lock, in turn, on one engine: lock and unlock of names of their own by 2048
// goroutines, and ten names by one caller, atomically and sequentially.
func Kinds(s *Server, p Plan) (KindsOfLock, error) {
	var k KindsOfLock
	ours, err := peers.OpenLockwheel(peers.Config{Addr: s.Addr, Callers: kindNames})
	if err != nil {
		return k, err
	}
	defer closeWithTimeout(ours)
	e := ours.Engine
	var alike []entry
	for _, kind := range []struct {
		name string
		lock func(name string) lockwheel.Mutex
	}{
		{KindPlain, e.Mutex},
		{KindFenced, e.FencedMutex},
		{KindFair, e.FairMutex},
		{KindWrite, func(name string) lockwheel.Mutex { return e.RWMutex(name).Writer() }},
		{KindRead, func(name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() }},
	} {
		workers := make([]peers.Worker, kindNames)
		for i := range workers {
			// A name is of one kind: each kind has names of its own, as long as the others'.
			workers[i] = peers.WorkerOf(kind.lock(fmt.Sprintf("lockwheel-bench-%d-%d", len(alike), i)))
		}
		alike = append(alike, workerEntry(kind.name, workers, p.Round))
	}
	if k.Alike, err = runInterleaved(s, p.Rounds, alike); err != nil {
		return k, err
	}
	k.Ten, err = runInterleaved(s, p.Rounds, tenNames(e, p.Round))
	if err != nil {
		return k, err
	}
	return k, s.Clear() // of the counters of tokens
}

// tenNames compares ten names atomically and sequentially, by one caller with a context that can end.
func tenNames(e *lockwheel.Engine, d time.Duration) []entry {
	var locks []lockwheel.Mutex
	var row sequentialLocks
	for i := range multiNames {
		m := e.Mutex(nameOf(i))
		locks, row = append(locks, m), append(row, peers.WorkerOf(m))
	}
	return []entry{
		workerEntry(TenAsOne, []peers.Worker{peers.WorkerOfAll(e.Multi(locks...))}, d),
		workerEntry(TenSequential, []peers.Worker{row}, d),
	}
}

// sequentialLocks locks names sequentially, and unlocks them in the same order.
type sequentialLocks []peers.Worker

func (r sequentialLocks) Lock(ctx context.Context) error {
	for _, w := range r {
		if err := w.Lock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r sequentialLocks) Unlock() error {
	for _, w := range r {
		if err := w.Unlock(); err != nil {
			return err
		}
	}
	return nil
}
