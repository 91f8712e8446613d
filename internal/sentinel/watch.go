package sentinel

import (
	"cmp"
	"context"
	"net"
	"slices"
	"time"
)

const (
	// watchEvery is the pause between two polls of the sentinels. An announced failover ends it.
	watchEvery = time.Second
	// watchRejected is the pause while no sentinel tells anything. Each rejected question is an entry in its ACL LOG.
	watchRejected = 10 * time.Second
	// minWatchPause is the shortest pause, however often sentinels announce something.
	minWatchPause = 100 * time.Millisecond
	// believeMost is how long most sentinels have to name a master until it counts, although its epoch is not newer. An
	// operator may have set them up anew. Sentinels that only missed a failover learn of it sooner.
	believeMost = 10 * time.Second
)

// watcher polls all sentinels while a client is open. It keeps a connection to each that a poll may ask, at most
// maxAsked and those that hang. newWatcher makes one; the zero value has no guard. It belongs to its goroutine.
type watcher struct {
	guard     *Guard
	idle      map[string]*session // by address
	asked     map[string]struct{} // addresses with a question in flight, at most maxAsked
	heard     chan heard
	most      string        // what namedByMost returned at the last poll
	since     time.Time     // since when they do
	elsewhere *net.Conn     // the client's connection to a sentinel at the last poll, if the client was not at the newest master
	switched  chan struct{} // has an element if a sentinel announced a failover since the last poll
}

// session is a connection that is listened to.
type session struct {
	conn
	over chan struct{} // closed when it is no longer listened to
}

// heard is an answer for a poll.
type heard struct {
	of      *poll
	from    string
	answer  *answer
	session *session // nil if it ended
}

func newWatcher(g *Guard) *watcher {
	return &watcher{
		guard: g, idle: make(map[string]*session), asked: make(map[string]struct{}), heard: make(chan heard, maxAsked),
		switched: make(chan struct{}, 1),
	}
}

// run polls until ctx ends, and returns when all connections have ended.
func (w *watcher) run(ctx context.Context) {
	defer w.end()
	for ctx.Err() == nil {
		pause := watchEvery
		if w.poll(ctx) {
			pause = watchRejected
		}
		wait(ctx, minWatchPause)
		w.rest(ctx, pause-minWatchPause)
	}
}

// end closes the connections. Those with a question in flight end with the context of run.
func (w *watcher) end() {
	for len(w.asked) > 0 {
		w.keep(<-w.heard)
	}
	for _, s := range w.idle {
		s.end()
	}
}

func (s *session) end() {
	s.close()
	<-s.over
}

// rest waits until the next poll.
func (w *watcher) rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case h := <-w.heard: // too late for its poll
			w.keep(h)
		case <-w.switched:
			return
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// poll polls the sentinels once, and acts on what they tell. It reports whether they only rejected the question.
func (w *watcher) poll(ctx context.Context) (onlyRejected bool) {
	g := w.guard
	seen := g.seen.Load()
	p := newPoll(seen.master, seen, g.present())
	w.start(ctx, p, p.asked)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for p.waiting > 0 && !p.over && p.successor() == "" {
		select {
		case h := <-w.heard:
			w.keep(h)
			if h.of == p {
				w.start(ctx, p, p.add(h.answer))
			}
		case <-timer.C:
			p.over = true
		case <-ctx.Done():
			return false
		}
	}
	w.act(p)
	w.forget(p.asked)
	return p.rejected > 0 && len(p.told) == 0
}

// act has the client follow to the successor of its master: it ends the client's connection to a sentinel, and rueidis
// asks them anew. It does so again if the client is not there at the second poll after, because it asked a sentinel
// that names the old one. Not sooner, because rueidis adds a goroutine each time. If no sentinel says an epoch, the
// client follows its own sentinel.
func (w *watcher) act(p *poll) {
	g, moves := w.guard, false
	next := p.successor()
	if w.count(p.namedByMost()); next == "" && w.most != "" && time.Since(w.since) >= believeMost {
		next = w.most
	}
	if at := g.dialled.Load(); at != nil {
		next = cmp.Or(next, p.blindSuccessor(*at))
	}
	switch same := p.next(p.candidate); {
	case next != "":
		moves = g.replace(p.seen, p.next(next)) && next != p.candidate
	case same.epoch > p.seen.epoch: // it was not told when the client followed, or there was a failover to the same one
		g.replace(p.seen, same)
	}
	current := g.current.Load()
	if reached := g.seen.Load().conns.reached; current == nil || reached == nil || reached.Load() {
		w.elsewhere = nil
		return
	}
	if moves || w.elsewhere == current {
		(*current).Close()
	}
	w.elsewhere = current
}

// count notes since when most sentinels name the same master.
func (w *watcher) count(most string) {
	if most != w.most {
		w.most, w.since = most, time.Now()
	}
}

// start asks sentinels, each on a goroutine. One that has not replied to the last question counts as silent.
func (w *watcher) start(ctx context.Context, p *poll, addresses []string) {
	for _, address := range addresses {
		if _, asked := w.asked[address]; asked || len(w.asked) == maxAsked {
			p.add(&answer{from: address})
			continue
		}
		s := w.idle[address]
		delete(w.idle, address)
		w.asked[address] = struct{}{}
		go func() {
			h := heard{of: p, from: address}
			h.answer, h.session = w.ask(ctx, address, s)
			w.heard <- h
		}()
	}
}

// ask asks one sentinel, on its connection or on a new one, and returns that unless it ended. A failover that is
// announced before a new connection listens waits for the next poll.
func (w *watcher) ask(ctx context.Context, address string, s *session) (*answer, *session) {
	if s != nil && s.isOver() {
		s.end()
		s = nil
	}
	if s == nil {
		c, failed := w.guard.open(ctx, address)
		if c == nil {
			return failed, nil
		}
		s = &session{c, make(chan struct{})}
		go func() {
			defer close(s.over)
			s.listen(ctx, w.wake)
		}()
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := s.ask(within)
	if a.outcome == silent {
		s.end()
		s = nil
	}
	return a, s
}

func (s *session) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// wake ends the pause before the next poll. It is safe for concurrent use.
func (w *watcher) wake() {
	select {
	case w.switched <- struct{}{}:
	default:
	}
}

// keep keeps a connection for the next poll.
func (w *watcher) keep(h heard) {
	delete(w.asked, h.from)
	if h.session != nil {
		w.idle[h.from] = h.session
	}
}

// forget closes the connections to sentinels that are no longer asked.
func (w *watcher) forget(asked []string) {
	for address, s := range w.idle {
		if !slices.Contains(asked, address) {
			delete(w.idle, address)
			s.end()
		}
	}
}
