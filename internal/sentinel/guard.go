// Package sentinel keeps a client behind Redis Sentinel at the newest master that it knows of.
//
// rueidis follows any sentinel that it connects to. One that was down or cut off during a failover goes on naming the
// old master, until the others tell it. If that server still has the role of a master, it grants locks that are held
// at the next one. Each configuration of Sentinel has an epoch, and the newest one wins. rueidis does not ask for it,
// but it dials each master before it uses it. So a Guard asks the sentinels before such a dial, and lets that fail if
// they know of a newer master. rueidis then goes on to the next sentinel.
//
// rueidis listens to a single sentinel. That one can be cut off from the others, or lead a failover and announce the
// next master last. So a Guard watches all sentinels (watch.go), and hides from rueidis what its own one announces
// (filter.go). When they have a newer master, the Guard ends the connections to the old one, and that to the sentinel:
// then rueidis asks the sentinels anew.
package sentinel

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/internal/dial"
)

const (
	// patience is how long sentinels are waited for that do not reply. It delays a failover only if most are silent.
	patience = 500 * time.Millisecond
	// refusalPause is how long a refused or failed dial of a master takes at least: rueidis dials again without a pause.
	refusalPause = 250 * time.Millisecond
	// freeDials is how often a client may dial sentinels without a pause, to find one that names its master: twice all
	// that a poll asks. Then each dial waits, for minDialPause and longer each time, up to maxDialPause, or maxMovePause
	// as long as the client has not been at that master.
	freeDials    = 2 * maxAsked
	minDialPause = time.Second
	maxMovePause = 10 * time.Second
	maxDialPause = time.Minute
	// askAgain is the pause between two polls of a dial that lasts.
	askAgain = time.Second
	// maxQuestions is the maximum number of questions in flight. Those to silent sentinels outlive their poll by up to
	// two CallTimeouts. A sentinel that would be asked beyond it counts as silent.
	maxQuestions = 64
)

// Dial makes a connection, as rueidis.ClientOption.DialCtxFn does.
type Dial = func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error)

// Guard decides to which masters a client may connect. New makes one; the zero Guard has no dialer. All its methods
// are safe for concurrent use.
type Guard struct {
	dial      Dial
	bound     func(context.Context) (context.Context, func())
	open      func(ctx context.Context, address string) (conn, *answer)
	addresses []string      // of the options
	keepAlive time.Duration // of connections to sentinels
	slots     chan struct{} // semaphore: one element for each question in flight
	ended     context.Context
	end       context.CancelFunc
	watched   chan struct{} // closed when no watcher runs any more; nil without one
	watching  atomic.Bool   // Watch was called

	seen    atomic.Pointer[view]
	wanted  atomic.Pointer[string]   // the master that the client dialled last; nil: it dialled a sentinel since
	dialled atomic.Pointer[string]   // the sentinel to which the client last wanted to connect; nil: none
	current atomic.Pointer[net.Conn] // the last connection to a sentinel; nil: none
	log     atomic.Pointer[slog.Logger]
	logged  atomic.Pointer[view] // the last one for which a refusal was logged
}

// New returns a Guard for a client of those options, which name a set of masters. It is to dial with Guard.Dial, and
// has the keep-alive of Sentinel.Dialer raised by 1 ns: that is how dials of sentinels are recognized. connect makes
// the connections; bound returns a context that ends when the client ends, and a function to call after its use.
func New(redis *rueidis.ClientOption, connect Dial, bound func(context.Context) (context.Context, func())) *Guard {
	g := &Guard{
		dial: connect, bound: bound, open: newQuestion(redis, connect).open, addresses: slices.Clone(redis.InitAddress),
		slots: make(chan struct{}, maxQuestions),
	}
	g.ended, g.end = context.WithCancel(context.Background())
	redis.Sentinel.Dialer.KeepAlive++
	g.keepAlive = redis.Sentinel.Dialer.KeepAlive
	g.seen.Store(&view{epoch: untold, total: len(g.addresses)})
	return g
}

// LogTo sets the log for refused masters. At most one record is written between two changes of the master.
func (g *Guard) LogTo(log *slog.Logger) { g.log.Store(log) }

// Wanted returns the address of the master that the client dialled last, or "" if it has dialled a sentinel since.
func (g *Guard) Wanted() string {
	if wanted := g.wanted.Load(); wanted != nil {
		return *wanted
	}
	return ""
}

// Watch begins to watch the sentinels, until End. It may be called once, before others know the Guard.
func (g *Guard) Watch() {
	g.watched = make(chan struct{})
	g.watching.Store(true)
	go func() {
		defer close(g.watched)
		newWatcher(g).run(g.ended)
	}()
}

// End ends all dials that wait for sentinels, later ones at once, and the connections to sentinels. It returns when no
// sentinel is watched any more.
func (g *Guard) End() {
	g.end()
	if g.watched != nil {
		<-g.watched
	}
}

// Dial connects to a sentinel, or to a master unless sentinels know of a newer one. If the client has not followed to
// that master before, it asks them first. That takes at most half a second, and a quarter of a second more if it is
// refused. A dial of a master that fails takes a quarter of a second as well, and a dial of a sentinel up to a minute.
// A dial lasts as long as the client has followed to a newer master, and no sentinel names one. The end of the client
// ends it, and so does End. A connection to a master ends when that is known to be replaced.
func (g *Guard) Dial(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	if d.KeepAlive == g.keepAlive {
		g.dialled.Store(&address)
		g.wanted.Store(nil)
		own := *d
		own.KeepAlive--
		ctx, release := g.whileOpen(ctx)
		defer release()
		g.pace(ctx)
		c, err := g.dial(ctx, address, &own, t)
		if err != nil {
			return nil, err
		}
		c = newFilter(dial.EndWith(g.ended, c)) // the client would wait for a silent one when it closes
		g.current.Store(&c)
		return c, nil
	}
	g.wanted.Store(&address)
	admitted, err := g.admit(ctx, address)
	if err != nil {
		return nil, &rediserr.NotConnected{Err: err}
	}
	begun := time.Now()
	c, err := g.dial(ctx, address, d, t)
	if err != nil {
		g.waitAfter(ctx, begun)
		return nil, err
	}
	first := !admitted.conns.reached.Swap(true)
	if first { // only then: a master may accept connections, and reject clients
		admitted.conns.dials.Store(0)
	}
	return dial.EndWith(admitted.conns.ctx, c), nil
}

// pace waits before a dial of a sentinel. While rueidis 1.0.79 is not at a master, it asks the sentinels without end,
// and each time starts a goroutine that asks as well. Once it has been at its master, it needs them only for another
// one, which the watcher knows first.
func (g *Guard) pace(ctx context.Context) {
	conns := g.seen.Load().conns
	if conns.dials == nil || !g.watching.Load() {
		return
	}
	longest := maxMovePause
	if conns.reached.Load() {
		longest = maxDialPause
	}
	pause := pauseBefore(conns.dials.Add(1), longest)
	if pause == 0 {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-conns.ctx.Done(): // there is another master
	case <-ctx.Done():
	}
}

// pauseBefore returns the pause before the dial of a sentinel with that number, counted from when the client was to
// follow to its master, or has been there.
func pauseBefore(dial int32, longest time.Duration) time.Duration {
	doubled := dial - freeDials - 1
	if doubled < 0 {
		return 0
	}
	return min(minDialPause<<min(doubled, 16), longest)
}

// replace stores the next view, unless another was stored meanwhile. If it has another master, it ends the connections
// to the last one.
func (g *Guard) replace(seen, next *view) bool {
	next.conns = seen.conns
	moves := next.master != seen.master
	if moves {
		next.conns.reached, next.conns.dials = new(atomic.Bool), new(atomic.Int32)
		next.conns.ctx, next.conns.end = context.WithCancel(context.Background())
	}
	stored := g.seen.CompareAndSwap(seen, next)
	if stored && moves && seen.conns.end != nil {
		seen.conns.end()
	}
	return stored
}

// waitAfter waits until a dial that failed has lasted for refusalPause: a host that is up rejects connections at once,
// and rueidis would dial without a pause.
func (g *Guard) waitAfter(ctx context.Context, begun time.Time) {
	ctx, release := g.whileOpen(ctx)
	defer release()
	wait(ctx, refusalPause-time.Since(begun))
}

// whileOpen returns a context that ends when the client ends, and by End.
func (g *Guard) whileOpen(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := g.bound(ctx)
	stop := context.AfterFunc(g.ended, cancel)
	return ctx, func() { stop(); cancel() }
}

// admit returns the view with which the client may connect to a master, or an error.
func (g *Guard) admit(ctx context.Context, candidate string) (*view, error) {
	ctx, release := g.whileOpen(ctx)
	defer release()
	for {
		seen := g.seen.Load()
		if seen.master == candidate {
			return seen, nil
		}
		p := newPoll(candidate, seen, g.present())
		g.run(ctx, p)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case p.verdict() == refuse:
			g.logRefusal(p)
			if p.namesNewer() {
				wait(ctx, refusalPause)
				return nil, p.refusal()
			}
			wait(ctx, askAgain)
		default:
			if next := p.next(candidate); g.replace(seen, next) {
				return next, nil
			}
		}
	}
}

// present returns the sentinels of the options, and the one at which the client is, which may be in no list.
func (g *Guard) present() []string {
	if dialled := g.dialled.Load(); dialled != nil {
		return append([]string{*dialled}, g.addresses...)
	}
	return g.addresses
}

// run asks sentinels until the poll has a verdict.
func (g *Guard) run(ctx context.Context, p *poll) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	replies := make(chan *answer, maxAsked)
	g.start(ctx, p.asked, replies)
	for p.verdict() == undecided {
		select {
		case a := <-replies:
			g.start(ctx, p.add(a), replies)
		case <-ctx.Done():
			p.over = true
		}
	}
}

// start asks sentinels, each on a goroutine. Each puts one answer into replies, which has room for all.
func (g *Guard) start(ctx context.Context, addresses []string, replies chan<- *answer) {
	for _, address := range addresses {
		select {
		case g.slots <- struct{}{}:
			go func() {
				defer func() { <-g.slots }()
				replies <- g.ask(ctx, address)
			}()
		default:
			replies <- &answer{from: address}
		}
	}
}

// ask asks one sentinel, on a connection of its own. At the end of ctx the answer is that of a silent sentinel.
func (g *Guard) ask(ctx context.Context, address string) *answer {
	c, failed := g.open(ctx, address)
	if c == nil {
		return failed
	}
	defer c.close()
	return c.ask(ctx)
}

// logRefusal logs that a master is not followed although a sentinel names it.
func (g *Guard) logRefusal(p *poll) {
	if log := g.log.Load(); log != nil && p.names() && g.logged.Swap(p.seen) != p.seen {
		log.Warn("lockwheel: a sentinel names a master that was replaced; not connecting to it", "node", p.candidate, "master", p.seen.master)
	}
}

// wait waits, at most until the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
