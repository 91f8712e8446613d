package wheel

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// FuzzWheelAgainstMap runs a script of bytes on a wheel and on a model, which is a map from timer to deadline. The
// script also decides what callbacks do. After each step both must agree on everything that can be observed, and the
// wheel's structure must be valid. (With -fuzz, pass -fuzzminimizetime=5x: otherwise nearly all time goes into
// minimizing.)
func FuzzWheelAgainstMap(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0, 1, 0, 5, 0, 2, 4, 3, 2})
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(42, seed))
		script := make([]byte, 40<<(seed%5))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		m := newModel(t, &fuzzInput{rest: script})
		for len(m.input.rest) > 0 {
			m.step()
			m.check()
		}
		m.stop()
	})
}

// fuzzInput reads decisions from a script; after its end all are zero.
type fuzzInput struct{ rest []byte }

func (p *fuzzInput) byte() (b byte) {
	if len(p.rest) > 0 {
		b, p.rest = p.rest[0], p.rest[1:]
	}
	return b
}

// span returns a duration. Mostly it is one that the first levels reach, where the wheel moves timers between slots. At
// times it is one of any order of magnitude, next to a power of two.
func (p *fuzzInput) span(width time.Duration) time.Duration {
	scale, mantissa := p.byte(), p.byte()
	offset := time.Duration(int8(p.byte()))
	if scale < 208 {
		return max(0, (width<<(scale%16))*time.Duration(mantissa)/64+offset)
	}
	return max(0, min(1<<(mantissa%63), endOfTime-128)+offset)
}

// model is the simplest implementation of a wheel.
type model struct {
	t     *testing.T
	input *fuzzInput
	w     *Wheel[int]

	width  time.Duration
	config Config
	timers [24]Timer[int]

	now     time.Duration
	due     map[int]time.Duration  // when each pending timer may fire
	waits   map[int]bool           // scheduled in the running Advance for the past: not in this one
	ends    map[int]State          // how the last use of each other timer ended
	left    map[time.Duration]bool // deadlines ahead that were canceled or moved
	running bool
}

func newModel(t *testing.T, p *fuzzInput) *model {
	m := &model{t: t, input: p, due: map[int]time.Duration{}, waits: map[int]bool{}, ends: map[int]State{}, left: map[time.Duration]bool{}}
	m.width = []time.Duration{1, 3, 1 * ms, 5 * ms}[p.byte()%4]
	if bounds := p.byte(); bounds%4 == 0 {
		m.config = Config{Limit: int(bounds>>2) % 32, Budget: int(bounds>>5) % 4, Sorts: int(bounds>>3) % 4}
	}
	w, err := New[int](m.width, m.config)
	if err != nil {
		t.Fatal(err)
	}
	m.w = w
	for i := range m.timers {
		m.timers[i].Value = i
	}
	return m
}

// step executes one decision.
func (m *model) step() {
	switch op := m.input.byte() % 16; {
	case op < 7:
		m.schedule()
	case op < 10:
		m.cancel()
	case m.running: // nothing: a callback must not advance
	case op < 12:
		m.advance(m.now + min(m.input.span(m.width), endOfTime-m.now))
	case op < 13:
		m.advance(m.now - min(m.input.span(m.width), m.now))
	case op < 15:
		if at, ok := m.w.Next(); ok {
			m.advance(at)
		}
	default:
		m.advance(m.now + min(time.Duration(m.input.byte())*m.width, endOfTime-m.now))
	}
}

// roundUp returns the end of the tick that contains a time.
func (m *model) roundUp(at time.Duration) time.Duration {
	if rest := at % m.width; rest > 0 {
		return at + min(m.width-rest, endOfTime-at)
	}
	return at
}

func (m *model) schedule() {
	i, span := m.pick(), m.input.span(m.width)
	at := m.now + min(span, endOfTime-m.now)
	if m.input.byte()%4 == 0 {
		at = m.now - span // past, perhaps before the epoch
	}
	_, moved := m.due[i]
	full := m.config.Limit > 0 && !moved && len(m.due) >= m.config.Limit
	if err := m.w.Schedule(&m.timers[i], at); full != errors.Is(err, ErrFull) || !full && err != nil {
		m.t.Fatalf("schedule with %d of %d: %v", len(m.due), m.config.Limit, err)
	}
	if full {
		return
	}
	m.forget(i, Idle)
	if at > m.now {
		m.due[i] = m.roundUp(at)
	} else {
		m.due[i] = m.now
		m.waits[i] = m.running
	}
}

func (m *model) cancel() {
	i := m.pick()
	_, pending := m.due[i]
	if m.w.Cancel(&m.timers[i]) != pending {
		m.t.Fatalf("cancel of timer %d: want %t", i, pending)
	}
	if pending {
		m.forget(i, Canceled)
	}
}

func (m *model) pick() int { return int(m.input.byte()) % len(m.timers) }

// forget ends a use of a timer. A deadline that was removed excuses one wakeup.
func (m *model) forget(i int, end State) {
	if at, pending := m.due[i]; pending && end != Fired {
		m.left[at] = true
	}
	delete(m.due, i)
	delete(m.waits, i)
	m.ends[i] = end
}

func (m *model) advance(now time.Duration) {
	older := now < m.now
	m.now = max(now, m.now)
	fired, last := 0, time.Duration(0)
	m.running = true
	n := m.w.Advance(now, func(timer *Timer[int]) {
		i := timer.Value
		at, pending := m.due[i]
		if older || !pending || at > m.now || m.waits[i] || at < last || timer.State() != Fired {
			m.t.Fatalf("at %d (older %t) timer %d fired, %v: pending %t, due %d, waits %t, last %d",
				m.now, older, i, timer.State(), pending, at, m.waits[i], last)
		}
		last = at
		fired++
		m.forget(i, Fired)
		for range m.input.byte() % 4 {
			m.step()
		}
	})
	m.running = false
	if n != fired {
		m.t.Fatalf("%d fired, Advance says %d", fired, n)
	}
	if !older {
		m.checkAllFired(fired)
		maps.DeleteFunc(m.left, func(at time.Duration, _ bool) bool { return at <= m.now })
	}
	clear(m.waits)
}

// checkAllFired checks that an Advance left no timer that it should have fired. One that did not finish has sorted or
// fired something.
func (m *model) checkAllFired(fired int) {
	if m.config.Budget > 0 && fired >= m.config.Budget {
		if fired > m.config.Budget {
			m.t.Fatalf("fired %d, more than %d", fired, m.config.Budget)
		}
		return
	}
	if m.w.behind && m.config.Sorts > 0 {
		return
	}
	for i, at := range m.due {
		if at <= m.now && !m.waits[i] {
			m.t.Fatalf("at %d timer %d did not fire, due %d", m.now, i, at)
		}
	}
}

// check compares what can be observed.
func (m *model) check() {
	checkInvariants(m.t, m.w)
	if m.w.Len() != len(m.due) {
		m.t.Fatalf("Len %d, want %d", m.w.Len(), len(m.due))
	}
	for i := range m.timers {
		want := m.ends[i]
		if at, pending := m.due[i]; pending {
			want = Scheduled
			if due := m.w.Due(&m.timers[i]); due > m.now && due != at || due <= m.now && at > m.now {
				m.t.Fatalf("timer %d is due at %d, want %d", i, due, at)
			}
		}
		if got := m.timers[i].State(); got != want {
			m.t.Fatalf("timer %d is %v, want %v", i, got, want)
		}
	}
	m.checkNext()
}

// checkNext checks that Next is never too late, and too early only for a deadline that was removed.
func (m *model) checkNext() {
	at, ok := m.w.Next()
	if ok != (len(m.due) > 0) {
		m.t.Fatalf("Next is %d, %t with %d pending", at, ok, len(m.due))
	}
	if !ok {
		return
	}
	earliest := endOfTime
	for _, due := range m.due {
		earliest = min(earliest, due)
	}
	earliest = max(earliest, m.now)
	if at > earliest || at < m.now || at < earliest && !m.left[at] && !m.w.behind {
		m.t.Fatalf("Next is %d at %d, want %d", at, m.now, earliest)
	}
	if earliest == m.now && at != m.now {
		m.t.Fatalf("Next is %d, want now", at)
	}
}

// stop checks that the pending timers are passed back in order.
func (m *model) stop() {
	want := len(m.due)
	var order []time.Duration
	n := m.w.Stop(func(timer *Timer[int]) {
		at, pending := m.due[timer.Value]
		if !pending || timer.State() != Canceled {
			m.t.Fatalf("timer %d handed back %v, pending %t", timer.Value, timer.State(), pending)
		}
		order = append(order, at)
		m.forget(timer.Value, Canceled)
	})
	if n != want || len(order) != want || !slices.IsSorted(order) {
		m.t.Fatalf("Stop handed back %d, %v; want %d in order", n, order, want)
	}
	m.check()
}
