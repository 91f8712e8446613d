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
	probeInterval = 5 * time.Millisecond // between two probes
	unlimited     = math.MaxInt
)

// prober locks and unlocks names without contention, a pair every probeInterval whether earlier ones are done or not.
type prober struct {
	client   peers.Contestant
	phase    atomic.Pointer[Phase]
	count    atomic.Int64
	inFlight sync.WaitGroup
	stop     atomic.Bool
	stopped  chan struct{}
}

const probeName = "lockwheel-bench-unrelated-"

func newProber(client peers.Contestant) *prober {
	p := &prober{client: client, stopped: make(chan struct{})}
	go func() {
		defer close(p.stopped)
		paced(time.Now(), unlimited, probeInterval, p.probe)
	}()
	return p
}

func (p *prober) begin(phase *Phase) { p.phase.Store(phase) }

func (p *prober) started() int { return int(p.count.Load()) }

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
	p.inFlight.Go(func() {
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
	return withTimeout("an unrelated lock", grace, func() error {
		<-p.stopped
		p.inFlight.Wait()
		return nil
	})
}

// pinger sends bare PINGs on a connection of its own, which shows the part of the server and of the processors. One
// goroutine sends them, whether earlier ones have a reply or not, and another one receives.
type pinger struct {
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

// maxPingsInFlight is the maximum number of PINGs in flight.
const maxPingsInFlight = 1 << 14

func newPinger(addr string) (*pinger, error) {
	conn, err := redistest.Dial(addr)
	if err != nil {
		return nil, err
	}
	b := &pinger{conn: conn, sent: make(chan sentPing, maxPingsInFlight), received: make(chan struct{})}
	go func() {
		defer close(b.sent)
		paced(time.Now(), unlimited, probeInterval, b.ping)
	}()
	go b.receive()
	return b, nil
}

func (b *pinger) begin(p *Phase) { b.phase.Store(p) }

// ping sends PINGs until it is stopped, or the connection fails.
func (b *pinger) ping(_ int, due time.Time) bool {
	if phase := b.phase.Load(); phase != nil {
		if b.conn.Send("PING") != nil {
			return false
		}
		b.sent <- sentPing{due, phase}
	}
	return !b.stop.Load()
}

func (b *pinger) receive() {
	defer close(b.received)
	var broken error
	for p := range b.sent {
		if broken == nil {
			_, broken = b.conn.Receive(replyTimeout)
		}
		p.phase.Ping.Record(time.Since(p.due))
	}
}

func (b *pinger) close() {
	b.stop.Store(true)
	<-b.received
	b.conn.Close()
}
