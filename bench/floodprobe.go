package bench

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

const (
	floodEvery = 5 * time.Millisecond // between two probes
	always     = math.MaxInt
)

// prober locks and unlocks names without contention, a pair every floodEvery whether earlier ones are done or not.
type prober struct {
	client  peers.Contestant
	phase   atomic.Pointer[Phase]
	count   atomic.Int64
	under   sync.WaitGroup
	stop    atomic.Bool
	stopped chan struct{}
}

const probeName = "lockwheel-bench-unrelated-"

func newProber(client peers.Contestant) *prober {
	p := &prober{client: client, stopped: make(chan struct{})}
	go func() {
		defer close(p.stopped)
		punctually(time.Now(), always, floodEvery, p.probe)
	}()
	return p
}

func (p *prober) begin(phase *Phase) { p.phase.Store(phase) }

func (p *prober) begun() int { return int(p.count.Load()) }

func (p *prober) probe(i int, due time.Time) bool {
	if p.stop.Load() {
		return false
	}
	phase := p.phase.Load()
	if phase == nil {
		return true // not yet
	}
	p.count.Add(1)
	w := p.client.Worker(probeName+strconv.Itoa(i), i)
	p.under.Go(func() {
		err := w.Lock(context.Background())
		if err == nil {
			err = w.Unlock()
		}
		phase.Probe.Record(time.Since(due))
		if err != nil {
			atomic.AddInt64(&phase.Refused, 1)
		}
	})
	return true
}

// close waits for the probes in flight.
func (p *prober) close() error {
	p.stop.Store(true)
	return bounded("an unrelated lock", grace, func() error {
		<-p.stopped
		p.under.Wait()
		return nil
	})
}

// bystander sends bare PINGs on a connection of its own, which shows the part of the server and of the processors. One
// goroutine sends them, whether earlier ones have a reply or not, and another one receives.
type bystander struct {
	conn     *redistest.Conn
	phase    atomic.Pointer[Phase]
	sent     chan sentPing
	stop     atomic.Bool
	received chan struct{} // closed when all have a reply
}

// sentPing is a PING without a reply so far.
type sentPing struct {
	due   time.Time
	phase *Phase
}

// pingsAhead is the maximum number of PINGs in flight.
const pingsAhead = 1 << 14

func newBystander(addr string) (*bystander, error) {
	conn, err := redistest.Dial(addr)
	if err != nil {
		return nil, err
	}
	b := &bystander{conn: conn, sent: make(chan sentPing, pingsAhead), received: make(chan struct{})}
	go func() {
		defer close(b.sent)
		punctually(time.Now(), always, floodEvery, b.ping)
	}()
	go b.receive()
	return b, nil
}

func (b *bystander) begin(p *Phase) { b.phase.Store(p) }

// ping sends PINGs until it is stopped, or the connection fails.
func (b *bystander) ping(_ int, due time.Time) bool {
	if phase := b.phase.Load(); phase != nil {
		if b.conn.Send("PING") != nil {
			return false
		}
		b.sent <- sentPing{due, phase}
	}
	return !b.stop.Load()
}

func (b *bystander) receive() {
	defer close(b.received)
	var broken error
	for p := range b.sent {
		if broken == nil {
			_, broken = b.conn.Receive(patience)
		}
		p.phase.Ping.Record(time.Since(p.due))
	}
}

func (b *bystander) close() {
	b.stop.Store(true)
	<-b.received
	b.conn.Close()
}
