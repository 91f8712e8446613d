// Package busywait lets a goroutine that has written a command look for the reply for a moment, before its thread may
// go to sleep. A thread that sleeps is woken some ten microseconds after the reply has come. On the same host the reply
// itself takes no longer than that, and looking for it takes less processor time than the sleep and the wake-up.
//
// A look takes no data from the connection: what reads it finds the reply there. It may take the error of a connection
// that was reset; what reads finds the end then.
package busywait

import (
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// MaxYield is the usual value for NewGate. With it there are 1.2 times as many pairs with 256 callers as without waits.
const MaxYield = 10 * time.Microsecond

const (
	// maxInFlight is the maximum number of commands in flight beside which a goroutine waits. With more of them the
	// process has other work, or the server needs longer.
	maxInFlight = 256
	// maxPause is the maximum number of writes without a wait, after one in vain.
	maxPause = 1024
	// minLookTime is less than what a look takes. It bounds the number of looks where the clock stands still.
	minLookTime = 100 * time.Nanosecond
	// longWait is how much a wait may exceed its limit without a pause of all waits of its engine. One takes longer where
	// goroutines compute, because each yield lets them run for 10 ms. pauseFactor is that pause, in multiples of the wait:
	// such waits take at most 6 % of the time, as the yields of the loop do.
	longWait    = time.Millisecond
	pauseFactor = 16
)

// Gate is what the waits of one engine have in common. NewGate makes one. It is safe for concurrent use. New takes a
// nil Gate, too.
type Gate struct {
	limit    time.Duration // of one wait
	maxYield time.Duration // see NewGate
	epoch    time.Time     // origin of pausedUntil

	inFlight    atomic.Int64 // commands in flight
	pausedUntil atomic.Int64 // no goroutine waits before, in ns since the epoch; 0: there was no pause
}

// NewGate returns a gate for waits of at most limit, or longer while other goroutines run. A wait also ends if
// these run for longer than maxYield between two looks: the process has other work, and the thread would not have
// slept. For a limit that is not positive, and with one processor, NewGate returns nil.
func NewGate(limit, maxYield time.Duration) *Gate {
	if limit <= 0 || runtime.GOMAXPROCS(0) == 1 {
		return nil
	}
	return &Gate{limit: limit, maxYield: maxYield, epoch: time.Now()}
}

// SetInFlight says how many commands are written or about to be. Waits begin and go on only beside 1 to 256 of them.
func (g *Gate) SetInFlight(commands int) { g.inFlight.Store(int64(commands)) }

func (g *Gate) open() bool {
	n := g.inFlight.Load()
	return 0 < n && n <= maxInFlight
}

// noteLong lets no goroutine wait for a while after a wait that took very long.
func (g *Gate) noteLong(now time.Time, took time.Duration) {
	if took > g.limit+longWait {
		g.pausedUntil.Store(int64(now.Sub(g.epoch) + pauseFactor*took))
	}
}

func (g *Gate) paused(now time.Time) bool {
	until := g.pausedUntil.Load()
	return until != 0 && int64(now.Sub(g.epoch)) < until
}

// Waiter waits for the replies on one connection. The nil Waiter does not. All its methods are safe for concurrent use.
type Waiter struct {
	gate  *Gate
	conn  syscall.RawConn
	look  func(fd uintptr) // sets seen
	reads atomic.Uint64    // reads that have brought something

	// Owned by the goroutine that has set waiting.
	seen    bool // there is something to read, or the connection has ended
	backoff backoff
}

// New returns a waiter for a connection of the operating system. It returns nil for a nil gate, for other connections,
// and where CanLook is false.
func New(g *Gate, conn net.Conn) *Waiter {
	system, ok := conn.(syscall.Conn)
	if g == nil || !ok || !CanLook {
		return nil
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return nil
	}
	w, b := &Waiter{gate: g, conn: raw}, make([]byte, 1)
	w.look = func(fd uintptr) { w.seen = readable(fd, b) }
	return w
}

// NoteRead says that a read has brought something.
func (w *Waiter) NoteRead() {
	if w != nil {
		w.reads.Add(1)
	}
}

// Reads returns the number of reads that have brought something.
func (w *Waiter) Reads() uint64 {
	if w == nil {
		return 0
	}
	return w.reads.Load()
}

// waiting is set while a goroutine of the process waits. With two of them and two processors, no thread would be left
// to find out that another connection can be read.
var waiting atomic.Bool

// Wait blocks until there is something to read, or something was read since there were that many reads, as Reads
// returned it before the write. It returns after the limit of the gate, and once other goroutines have run for longer
// than maxYield. It returns at once if another goroutine of the process waits, if no or too many commands are in
// flight, in the pause after a wait that took very long, and mostly if the waits before were in vain.
func (w *Waiter) Wait(reads uint64) {
	if w == nil || !w.gate.open() || !waiting.CompareAndSwap(false, true) {
		return
	}
	if now := time.Now(); !w.gate.paused(now) && w.backoff.due() {
		w.wait(now, reads)
	}
	waiting.Store(false)
}

// wait waits and notes the outcome. A wait that took longer than its limit is in vain, also if the reply has come.
func (w *Waiter) wait(began time.Time, reads uint64) {
	yielded := time.Duration(0)
	for looksLeft := w.gate.limit / minLookTime; ; looksLeft-- {
		w.seen = false
		failed := w.conn.Control(w.look) != nil
		now := time.Now()
		took := now.Sub(began)
		switch {
		case failed, looksLeft <= 0, took > w.gate.limit:
			w.backoff.inVain()
			w.gate.noteLong(now, took)
			return
		case w.seen, w.Reads() != reads:
			w.backoff = backoff{}
			return
		case yielded > w.gate.maxYield, !w.gate.open():
			return // that says nothing about the next write
		}
		runtime.Gosched()
		yielded = time.Since(now)
	}
}

// backoff decides which writes are waited after: all, until a wait is in vain. Then 1, 2, 4 and at most maxPause writes
// are not. So a server that needs longer costs next to nothing. The zero value has seen no wait in vain.
type backoff struct{ pause, left int }

// due reports whether to wait after the present write.
func (b *backoff) due() bool {
	if b.left == 0 {
		return true
	}
	b.left--
	return false
}

func (b *backoff) inVain() {
	b.pause = min(max(2*b.pause, 1), maxPause)
	b.left = b.pause
}
