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

const (
	floodName      = "lockwheel-bench-flood-"
	countsPerYield = 64 // waiters that are counted without a yield
)

// localFlood is a flooder in this process: what those of lockwheel and of the peers share.
type localFlood struct {
	client        peers.Contestant
	waiters       int
	own           bool
	held          *heldLocks
	prober        *prober
	ctx           context.Context // of all waiters
	cancelWaiters context.CancelFunc
}

func newLocalFlood(client peers.Contestant, waiters int, own bool) localFlood {
	h := localFlood{client: client, waiters: waiters, own: own, prober: newProber(client)}
	h.ctx, h.cancelWaiters = context.WithCancel(context.Background())
	return h
}

// name returns the name for which a waiter waits.
func (h *localFlood) name(i int) string {
	if !h.own {
		i = 0
	}
	return floodName + strconv.Itoa(i)
}

func (h *localFlood) acquireHolds(holds int) error {
	h.held = newHeldLocks(heldName, holds)
	return h.held.acquire(h.client.(peers.Holder))
}

func (h *localFlood) granted() int { return 0 }

func (h *localFlood) lost() (int, error) { return h.held.lost(), nil }

func (h *localFlood) begin(p *Phase) error {
	h.prober.begin(p)
	return nil
}

func (h *localFlood) end(*Phase) {}

func (h *localFlood) used() (measure.Usage, error) { return processUsage() }

func (h *localFlood) stopProbes() error { return h.prober.close() }

func (h *localFlood) cancel() error {
	h.cancelWaiters()
	return nil
}

// close leaves a client running if it hangs. Its locks end with their leases.
func (h *localFlood) close() {
	h.cancelWaiters()
	_ = h.prober.close()
	closeWithTimeout(h.client)
}

func (h *localFlood) footprint() Footprint {
	return Footprint{runtime.NumGoroutine(), residentMemory("self")}
}

// residentMemory returns the resident memory of a process, 0 where the system does not report it.
func residentMemory(pid string) int64 {
	text, _ := os.ReadFile("/proc/" + pid + "/statm")
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// lockwheelHold is how lockwheel and Redisson store a name that another holder has.
var lockwheelHold = foreignHold{floodName, "hash"}

func channelOf(name string) []any {
	return []any{publish, "redisson_lock__channel:{" + name + "}", "0"}
}

// asyncWaiters are lockwheel's waiters without a goroutine.
type asyncWaiters struct {
	lockwheelFlood
	all        []*lockwheel.Pending
	endedCount int // waiters with a result, counted from the first on
}

// lockwheelFlood is what lockwheel's floods share.
type lockwheelFlood struct {
	localFlood
	ours        *peers.LockwheelClient
	turnsBefore lockwheel.Histogram // before the phase
}

func openLockwheelFlood(s *Server, n int, own bool) (lockwheelFlood, error) {
	ours, err := peers.OpenLockwheel(peers.Config{Addr: s.Addr, Lease: floodLease, Callers: acquireWorkers})
	if err != nil {
		return lockwheelFlood{}, err
	}
	return lockwheelFlood{localFlood: newLocalFlood(ours, n, own), ours: ours}, nil
}

func (w *lockwheelFlood) foreignHold() foreignHold { return lockwheelHold }

func (w *lockwheelFlood) notifyCommand(i int) []any { return channelOf(w.name(i)) }

func (w *lockwheelFlood) begin(p *Phase) error {
	w.turnsBefore = w.ours.Engine.Stats().TurnTimes
	return w.localFlood.begin(p)
}

func (w *lockwheelFlood) end(p *Phase) {
	now := w.ours.Engine.Stats().TurnTimes
	turns := now.Since(w.turnsBefore)
	p.Turns, p.LongestTurn = turns.Quantile(0.999), turns.Quantile(1)
}

func (w *lockwheelFlood) allWaiting() (bool, error) {
	names := 1
	if w.own {
		names = w.waiters
	}
	stats := w.ours.Engine.Stats()
	return stats.Waiting >= int64(w.waiters) && stats.Subscriptions >= int64(names), nil
}

func (p *asyncWaiters) post() error {
	p.all = make([]*lockwheel.Pending, p.waiters)
	for i := range p.all {
		p.all[i] = p.ours.Engine.Mutex(p.name(i)).LockAsync(p.ctx)
	}
	return nil
}

// ended yields now and then: that it counts is no part of the flood.
func (p *asyncWaiters) ended() (int, error) {
	for ; p.endedCount < len(p.all); p.endedCount++ {
		select {
		case <-p.all[p.endedCount].Done():
			if _, err := p.all[p.endedCount].Hold(); !errors.Is(err, context.Canceled) {
				return p.endedCount, unexpectedResult(err)
			}
			p.all[p.endedCount] = nil
			if p.endedCount%countsPerYield == 0 {
				runtime.Gosched()
			}
		default:
			return p.endedCount, nil
		}
	}
	return p.endedCount, nil
}

// unexpectedResult returns the error for a waiter with a result other than its cancellation.
func unexpectedResult(err error) error {
	if err == nil {
		return errors.New("a lock of another holder was granted")
	}
	return fmt.Errorf("a waiter was refused: %w", err)
}

// blockedWaiters are waiters with a goroutine each.
type blockedWaiters struct {
	*localFlood
	returned atomic.Int64
	failed   atomic.Pointer[error] // set before back counts the waiter that failed
}

func (b *blockedWaiters) post() error {
	for i := range b.waiters {
		w := b.client.Worker(b.name(i), i)
		go func() {
			if err := w.Lock(b.ctx); !errors.Is(err, context.Canceled) {
				err = unexpectedResult(err)
				b.failed.Store(&err)
			}
			b.returned.Add(1)
		}()
	}
	return nil
}

func (b *blockedWaiters) ended() (int, error) {
	n := int(b.returned.Load())
	if failed := b.failed.Load(); failed != nil {
		return n, *failed
	}
	return n, nil
}

// lockwheelBlocked are lockwheel's waiters with a goroutine each.
type lockwheelBlocked struct {
	lockwheelFlood
	goroutines blockedWaiters
}

func (w *lockwheelBlocked) post() error         { return w.goroutines.post() }
func (w *lockwheelBlocked) ended() (int, error) { return w.goroutines.ended() }
