package main

import (
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// madeUp returns invented results, which meet every goal except that of the hand-over.
func madeUp() *results {
	r := newResults()
	began := time.Date(2001, 2, 3, 4, 5, 0, 0, time.UTC)
	for i, s := range r.sections() {
		s.end(when{Began: began.Add(time.Duration(i) * time.Minute), Took: 42 * time.Second, Set: "made up", Machine: madeUpMachine()})
	}
	for _, n := range []int{1, 2048} {
		r.pair.Figures = append(r.pair.Figures, pairs{n, []bench.Standing{
			standing("lockwheel", 200_000), standing("direct", 80_000), standing("rueidislock", 50_000), standing("redislock", 30_000),
			standing("redsync", 20_000), {Name: "redisson", Failure: "left out: no Java"},
		}})
	}
	r.ceiling.Figures = bench.Ceilings{Keys: 99.5, Sent: 100, Standings: []bench.Standing{
		standing(bench.CeilingPair, 200_000), standing(bench.CeilingBatched, 240_000), standing(bench.CeilingSingle, 120_000),
	}}
	r.kinds.Figures = bench.KindsOfLock{
		Alike: []bench.Standing{
			standing(bench.KindPlain, 200_000), standing(bench.KindFenced, 150_000), standing(bench.KindFair, 90_000),
			standing(bench.KindWrite, 110_000), standing(bench.KindRead, 100_000),
		},
		Ten: []bench.Standing{standing(bench.TenAsOne, 6000), standing(bench.TenInTurn, 1000)},
	}
	for _, clients := range []int{1, 2} {
		for _, n := range []int{8, 64} {
			r.hot.Figures = append(r.hot.Figures, hots{clients, n, []bench.Fight{
				fight("lockwheel", 450_000), fight("direct", 7000), fight("rueidislock", 9000),
			}})
		}
	}
	r.wake.Figures = []*bench.Waking{waking("lockwheel", 400*time.Microsecond), waking(bench.PingRueidis, 100*time.Microsecond)}
	r.latency.Figures = latency{
		Alone: []*bench.Alone{alone("lockwheel", 33*time.Microsecond), alone(bench.DirectEnding, 30*time.Microsecond), alone(bench.PingEnding, 29*time.Microsecond)},
		Loads: []*bench.Load{load("lockwheel", 0, 300*time.Microsecond), load("lockwheel", 100_000, 500*time.Microsecond)},
	}
	r.hold.Figures = []bench.Keeping{
		keeping("lockwheel", 1000, 280), keeping("rueidislock", 1000, 1700), keeping("redisson", 1000, 900),
		keeping("lockwheel", 1_000_000, 280),
	}
	java := &r.hold.Figures[2]
	java.HeapNoise, java.Late, java.Latest, java.During = 950, -1, -1, 0
	r.hold.Figures[1].During = 0
	r.flood.Figures = []*bench.Flooding{flooding(bench.FloodAsync, false, 1_000_000), flooding(bench.FloodAsync, true, 1_000_000), flooding("rueidislock", true, 1000)}
	r.flood.Figures[2].Failure = "posting: hangs"
	r.flood.Figures[2].Phases = r.flood.Figures[2].Phases[:2]
	return r
}

func madeUpMachine() machine {
	return machine{"3 cores, an abacus", "plan9/mips", "Redis 0.0.1", map[string]string{peers.Lockwheel.Module: "abc1234", peers.Direct.Module: "v9"}}
}

func standing(name string, speed int) bench.Standing {
	s := bench.Standing{Name: name}
	s.Add(measure.Sample{Pairs: speed, Took: time.Second, Server: time.Duration(speed) * time.Microsecond,
		Client: measure.Usage{CPU: time.Duration(speed) * 2 * time.Microsecond, Bytes: uint64(speed) * 311, Allocs: uint64(speed) * 2}})
	return s
}

func fight(name string, speed int) bench.Fight {
	return bench.Fight{Standing: standing(name, speed), Fewest: 10, Most: 20, Shares: [2]float64{0.4, 0.6},
		MedianLongest: 11 * time.Millisecond, LongestWait: 13 * time.Millisecond}
}

func waking(name string, took time.Duration) *bench.Waking {
	w := &bench.Waking{Name: name}
	w.Took.Record(took)
	return w
}

func alone(name string, took time.Duration) *bench.Alone {
	a := &bench.Alone{Name: name}
	a.Lock.Record(took)
	a.Unlock.Record(took)
	return a
}

func load(name string, held int, took time.Duration) *bench.Load {
	l := &bench.Load{Name: name, Held: held}
	l.Called.Record(took)
	l.FromDue.Record(2 * took)
	return l
}

func keeping(name string, locks int, heap float64) bench.Keeping {
	return bench.Keeping{Name: name, Keep: bench.Keep{Locks: locks, Lease: 30 * time.Second}, Taken: 1500 * time.Millisecond, Heap: heap, Client: 0.1, Server: 0.2,
		Renewals: float64(locks) / 10, Late: 70 * time.Millisecond, Latest: 90 * time.Millisecond, Before: 210_000, During: 190_000, After: 190_000}
}

func flooding(name string, own bool, waiters int) *bench.Flooding {
	f := &bench.Flooding{Name: name, Own: own, Waiters: waiters, Held: 2000, Before: bench.Footprint{Goroutines: 20, RSS: 30_000_000}, After: bench.Footprint{Goroutines: 20, RSS: 40_000_000}}
	for _, phase := range []string{bench.FloodNone, bench.FloodPosting, bench.FloodListening, bench.FloodWaiting, bench.FloodMessages, bench.FloodCancelling, bench.FloodLeaving} {
		p := &bench.Phase{Name: phase, Took: 3 * time.Second, Turns: time.Millisecond, Refused: 3, LongestTurn: 5 * time.Millisecond, End: bench.Footprint{Goroutines: 25, RSS: 900_000_000}}
		p.Probe.Record(7 * time.Millisecond)
		p.Ping.Record(2 * time.Millisecond)
		f.Phases = append(f.Phases, p)
	}
	return f
}
