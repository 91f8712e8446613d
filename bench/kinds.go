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
	TenAsOne      = "ten names, Multi"
	TenSequential = "ten names, one Mutex after the other"
)

const (
	kindNames  = 2048 // goroutines, each with a name of its own
	multiNames = 10   // names of a Multi
)

// KindsOfLock compares lockwheel's kinds of lock, and each with the same kind of another library.
type KindsOfLock struct {
	Alike []Result // of 2048 goroutines with a name each, plain first
	Ten   []Result // of one caller that locks ten names and unlocks them, which is one pair: TenAsOne, TenSequential
	// Redisson's, in the same rounds: those of Alike, and of TenAsOne its MultiLock. They have the same names.
	Redisson []Result
	Quorum   []Result // a majority of three servers, of 2048 goroutines with a name each: lockwheel, redsync
}

// kindOfLock is a kind in both libraries.
type kindOfLock struct {
	name string
	ours func(e *lockwheel.Engine, name string) lockwheel.Mutex
	java string // as the Java program calls it
}

var kindsOfLock = []kindOfLock{
	{KindPlain, (*lockwheel.Engine).Mutex, "plain"},
	{KindFenced, (*lockwheel.Engine).FencedMutex, "fenced"},
	{KindFair, (*lockwheel.Engine).FairMutex, "fair"},
	{KindWrite, func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).Writer() }, "write"},
	{KindRead, func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() }, "read"},
}

// Kinds compares lockwheel's kinds of lock, in turn, on one engine. It measures lock and unlock of names of their own
// by 2048 goroutines, and ten names by one caller, atomically and sequentially. Redisson has its turns with the same
// kinds. A quorum of three servers, which are started here, is compared with that of redsync.
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
	if err := k.measureTen(s, p, ours.Engine, redisson); err != nil {
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
			workers[n] = peers.WorkerOf(kind.ours(e, fmt.Sprint(prefix, n)))
		}
		java := peers.JavaLocks{Kind: kind.java, Prefix: prefix, Each: 1}
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
func (k *KindsOfLock) measureTen(s *Server, p Plan, e *lockwheel.Engine, redisson redissonRunner) error {
	var locks []lockwheel.Mutex
	var row sequentialLocks
	for i := range multiNames {
		m := e.Mutex(nameOf(i))
		locks, row = append(locks, m), append(row, peers.WorkerOf(m))
	}
	java := peers.JavaLocks{Kind: "multi", Prefix: "lockwheel-bench-", Each: multiNames}
	if err := redisson.warmUp(java, p.kindWarmUp()); err != nil {
		return err
	}
	results, err := runInterleaved(s, p.Rounds, []entry{
		workerEntry(TenAsOne, []peers.Worker{peers.WorkerOfAll(e.Multi(locks...))}, p.Round),
		workerEntry(TenSequential, []peers.Worker{row}, p.Round),
		redisson.pairOf(TenAsOne, java, 1, p.Round),
	})
	if err == nil {
		k.Ten, k.Redisson = results[:2], append(k.Redisson, results[2])
	}
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
