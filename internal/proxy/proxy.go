// Package proxy forwards connections between clients and a server, and breaks them in the ways that networks do, on
// command and without chance. Replies come late or never, commands run after their client has gone, or links are
// dead while neither end knows.
//
//	p := proxy.Start(t, server.Addr())        // the client connects to p.Addr()
//	p.Set(proxy.Replies, proxy.Hold)          // commands run, their replies wait here
//	…                                         // until p.Buffered(proxy.Replies) > 0, say
//	p.Set(proxy.Replies, proxy.Pass)          // and now they arrive
//
// Recipes:
//
//	a reply 200 ms late            Set(Replies, Delay(200*time.Millisecond))
//	a reply lost, the command run  SetFor(Existing, Replies, CutAfter(0)): reset when the reply comes by; the next connection works
//	a network that heals           Set(Both, Hold), later Set(Both, Pass): TCP sends again what it could not deliver
//	a half-open link               Set(Both, Drop): neither end hears anything, not even that the other one has gone
//	a command that runs late       Set(Commands, Hold), the client leaves, Set(Commands, Pass)
//	messages lost, unnoticed       SetFor(ExistingSubscribers, Both, Drop): the pub/sub connections are half-open, new ones work
//	late SUBSCRIBE confirmations   SetFor(Subscribers, Replies, Delay(…))
//	everything reset               Cut()
//	connection refused             Refuse(true)
//	connected, then silence        SetFor(Upcoming, Both, Drop)
package proxy

import (
	"net"
	"sync"
	"testing"

	"github.com/lockwheel/lockwheel/internal/testport"
)

// Direction is the way in which bytes go. Both is the two together.
type Direction uint8

const (
	Commands Direction = 1 << iota // from the client to the server
	Replies                        // from the server to the client
	Both     = Commands | Replies
)

// Scope says which connections a fault applies to.
type Scope uint8

const (
	All                 Scope = iota // open and future ones
	Existing                         // open ones
	Upcoming                         // future ones
	ExistingSubscribers              // open ones that have sent a SUBSCRIBE or SSUBSCRIBE
	Subscribers                      // those that have sent a SUBSCRIBE or SSUBSCRIBE, or will, from that moment on; wins over the others
)

// Proxy forwards connections to one server. Its methods may be called from any goroutine. A fault takes effect at
// once, also for bytes that had arrived and were not forwarded yet.
type Proxy struct {
	port int
	wg   sync.WaitGroup // every goroutine

	mu          sync.Mutex // guards what follows
	target      string
	listener    net.Listener
	closed      bool
	links       map[*link]struct{}
	accepted    int
	upcoming    faults // for future links
	subscribers faults // for links that subscribe; nil leaves a link its own fault
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

// New starts a proxy to the server at target, which need not be up. The caller ends the proxy with Close.
func New(target string) (*Proxy, error) {
	l, err := testport.Listen()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		target:   target,
		port:     l.Addr().(*net.TCPAddr).Port,
		links:    map[*link]struct{}{},
		upcoming: faults{commands: &Pass, replies: &Pass},
	}
	p.serve(l)
	return p, nil
}

// Addr returns the address that clients connect to. It stays the same while connections are refused.
func (p *Proxy) Addr() string {
	return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.port}).String()
}

// Set applies a fault to all connections, open and future. Faults set for Subscribers stay in effect for these.
func (p *Proxy) Set(d Direction, f Fault) { p.SetFor(All, d, f) }

// SetFor applies a fault to the connections in a scope.
func (p *Proxy) SetFor(scope Scope, d Direction, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch scope {
	case Subscribers:
		p.subscribers.set(d, f)
	case Upcoming:
		p.upcoming.set(d, f)
		return
	case All:
		p.upcoming.set(d, f)
	}
	for l := range p.links {
		if scope == All || scope == Existing || scope == ExistingSubscribers && l.subscriber {
			l.faults.set(d, f)
		}
		l.apply(p.subscribers)
	}
}

// Retarget sends future connections to another server, as a failover does. Open ones keep theirs.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Heal ends all faults and the refusal of connections. Held bytes are forwarded. Connections that have lost bytes
// are reset.
func (p *Proxy) Heal() error {
	p.mu.Lock()
	p.subscribers = faults{}
	p.mu.Unlock()
	p.Set(Both, Pass)
	return p.Refuse(false)
}

// Cut resets all open connections, to both sides, and drops the bytes that they hold.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Refuse closes the listening port, so that new connections get ECONNREFUSED, or opens it again. Open connections
// continue. Opening the port fails if another process took it meanwhile.
func (p *Proxy) Refuse(refuse bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return net.ErrClosed
	case refuse && p.listener != nil:
		err := testport.Close(p.listener)
		p.listener = nil
		return err
	case !refuse && p.listener == nil:
		l, err := testport.ListenOn(p.port)
		if err != nil {
			return err
		}
		p.serve(l)
	}
	return nil
}

// Connections returns how many connections are open. A connection is open until it is cut, or until the client has
// closed its end and nothing is held for the server.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Accepted returns how many connections there have been in total.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Buffered returns how many bytes have arrived and were not forwarded, over all open connections: those that a Hold or
// a Delay keeps back.
func (p *Proxy) Buffered(d Direction) (bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		bytes += l.buffered(d)
	}
	return bytes
}

// Close refuses new connections, cuts the open ones and waits until every goroutine has ended. A second call does
// nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		testport.Close(p.listener)
		p.listener = nil
	}
	p.mu.Unlock()
	p.Cut()
	p.wg.Wait()
	return nil
}

// serve accepts connections from l until l is closed. The caller holds mu, or p is not shared yet.
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

// accept makes a link of a new connection. If the server cannot be reached, accept resets the connection.
func (p *Proxy) accept(client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		reset(client)
		return
	}
	l := newLink(p.upcoming)
	l.apply(p.subscribers)
	p.links[l] = struct{}{}
	p.accepted++
	target := p.target
	p.wg.Go(func() {
		l.run(client, target, func() { p.onSubscribe(l) })
		p.remove(l)
	})
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// onSubscribe is called by a link when a SUBSCRIBE passes, before the link forwards it to the server.
func (p *Proxy) onSubscribe(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.subscriber = true
	l.apply(p.subscribers)
}
