package wheel

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The traps of a wheel that removes timers at once, and the tests that guard against them:
//
//	1 a callback touches its neighbours in the walk   TestCallback_CancelsNeighbours, TestCallback_MovesNeighbours
//	2 a callback schedules for now                    TestSchedule_ForNow_NextAdvance
//	3 a node is used again                            TestTimer_Reused_KeepsNothing
//	4 a slot's lower bound is stale after a cancel    TestOwner_EmptyWake_NeedsCancel
//	5 time goes back                                  TestAdvance_OlderTime_NoEffect
//	6 a deadline is rounded down                      TestSchedule_DeadlineRoundsUp

// namedTimers is a wheel of 5 ms ticks with named timers that log when they fire.
type namedTimers struct {
	*owner
	timers map[string]*task
	log    []string
}

func newNamedTimers(t *testing.T, config Config) *namedTimers {
	return &namedTimers{owner: newOwner(t, 5*ms, config), timers: map[string]*task{}}
}

// set schedules a named timer, which logs its name and then calls do.
func (c *namedTimers) set(name string, at time.Duration, do func()) {
	c.timers[name] = &task{Value: func() {
		c.log = append(c.log, name)
		do()
	}}
	c.move(name, at)
}

// move schedules a named timer for another time.
func (c *namedTimers) move(name string, at time.Duration) {
	require.NoError(c.t, c.Schedule(c.timers[name], at))
}

// fires advances and compares what fired with names.
func (c *namedTimers) fires(now time.Duration, names string) {
	c.t.Helper()
	c.log = nil
	n := c.advance(now)
	assert.Equal(c.t, names, strings.Join(c.log, " "))
	assert.Equal(c.t, len(c.log), n)
	checkInvariants(c.t, c.Wheel)
}

// Trap 1. Netty is immune because it unlinks in the next tick.
func TestCallback_CancelsNeighbours(t *testing.T) {
	c := newNamedTimers(t, Config{})
	c.set("a", 5*ms, nothing)
	c.set("b", 5*ms, func() {
		assert.False(t, c.Cancel(c.timers["a"]), "has fired")
		assert.False(t, c.Cancel(c.timers["b"]), "is firing")
		assert.True(t, c.Cancel(c.timers["c"]), "the next")
		assert.True(t, c.Cancel(c.timers["e"]), "of a later tick, also due")
		assert.True(t, c.Cancel(c.timers["g"]), "not due yet")
	})
	c.set("c", 5*ms, nothing)
	c.set("d", 5*ms, nothing)
	c.set("e", 10*ms, nothing)
	c.set("f", 10*ms, nothing)
	c.set("g", 15*ms, nothing)
	c.fires(10*ms, "a b d f")
	assert.Zero(t, c.Len())
	c.fires(time.Hour, "")
}

// Trap 1, the other half.
func TestCallback_MovesNeighbours(t *testing.T) {
	c := newNamedTimers(t, Config{})
	first := true
	c.set("a", 5*ms, func() {
		if !first {
			return
		}
		first = false
		c.move("a", 20*ms)
		c.move("b", 30*ms)
		c.move("c", 5*ms) // due already, but moved: not in this Advance
		c.move("e", 10*ms)
		c.set("new", 10*ms, nothing)
	})
	c.set("b", 5*ms, nothing)
	c.set("c", 5*ms, nothing)
	c.set("d", 5*ms, nothing)
	c.set("e", time.Hour, nothing)
	c.fires(10*ms, "a d")
	c.fires(10*ms, "c e new")
	c.fires(20*ms, "a")
	c.fires(30*ms, "b")
	assert.Zero(t, c.Len())
}

// Trap 2. Otherwise a timer that re-arms itself would keep the loop.
func TestSchedule_ForNow_NextAdvance(t *testing.T) {
	for _, at := range []time.Duration{-1 << 63, -1, 0, 1, 5 * ms, 10*ms - 1, 10 * ms} {
		c := newNamedTimers(t, Config{})
		c.set("again", 5*ms, func() { c.move("again", at) })
		c.fires(10*ms, "again")
		next, ok := c.Next()
		assert.True(t, ok)
		assert.Equal(t, 10*ms, next, "now")
		c.fires(10*ms, "again")
		c.fires(11*ms, "again")
	}
}

// Overdue timers fire in the order in which they were scheduled, ahead of later ticks; Netty 15730 is where head
// insertion would have reversed them.
func TestAdvance_Overdue_InOrder(t *testing.T) {
	c := newNamedTimers(t, Config{})
	c.fires(20*ms, "")
	c.set("d", 25*ms, nothing)
	c.set("a", 10*ms, nothing)
	c.set("b", 5*ms, nothing)
	c.set("c", 20*ms, nothing)
	c.fires(25*ms, "a b c d")
}

// Trap 3. The wheel keeps no handle, so a timer's second use cannot be ended by its first.
func TestTimer_Reused_KeepsNothing(t *testing.T) {
	c := newNamedTimers(t, Config{})
	c.set("a", 5*ms, nothing)
	require.True(t, c.Cancel(c.timers["a"]))
	c.move("a", 20*ms)
	assert.Equal(t, Scheduled, c.timers["a"].State())
	c.fires(15*ms, "")
	c.fires(20*ms, "a")
	c.move("a", 40*ms)
	assert.Equal(t, Scheduled, c.timers["a"].State())
	c.fires(35*ms, "")
	c.fires(40*ms, "a")
}

// Trap 5.
func TestAdvance_OlderTime_NoEffect(t *testing.T) {
	c := newNamedTimers(t, Config{})
	c.fires(100*ms, "")
	c.set("overdue", 50*ms, nothing)
	c.set("later", 110*ms, nothing)
	c.fires(100*ms-1, "")
	c.fires(-1<<63, "")
	at, _ := c.Next()
	assert.Equal(t, 100*ms, at)
	c.fires(100*ms, "overdue")
	c.fires(110*ms, "later")
}

// The wheel does not hide bugs in callbacks, but one broken timer delays the others by one turn only.
func TestAdvance_Panic_OthersStayDue(t *testing.T) {
	c := newNamedTimers(t, Config{})
	c.set("a", 5*ms, nothing)
	c.set("b", 5*ms, func() { panic("broken") })
	c.set("c", 5*ms, nothing)
	c.set("d", 10*ms, nothing)
	assert.PanicsWithValue(t, "broken", func() { c.fires(20*ms, "") })
	assert.Equal(t, []string{"a", "b"}, c.log)
	assert.Equal(t, Fired, c.timers["b"].State())
	assert.Equal(t, 2, c.Len())
	assert.True(t, c.timers["c"].Scheduled())
	at, ok := c.Next()
	assert.True(t, ok)
	assert.Equal(t, 20*ms, at, "now")
	c.fires(20*ms, "c d")
}

// The work of one turn of the owner is bounded; the rest waits in order.
func TestAdvance_Budget_RestStaysDue(t *testing.T) {
	c := newNamedTimers(t, Config{Budget: 2})
	c.set("e", 20*ms, nothing)
	c.set("a", 5*ms, func() { c.set("f", 5*ms, nothing) })
	c.set("c", 10*ms, nothing)
	c.set("b", 5*ms, nothing)
	c.set("d", 10*ms, nothing)
	c.fires(10*ms, "a b")
	assert.Equal(t, 4, c.Len())
	at, ok := c.Next()
	assert.True(t, ok)
	assert.Equal(t, 10*ms, at, "now")
	c.fires(20*ms, "c d")
	c.fires(20*ms, "f e")
	c.fires(20*ms, "")

	boundless := newNamedTimers(t, Config{Budget: -1})
	boundless.set("a", 5*ms, nothing)
	boundless.set("b", 5*ms, nothing)
	boundless.fires(5*ms, "a b")
}

// Due timers wait on a list of their own while callbacks run and between turns; Cancel reaches them there.
func TestCancel_DueTimer_Canceled(t *testing.T) {
	c := newNamedTimers(t, Config{Budget: 1})
	c.set("a", 5*ms, nothing)
	c.set("b", 5*ms, nothing)
	c.set("c", 5*ms, nothing)
	c.fires(5*ms, "a")
	assert.True(t, c.Cancel(c.timers["b"]))
	c.fires(5*ms, "c")
	c.set("overdue", 0, nothing)
	assert.True(t, c.Cancel(c.timers["overdue"]))
	_, ok := c.Next()
	assert.False(t, ok)
	c.fires(5*ms, "")
}

// A callback may stop the wheel, which returns the remaining timers and fires none of them.
func TestCallback_StopsWheel(t *testing.T) {
	c := newNamedTimers(t, Config{})
	var left []*task
	c.set("a", 5*ms, func() {
		c.Stop(func(timer *task) {
			left = append(left, timer)
			assert.ErrorIs(t, c.Schedule(timer, 5*ms), ErrStopped)
			c.Cancel(c.timers["c"])
		})
	})
	c.set("b", 5*ms, nothing)
	c.set("c", 10*ms, nothing)
	c.set("d", time.Hour, nothing)
	c.fires(10*ms, "a")
	assert.Equal(t, []*task{c.timers["b"], c.timers["d"]}, left, "c was canceled before its turn")
	assert.Zero(t, c.Len())
}

func TestStop_FiresNothing(t *testing.T) {
	c := newNamedTimers(t, Config{})
	c.set("a", 5*ms, nothing)
	c.set("b", 5*ms, nothing)
	c.log = nil
	assert.Equal(t, 2, c.Stop(func(*task) { assert.Zero(t, c.advance(time.Hour)) }))
	assert.Empty(t, c.log)
}

// Advance panics if a callback calls it, and the remaining timers stay due.
func TestCallback_Advance_Panics(t *testing.T) {
	c := newNamedTimers(t, Config{})
	c.set("a", 5*ms, func() { c.advance(10 * ms) })
	c.set("b", 5*ms, nothing)
	assert.PanicsWithValue(t, "lockwheel: bug: Advance called by a timer that Advance fired", func() { c.fires(5*ms, "") })
	c.fires(5*ms, "b")
}
