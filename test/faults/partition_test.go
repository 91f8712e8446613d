package faults_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

var partitionTrials = flag.Int("partition.trials", 20, "how many holders are cut off from their server")

// cutoffs are the ways to cut a holder off from its server.
var cutoffs = []func(*proxy.Proxy) error{
	func(p *proxy.Proxy) error { p.Set(proxy.Both, proxy.Drop); return nil },
	func(p *proxy.Proxy) error { p.Set(proxy.Both, proxy.Hold); return nil },
	func(p *proxy.Proxy) error { p.Set(proxy.Replies, proxy.Drop); return nil }, // renewals still arrive for a while
	func(p *proxy.Proxy) error { p.Set(proxy.Commands, proxy.Drop); return nil },
	func(p *proxy.Proxy) error {
		err := p.Refuse(true)
		p.Cut()
		return err
	},
}

// If the machine does not schedule the process, Done is closed late, and no library can prevent that. So each trial
// has timers of its own for the same time. If one of these is late, too, the trial is repeated, and counted separately.
// Err is correct in any case.

// consul#18271, redisson#4698. A holder that cannot reach the server reports the loss by Err and by Done before
// another caller acquires the lock: in every trial.
func TestAHolderThatIsCutOffSaysSoFirst(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	pairs := min(40, *partitionTrials)
	s := locktest.RealServer(t)
	stranger := s.Open(lockwheel.Options{})
	var done, starved atomic.Int64
	var closest atomic.Int64
	closest.Store(int64(time.Hour))
	var holders []*lockwheel.Engine
	var links []*proxy.Proxy
	for range pairs {
		p := proxy.Start(t, s.Addr)
		holders, links = append(holders, s.OpenAt(p.Addr(), lockwheel.Options{Lease: lease})), append(links, p)
	}
	locktest.Crowd(t, pairs, func(i int) error {
		for trial := i; trial < *partitionTrials; trial += pairs {
			ahead, err := cutOff(t, holders[i].Mutex(fmt.Sprint("n", i)), stranger.Mutex(fmt.Sprint("n", i)), links[i])
			if errors.Is(err, errStarved) && starved.Add(1) <= int64(*partitionTrials) {
				trial -= pairs
				continue
			}
			if err != nil {
				return err
			}
			done.Add(1)
			for seen := closest.Load(); ahead < seen && !closest.CompareAndSwap(seen, ahead); seen = closest.Load() {
				continue
			}
		}
		return nil
	})
	t.Logf("in %d of %d trials Err and Done said so first, Done at the closest by %v; %d made again, the machine had no time for timers",
		done.Load(), *partitionTrials, time.Duration(closest.Load()), starved.Load())
	require.EqualValues(t, *partitionTrials, done.Load())
}

// errStarved is for a trial in which a timer for the end of the lease was late, too.
var errStarved = errors.New("the machine had no time for timers")

// timers are those of one trial.
type timers chan time.Duration

// timersFor starts several timers for the time when a hold's deadline has passed and was not moved.
func timersFor(hold *lockwheel.Hold) timers {
	late := make(timers, 8)
	for range cap(late) {
		go func() {
			for end := hold.Deadline(); ; {
				time.Sleep(time.Until(end))
				if next := hold.Deadline(); next.After(end) {
					end = next
					continue
				}
				late <- time.Since(end)
				return
			}
		}()
	}
	return late
}

// late returns by how much the latest of the timers was late.
func (of timers) late() (most time.Duration) {
	for range cap(of) {
		most = max(most, <-of)
	}
	return most
}

// cutOff is one trial. It returns how long before the other caller's grant Done was closed, in nanoseconds.
func cutOff(t *testing.T, holder, stranger lockwheel.Mutex, p *proxy.Proxy) (ahead int64, err error) {
	hold, err := holder.Lock(t.Context(), lockwheel.Wait(locktest.TestDeadline))
	if err != nil {
		return 0, err
	}
	own := timersFor(hold)
	closed := make(chan int64, 1)
	go func() {
		<-hold.Done()
		closed <- now()
	}()
	waiting := locktest.Locking(t.Context(), stranger)
	locktest.Pause(t.Context(), time.Duration(rand.IntN(1500))*time.Millisecond) // a random time between two renewals
	if err := cutoffs[rand.IntN(len(cutoffs))](p); err != nil {
		return 0, err
	}
	next := <-waiting
	at := now()
	known, told := hold.Err(), locktest.IsClosed(hold.Done())
	if next.Err != nil {
		return 0, next.Err
	}
	if errors.Is(known, lockwheel.ErrLost) && !told {
		if own.late() > 20*time.Millisecond {
			err = errStarved
		}
		<-closed
	}
	if err == nil && (!errors.Is(known, lockwheel.ErrLost) || !told) {
		return 0, fmt.Errorf("%s has the lock beside %s: Err is %v, Done is closed: %v", next.Hold.ID(), hold.ID(), known, told)
	}
	if err == nil {
		ahead = at - <-closed
	}
	if err := p.Heal(); err != nil {
		return 0, err
	}
	p.Cut()
	return ahead, errors.Join(err, next.Hold.Unlock(t.Context()))
}
