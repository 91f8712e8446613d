package bench

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// HoldResult is the cost of holding many watched locks.
type HoldResult struct {
	Name       string
	Keep       HoldPlan
	Taken      time.Duration // to acquire them all
	Heap       float64       // live bytes per lock, with its name
	HeapNoise  float64       // bytes per lock by which the same heap differs between two readings; 0: it is exact
	Goroutines float64       // per lock
	Client     float64       // cores, while nothing but renewals happened
	Server     float64       // cores
	Renewals   float64       // per second
	Latest     time.Duration // the longest from when a renewal was due to its confirmation; negative: not known
	Late       time.Duration // the same for 99 of 100 renewals, of a sample of the locks; negative: not known
	Looked     uint64        // renewals of that sample
	Lost       int
	Limit      time.Duration // processor time of the server for a renewal of as many locks that is sent back to back; 0: not measured
	Failure    string

	// Pairs per second of the plan's ThroughputWorkers with none held, before and after, and with all; 0: not measured.
	// During is over a whole interval of their renewals, and Slowest is the slowest round of it.
	Before, During, After, Slowest float64

	Stuck string // why During or After was not measured though it should have been; empty: it was

	// Runs are the runs of which the figures above are the medians, except Latest, which is the longest, and Looked and
	// Lost, which are sums. Empty: there was one run.
	Runs []HoldResult `json:",omitempty"`
}

// ClientRenewal returns the client's processor time of a renewal, in seconds. Without a renewal it is not a number.
func (k *HoldResult) ClientRenewal() float64 { return perRenewal(k.Client, k.Renewals) }

// ServerRenewal returns the server's processor time of a renewal, in the same way.
func (k *HoldResult) ServerRenewal() float64 { return perRenewal(k.Server, k.Renewals) }

// ServerToLimit returns the ratio of the server's processor time of a renewal to Limit. It is not a number if that was
// not measured.
func (k *HoldResult) ServerToLimit() float64 {
	if k.Limit == 0 {
		return math.NaN()
	}
	return k.ServerRenewal() / k.Limit.Seconds()
}

func perRenewal(cores, renewals float64) float64 {
	if renewals == 0 {
		return math.NaN()
	}
	return cores / renewals
}

// Baseline returns the throughput with none held: the mean of before and after, which cancels the drift of the machine.
func (k *HoldResult) Baseline() float64 {
	if k.After == 0 { // nothing was released
		return k.Before
	}
	return (k.Before + k.After) / 2
}

const (
	acquireWorkers = 1024 // goroutines that acquire what is to be held
	heldName       = "lockwheel-bench-held"
)

// Hold keeps locks for the plan's leases with lockwheel, and for another one in which it measures how late renewals
// are. Then it measures the throughput beside them. If holdPlan.Peers is set, it also keeps locks for these leases with
// rueidislock and Redisson, the peers that renew, without the throughput. If holdPlan.Limit is set, each run of
// lockwheel is followed by the same renewals, sent back to back.
func Hold(s *Server, p Plan, holdPlan HoldPlan) ([]HoldResult, error) {
	holders := []holder{{holdPlan.contestantName(), holdOurs}}
	if holdPlan.Peers {
		holders = append(holders, holder{peers.Rueidislock.Name, holdRueidislock}, holder{peers.Redisson.Name, holdRedisson})
	}
	runs := make([][]HoldResult, len(holders))
	var limit recordedRenewals
	if holdPlan.Limit {
		p.logf("%d locks are acquired, to record their renewals", holdPlan.Locks)
		var err error
		if limit, err = recordRenewals(s, holdPlan); err != nil {
			return nil, err
		}
	}
	for range p.runs() {
		for i, h := range holders {
			if n := len(runs[i]); n > 0 && runs[i][n-1].Failure != "" {
				continue
			}
			k := HoldResult{Name: h.name, Keep: holdPlan, Latest: -1, Late: -1}
			err := h.hold(&k, s, p)
			if err == nil && i == 0 && holdPlan.Limit {
				k.Limit, err = limit.serverTime(s, 3*p.Round)
			}
			if err != nil {
				k.Failure = err.Error()
			}
			runs[i] = append(runs[i], k)
			if err := s.Clear(); err != nil {
				return nil, err
			}
		}
	}
	var results []HoldResult
	for _, r := range runs {
		results = append(results, combine(r))
	}
	return results, nil
}

// combine returns the result of several runs: of a run that failed, its failure alone.
func combine(runs []HoldResult) HoldResult {
	last := runs[len(runs)-1]
	if len(runs) == 1 || last.Failure != "" {
		return last
	}
	all := HoldResult{Name: last.Name, Keep: last.Keep, Latest: -1, Runs: runs}
	for i := range runs {
		run := &runs[i]
		all.Latest = max(all.Latest, run.Latest)
		all.Looked += run.Looked
		all.Lost += run.Lost
		all.Stuck = cmp.Or(all.Stuck, run.Stuck)
	}
	setMedians(&all, runs,
		func(k *HoldResult) *float64 { return &k.Heap },
		func(k *HoldResult) *float64 { return &k.HeapNoise },
		func(k *HoldResult) *float64 { return &k.Goroutines },
		func(k *HoldResult) *float64 { return &k.Client },
		func(k *HoldResult) *float64 { return &k.Server },
		func(k *HoldResult) *float64 { return &k.Renewals },
		func(k *HoldResult) *float64 { return &k.Before },
		func(k *HoldResult) *float64 { return &k.During },
		func(k *HoldResult) *float64 { return &k.Slowest },
		func(k *HoldResult) *float64 { return &k.After })
	setMedians(&all, runs,
		func(k *HoldResult) *time.Duration { return &k.Taken },
		func(k *HoldResult) *time.Duration { return &k.Limit },
		func(k *HoldResult) *time.Duration { return &k.Late })
	if all.Lost > 0 {
		all.During, all.Slowest = 0, 0 // as in the run that lost some
	}
	return all
}

// setMedians sets figures of a result to their medians of several runs.
func setMedians[R any, T ~int64 | ~float64](all *R, runs []R, figures ...func(*R) *T) {
	for _, figure := range figures {
		*figure(all) = medianOf(runs, figure)
	}
}

func medianOf[R any, T ~int64 | ~float64](runs []R, figure func(*R) *T) T {
	var all []T
	for i := range runs {
		all = append(all, *figure(&runs[i]))
	}
	return measure.Median(all)
}

type holder struct {
	name string
	hold func(*HoldResult, *Server, Plan) error
}

func holdOurs(k *HoldResult, s *Server, p Plan) (err error) {
	config := peers.Config{Addr: s.Addr, Lease: k.Keep.Lease, RenewInterval: k.Keep.Every, Callers: acquireWorkers}
	if k.Before, err = throughputOfNew(config, p); err != nil {
		return err
	}
	// A new engine, which has nothing left from other locks that the held ones could use again.
	ours, err := peers.OpenLockwheel(config)
	if err != nil {
		return err
	}
	defer closeWithTimeout(ours)
	validity, err := measureValidity(ours)
	if err != nil {
		return err
	}
	locks := newHeldLocks(heldName, k.Keep.Locks)
	if err := k.acquire(locks, ours, p); err != nil {
		return err
	}
	if err := k.observe(s, p, processUsage); err != nil {
		return err
	}
	// Afterwards, because the monitor uses processor time itself.
	monitor := startLatenessMonitor(locks.held, k.Keep.RenewInterval(), validity)
	time.Sleep(k.Keep.Lease)
	monitor.end()
	k.Late, k.Looked = monitor.late.Quantile(0.99), monitor.late.Count()
	k.Latest = max(monitor.late.Quantile(1), ours.Engine.Stats().RenewalLag) // of the whole sample, and of the last minute
	p.logf("%s: throughput beside them", k.Name)
	if k.During, k.Slowest, err = throughput(ours, p, k.Keep.RenewInterval()); err != nil {
		k.Stuck = err.Error()
	}
	if k.Lost += locks.lost(); k.Lost > 0 {
		k.During, k.Slowest = 0, 0 // some were not held meanwhile
		return nil                 // and not all can be released
	}
	p.logf("%s: releases them", k.Name)
	if err := locks.release(); err != nil || k.Stuck != "" {
		return err
	}
	if k.After, _, err = throughput(ours, p, 0); err != nil {
		k.Stuck = err.Error()
	}
	return nil
}

func holdRueidislock(k *HoldResult, s *Server, p Plan) error {
	contestant, err := peers.Rueidislock.Open(peers.Config{Addr: s.Addr, Lease: k.Keep.Lease, Callers: acquireWorkers})
	if err != nil {
		return err
	}
	defer closeWithTimeout(contestant)
	locks := newHeldLocks(heldName, k.Keep.Locks)
	if err := k.acquire(locks, contestant.(peers.Holder), p); err != nil {
		return err
	}
	if err := k.observe(s, p, processUsage); err != nil {
		return err
	}
	if k.Lost += locks.lost(); k.Lost > 0 {
		return nil // not all can be released
	}
	return locks.release()
}

func holdRedisson(k *HoldResult, s *Server, p Plan) error {
	redisson := openRedissonRunner(peers.Config{Addr: s.Addr, Lease: k.Keep.Lease}, 1, p)
	defer redisson.close()
	return redisson.hold(k, s, p)
}

// acquire acquires all locks and measures the cost of one. The client holds other locks already, so what it allocates
// once, for as many callers at once, exists and is in use.
func (k *HoldResult) acquire(locks *heldLocks, c peers.Holder, p Plan) error {
	p.logf("%s: acquires %d locks", k.Name, k.Keep.Locks)
	others := newHeldLocks("lockwheel-bench-other", acquireWorkers)
	if err := others.acquire(c); err != nil {
		return err
	}
	heap, goroutines, began := leastHeap(), runtime.NumGoroutine(), time.Now()
	if err := locks.acquire(c); err != nil {
		return err
	}
	k.Taken = time.Since(began)
	k.Goroutines = float64(runtime.NumGoroutine()-goroutines) / float64(k.Keep.Locks)
	k.Heap = float64(leastHeap()-heap) / float64(k.Keep.Locks)
	if k.Lost = others.lost(); k.Lost > 0 {
		return nil // they count, and not all can be released
	}
	return others.release()
}

// leastHeap returns the live heap without temporary objects: the smallest of several readings.
func leastHeap() int64 {
	least := measure.LiveHeap()
	for range 3 {
		time.Sleep(50 * time.Millisecond)
		least = min(least, measure.LiveHeap())
	}
	return least
}

// throughputOfNew returns the throughput of a client that holds nothing.
func throughputOfNew(c peers.Config, p Plan) (float64, error) {
	ours, err := peers.OpenLockwheel(c)
	if err != nil {
		return 0, err
	}
	defer closeWithTimeout(ours)
	pairs, _, err := throughput(ours, p, 0)
	return pairs, err
}

// throughput returns the throughput of an engine that may hold many locks: the mean of the rounds and the slowest one.
// There are as many rounds as the plan says, and more until the span is over. Renewals of locks that were acquired
// together come in one part of an interval, so only a whole interval says what they cost.
func throughput(c peers.Contestant, p Plan, span time.Duration) (mean, slowest float64, err error) {
	e := ownNames("", c, p.ThroughputWorkers, p.Round)
	if _, _, err := e.once(); err != nil {
		return 0, 0, err
	}
	all, slowest := measure.Sample{}, math.Inf(1)
	for rounds := 0; rounds < p.Rounds || all.Took < span; rounds++ {
		pairs, took, err := e.once()
		if err != nil {
			return 0, 0, err
		}
		all.Pairs, all.Took = all.Pairs+pairs, all.Took+took
		slowest = min(slowest, float64(pairs)/took.Seconds())
	}
	return float64(all.Pairs) / all.Took.Seconds(), slowest, nil
}

// observe measures the cost of renewals for the plan's leases, after a first interval, in which they have an order of
// their own.
func (k *HoldResult) observe(s *Server, p Plan, used func() (measure.Usage, error)) error {
	time.Sleep(k.Keep.RenewInterval())
	renewing := []string{"pexpire", "pexpireat"}
	renewed, err := s.Calls(renewing...)
	if err != nil {
		return err
	}
	server, err := s.CPU()
	if err != nil {
		return err
	}
	client, err := used()
	if err != nil {
		return err
	}
	began := time.Now()
	for lease := range p.holdLeases() {
		p.logf("%s: has %d locks, acquired in %.1f s; lease %d of %d passes", k.Name, k.Keep.Locks, k.Taken.Seconds(), lease+1, p.holdLeases())
		time.Sleep(k.Keep.Lease)
	}
	seconds := time.Since(began).Seconds()
	clientThen, err := used()
	if err != nil {
		return err
	}
	k.Client = clientThen.Minus(client).CPU.Seconds() / seconds
	after, err := s.CPU()
	if err != nil {
		return err
	}
	k.Server = (after - server).Seconds() / seconds
	now, err := s.Calls(renewing...)
	k.Renewals = float64(now-renewed) / seconds
	return err
}

// heldLocks is a number of locks to be held.
type heldLocks struct {
	name string // of each, with its number
	held []peers.Held
}

func newHeldLocks(name string, locks int) *heldLocks {
	return &heldLocks{name, make([]peers.Held, locks)}
}

// acquire acquires them all.
func (s *heldLocks) acquire(c peers.Holder) error {
	return s.each("acquiring", func(i int) (err error) {
		s.held[i], err = c.Hold(context.Background(), s.name+"-"+strconv.Itoa(i))
		return err
	})
}

func (s *heldLocks) release() error {
	return s.each("releasing", func(i int) error { return s.held[i].Release() })
}

func (s *heldLocks) lost() (n int) {
	for _, h := range s.held {
		if h.Lost() {
			n++
		}
	}
	return n
}

// each calls f for all of them, from takers goroutines, and returns the first error.
func (s *heldLocks) each(what string, f func(i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var failed error
	var wg sync.WaitGroup
	for range acquireWorkers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(s.held)); i = next.Add(1) - 1 {
				if err := f(int(i)); err != nil {
					once.Do(func() { failed = err })
					return
				}
			}
		})
	}
	timeout := stepTimeout + time.Duration(len(s.held))*100*time.Microsecond
	return withTimeout(what, timeout, func() error {
		wg.Wait()
		return failed
	})
}
