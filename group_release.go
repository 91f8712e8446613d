package lockwheel

import (
	"context"

	"github.com/lockwheel/lockwheel/actor"
)

// unlock is Hold.Unlock of several locks.
func (g *group) unlock(ctx context.Context) error {
	first := g.leave(g.hold.fail(ErrNotHeld, nil))
	if end := g.end.Load(); end != unlocked {
		return g.hold.fail(end.err, end.cause)
	}
	if g.released.Load() {
		return g.hold.fail(ErrNotHeld, nil)
	}
	r, enough := g.releases()
	r.again = !first
	r.send()
	if r.collect(ctx, enough) < enough {
		return r.refusal() // of a second call it is about members whose release has no answer yet
	}
	g.released.Store(true)
	if r.before >= enough {
		return g.hold.fail(ErrNotHeld, nil)
	}
	return nil
}

// releases is a round that releases all members, and how many of them have to be.
func (g *group) releases() (r *round, enough int) {
	r = newRound(g)
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil {
			r.add(i, h, actor.Unlock, 0)
		}
	}
	// What is missing has nothing to be released, and nobody else waits for it.
	return r, max(1, g.need-(len(g.members)-len(r.calls)))
}
