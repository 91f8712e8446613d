package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

const floodName = "lockwheel-bench-flood-"

// here is a flooder in this process: what those of lockwheel and of the peers share.
type here struct {
	client  peers.Contestant
	waiters int
	own     bool
	stock   *stock
	prober  *prober
	ctx     context.Context // of all waiters
	leave   context.CancelFunc
}

func newHere(client peers.Contestant, waiters int, own bool) here {
	h := here{client: client, waiters: waiters, own: own, prober: newProber(client)}
	h.ctx, h.leave = context.WithCancel(context.Background())
	return h
}

// name returns the name for which a waiter waits.
func (h *here) name(i int) string {
	if !h.own {
		i = 0
	}
	return floodName + strconv.Itoa(i)
}

func (h *here) keep(holds int) error {
	h.stock = newStock(heldName, holds)
	return h.stock.take(h.client.(peers.Holder))
}

func (h *here) lost() (int, error) { return h.stock.lost(), nil }

func (h *here) begin(p *Phase) error {
	h.prober.begin(p)
	return nil
}

func (h *here) end(*Phase) {}

func (h *here) used() (measure.Usage, error) { return usedHere() }

func (h *here) stopProbes() error { return h.prober.close() }

func (h *here) cancel() error {
	h.leave()
	return nil
}

// close leaves a client running if it hangs. Its locks end with their leases.
func (h *here) close() {
	h.leave()
	_ = h.prober.close()
	shut(h.client)
}

func (h *here) footprint() Footprint { return Footprint{runtime.NumGoroutine(), residentOf("self")} }

// residentOf returns the resident memory of a process, 0 where the system does not report it.
func residentOf(pid string) int64 {
	text, _ := os.ReadFile("/proc/" + pid + "/statm")
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// wheelsOwn is how lockwheel and Redisson store a name that another holder has.
var wheelsOwn = occupation{floodName, "hash"}

func channelOf(name string) []any {
	return []any{publish, "redisson_lock__channel:{" + name + "}", "0"}
}

// pendings are lockwheel's waiters without a goroutine.
type pendings struct {
	wheeling
	all  []*lockwheel.Pending
	seen int // waiters with a result, counted from the first on
}

// wheeling is what lockwheel's floods share.
type wheeling struct {
	here
	wheel *peers.Wheel
	turns lockwheel.TurnTimes // before the phase
}

func openWheeling(s *Server, n int, own bool) (wheeling, error) {
	wheel, err := peers.OpenLockwheel(peers.Config{Addr: s.Addr, Lease: floodLease, Callers: takers})
	if err != nil {
		return wheeling{}, err
	}
	return wheeling{here: newHere(wheel, n, own), wheel: wheel}, nil
}

func (w *wheeling) occupied() occupation { return wheelsOwn }

func (w *wheeling) message(i int) []any { return channelOf(w.name(i)) }

func (w *wheeling) begin(p *Phase) error {
	w.turns = w.wheel.Engine.Stats().TurnTimes
	return w.here.begin(p)
}

func (w *wheeling) end(p *Phase) {
	turns := w.wheel.Engine.Stats().TurnTimes
	for i := range turns {
		turns[i] -= w.turns[i]
	}
	p.Turns, p.LongestTurn = turns.Quantile(0.999), turns.Quantile(1)
}

func (w *wheeling) asked() (bool, error) {
	names := 1
	if w.own {
		names = w.waiters
	}
	stats := w.wheel.Engine.Stats()
	return stats.Waiting >= int64(w.waiters) && stats.Subscriptions >= int64(names), nil
}

func (p *pendings) post() error {
	p.all = make([]*lockwheel.Pending, p.waiters)
	for i := range p.all {
		p.all[i] = p.wheel.Engine.Mutex(p.name(i)).LockAsync(p.ctx)
	}
	return nil
}

func (p *pendings) ended() (int, error) {
	for ; p.seen < len(p.all); p.seen++ {
		select {
		case <-p.all[p.seen].Done():
			if _, err := p.all[p.seen].Hold(); !errors.Is(err, context.Canceled) {
				return p.seen, unexpected(err)
			}
			p.all[p.seen] = nil
		default:
			return p.seen, nil
		}
	}
	return p.seen, nil
}

// unexpected returns the error for a waiter with a result other than its cancellation.
func unexpected(err error) error {
	if err == nil {
		return errors.New("a lock of another holder was granted")
	}
	return fmt.Errorf("a waiter was refused: %w", err)
}

// blocked are waiters with a goroutine each.
type blocked struct {
	*here
	back   atomic.Int64
	failed atomic.Pointer[error] // set before back counts the waiter that failed
}

func (b *blocked) post() error {
	for i := range b.waiters {
		w := b.client.Worker(b.name(i), i)
		go func() {
			if err := w.Lock(b.ctx); !errors.Is(err, context.Canceled) {
				err = unexpected(err)
				b.failed.Store(&err)
			}
			b.back.Add(1)
		}()
	}
	return nil
}

func (b *blocked) ended() (int, error) {
	n := int(b.back.Load())
	if failed := b.failed.Load(); failed != nil {
		return n, *failed
	}
	return n, nil
}

// wheelBlocked are lockwheel's waiters with a goroutine each.
type wheelBlocked struct {
	wheeling
	goroutines blocked
}

func (w *wheelBlocked) post() error         { return w.goroutines.post() }
func (w *wheelBlocked) ended() (int, error) { return w.goroutines.ended() }
