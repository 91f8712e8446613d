package bench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// Fight is the result of a contestant when all goroutines lock one name. Its figures besides those of Standing are medians
// of the rounds, except LongestWait, Overlaps and Stalled.
type Fight struct {
	Standing
	Fewest, Most  int           // grants of a goroutine in a round
	Shares        [2]float64    // of the pairs, per client; one client has all
	MedianLongest time.Duration // the longest wait of a round
	LongestWait   time.Duration // of all rounds, including waits that the end of a round cut off
	Overlaps      int           // how often two workers held the lock at once
	Stalled       int           // rounds without a grant during their last half
}

// Hot lets this many goroutines of each client lock one name, with one client or two.
func Hot(s *Server, p Plan, goroutines, clients int) ([]Fight, error) {
	var entries []entry
	var arenas []*arena
	for _, kind := range peers.All() {
		a := &arena{}
		for range clients {
			contestant, err := kind.Open(peers.Config{Addr: s.Addr, Callers: goroutines, Contended: true})
			if err != nil {
				return nil, err
			}
			defer shut(contestant)
			a.enter(contestant, goroutines)
		}
		arenas = append(arenas, a)
		entries = append(entries, entry{name: kind.Name, run: func() (int, time.Duration, error) {
			defer s.Clear() // a round that was cut off must not lock the next one out
			return a.fight(p.Fight)
		}})
	}
	redisson, a := openAway(peers.Config{Addr: s.Addr}, clients, p), &arena{}
	defer redisson.close()
	arenas = append(arenas, a)
	entries = append(entries, redisson.hot(s, a, goroutines, p.Fight))
	standings, err := inTurn(s, p.Rounds, entries)
	if err != nil {
		return nil, err
	}
	fights := make([]Fight, len(standings))
	for i, standing := range standings {
		fights[i] = arenas[i].outcome(standing)
	}
	return fights, nil
}

// arena has one contestant's goroutines, which lock one name.
type arena struct {
	fighters [2][]*fighter // of each client
	inside   atomic.Int32
	overlaps atomic.Int32
	rounds   []bout
}

// bout is the result of one round. The first one does not count.
type bout struct {
	fewest, most int
	shares       [2]float64
	longest      time.Duration
	stalled      bool
}

func (a *arena) enter(c peers.Contestant, goroutines int) {
	client := 0
	if a.fighters[0] != nil {
		client = 1
	}
	for i := range goroutines {
		a.fighters[client] = append(a.fighters[client], &fighter{Worker: c.Worker("lockwheel-bench-hot", i), arena: a})
	}
}

func (a *arena) fight(d time.Duration) (int, time.Duration, error) {
	var workers []peers.Worker
	began := time.Now()
	for _, fighters := range a.fighters {
		for _, f := range fighters {
			f.grants, f.longest, f.last = 0, 0, began
			workers = append(workers, f)
		}
	}
	pairs, took, err := (&crowd{workers: workers, endWaits: true}).run(d)
	if err == nil {
		a.rounds = append(a.rounds, a.judge(pairs, began.Add(d/2)))
	}
	return pairs, took, err
}

// judge computes the result of a round.
func (a *arena) judge(pairs int, half time.Time) bout {
	b := bout{fewest: pairs, stalled: true}
	for client, fighters := range a.fighters {
		sum := 0
		for _, f := range fighters {
			sum += f.grants
			b.fewest, b.most = min(b.fewest, f.grants), max(b.most, f.grants)
			b.longest = max(b.longest, f.longest)
			b.stalled = b.stalled && f.last.Before(half)
		}
		b.shares[client] = float64(sum) / float64(max(pairs, 1))
	}
	return b
}

func (a *arena) outcome(s Standing) Fight {
	f := Fight{Standing: s, Overlaps: int(a.overlaps.Load())}
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
	f.MedianLongest = measure.Median(longest)
	return f
}

// fighter is a worker that measures its waits and checks that it is the only holder.
type fighter struct {
	peers.Worker
	arena   *arena
	grants  int
	longest time.Duration
	last    time.Time // granted
}

func (f *fighter) Lock(ctx context.Context) error {
	asked := time.Now()
	err := f.Worker.Lock(ctx)
	now := time.Now()
	f.longest = max(f.longest, now.Sub(asked))
	if err != nil {
		return err
	}
	f.grants++
	f.last = now
	if f.arena.inside.Add(1) != 1 {
		f.arena.overlaps.Add(1)
	}
	return nil
}

func (f *fighter) Unlock() error {
	f.arena.inside.Add(-1)
	return f.Worker.Unlock()
}
