package bench

import (
	"context"
	"fmt"
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

// prober locks and unlocks names that nobody else wants, a pair every floodEvery whether earlier ones are done or not.
type prober struct {
	client  peers.Contestant
	phase   atomic.Pointer[Phase]
	count   atomic.Int64
	under   sync.WaitGroup
	once    sync.Once
	failed  error
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
			p.once.Do(func() { p.failed = fmt.Errorf("an unrelated lock failed: %w", err) })
		}
	})
	return true
}

// close waits for the probes that are under way.
func (p *prober) close() error {
	p.stop.Store(true)
	return bounded("an unrelated lock", grace, func() error {
		<-p.stopped
		p.under.Wait()
		return p.failed
	})
}

// bystander sends bare PINGs on a connection of its own, which tells what is the server's part, and the processors'.
type bystander struct {
	conn    *redistest.Conn
	phase   atomic.Pointer[Phase]
	stopped chan struct{}
	stop    atomic.Bool
}

func newBystander(addr string) (*bystander, error) {
	conn, err := redistest.Dial(addr)
	if err != nil {
		return nil, err
	}
	b := &bystander{conn: conn, stopped: make(chan struct{})}
	go func() {
		defer close(b.stopped)
		punctually(time.Now(), always, floodEvery, b.ping)
	}()
	return b, nil
}

func (b *bystander) begin(p *Phase) { b.phase.Store(p) }

// ping goes on until it is stopped, or the connection is of no more use.
func (b *bystander) ping(_ int, due time.Time) bool {
	phase := b.phase.Load()
	_, err := b.conn.Do("PING")
	if phase != nil {
		phase.Ping.Record(time.Since(due))
	}
	return err == nil && !b.stop.Load()
}

func (b *bystander) close() {
	b.stop.Store(true)
	<-b.stopped
	b.conn.Close()
}
