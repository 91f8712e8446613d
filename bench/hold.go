package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// Keeping is what it costs to hold many watched locks.
type Keeping struct {
	Name       string
	Keep       Keep
	Taken      time.Duration // to acquire them all
	Heap       float64       // live bytes a lock, with its name
	Goroutines float64       // a lock
	Client     float64       // cores, while nothing but renewals happened
	Server     float64       // cores
	Renewals   float64       // a second
	Latest     time.Duration // that a renewal was confirmed after it was due; negative: not known
	Lost       int
	Failure    string

	Before, During float64 // pairs a second of the plan's Growers with none held and with all; 0: not measured
}

const (
	keepLeases = 3    // for how many leases locks are held
	takers     = 1024 // goroutines that acquire what is to be held
)

// Hold keeps locks for three leases: with ours, whose throughput beside is measured, too, and with rueidislock and
// Redisson, the peers that renew, if the plan says so.
func Hold(s *Server, p Plan, keep Keep) ([]Keeping, error) {
	holders := []func() (Keeping, error){func() (Keeping, error) { return holdWith(s, p, keep, peers.Lockwheel) }}
	if keep.Peers {
		holders = append(holders, func() (Keeping, error) { return holdWith(s, p, keep, peers.Rueidislock) },
			func() (Keeping, error) { return holdAway(s, p, keep) })
	}
	var keepings []Keeping
	for _, hold := range holders {
		k, err := hold()
		if err != nil {
			k.Failure = err.Error()
		}
		keepings = append(keepings, k)
		if err := s.Clear(); err != nil {
			return keepings, err
		}
	}
	return keepings, nil
}

func holdAway(s *Server, p Plan, keep Keep) (Keeping, error) {
	redisson := openAway(peers.Config{Addr: s.Addr, Lease: keep.Lease}, 1, p)
	defer redisson.close()
	return redisson.hold(s, keep)
}

func holdWith(s *Server, p Plan, keep Keep, kind peers.Kind) (Keeping, error) {
	k := Keeping{Name: kind.Name, Keep: keep, Latest: -1}
	contestant, err := kind.Open(peers.Config{Addr: s.Addr, Lease: keep.Lease, Callers: takers})
	if err != nil {
		return k, err
	}
	defer shut(contestant)
	ours, _ := contestant.(*peers.Wheel)
	if ours != nil {
		if k.Before, err = throughput(contestant, p); err != nil {
			return k, err
		}
	}
	stock := newStock(keep.Locks)
	heap, goroutines, began := measure.LiveHeap(), runtime.NumGoroutine(), time.Now()
	if err := stock.take(contestant.(peers.Holder)); err != nil {
		return k, err
	}
	k.Taken = time.Since(began)
	k.Goroutines = float64(runtime.NumGoroutine()-goroutines) / float64(keep.Locks)
	k.Heap = float64(measure.LiveHeap()-heap) / float64(keep.Locks)
	if err := k.watch(s, keepLeases*keep.Lease, usedHere); err != nil {
		return k, err
	}
	if ours != nil {
		k.Latest = ours.Engine.Stats().RenewalLag
		if k.During, err = throughput(contestant, p); err != nil {
			return k, err
		}
	}
	k.Lost = stock.lost()
	return k, stock.release()
}

// throughput is that of an engine which may hold a lot.
func throughput(c peers.Contestant, p Plan) (float64, error) {
	var series measure.Series
	e := ownNames("", c, p.Growers, p.Round)
	for range p.Rounds + 1 {
		pairs, took, err := e.run()
		if err != nil {
			return 0, err
		}
		series.Add(measure.Sample{Pairs: pairs, Took: took})
	}
	series.Samples = series.Samples[1:]
	return series.PairsPerSecond(), nil
}

// watch lets time pass and reads what that cost.
func (k *Keeping) watch(s *Server, d time.Duration, used func() (measure.Usage, error)) error {
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
	time.Sleep(d)
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

// stock is a number of locks that are held.
type stock struct{ held []peers.Held }

func newStock(locks int) *stock { return &stock{make([]peers.Held, locks)} }

// take acquires them all.
func (s *stock) take(c peers.Holder) error {
	return s.each("acquiring", func(i int) (err error) {
		s.held[i], err = c.Hold(context.Background(), fmt.Sprintf("lockwheel-bench-held-%d", i))
		return err
	})
}

func (s *stock) release() error {
	return s.each("releasing", func(i int) error { return s.held[i].Release() })
}

func (s *stock) lost() (n int) {
	for _, h := range s.held {
		if h.Lost() {
			n++
		}
	}
	return n
}

// each does something to all of them, from takers goroutines, and returns the first error.
func (s *stock) each(what string, f func(i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var failed error
	var wg sync.WaitGroup
	for range takers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(s.held)); i = next.Add(1) - 1 {
				if err := f(int(i)); err != nil {
					once.Do(func() { failed = err })
					return
				}
			}
		})
	}
	patience := stepWait + time.Duration(len(s.held))*100*time.Microsecond
	return bounded(what, patience, func() error {
		wg.Wait()
		return failed
	})
}
