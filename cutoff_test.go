package lockwheel_test

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
	"github.com/lockwheel/lockwheel/internal/proxy"
)

var trials = flag.Int("trials", 20, "how many holders are cut off from their server")

// cutoffs are the ways in which a holder does not reach its server any more.
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

// failures 9: consul#18271, redisson#4698. A holder that cannot reach the server says so, by Err and by Done, before anybody
// else has the lock: every time.
func TestAHolderThatIsCutOffSaysSoFirst(t *testing.T) {
	t.Parallel()
	const pairs, lease = 20, 2 * time.Second
	s := realSite(t)
	stranger := s.open(lockwheel.Options{})
	var done atomic.Int64
	var closest atomic.Int64
	closest.Store(int64(time.Hour))
	var holders []*lockwheel.Engine
	var links []*proxy.Proxy
	for range pairs {
		p := proxy.Start(t, s.addr)
		holders, links = append(holders, s.openAt(p.Addr(), lockwheel.Options{Lease: lease})), append(links, p)
	}
	crowd(t, pairs, func(i int) error {
		for trial := i; trial < *trials; trial += pairs {
			ahead, err := cutOff(t, holders[i].Mutex(fmt.Sprint("n", i)), stranger.Mutex(fmt.Sprint("n", i)), links[i])
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
	t.Logf("in %d of %d trials Done was closed first, at the closest by %v", done.Load(), *trials, time.Duration(closest.Load()))
	require.EqualValues(t, *trials, done.Load())
}

// cutOff is one trial. It returns how long Done was closed before the other one had the lock, in nanoseconds.
func cutOff(t *testing.T, holder, stranger lockwheel.Mutex, p *proxy.Proxy) (ahead int64, err error) {
	hold, err := holder.Lock(t.Context(), lockwheel.Wait(patience))
	if err != nil {
		return 0, err
	}
	closed := make(chan int64, 1)
	go func() {
		<-hold.Done()
		closed <- now()
	}()
	waiting := locking(t.Context(), stranger)
	pause(t.Context(), time.Duration(rand.IntN(1500))*time.Millisecond) // any moment between two renewals
	if err := cutoffs[rand.IntN(len(cutoffs))](p); err != nil {
		return 0, err
	}
	next := <-waiting
	at := now()
	known, told := hold.Err(), isClosed(hold.Done())
	if next.err != nil {
		return 0, next.err
	}
	if !errors.Is(known, lockwheel.ErrLost) || !told {
		return 0, fmt.Errorf("%s has the lock beside %s: Err is %v, Done is closed: %v", next.hold.ID(), hold.ID(), known, told)
	}
	ahead = at - <-closed
	if err := p.Heal(); err != nil {
		return 0, err
	}
	p.Cut()
	return ahead, next.hold.Unlock(t.Context())
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
