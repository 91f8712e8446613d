package bench

import (
	"context"
	"fmt"

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
	KindMulti     = "Multi of ten"
	TenAsOne      = "ten names, Multi"
	TenSequential = "ten names, one Mutex after the other"
)

const (
	kindNames  = 2048 // goroutines, each with a name of its own
	multiNames = 10   // names of a Multi
)

// KindsOfLock compares lockwheel's kinds of lock, and each with the same kind of another library.
type KindsOfLock struct {
	Alike    []Result // of 2048 goroutines with a name each, or ten: plain first
	Ten      []Result // of one caller that locks ten names and unlocks them, which is one pair: TenAsOne, TenSequential
	Redisson []Result // those of Alike in the same rounds, with the same names
	Quorum   []Result // a majority of three servers, of 2048 goroutines with a name each: lockwheel, redsync
}

// kindOfLock is a kind in both libraries.
type kindOfLock struct {
	name string
	ours func(e *lockwheel.Engine, names []string) peers.Worker
	java string // as the Java program calls it
	each int    // names of a lock
}

// single makes a worker of a lock of one name.
func single(ours func(e *lockwheel.Engine, name string) lockwheel.Mutex) func(*lockwheel.Engine, []string) peers.Worker {
	return func(e *lockwheel.Engine, names []string) peers.Worker { return peers.WorkerOf(ours(e, names[0])) }
}

var kindsOfLock = []kindOfLock{
	{KindPlain, single((*lockwheel.Engine).Mutex), "plain", 1},
	{KindFenced, single((*lockwheel.Engine).FencedMutex), "fenced", 1},
	{KindFair, single((*lockwheel.Engine).FairMutex), "fair", 1},
	{KindWrite, single(func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).Writer() }), "write", 1},
	{KindRead, single(func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() }), "read", 1},
	{KindMulti, workerOfAll, "multi", multiNames},
}

// workerOfAll makes a worker of a lock of several names.
func workerOfAll(e *lockwheel.Engine, names []string) peers.Worker {
	locks := make([]lockwheel.Mutex, len(names))
	for i, name := range names {
		locks[i] = e.Mutex(name)
	}
	return peers.WorkerOfAll(e.Multi(locks...))
}

// Kinds compares lockwheel's kinds of lock, in turn, on one engine. It measures lock and unlock of names of their own
// by 2048 goroutines, and ten names by one caller, atomically and sequentially. Redisson has its turns with the same
// kinds by 2048 goroutines. A quorum of three servers, which are started here, is compared with that of redsync.
func Kinds(s *Server, p Plan) (KindsOfLock, error) {
	var k KindsOfLock
	ours, err := peers.OpenLockwheel(peers.Config{Addr: s.Addr, Callers: kindNames})
	if err != nil {
		return k, err
	}
	defer closeWithTimeout(ours)
	redisson := openRedissonRunner(peers.Config{Addr: s.Addr}, 1, p)
	defer redisson.close()
	if err := k.measureAlike(s, p, ours.Engine, redisson); err != nil {
		return k, err
	}
	if err := k.measureTen(s, p, ours.Engine); err != nil {
		return k, err
	}
	if err := s.Clear(); err != nil { // of the counters of tokens
		return k, err
	}
	k.Quorum, err = quorums(s, p)
	return k, err
}

// measureAlike compares the kinds, each with names of its own that are as long as the others': a name is of one kind.
func (k *KindsOfLock) measureAlike(s *Server, p Plan, e *lockwheel.Engine, redisson redissonRunner) error {
	var entries []entry
	for i, kind := range kindsOfLock {
		prefix := fmt.Sprintf("lockwheel-bench-%d-", i)
		workers := make([]peers.Worker, kindNames)
		for n := range workers {
			names := make([]string, kind.each)
			for j := range names {
				names[j] = fmt.Sprint(prefix, n*kind.each+j)
			}
			workers[n] = kind.ours(e, names)
		}
		java := peers.JavaLocks{Kind: kind.java, Prefix: prefix, Each: kind.each}
		if err := redisson.warmUp(java, p.kindWarmUp()); err != nil {
			return err
		}
		entries = append(entries, workerEntry(kind.name, workers, p.Round), redisson.pairOf(kind.name, java, kindNames, p.Round))
	}
	results, err := runInterleaved(s, p.Rounds, entries)
	for i, result := range results {
		if i%2 == 0 {
			k.Alike = append(k.Alike, result)
		} else {
			k.Redisson = append(k.Redisson, result)
		}
	}
	return err
}

// measureTen compares ten names atomically and sequentially, by one caller with a context that can end.
func (k *KindsOfLock) measureTen(s *Server, p Plan, e *lockwheel.Engine) (err error) {
	var names []string
	var row sequentialLocks
	for i := range multiNames {
		names = append(names, nameOf(i))
		row = append(row, peers.WorkerOf(e.Mutex(names[i])))
	}
	k.Ten, err = runInterleaved(s, p.Rounds, []entry{
		workerEntry(TenAsOne, []peers.Worker{workerOfAll(e, names)}, p.Round),
		workerEntry(TenSequential, []peers.Worker{row}, p.Round),
	})
	return err
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
