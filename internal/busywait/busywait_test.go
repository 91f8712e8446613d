//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package busywait

import (
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/testport"
)

// noLimit is a limit that no test reaches.
const noLimit = time.Minute

// connected returns both ends of a TCP connection on loopback.
func connected(t *testing.T) (client, server net.Conn) {
	listener, err := testport.Listen()
	require.NoError(t, err)
	client, server, err = testport.Connect(listener)
	require.NoError(t, err)
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

// newGate returns the gate of an engine with one command in flight. It ends all waits when the test has ended.
func newGate(t *testing.T, limit time.Duration) *Gate {
	g := &Gate{limit: limit, maxYield: noLimit, epoch: time.Now()}
	g.SetInFlight(1)
	t.Cleanup(func() { g.SetInFlight(0) })
	return g
}

// newWaiter returns a waiter for a connection of one command in flight.
func newWaiter(t *testing.T, limit time.Duration) (w *Waiter, server net.Conn) {
	client, server := connected(t)
	g := newGate(t, limit)
	return New(g, client), server
}

// A wait ends with the reply, which can be read afterwards. Each later write is waited after again.
func TestWait_Reply_EndsWithIt(t *testing.T) {
	w, server := newWaiter(t, noLimit)
	w.backoff.pause = 8
	go server.Write([]byte("+OK"))
	w.Wait(w.Reads())
	require.True(t, w.seen)
	require.Zero(t, w.backoff, "it was not in vain")
	w.Wait(w.Reads())
	require.True(t, w.seen, "a look takes nothing")
}

// A wait ends with the connection: the one who reads finds the end.
func TestWait_ServerCloses_Ends(t *testing.T) {
	w, server := newWaiter(t, noLimit)
	go server.Close()
	w.Wait(w.Reads())
	require.True(t, w.seen)
}

// A wait without a reply ends after its limit. The more of them are in vain, the fewer writes are waited after.
func TestWait_NoReply_WaitsLessOften(t *testing.T) {
	w, _ := newWaiter(t, time.Microsecond)
	w.Wait(w.Reads())
	require.Equal(t, backoff{pause: 1, left: 1}, w.backoff)
	w.gate.pausedUntil.Store(0) // of a wait that took long, because other processes ran
	w.Wait(w.Reads())
	require.Equal(t, backoff{pause: 1}, w.backoff, "this write was not waited after")
	w.gate.pausedUntil.Store(0)
	w.Wait(w.Reads())
	require.Equal(t, backoff{pause: 2, left: 2}, w.backoff)
}

// Waits in vain get rare, and one that brought a reply makes them usual again.
func TestBackoff_InVain_Doubles(t *testing.T) {
	var b backoff
	waits := 0
	for range 1 << 20 {
		if b.due() {
			waits++
			b.inVain()
		}
	}
	require.Equal(t, maxPause, b.pause)
	require.InDelta(t, 1<<20/maxPause, waits, 20)
}

// A wait ends when others had work, without a reply: the thread does not sleep then.
func TestWait_OthersRan_Ends(t *testing.T) {
	w, _ := newWaiter(t, noLimit)
	w.gate.maxYield = 0
	w.Wait(w.Reads())
	require.False(t, w.seen)
	require.Zero(t, w.backoff, "that says nothing about the next write")
}

// A wait that took longer than its limit was in vain, also if the reply has come.
func TestWait_TookTooLong_InVain(t *testing.T) {
	w, server := newWaiter(t, 10*time.Microsecond)
	look := w.look
	w.look = func(fd uintptr) {
		time.Sleep(20 * time.Microsecond)
		look(fd)
	}
	_, err := server.Write([]byte("+OK"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		w.backoff = backoff{}
		w.Wait(w.Reads())
		return w.seen
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, 1, w.backoff.pause)
}

// Beside no command, or very many, a goroutine does not wait, and one that waits stops.
func TestWait_OtherCommands_Ends(t *testing.T) {
	w, _ := newWaiter(t, noLimit)
	for _, commands := range []int{0, maxInFlight + 1} {
		w.gate.SetInFlight(commands)
		w.Wait(w.Reads())
	}
	w.gate.SetInFlight(maxInFlight)
	ended := make(chan struct{})
	go func() {
		w.Wait(w.Reads())
		close(ended)
	}()
	require.Eventually(t, waiting.Load, 10*time.Second, time.Millisecond)
	w.gate.SetInFlight(maxInFlight + 1)
	<-ended
	require.Zero(t, w.backoff, "that says nothing about the server")
}

// At most one goroutine of the process waits.
func TestWait_SecondOne_ReturnsAtOnce(t *testing.T) {
	first, server := newWaiter(t, noLimit)
	second, _ := newWaiter(t, noLimit)
	ended := make(chan struct{})
	go func() {
		first.Wait(0)
		close(ended)
	}()
	require.Eventually(t, waiting.Load, 10*time.Second, time.Millisecond)
	second.Wait(0)
	_, err := server.Write([]byte("+OK"))
	require.NoError(t, err)
	<-ended
	require.False(t, waiting.Load())
}

// A wait ends when another goroutine has read the reply, also if that was before the first look.
func TestWait_ReadMeanwhile_Ends(t *testing.T) {
	w, _ := newWaiter(t, noLimit)
	reads := w.Reads()
	w.NoteRead()
	w.Wait(reads)
	require.False(t, w.seen)
	ended := make(chan struct{})
	go func() {
		w.Wait(w.Reads())
		close(ended)
	}()
	require.Eventually(t, waiting.Load, 10*time.Second, time.Millisecond)
	for {
		w.NoteRead()
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// Where goroutines compute, one wait takes as long as they run. No write of the engine is waited after then for 16
// times as long.
func TestWait_GoroutinesCompute_GateCloses(t *testing.T) {
	w, server := newWaiter(t, 10*time.Microsecond)
	look := w.look
	w.look = func(fd uintptr) {
		time.Sleep(2 * longWait)
		look(fd)
	}
	began := time.Now()
	w.Wait(0)
	until := w.gate.epoch.Add(time.Duration(w.gate.pausedUntil.Load()))
	require.GreaterOrEqual(t, until.Sub(began), pauseFactor*2*longWait)
	w.gate.pausedUntil.Store(int64(time.Hour))
	client, _ := connected(t)
	other := New(w.gate, client)
	other.look = func(uintptr) { t.Error("a wait on another connection") }
	other.Wait(0)
	w.gate.pausedUntil.Store(0)
	w.backoff, w.look = backoff{}, look
	w.gate.limit = noLimit
	_, err := server.Write([]byte("+OK"))
	require.NoError(t, err)
	w.Wait(0)
	require.True(t, w.seen, "the pause is over")
}

// The end of a connection ends a wait, and is not delayed by it.
func TestWait_Closed_Ends(t *testing.T) {
	client, _ := connected(t)
	g := newGate(t, noLimit)
	w, ended := New(g, client), make(chan struct{})
	go func() {
		w.Wait(w.Reads())
		close(ended)
	}()
	require.Eventually(t, waiting.Load, 10*time.Second, time.Millisecond)
	require.NoError(t, client.Close())
	<-ended
}

// Where the clock stands still, as in a bubble of testing/synctest, the number of looks ends a wait.
func TestWait_ClockStands_Ends(t *testing.T) {
	w, _ := newWaiter(t, 1000*minLookTime)
	looks, look := 0, w.look
	w.look = func(fd uintptr) {
		looks++
		look(fd)
	}
	synctest.Test(t, func(*testing.T) { w.Wait(w.Reads()) })
	require.Equal(t, 1001, looks)
	require.Equal(t, 1, w.backoff.pause)
}

// Without a gate, or on a connection that is none of the system's, no goroutine waits.
func TestNew_NothingToWaitFor_Nil(t *testing.T) {
	client, _ := connected(t)
	require.Nil(t, New(NewGate(0, noLimit), client))
	require.Nil(t, New(NewGate(-1, noLimit), client))
	pipe, _ := net.Pipe()
	require.Nil(t, New(newGate(t, noLimit), pipe))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	require.Nil(t, NewGate(time.Second, noLimit), "with one processor no thread would look for other input")
	runtime.GOMAXPROCS(2)
	require.NotNil(t, New(NewGate(time.Second, noLimit), client))
	var none *Waiter
	none.Wait(none.Reads())
}
