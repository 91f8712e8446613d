// Package proxy stands between a client and a server and breaks their connections in the ways that networks do, on command and
// without chance: replies that come late or never, commands that run after their client has gone, links of which
// neither end knows that they are dead.
//
//	p := proxy.Start(t, server.Addr())        // the client connects to p.Addr()
//	p.Set(proxy.Replies, proxy.Hold)          // commands run, their replies wait here
//	…                                         // until p.Held(proxy.Replies) > 0, say
//	p.Set(proxy.Replies, proxy.Pass)          // and now they arrive
//
// Recipes:
//
//	a reply 200 ms late            Set(Replies, Delay(200*time.Millisecond))
//	a reply lost, the command run  SetFor(Present, Replies, CutAfter(0)): reset when the reply comes by; the next connection works
//	a network that heals           Set(Both, Hold), later Set(Both, Pass): TCP sends again what it could not deliver
//	a half-open link               Set(Both, Drop): neither end hears anything, not even that the other one has gone
//	a command that runs late       Set(Commands, Hold), the client leaves, Set(Commands, Pass)
//	messages lost, unnoticed       SetFor(Listening, Both, Drop): the pub/sub connections are half-open, new ones work
//	late SUBSCRIBE confirmations   SetFor(Subscribers, Replies, Delay(…))
//	everything reset               Cut()
//	connection refused             Refuse(true)
//	connected, then silence        SetFor(Future, Both, Drop)
package proxy

import (
	"net"
	"sync"
	"testing"

	"github.com/lockwheel/lockwheel/internal/loopback"
)

// Direction says which way bytes go. Both is the two together.
type Direction uint8

const (
	Commands Direction = 1 << iota // from the client to the server
	Replies                        // from the server to the client
	Both     = Commands | Replies
)

// Scope says which connections a fault is for.
type Scope uint8

const (
	All         Scope = iota // those that are open and those to come
	Present                  // those that are open
	Future                   // those to come
	Listening                // those that are open and have sent a SUBSCRIBE or SSUBSCRIBE
	Subscribers              // those that have sent a SUBSCRIBE or SSUBSCRIBE, or will, from that moment on; wins over the others
)

// Proxy forwards connections to one server. Its methods may be called from any goroutine. A fault takes effect at
// once, also for bytes that had arrived but were not forwarded yet.
type Proxy struct {
	port int
	wg   sync.WaitGroup // every goroutine

	mu       sync.Mutex // guards what follows
	target   string
	listener net.Listener
	closed   bool
	links    map[*link]struct{}
	accepted int
	future   faults // for links to come
	subs     faults // for links that subscribe; a nil one leaves them to what they have
}

// Start starts a proxy that ends with the test.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// New starts a proxy to the server at target, which may come, go and come back. The caller ends it with Close.
func New(target string) (*Proxy, error) {
	l, err := loopback.Listen()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		target: target,
		port:   l.Addr().(*net.TCPAddr).Port,
		links:  map[*link]struct{}{},
		future: faults{commands: &Pass, replies: &Pass},
	}
	p.serve(l)
	return p, nil
}

// Addr is where clients connect to, also while they are refused.
func (p *Proxy) Addr() string {
	return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.port}).String()
}

// Set applies a fault to all connections, open and to come, except that one for Subscribers stays with these.
func (p *Proxy) Set(d Direction, f Fault) { p.SetFor(All, d, f) }

// SetFor applies a fault to some of the connections.
func (p *Proxy) SetFor(scope Scope, d Direction, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch scope {
	case Subscribers:
		p.subs.set(d, f)
	case Future:
		p.future.set(d, f)
		return
	case All:
		p.future.set(d, f)
	}
	for l := range p.links {
		if scope == All || scope == Present || scope == Listening && l.subscriber {
			l.own.set(d, f)
		}
		l.apply(p.subs)
	}
}

// Retarget sends connections to come to another server, as a failover does. Open ones stay where they are.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Heal ends all faults, and refusing. What is held goes out; connections that have lost something are reset.
func (p *Proxy) Heal() error {
	p.mu.Lock()
	p.subs = faults{}
	p.mu.Unlock()
	p.Set(Both, Pass)
	return p.Refuse(false)
}

// Cut resets all open connections, to both sides, with whatever they hold.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Refuse turns new connections away (ECONNREFUSED: nobody listens), or takes them again. Open ones go on. Taking them again
// fails if somebody else took the port meanwhile.
func (p *Proxy) Refuse(refuse bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return net.ErrClosed
	case refuse && p.listener != nil:
		err := p.listener.Close()
		p.listener = nil
		return err
	case !refuse && p.listener == nil:
		l, err := loopback.ListenOn(p.port)
		if err != nil {
			return err
		}
		p.serve(l)
	}
	return nil
}

// Connections is how many connections are open: until the client has closed its end and nothing is held for the server, or
// until they are cut.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Accepted is how many connections there have ever been.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Held is how many bytes have arrived and not been forwarded, over all open connections: those that a Hold or a Delay keeps back.
func (p *Proxy) Held(d Direction) (bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		bytes += l.held(d)
	}
	return bytes
}

// Close refuses new connections, cuts the open ones and waits until every goroutine has ended. A second call does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	p.Cut()
	p.wg.Wait()
	return nil
}

// serve takes connections from l until it is closed. mu is held, or nobody else knows p.
func (p *Proxy) serve(l net.Listener) {
	p.listener = l
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.accept(client.(*net.TCPConn))
		}
	})
}

// accept makes a link of a new connection. A server that cannot be reached resets it.
func (p *Proxy) accept(client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		reset(client)
		return
	}
	l := newLink(p.future)
	l.apply(p.subs)
	p.links[l] = struct{}{}
	p.accepted++
	target := p.target
	p.wg.Go(func() {
		l.run(client, target, func() { p.subscribed(l) })
		p.forget(l)
	})
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// subscribed is called by a link when a SUBSCRIBE comes by, before it goes on to the server.
func (p *Proxy) subscribed(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.subscriber = true
	l.apply(p.subs)
}
