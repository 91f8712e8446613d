package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// tiny is a plan that takes almost no time; its figures mean nothing.
var tiny = Plan{
	Rounds: 1, Round: 20 * time.Millisecond, ContendedRound: 30 * time.Millisecond, WarmUp: 300 * time.Millisecond,
	Goroutines: []int{1, 2}, Contenders: []int{2}, Holds: []HoldPlan{{Locks: 10, Lease: time.Second}},
	ThroughputWorkers: 8,
	Calls:             20, OpenLoop: 100 * time.Millisecond, WithHeld: HoldPlan{Locks: 100, Lease: 3 * time.Second},
	Gateway:   100 * time.Millisecond,
	Handovers: 4,
}

// leftOut reports whether Redisson takes no part because there is no Java.
func leftOut(t *testing.T, name, failure string) bool {
	if name != peers.Redisson.Name || failure == "" || redisson.Required() {
		return false
	}
	why, out := strings.CutPrefix(peers.RedissonVersion(), "left out: ")
	if !out || failure != why {
		return false
	}
	t.Log(failure)
	return true
}

// Pair has figures of every contestant.
func TestPair_AllContestants_Measured(t *testing.T) {
	results, err := Pair(openServer(t, ""), tiny, 4)
	require.NoError(t, err)
	require.Len(t, results, len(peers.All()))
	for _, s := range results {
		if leftOut(t, s.Name, s.Failure) {
			continue
		}
		require.Empty(t, s.Failure, s.Name)
		require.Len(t, s.Samples, 1)
		require.Positive(t, s.PairsPerSecond(), s.Name)
		require.Positive(t, s.BytesPerPair(), s.Name)
		require.Equal(t, s.Name == peers.Redisson.Name, s.AllocsPerPair() == 0, s.Name)
	}
}

// Hot measures every contestant, with one client and with two, and the lock never has two holders.
func TestHot_AllContestants_NoOverlap(t *testing.T) {
	s := openServer(t, "")
	for clients := range 2 {
		contended, err := Hot(s, tiny, 3, clients+1)
		require.NoError(t, err)
		require.Len(t, contended, len(peers.All())+1)
		for _, f := range contended {
			if leftOut(t, f.Name, f.Failure) {
				continue
			}
			require.Empty(t, f.Failure, f.Name)
			require.Zero(t, f.Overlaps, f.Name)
			require.LessOrEqual(t, f.Fewest, f.Most, f.Name)
			require.InDelta(t, 1, f.Shares[0]+f.Shares[1], 1e-9)
		}
	}
}

// Hold keeps the locks of every contestant without a loss, and measures their renewals.
func TestHold_AllContestants_NothingLost(t *testing.T) {
	results, err := Hold(openServer(t, ""), tiny, HoldPlan{Locks: 200, Lease: 5 * time.Second, Peers: true, Limit: true})
	require.NoError(t, err)
	require.Len(t, results, 3)
	require.Positive(t, results[0].Limit)
	for _, k := range results {
		if leftOut(t, k.Name, k.Failure) {
			continue
		}
		require.Empty(t, k.Failure, k.Name)
		require.Zero(t, k.Lost, k.Name)
		require.Positive(t, k.Renewals, k.Name)
	}
	ours := results[0]
	require.Positive(t, ours.Slowest)
	require.GreaterOrEqual(t, ours.During, ours.Slowest)
	require.Positive(t, ours.Baseline())
	require.GreaterOrEqual(t, ours.Looked, uint64(2*200), "each lock is looked at, and renewed more than once a lease")
	require.GreaterOrEqual(t, ours.Late, time.Duration(0))
	require.Negative(t, results[1].Late, "not known")
}

// Runs of Hold are combined to their medians, their longest lateness and the sum of what was lost; a failure is the
// result alone.
func TestHold_Runs_Combined(t *testing.T) {
	runs := []HoldResult{{Heap: 3, Late: 5, Latest: 9, Lost: 1, During: 7}, {Heap: 1, Late: 4, Latest: 8, During: 5}, {Heap: 2, Late: 6, Latest: 7, During: 6}}
	all := combine(runs)
	require.Equal(t, HoldResult{Heap: 2, Late: 5, Latest: 9, Lost: 1, Runs: runs}, all)
	runs[0].Lost = 0
	require.Equal(t, 6.0, combine(runs).During)
	require.Equal(t, runs[0], combine(runs[:1]))
	runs[2].Failure = "hangs"
	require.Equal(t, runs[2], combine(runs))
}

// Scale holds the locks without a loss, and measures each figure of a renewal. Runs are combined to their medians.
func TestScale_LocksHeld_RenewalsMeasured(t *testing.T) {
	p := tiny
	p.Runs = 2
	r, err := Scale(openServer(t, ""), p, HoldPlan{Locks: 5000, Lease: 1500 * time.Millisecond})
	require.NoError(t, err)
	require.Empty(t, r.Failure)
	require.Zero(t, r.Lost)
	require.Len(t, r.Runs, 2)
	require.InDelta(t, 10_000, r.Renewals, 7_500, "three renewals a lease")
	for what, figure := range map[string]float64{
		"keys": r.Keys, "memory": r.Memory, "in": r.In, "out": r.Out, "client": float64(r.Client), "slack": float64(r.Slack), "latest": float64(r.Latest),
	} {
		require.Positive(t, figure, what)
	}
	require.Less(t, r.Slack, time.Second, "of a lease of 1.5 s, renewed every 0.5 s")
	once, err := Scale(openServer(t, ""), p, HoldPlan{Locks: 10, Lease: time.Second, Once: true})
	require.NoError(t, err)
	require.Empty(t, once.Runs)
}

// Sizing measures the constants, and what they predict for one server and for a cluster.
func TestSizing_ServerAndCluster_Predicted(t *testing.T) {
	p := tiny
	p.Sizes = []HoldPlan{{Locks: 3 * p.WithHeld.Locks, Lease: 1500 * time.Millisecond}}
	p.ManyHeld = HoldPlan{Locks: 1000, Lease: 1500 * time.Millisecond}
	m, err := Sizing(openServer(t, ""), p)
	require.NoError(t, err)
	require.Empty(t, m.Failure)
	require.Len(t, m.Checks, 2)
	for i := range m.Checks {
		c := &m.Checks[i]
		require.Empty(t, c.Failure)
		for _, f := range []SizingFigures{c.Measured, c.Expected} {
			require.Positive(t, f.Pairs)
			require.Positive(t, f.Renewals)
			require.Positive(t, f.Client)
		}
	}
	require.Equal(t, SizingMasters, m.Checks[1].Masters)
	require.Positive(t, m.Many.Pair.Server)
	require.Positive(t, m.Many.Renewal.Server)
	require.Positive(t, m.ClusterMore.Renewal.Server)
	require.Positive(t, m.Waiter)
}

// Costs grow with the logarithm of the locks that a master has, from the smaller of the measured sizes to the larger.
func TestSizing_MoreLocks_CostMore(t *testing.T) {
	cost := func(us time.Duration) SizingCost { return SizingCost{Server: us * time.Microsecond, In: 100} }
	m := &SizingResult{FewLocks: 100, ManyLocks: 10_000, One: SizingConstants{Pair: cost(10), Renewal: cost(4), Cores: 1}, Many: SizingConstants{Pair: cost(20), Renewal: cost(6), Cores: 1.4},
		Cluster: SizingConstants{Pair: cost(30), Renewal: cost(8), Cores: 1.5}}
	for locks, part := range map[float64]float64{1: 0, 100: 0, 1000: 0.5, 10_000: 1, 1e9: 1} {
		one, cluster := m.Constants(locks, 1), m.Constants(3*locks, 3)
		require.InDelta(t, 10+10*part, inMicros(one.Pair.Server), 0.01, locks)
		require.InDelta(t, 4+2*part, inMicros(one.Renewal.Server), 0.01, locks)
		require.InDelta(t, 1+0.4*part, one.Cores, 0.01, locks)
		require.InDelta(t, 30*(1+part), inMicros(cluster.Pair.Server), 0.01, "by as much as on one server")
		require.InDelta(t, 100, one.Pair.In, 0.01, "bytes do not grow")
	}
	m.MoreLocks, m.ClusterMore = 900, SizingConstants{Pair: cost(24), Renewal: cost(6), Cores: 1.6}
	for locks, want := range map[float64]float64{100: 30, 300: 27, 900: 24} {
		require.InDelta(t, want*(1+logPart(locks/3, 100, 10_000)), inMicros(m.Constants(locks, 3).Pair.Server), 0.01, "more locks of a slot: %v", locks)
	}
	require.InDelta(t, 1.6+0.4, m.Constants(1e9, 3).Cores, 0.01)
	m.ManyLocks = 0
	require.Equal(t, m.One, m.Constants(1e9, 1), "many locks were not measured")
}

func inMicros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// The model takes what renewals cost from the processors that pairs have.
func TestSizing_Expect(t *testing.T) {
	m := &SizingConstants{Pair: SizingCost{Client: 4 * time.Microsecond, Server: 6 * time.Microsecond},
		Renewal: SizingCost{Client: 2 * time.Microsecond, Server: 3 * time.Microsecond}, Cores: 1.5}
	require.InDelta(t, 150_000, m.expect(0).Pairs, 1)
	e := m.expect(100_000) // they need half a core
	require.InDelta(t, 100_000, e.Pairs, 1)
	require.InDelta(t, 0.2+0.4, e.Client, 1e-6)
	require.InDelta(t, 0.3+0.6, e.Server, 1e-6)
}

// What has no rounds runs as often as the plan says, and each run has its quantiles.
func TestSteady_Runs_EachHasQuantiles(t *testing.T) {
	p := tiny
	p.Runs = 2
	loads, err := Steady(openServer(t, ""), p)
	require.NoError(t, err)
	for _, l := range loads {
		require.Empty(t, l.Failure, l.Name)
		require.Len(t, l.Runs, 2)
		require.EqualValues(t, 200, l.Called.Count())
	}
}

// fakeHold is a hold with a deadline that the test sets.
type fakeHold struct {
	peers.Held
	deadline time.Time
}

func (c *fakeHold) Deadline() time.Time { return c.deadline }

// Lateness counts from the time a renewal was due until the hold's deadline has moved.
func TestLateness_DueToDeadlineMoved(t *testing.T) {
	const renew, validity = 10 * time.Second, 29 * time.Second
	began := time.Now()
	a, b := &fakeHold{deadline: began.Add(validity)}, &fakeHold{deadline: began.Add(validity + time.Second)}
	l := &latenessMonitor{renew: renew, validity: validity, renewals: renewalHeap{{a, a.deadline}, {b, b.deadline}}}
	at := func(d time.Duration, last bool) { l.sample(began.Add(d), last) }
	at(renew-1, false)
	require.Zero(t, l.late.Count(), "none is due")
	at(renew+time.Second, false)
	require.Zero(t, l.late.Count(), "both are, and not confirmed")
	b.deadline = b.deadline.Add(renew)
	at(renew+1500*time.Millisecond, false)
	require.EqualValues(t, 1, l.late.Count(), "the later one was")
	require.Equal(t, 500*time.Millisecond, l.late.Max())
	at(renew+2*time.Second, true)
	require.EqualValues(t, 2, l.late.Count(), "at the end those that are overdue count as well")
	require.Equal(t, 2*time.Second, l.late.Max())
}

// Kinds measures every kind of lock, and ten locks together and one by one.
func TestKinds_EveryKindAndTen_Measured(t *testing.T) {
	s := openServer(t, "")
	k, err := Kinds(s, tiny)
	require.NoError(t, err)
	require.Len(t, k.Alike, 6)
	require.Len(t, k.Ten, 2)
	require.Len(t, k.Redisson, 6)
	require.Len(t, k.Quorum, 2)
	for _, result := range slices.Concat(k.Alike, k.Ten, k.Quorum) {
		require.Empty(t, result.Failure, result.Name)
		require.Positive(t, result.PairsPerSecond(), result.Name)
	}
	for i, name := range []string{KindPlain, KindFenced, KindFair, KindWrite, KindRead, KindMulti} {
		require.Equal(t, name, k.Redisson[i].Name)
		if !leftOut(t, peers.Redisson.Name, k.Redisson[i].Failure) {
			require.Empty(t, k.Redisson[i].Failure, name)
			require.Positive(t, k.Redisson[i].PairsPerSecond(), name)
		}
	}
}

// A steady load lasts at least two renewal intervals of the locks that are held beside it.
func TestPlan_SteadyLoad_SpansTwoRenewals(t *testing.T) {
	for name, p := range map[string]Plan{"quick": Quick, "full": Full} {
		require.GreaterOrEqual(t, p.OpenLoop, 2*p.WithHeld.RenewInterval(), name)
	}
}

// The full set uses leases of 30 s; peers hold up to 100 000 locks, and lockwheel a million.
func TestPlan_FullSet_MillionLocksOnlyOurs(t *testing.T) {
	var peersUpTo, most int
	for _, holdPlan := range Full.Holds {
		require.Equal(t, peers.Lease, holdPlan.Lease)
		most = max(most, holdPlan.Locks)
		if holdPlan.Peers {
			peersUpTo = max(peersUpTo, holdPlan.Locks)
		}
	}
	require.Equal(t, []int{100_000, 1_000_000}, []int{peersUpTo, most})
}

// Latency and Wake have figures of every contestant that can run them.
func TestLatencyAndWake_Contestants_Measured(t *testing.T) {
	s := openServer(t, "")
	alone, err := OneCaller(s, tiny)
	require.NoError(t, err)
	require.Len(t, alone, 8)
	for _, a := range alone {
		require.Empty(t, a.Failure, a.Name)
		require.EqualValues(t, tiny.Calls, a.Lock.Count(), a.Name)
	}
	loads, err := Steady(s, tiny)
	require.NoError(t, err)
	require.Len(t, loads, 8)
	for _, l := range loads {
		require.Empty(t, l.Failure, l.Name)
		require.EqualValues(t, 100, l.FromDue.Count(), l.Name)
		require.LessOrEqual(t, l.Called.Max(), l.FromDue.Max())
	}
	latencies, err := Wake(s, tiny)
	require.NoError(t, err)
	for _, w := range latencies {
		require.Empty(t, w.Failure, w.Name)
		require.EqualValues(t, tiny.Handovers, w.Took.Count(), w.Name)
	}
}

// Ceiling measures the server alone, with as many keys a call as Pair sends and with its very calls. It also measures a
// caller in a bare loop, and renewals that are sent back to back.
func TestCeiling_ManyKeysPerCall_Measured(t *testing.T) {
	c, err := Ceiling(openServer(t, ""), tiny)
	require.NoError(t, err)
	require.Greater(t, c.Sent, 1)
	require.Greater(t, c.Keys, 1.0)
	require.Len(t, c.Standings, 4)
	require.Len(t, c.One, 5)
	require.Len(t, c.Renew, 2)
	for _, s := range slices.Concat(c.Standings, c.One, c.Renew) {
		require.Empty(t, s.Failure, s.Name)
		require.Positive(t, s.PairsPerSecond(), s.Name)
	}
	require.Nil(t, Find(c.Standings, "unknown"))
}

// fakeWorker is a worker with functions that the test sets.
type fakeWorker struct {
	lock func(ctx context.Context) error
}

func (f fakeWorker) Lock(ctx context.Context) error { return f.lock(ctx) }
func (f fakeWorker) Unlock() error                  { return nil }

// A group of workers counts each pair of Lock and Unlock, and runs for the given time.
func TestWorkerGroup_Run_CountsEveryPair(t *testing.T) {
	var locked atomic.Int64
	worker := fakeWorker{func(context.Context) error { locked.Add(1); time.Sleep(time.Millisecond); return nil }}
	pairs, took, err := prepared(&workerGroup{workers: []peers.Worker{worker, worker}}).run(30 * time.Millisecond)
	require.NoError(t, err)
	require.EqualValues(t, locked.Load(), pairs)
	require.GreaterOrEqual(t, took, 30*time.Millisecond)
}

// A pair that warms a worker up is done before run, and does not count.
func TestWorkerGroup_WarmUp_NotCounted(t *testing.T) {
	var locked atomic.Int64
	worker := fakeWorker{func(context.Context) error { locked.Add(1); return nil }}
	group := prepared(&workerGroup{workers: []peers.Worker{worker, worker}, warmUp: true})
	require.EqualValues(t, 2, locked.Load())
	pairs, _, err := group.run(time.Millisecond)
	require.NoError(t, err)
	require.EqualValues(t, locked.Load()-2, pairs)
}

// Throughput beside held locks lasts as long as it is told, also if the plan has fewer rounds, and has its slowest
// round.
func TestThroughput_Span_Lasted(t *testing.T) {
	p := Plan{Rounds: 1, Round: 5 * time.Millisecond, ThroughputWorkers: 1}
	began := time.Now()
	mean, slowest, err := throughput(fakeContestant{}, p, 30*time.Millisecond)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)
	require.Positive(t, slowest)
	require.GreaterOrEqual(t, mean, slowest)
}

// fakeContestant has workers that take a millisecond.
type fakeContestant struct{}

func (fakeContestant) Close() {}
func (fakeContestant) Worker(string, int) peers.Worker {
	return fakeWorker{func(context.Context) error { time.Sleep(time.Millisecond); return nil }}
}

// A group of workers that ends the waits of its workers reports no failure.
func TestWorkerGroup_WaitsEnded_NoFailure(t *testing.T) {
	waits := fakeWorker{func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	pairs, _, err := prepared(&workerGroup{workers: []peers.Worker{waits}, endWaits: true}).run(time.Millisecond)
	require.NoError(t, err)
	require.Zero(t, pairs)
}

// A group of workers stops at the first failure and returns it.
func TestWorkerGroup_FirstFailure_Stops(t *testing.T) {
	bad := errors.New("bad")
	broken := fakeWorker{func(context.Context) error { return bad }}
	good := fakeWorker{func(context.Context) error { return nil }}
	began := time.Now()
	_, _, err := prepared(&workerGroup{workers: []peers.Worker{good, broken}}).run(time.Minute)
	require.ErrorIs(t, err, bad)
	require.Less(t, time.Since(began), 30*time.Second)
}

// A contestant that fails runs no further rounds; the others do.
func TestRounds_ContestantFails_OthersGoOn(t *testing.T) {
	calls := 0
	results, err := runInterleaved(openServer(t, ""), 3, []entry{
		{name: "good", run: func() (int, time.Duration, error) { return 2, time.Second, nil }},
		{name: "bad", run: func() (int, time.Duration, error) { calls++; return 0, 0, errors.New("hangs") }},
	})
	require.NoError(t, err)
	require.Equal(t, "hangs", results[1].Failure)
	require.Equal(t, 1, calls)
	require.Len(t, results[0].Samples, 3, "the first round does not count")
	require.Equal(t, 2.0, results[0].PairsPerSecond())
}

// A function that hangs is left behind, and the error names it.
func TestTimeout_FunctionHangs_Named(t *testing.T) {
	require.NoError(t, withTimeout("this", time.Minute, func() error { return nil }))
	block := make(chan struct{})
	defer close(block)
	err := withTimeout("that", time.Millisecond, func() error { <-block; return nil })
	require.EqualError(t, err, "hangs: that did not end within 1ms")
}

// The summary of a round has the shares of both clients, and whether one of them stalled.
func TestRound_Summary_UnfairAndStalled(t *testing.T) {
	half := time.Now()
	a := &contentionRun{}
	a.contenders[0] = []*contender{{grants: 6, last: half.Add(-2)}, {grants: 2, longest: 9}}
	a.contenders[1] = []*contender{{grants: 2, longest: 3}}
	require.Equal(t, roundResult{fewest: 2, most: 6, shares: [2]float64{0.8, 0.2}, longest: 9, stalled: true}, a.summarize(10, half))
	a.contenders[1][0].last = half.Add(1)
	require.False(t, a.summarize(10, half).stalled)
	a.rounds = []roundResult{{most: 99}, {fewest: 1, most: 3, longest: 5, shares: [2]float64{1, 0}}}
	f := a.result(Result{})
	require.Equal(t, []int{1, 3}, []int{f.Fewest, f.Most}, "the first round does not count")
	require.Equal(t, measure.Median([]time.Duration{5}), f.LongestWait)
}

func prepared(group *workerGroup) *workerGroup {
	group.prepare()
	return group
}
