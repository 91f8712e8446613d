package wheel

import (
	"runtime"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWheel_AllocatesNothing(t *testing.T) {
	w, err := New[int](5*ms, Config{})
	require.NoError(t, err)
	timers := make([]Timer[int], 1000)
	now, fired := time.Duration(0), 0
	count := func(*Timer[int]) { fired++ }
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range timers {
			_ = w.Schedule(&timers[i], now+time.Duration(i)*s)
		}
		for i := range timers {
			_ = w.Schedule(&timers[i], now+time.Duration(i)*ms) // move
		}
		for i := 0; i < len(timers); i += 2 {
			w.Cancel(&timers[i])
		}
		for w.Len() > 0 {
			now, _ = w.Next()
			w.Advance(now, count)
		}
	}))
	assert.Positive(t, fired)
}

func TestTimer_ThreeWordsAndValue(t *testing.T) {
	const links, tick = 2 * unsafe.Sizeof(uintptr(0)), 8 // a tick has 64 bits on all processors
	assert.Equal(t, links+tick+8, unsafe.Sizeof(Timer[uint64]{}))
	assert.Equal(t, links+tick+16, unsafe.Sizeof(Timer[[2]uint64]{}))
}

// Netty 2453: a timer without timeouts took 250 kB.
func TestWheel_Empty_Small(t *testing.T) {
	assert.Less(t, int(unsafe.Sizeof(Wheel[*int]{})), 80<<10)
}

// Netty 2541: canceled timeouts stayed until their tick came, or without a limit if they came fast enough.
func TestTimer_Canceled_NotKept(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	o.after(time.Hour, nothing)
	before := liveHeap()
	for range 1_000_000 {
		o.Cancel(o.after(3*s, nothing))
	}
	timer := o.after(3*s, nothing)
	o.Cancel(timer)
	last := weak.Make(timer)
	assert.Less(t, liveHeap(), before+1<<20, "a million of them in one tick")
	assert.Nil(t, last.Value())
	assert.Equal(t, 1, o.Len())
}

// A timer that is no longer in use keeps none of its former neighbours alive, and the wheel does not keep the timer.
func TestTimer_Ended_NotKept(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	before := weak.Make(o.after(1*s, nothing))
	kept := o.after(1*s, nothing)
	after := weak.Make(o.after(1*s, nothing))
	o.Cancel(kept)
	o.sleepUntil(2 * s)
	liveHeap()
	assert.Nil(t, before.Value())
	assert.Nil(t, after.Value())
	runtime.KeepAlive(kept)
	runtime.KeepAlive(o)
}

// liveHeap returns the size of the heap after a collection.
func liveHeap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
