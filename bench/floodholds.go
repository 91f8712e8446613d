package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockwheel/lockwheel"
)

// freeName is the hold of another holder that no name has.
var freeName = foreignHold{floodName, "none"}

// waitingReaders are lockwheel's waiters that want to read the one name, which another holder writes.
type waitingReaders struct{ asyncWaiters }

func (r *waitingReaders) foreignHold() foreignHold { return foreignHold{floodName, "writer"} }

func (r *waitingReaders) notifyCommand(int) []any {
	return []any{publish, "redisson_rwlock:{" + r.name(0) + "}", "0"}
}

func (r *waitingReaders) post() error {
	r.all = make([]*lockwheel.Pending, r.waiters)
	for i := range r.all {
		r.all[i] = r.ours.Engine.RWMutex(r.name(0)).RLocker().LockAsync(r.ctx)
	}
	return nil
}

// grantedReaders are readers of the one name that all hold it at once.
type grantedReaders struct {
	lockwheelFlood
	holds     []*lockwheel.Hold
	releases  []*lockwheel.Unlocking // those without a result that was looked at
	lostHolds int
}

func (g *grantedReaders) foreignHold() foreignHold { return freeName }

func (g *grantedReaders) granted() int { return len(g.holds) }

func (g *grantedReaders) lost() (int, error) {
	n, err := g.lockwheelFlood.lost()
	return n + g.lostHolds, err
}

func (g *grantedReaders) post() error {
	all := make([]*lockwheel.Pending, g.waiters)
	for i := range all {
		all[i] = g.ours.Engine.RWMutex(g.name(0)).RLocker().LockAsync(g.ctx)
	}
	for i, pending := range all {
		<-pending.Done()
		hold, err := pending.Hold()
		if err != nil {
			return fmt.Errorf("reader %d of %d: %w", i+1, len(all), err)
		}
		g.holds = append(g.holds, hold)
	}
	return nil
}

// cancel unlocks all, without waiting.
func (g *grantedReaders) cancel() error {
	for _, hold := range g.holds {
		if hold.Err() != nil {
			g.lostHolds++
		}
		g.releases = append(g.releases, hold.UnlockAsync())
	}
	return nil
}

func (g *grantedReaders) ended() (int, error) {
	if g.releases == nil {
		return 0, nil
	}
	for ; len(g.releases) > 0; g.releases = g.releases[1:] {
		select {
		case <-g.releases[0].Done():
			// Those at the end of so many may have no reply within CallTimeout. The engine goes on with them.
			if err := g.releases[0].Err(); err != nil && !errors.Is(err, lockwheel.ErrUnavailable) {
				return 0, err
			}
		default:
			return g.waiters - len(g.releases), nil
		}
	}
	return g.waiters, nil
}

// partsOfOne are the names of one Multi.
type partsOfOne struct {
	lockwheelFlood
	hold      *lockwheel.Hold
	released  bool
	lostHolds int
}

func (p *partsOfOne) foreignHold() foreignHold { return freeName }

func (p *partsOfOne) granted() int {
	if p.hold == nil {
		return 0
	}
	return p.waiters
}

func (p *partsOfOne) lost() (int, error) {
	n, err := p.lockwheelFlood.lost()
	return n + p.lostHolds, err
}

func (p *partsOfOne) post() (err error) {
	locks := make([]lockwheel.Mutex, p.waiters)
	for i := range locks {
		locks[i] = p.ours.Engine.Mutex(p.name(i))
	}
	p.hold, err = p.ours.Engine.Multi(locks...).Lock(p.ctx)
	return err
}

// cancel unlocks all names, and waits. A Multi of which one name is lost is lost as a whole.
func (p *partsOfOne) cancel() error {
	if p.hold.Err() != nil {
		p.lostHolds = p.waiters
	}
	p.released = true
	return p.hold.Unlock(context.Background())
}

func (p *partsOfOne) ended() (int, error) {
	if p.released {
		return p.waiters, nil
	}
	return 0, nil
}
