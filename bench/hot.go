package bench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// ContendedResult is the result of a contestant when all goroutines lock one name. Its figures besides those of Result
// are medians of the rounds, except LongestWait, Overlaps and Stalled.
type ContendedResult struct {
	Result
	Fewest, Most  int             // grants of a goroutine in a round
	Shares        [2]float64      // of the pairs, per client; one client has all
	MedianLongest time.Duration   // the longest wait of a round
	LongestWait   time.Duration   // of all rounds, including waits that the end of a round cut off
	Overlaps      int             // how often two workers held the lock at once
	Stalled       int             // rounds without a grant during their last half
	Longest       []time.Duration // the longest wait of each round
}

// Hot lets this many goroutines of each client lock one name, with one client or two.
func Hot(s *Server, p Plan, goroutines, clients int) ([]ContendedResult, error) {
	var entries []entry
	var runs []*contentionRun
	for _, kind := range peers.All() {
		a := &contentionRun{}
		for range clients {
			contestant, err := kind.Open(peers.Config{Addr: s.Addr, Callers: goroutines, Contended: true})
			if err != nil {
				return nil, err
			}
			defer closeWithTimeout(contestant)
			a.addClient(contestant, hotName(kind.Name), goroutines)
		}
		runs = append(runs, a)
		entries = append(entries, entry{name: kind.Name, run: func() (int, time.Duration, error) {
			defer s.Clear() // a round that was cut off must not lock the next one out
			return a.run(p.ContendedRound)
		}})
	}
	redisson, a := openRedissonRunner(peers.Config{Addr: s.Addr}, clients, p), &contentionRun{}
	defer redisson.close()
	runs = append(runs, a)
	entries = append(entries, redisson.hot(s, a, goroutines, p.ContendedRound))
	results, err := runInterleaved(s, p.Rounds, entries)
	if err != nil {
		return nil, err
	}
	contended := make([]ContendedResult, len(results))
	for i, result := range results {
		contended[i] = runs[i].result(result)
	}
	return contended, nil
}

// contentionRun has one contestant's goroutines, which lock one name.
type contentionRun struct {
	contenders [2][]*contender // of each client
	current    atomic.Int32
	overlaps   atomic.Int32
	rounds     []roundResult
}

// roundResult is the result of one round. The first one does not count.
type roundResult struct {
	fewest, most int
	shares       [2]float64
	longest      time.Duration
	stalled      bool
}

// hotName returns the name that all goroutines of a contestant lock. Each contestant has its own: what a client has
// left of a round, a subscription or a late grant, must not disturb the next one.
func hotName(contestant string) string { return "lockwheel-bench-hot-" + contestant }

func (a *contentionRun) addClient(c peers.Contestant, name string, goroutines int) {
	client := 0
	if a.contenders[0] != nil {
		client = 1
	}
	for i := range goroutines {
		a.contenders[client] = append(a.contenders[client], &contender{Worker: c.Worker(name, i), run: a})
	}
}

func (a *contentionRun) run(d time.Duration) (int, time.Duration, error) {
	var workers []peers.Worker
	began := time.Now()
	for _, contenders := range a.contenders {
		for _, f := range contenders {
			f.grants, f.longest, f.last = 0, 0, began
			workers = append(workers, f)
		}
	}
	group := &workerGroup{workers: workers, endWaits: true}
	group.prepare()
	pairs, took, err := group.run(d)
	if err == nil {
		a.rounds = append(a.rounds, a.summarize(pairs, began.Add(d/2)))
	}
	return pairs, took, err
}

// summarize computes the result of a round.
func (a *contentionRun) summarize(pairs int, half time.Time) roundResult {
	b := roundResult{fewest: pairs, stalled: true}
	for client, contenders := range a.contenders {
		sum := 0
		for _, f := range contenders {
			sum += f.grants
			b.fewest, b.most = min(b.fewest, f.grants), max(b.most, f.grants)
			b.longest = max(b.longest, f.longest)
			b.stalled = b.stalled && f.last.Before(half)
		}
		b.shares[client] = float64(sum) / float64(max(pairs, 1))
	}
	return b
}

func (a *contentionRun) result(s Result) ContendedResult {
	f := ContendedResult{Result: s, Overlaps: int(a.overlaps.Load())}
	var fewest, most []int
	var shares []float64
	var longest []time.Duration
	for _, b := range a.rounds[min(1, len(a.rounds)):] {
		fewest, most = append(fewest, b.fewest), append(most, b.most)
		shares, longest = append(shares, b.shares[0]), append(longest, b.longest)
		f.LongestWait = max(f.LongestWait, b.longest)
		if b.stalled {
			f.Stalled++
		}
	}
	f.Fewest, f.Most = measure.Median(fewest), measure.Median(most)
	f.Shares[0] = measure.Median(shares)
	f.Shares[1] = 1 - f.Shares[0]
	f.MedianLongest, f.Longest = measure.Median(longest), longest
	return f
}

// contender is a worker that measures its waits and checks that it is the only holder.
type contender struct {
	peers.Worker
	run     *contentionRun
	grants  int
	longest time.Duration
	last    time.Time // granted
}

func (f *contender) Lock(ctx context.Context) error {
	asked := time.Now()
	err := f.Worker.Lock(ctx)
	now := time.Now()
	f.longest = max(f.longest, now.Sub(asked))
	if err != nil {
		return err
	}
	f.grants++
	f.last = now
	if f.run.current.Add(1) != 1 {
		f.run.overlaps.Add(1)
	}
	return nil
}

func (f *contender) Unlock() error {
	f.run.current.Add(-1)
	return f.Worker.Unlock()
}
