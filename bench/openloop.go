package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// perSecond is how many pairs begin per second in the open loop, whether earlier ones are done or not.
const perSecond = 1000

// Load is the latency of a pair under a steady load.
type Load struct {
	Name    string
	Held    int               // locks held meanwhile
	FromDue measure.Histogram // from when the pair was due: includes the delay of the process
	Called  measure.Histogram // from the call itself
	Runs    []LoadRun
	Failure string
}

// LoadRun has the quantiles of one run.
type LoadRun struct{ FromDue, Called measure.Quantiles }

func (l *Load) add(run *Load) {
	l.FromDue.Add(&run.FromDue)
	l.Called.Add(&run.Called)
	l.Runs = append(l.Runs, LoadRun{run.FromDue.Quantiles(), run.Called.Quantiles()})
}

// Steady measures 1 000 lock+unlock a second, each of a name of its own, with no lock held and with many.
func Steady(s *Server, p Plan) ([]*Load, error) {
	var loads []*Load
	var kinds []peers.ContestantSpec // of each load
	for _, kind := range []peers.ContestantSpec{peers.Lockwheel, peers.LockwheelSleeps, peers.Direct, peers.Rueidislock} {
		kinds, loads = append(kinds, kind, kind), append(loads, &Load{Name: kind.Name}, &Load{Name: kind.Name, Held: p.WithHeld.Locks})
	}
	for range p.runs() {
		for i, load := range loads {
			if load.Failure != "" {
				continue
			}
			run := &Load{Name: load.Name, Held: load.Held}
			if err := run.measure(s, p, kinds[i]); err != nil {
				load.Failure = err.Error()
			}
			load.add(run)
			if err := s.Clear(); err != nil {
				return nil, err
			}
		}
	}
	return loads, nil
}

func (l *Load) measure(s *Server, p Plan, kind peers.ContestantSpec) error {
	contestant, err := kind.Open(peers.Config{Addr: s.Addr, Lease: p.WithHeld.Lease, Callers: acquireWorkers})
	if err != nil {
		return err
	}
	defer closeWithTimeout(contestant)
	locks := newHeldLocks(heldName, l.Held)
	if err := locks.acquire(contestant.(peers.Holder)); err != nil {
		return err
	}
	runtime.GC()
	(&Load{}).run(contestant, perSecond/5) // warm up
	if err := l.run(contestant, int(p.OpenLoop.Seconds()*perSecond)); err != nil {
		return err
	}
	if lost := locks.lost(); lost > 0 {
		return fmt.Errorf("%d of %d locks were lost meanwhile", lost, l.Held)
	}
	return locks.release()
}

// run begins this many pairs, each when it is due.
func (l *Load) run(c peers.Contestant, pairs int) error {
	var done sync.WaitGroup
	var once sync.Once
	var failed error
	began := time.Now()
	paced(began, pairs, time.Second/perSecond, func(i int, due time.Time) bool {
		w := c.Worker(nameOf(i), i)
		done.Go(func() {
			called := time.Now()
			err := w.Lock(context.Background())
			if err == nil {
				err = w.Unlock()
			}
			now := time.Now()
			l.FromDue.Record(now.Sub(due))
			l.Called.Record(now.Sub(called))
			if err != nil {
				once.Do(func() { failed = err })
			}
		})
		return true
	})
	return withTimeout("a pair", grace, func() error {
		done.Wait()
		return failed
	})
}

// paced calls f when it is due, until f returns false. A goroutine's own timers are up to a millisecond late in an
// otherwise idle process, so a thread sleeps here.
func paced(began time.Time, times int, every time.Duration, f func(i int, due time.Time) (more bool)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range times {
		due := began.Add(time.Duration(i) * every)
		sleepUntil(due)
		if !f(i, due) {
			return
		}
	}
}

// sleepUntil lets the thread of the goroutine sleep.
func sleepUntil(due time.Time) {
	for wait := time.Until(due); wait > 0; wait = time.Until(due) {
		span := unix.NsecToTimespec(int64(wait))
		_ = unix.Nanosleep(&span, nil) // interrupted, it sleeps again
	}
}
