// Package busywait lets a goroutine that has written a command look for the reply for a moment, before its thread may
// go to sleep. A thread that sleeps is woken some ten microseconds after the reply has come. On the same host the reply
// itself takes no longer than that, and looking for it takes less processor time than the sleep and the wake-up.
//
// A look takes no data from the connection: the goroutine that reads finds the reply there. It may take the error of a
// connection that was reset; the goroutine that reads finds the end of the connection then.
package busywait

import (
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// MaxYield is the usual value for NewGate.
const MaxYield = 10 * time.Microsecond

const (
	// maxInFlight is the maximum number of commands in flight beside which a goroutine waits. With more of them waits
	// bring nothing: the process has other work, or the server needs longer. Measured with 16, 32, 64 and 256 callers:
	// 1.29, 1.11, 0.98 and 0.96 times as many pairs as without waits.
	maxInFlight = 32
	// yieldEvery is how long a goroutine looks before it lets other goroutines run, again and again. Each time Go can wake
	// a thread for a processor without work, and on two processors that thread competes with the server. Measured there,
	// to a yield after each look: a lone caller's pair takes 0.64 times as long at p50; 2, 4 and 16 callers have as many
	// pairs.
	yieldEvery = 3 * time.Microsecond
	// minLookTime is less than what a look takes. It bounds the number of looks where the clock stands still.
	minLookTime = 100 * time.Nanosecond
)

// Gate is what the waits of one engine have in common. NewGate makes one, which lets no goroutine wait before
// SetInFlight. It is safe for concurrent use. New takes a nil Gate, too.
type Gate struct {
	limit    time.Duration // of one wait
	maxYield time.Duration // see NewGate
	inFlight atomic.Int64  // commands that are waited for
}

// NewGate returns a gate for waits of at most limit, or longer while other goroutines run. A wait also ends if
// these run for longer than maxYield between two looks: the process has other work, and the thread would not have
// slept. For a limit that is not positive, and with one processor, NewGate returns nil.
func NewGate(limit, maxYield time.Duration) *Gate {
	if limit <= 0 || runtime.GOMAXPROCS(0) == 1 {
		return nil
	}
	return &Gate{limit: limit, maxYield: maxYield}
}

// SetInFlight sets how many commands are written or about to be, or 0 to let no goroutine wait. Waits begin and go on
// only beside 1 to 32 of them.
func (g *Gate) SetInFlight(commands int) { g.inFlight.Store(int64(commands)) }

func (g *Gate) open() bool {
	n := g.inFlight.Load()
	return 0 < n && n <= maxInFlight
}

// Conn busy-waits for the replies on one connection. The nil Conn does not. All its methods are safe for concurrent
// use.
type Conn struct {
	gate   *Gate
	conn   syscall.RawConn
	look   func(fd uintptr) // sets seen
	yield  func()           // yieldThread
	letRun func()           // runtime.Gosched
	reads  atomic.Uint64    // reads that have brought something
	seen   bool             // there is something to read, or the connection has ended; owned by the goroutine that has set waiting
}

// New returns a Conn for a connection of the operating system. It returns nil for a nil gate, for other connections,
// and where CanLook is false.
func New(g *Gate, conn net.Conn) *Conn {
	system, ok := conn.(syscall.Conn)
	if g == nil || !ok || !CanLook {
		return nil
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return nil
	}
	c, b := &Conn{gate: g, conn: raw, yield: yieldThread, letRun: runtime.Gosched}, make([]byte, 1)
	c.look = func(fd uintptr) { c.seen = readable(fd, b) }
	return c
}

// NoteRead notes that a read has brought something.
func (c *Conn) NoteRead() {
	if c != nil {
		c.reads.Add(1)
	}
}

// Reads returns the number of reads that have brought something.
func (c *Conn) Reads() uint64 {
	if c == nil {
		return 0
	}
	return c.reads.Load()
}

// waiting is set while a goroutine of the process waits. With two of them and two processors, no thread would be left
// to find out that another connection can be read.
var waiting atomic.Bool

// Wait blocks until there is something to read, or something was read since there were that many reads, as Reads
// returned it before the write. It returns after the limit of the gate, and once other goroutines have run for longer
// than maxYield. It returns at once if another goroutine of the process waits, and if no or too many commands are in
// flight. It returns how long it took.
func (c *Conn) Wait(reads uint64) (took time.Duration) {
	if c == nil || !c.gate.open() || !waiting.CompareAndSwap(false, true) {
		return 0
	}
	took = c.wait(reads)
	waiting.Store(false)
	return took
}

// wait yields the thread once, after the first look, because Linux takes a thread that computes from its processor only
// after some milliseconds. Threads that have woken up wait as long, and so may the server. Measured on two processors,
// beside the server and a lone caller: p99 of how late timers of the same process are is 4.2 ms without that yield, and
// 0.15 ms with it, while pairs are as many.
func (c *Conn) wait(reads uint64) (took time.Duration) {
	began, yielded := time.Now(), time.Duration(0)
	resumed := began // when the goroutine last went on after others
	looks := c.gate.limit / minLookTime
	for looksLeft := looks; ; looksLeft-- {
		c.seen = false
		failed := c.conn.Control(c.look) != nil
		now := time.Now()
		took = now.Sub(began)
		if failed || c.seen || c.Reads() != reads || looksLeft <= 0 || took > c.gate.limit || yielded > c.gate.maxYield || !c.gate.open() {
			return took
		}
		if looksLeft == looks {
			c.yield()
		}
		if now.Sub(resumed) >= yieldEvery {
			c.letRun()
			resumed = time.Now()
			yielded = resumed.Sub(now)
		}
	}
}
