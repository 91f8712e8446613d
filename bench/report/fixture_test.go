package main

import (
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/bench/revisions"
)

// fixture returns invented results, which meet every goal except that of the hand-over.
func fixture() *results {
	r := newResults()
	began := time.Date(2001, 2, 3, 4, 5, 0, 0, time.UTC)
	for i, s := range r.sections() {
		s.end(measurement{Began: began.Add(time.Duration(i) * time.Minute), Took: 42 * time.Second, Set: "made up", Machine: fixtureMachine()})
	}
	for _, n := range []int{1, 16, 2048} {
		r.pair.Figures = append(r.pair.Figures, pairRun{n, []bench.Result{
			fixtureResult("lockwheel", 200_000), fixtureResult("direct", 80_000), fixtureResult("rueidislock", 50_000), fixtureResult("redislock", 30_000),
			fixtureResult("redsync", 20_000), fixtureResult("redisson", 15_000),
		}})
	}
	r.pair.Figures[1].Standings[5] = bench.Result{Name: "redisson", Failure: "left out: no Java"}
	r.pair.Figures[2].Standings[1].Samples[0].Client.CPU *= 3
	r.ceiling.Figures = bench.CeilingResult{Keys: 99.5, Sent: 100, Standings: []bench.Result{
		fixtureResult(bench.CeilingPair, 200_000), fixtureResult(bench.CeilingBatched, 240_000), fixtureResult(bench.CeilingSingle, 120_000),
		fixtureResult(bench.CeilingReplayed, 230_000),
	}, One: []bench.Result{fixtureResult(bench.CeilingPair, 5000), fixtureResult(bench.CeilingLoop, 9000)},
		Renew: []bench.Result{fixtureResult(bench.CeilingPair, 100_000), fixtureResult(bench.CeilingRenewed, 600_000)}}
	r.kinds.Figures = bench.KindsOfLock{
		Alike: []bench.Result{
			fixtureResult(bench.KindPlain, 200_000), fixtureResult(bench.KindFenced, 150_000), fixtureResult(bench.KindFair, 90_000),
			fixtureResult(bench.KindWrite, 110_000), fixtureResult(bench.KindRead, 100_000), fixtureResult(bench.KindMulti, 9000),
		},
		Ten: []bench.Result{fixtureResult(bench.TenAsOne, 6000), fixtureResult(bench.TenSequential, 1000)},
		Redisson: []bench.Result{
			fixtureResult(bench.KindPlain, 18_000), fixtureResult(bench.KindFenced, 17_000), fixtureResult(bench.KindFair, 16_000),
			fixtureResult(bench.KindWrite, 15_000), fixtureResult(bench.KindRead, 14_000), fixtureResult(bench.KindMulti, 1300),
		},
		Quorum: []bench.Result{fixtureResult("lockwheel", 30_000), fixtureResult("redsync", 7000)},
	}
	for _, clients := range []int{1, 2} {
		for _, n := range []int{8, 64} {
			r.hot.Figures = append(r.hot.Figures, hotRun{clients, n, []bench.ContendedResult{
				fixtureContended("lockwheel", 450_000), fixtureContended("direct", 7000), fixtureContended("rueidislock", 9000),
			}})
		}
	}
	r.wake.Figures = []*bench.HandoverLatency{fixtureHandover("lockwheel", 400*time.Microsecond), fixtureHandover(bench.PingRueidis, 100*time.Microsecond), fixtureHandover("rueidislock", 450*time.Microsecond),
		fixtureHandover(bench.HandoverPlain, 320*time.Microsecond)}
	r.latency.Figures = latency{
		Alone: []*bench.SingleCaller{fixtureSingleCaller("lockwheel", 33*time.Microsecond), fixtureSingleCaller(bench.DirectEnding, 30*time.Microsecond), fixtureSingleCaller(bench.PingEnding, 29*time.Microsecond)},
		Loads: []*bench.Load{fixtureLoad("lockwheel", 0, 300*time.Microsecond), fixtureLoad("lockwheel", 100_000, 500*time.Microsecond), fixtureLoad("direct", 0, 250*time.Microsecond)},
	}
	r.gateway.Figures = []*bench.GatewayResult{
		fixtureGateway("lockwheel", 310*time.Microsecond), fixtureGateway("redislock", 500*time.Microsecond), fixtureGateway("redsync", 600*time.Microsecond),
		fixtureGateway("rueidislock", 350*time.Microsecond), fixtureGateway(peers.PingPair.Name, 290*time.Microsecond), fixtureGateway(peers.Unlocked.Name, 0),
	}
	r.hold.Figures = []bench.HoldResult{
		fixtureHold("lockwheel", 1000, 280), fixtureHold("rueidislock", 1000, 1700), fixtureHold("redisson", 1000, 900),
		fixtureHold("lockwheel", 1_000_000, 280), fixtureHold("lockwheel", 100_000, 280), fixtureHold("redisson", 100_000, 900),
	}
	r.hold.Figures[3].Server, r.hold.Figures[3].Limit = 0.13, time.Microsecond
	java := &r.hold.Figures[2]
	java.HeapNoise, java.Late, java.Latest, java.During = 950, -1, -1, 0
	r.hold.Figures[1].During = 0
	r.scale.Figures = []*bench.ScaleResult{fixtureScale(1000), fixtureScale(10_000_000), {Keep: bench.HoldPlan{Locks: 100}, Failure: "hangs"}}
	constants := bench.SizingConstants{Pair: bench.SizingCost{Client: 3 * time.Microsecond, Server: 4 * time.Microsecond},
		Renewal: bench.SizingCost{Client: 2 * time.Microsecond, Server: 3 * time.Microsecond}, Cores: 1.4}
	r.sizing.Figures = &bench.SizingResult{One: constants, Cluster: constants, Checks: []bench.SizingCheck{fixtureSizing(0, 1.1), fixtureSizing(3, 0.9)}}
	r.flood.Figures = []*bench.FloodResult{fixtureFlood(bench.FloodAsync, false, 1_000_000), fixtureFlood(bench.FloodAsync, true, 1_000_000), fixtureFlood("rueidislock", true, 1000)}
	r.flood.Figures[2].Failure = "posting: hangs"
	r.flood.Figures[2].Phases = r.flood.Figures[2].Phases[:2]
	for _, l := range beforeLoads(bench.Full) {
		r.before.Figures = append(r.before.Figures, beforeRun{l.what, 1, []*revisions.Figure{
			{What: revisions.Speed, Then: []float64{100, 200}, Now: []float64{120, 200}}, {What: "CPU of a pair, µs", Decimals: 2, Then: []float64{4, 4}, Now: []float64{3, 4.1}},
		}})
	}
	r.planted.Figures = []*bench.PlantedResult{{Kind: "hash", Stored: 1, Tries: 50, Longest: time.Millisecond}, {Kind: "hash", Stored: 1000, Tries: 50, Longest: 3 * time.Millisecond}}
	for name, n := range map[string]int{bench.FloodReaders: 100_000, bench.FloodGranted: 100_000, bench.FloodParts: 50_000} {
		r.flood.Figures = append(r.flood.Figures, fixtureFlood(name, false, n))
	}
	return r
}

func fixtureMachine() machine {
	return machine{"3 cores, an abacus", "plan9/mips", "Redis 0.0.1", map[string]string{peers.Lockwheel.Module: "abc1234", peers.Direct.Module: "v9"}}
}

func fixtureResult(name string, speed int) bench.Result {
	s := bench.Result{Name: name}
	s.Add(measure.Sample{Pairs: speed, Took: time.Second, Server: time.Duration(speed) * time.Microsecond,
		Client: measure.Usage{CPU: time.Duration(speed) * 2 * time.Microsecond, Bytes: uint64(speed) * 311, Allocs: uint64(speed)}})
	return s
}

func fixtureContended(name string, speed int) bench.ContendedResult {
	return bench.ContendedResult{Result: fixtureResult(name, speed), Fewest: 10, Most: 20, Shares: [2]float64{0.4, 0.6},
		MedianLongest: 11 * time.Millisecond, LongestWait: 13 * time.Millisecond}
}

func fixtureHandover(name string, took time.Duration) *bench.HandoverLatency {
	w := &bench.HandoverLatency{Name: name}
	w.Took.Record(took)
	w.Turns = append(w.Turns, w.Took.Quantiles())
	return w
}

func fixtureSingleCaller(name string, took time.Duration) *bench.SingleCaller {
	a := &bench.SingleCaller{Name: name}
	a.Lock.Record(took)
	a.Unlock.Record(took)
	a.Locks, a.Unlocks = append(a.Locks, a.Lock.Quantiles()), append(a.Unlocks, a.Unlock.Quantiles())
	return a
}

// fixtureGateway returns requests of 5.1 ms and more, with what the lock adds in two rounds, the second of which took
// longer.
func fixtureGateway(name string, added time.Duration) *bench.GatewayResult {
	g := &bench.GatewayResult{Name: name}
	for _, slow := range []time.Duration{0, time.Millisecond} {
		g.Rounds = append(g.Rounds, measure.Quantiles{
			P50: 5100*time.Microsecond + slow + added, P99: 5700*time.Microsecond + slow + 2*added, P999: 6300*time.Microsecond + slow + 3*added,
		})
	}
	return g
}

func fixtureLoad(name string, held int, took time.Duration) *bench.Load {
	l := &bench.Load{Name: name, Held: held}
	l.Called.Record(took)
	l.FromDue.Record(2 * took)
	l.Runs = append(l.Runs, bench.LoadRun{Called: l.Called.Quantiles(), FromDue: l.FromDue.Quantiles()})
	return l
}

func fixtureScale(locks int) *bench.ScaleResult {
	one := bench.ScaleResult{Keep: bench.HoldPlan{Locks: locks, Lease: 30 * time.Second}, Taken: time.Second, Heap: 290, Memory: 150, Renewals: float64(locks) / 10, Keys: 100,
		Client: 2 * time.Microsecond, Server: 3 * time.Microsecond, In: 90, Out: 5, Latest: 5 * time.Second, Slack: 20 * time.Second}
	slower := one
	slower.Client = 4 * time.Microsecond
	all := one
	all.Runs = []bench.ScaleResult{one, slower}
	return &all
}

// fixtureSizing returns a check of which the expected pairs are wrong by a factor.
func fixtureSizing(masters int, wrong float64) bench.SizingCheck {
	figures := bench.SizingFigures{Pairs: 200_000, Renewals: 10_000, Client: 0.6, Server: 0.8}
	c := bench.SizingCheck{Masters: masters, Keep: bench.HoldPlan{Locks: 100_000, Lease: 30 * time.Second}, Measured: figures, Expected: figures}
	c.Expected.Pairs *= wrong
	return c
}

func fixtureHold(name string, locks int, heap float64) bench.HoldResult {
	return bench.HoldResult{Name: name, Keep: bench.HoldPlan{Locks: locks, Lease: 30 * time.Second}, Taken: 1500 * time.Millisecond, Heap: heap, Client: 0.1, Server: 0.2,
		Renewals: float64(locks) / 10, Late: 70 * time.Millisecond, Latest: 90 * time.Millisecond, Before: 210_000, During: 190_000, Slowest: 150_000, After: 190_000}
}

func fixtureFlood(name string, own bool, waiters int) *bench.FloodResult {
	f := &bench.FloodResult{Name: name, Own: own, Waiters: waiters, Held: 2000, Before: bench.Footprint{Goroutines: 20, RSS: 30_000_000}, After: bench.Footprint{Goroutines: 20, RSS: 40_000_000}}
	phases := []string{bench.FloodBefore, bench.FloodPosting, bench.FloodSubscribing, bench.FloodWaiting, bench.FloodMessages, bench.FloodCanceling, bench.FloodLeaving}
	if f.Holds() {
		phases = []string{bench.FloodBefore, bench.FloodGranting, bench.FloodHolding, bench.FloodReleasing}
	}
	for _, phase := range phases {
		p := &bench.Phase{Name: phase, Took: 3 * time.Second, Turns: time.Millisecond, Refused: 3, LongestTurn: 5 * time.Millisecond, End: bench.Footprint{Goroutines: 25, RSS: 900_000_000}}
		p.Probe.Record(7 * time.Millisecond)
		p.Ping.Record(2 * time.Millisecond)
		f.Phases = append(f.Phases, p)
	}
	return f
}
