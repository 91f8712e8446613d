//go:build linux

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
	g := &Gate{limit: limit, maxYield: noLimit}
	g.SetInFlight(1)
	t.Cleanup(func() { g.SetInFlight(0) })
	return g
}

// newConn returns a Conn for a connection of one command in flight.
func newConn(t *testing.T, limit time.Duration) (c *Conn, server net.Conn) {
	client, server := connected(t)
	g := newGate(t, limit)
	return New(g, client), server
}

// A wait ends with the reply, which can be read afterwards, and returns how long it took.
func TestWait_Reply_EndsWithIt(t *testing.T) {
	c, server := newConn(t, noLimit)
	began := time.Now()
	time.AfterFunc(time.Millisecond, func() { server.Write([]byte("+OK")) })
	took := c.Wait(c.Reads())
	require.True(t, c.seen)
	require.Positive(t, took)
	require.LessOrEqual(t, took, time.Since(began))
	c.Wait(c.Reads())
	require.True(t, c.seen, "a look takes nothing")
}

// A wait ends with the connection: the goroutine that reads finds the end.
func TestWait_ServerCloses_Ends(t *testing.T) {
	c, server := newConn(t, noLimit)
	go server.Close()
	c.Wait(c.Reads())
	require.True(t, c.seen)
}

// A wait without a reply ends after its limit.
func TestWait_NoReply_EndsAfterLimit(t *testing.T) {
	const limit = 5 * time.Millisecond
	c, _ := newConn(t, limit)
	looks, look := 0, c.look
	c.look = func(fd uintptr) {
		looks++
		look(fd)
	}
	require.Greater(t, c.Wait(c.Reads()), limit)
	require.False(t, c.seen)
	require.Less(t, looks, int(limit/minLookTime), "the time ends it, and not the number of looks")
}

// A wait lets other goroutines run every 3 µs, and not after each look: Go can wake a thread each time.
func TestWait_LooksOften_OthersRunNowAndThen(t *testing.T) {
	c, _ := newConn(t, 10*time.Microsecond)
	looks, look := 0, c.look
	c.look = func(fd uintptr) {
		looks++
		time.Sleep(time.Microsecond) // of the bubble: how long a look takes
		look(fd)
	}
	var runs []int
	c.letRun = func() { runs = append(runs, looks) }
	synctest.Test(t, func(*testing.T) { c.Wait(c.Reads()) })
	require.Equal(t, 11, looks)
	require.Equal(t, []int{3, 6, 9}, runs)
}

// A wait yields the thread once, after its first look: other threads, and the server, can be waiting for its processor.
func TestWait_FirstLook_ThreadYields(t *testing.T) {
	c, server := newConn(t, 5*time.Millisecond)
	looks, look := 0, c.look
	c.look = func(fd uintptr) {
		looks++
		look(fd)
	}
	var yields []int
	c.yield = func() { yields = append(yields, looks) }
	c.Wait(c.Reads())
	require.Greater(t, looks, 1)
	require.Equal(t, []int{1}, yields)
	_, err := server.Write([]byte("+OK"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { c.Wait(c.Reads()); return c.seen }, 10*time.Second, time.Millisecond)
	yields = nil
	c.Wait(c.Reads())
	require.Empty(t, yields, "the reply is there")
}

// A wait ends when other goroutines have run for long: the thread does not sleep then.
func TestWait_OthersRan_Ends(t *testing.T) {
	c, _ := newConn(t, noLimit)
	c.gate.maxYield = 0
	c.Wait(c.Reads())
	require.False(t, c.seen)
}

// Beside no command, or very many, a goroutine does not wait, and one that waits stops.
func TestWait_OtherCommands_Ends(t *testing.T) {
	c, _ := newConn(t, noLimit)
	for _, commands := range []int{0, maxInFlight + 1} {
		c.gate.SetInFlight(commands)
		c.Wait(c.Reads())
	}
	c.gate.SetInFlight(maxInFlight)
	ended := make(chan struct{})
	go func() {
		c.Wait(c.Reads())
		close(ended)
	}()
	require.Eventually(t, waiting.Load, 10*time.Second, time.Millisecond)
	c.gate.SetInFlight(maxInFlight + 1)
	<-ended
}

// At most one goroutine of the process waits.
func TestWait_SecondOne_ReturnsAtOnce(t *testing.T) {
	first, server := newConn(t, noLimit)
	second, _ := newConn(t, noLimit)
	ended := make(chan struct{})
	go func() {
		first.Wait(0)
		close(ended)
	}()
	require.Eventually(t, waiting.Load, 10*time.Second, time.Millisecond)
	second.look = func(uintptr) { t.Error("a second goroutine waits") }
	require.Zero(t, second.Wait(0))
	_, err := server.Write([]byte("+OK"))
	require.NoError(t, err)
	<-ended
	require.False(t, waiting.Load())
}

// A wait ends when another goroutine has read the reply, also if that was before the first look.
func TestWait_ReadMeanwhile_Ends(t *testing.T) {
	c, _ := newConn(t, noLimit)
	reads := c.Reads()
	c.NoteRead()
	c.Wait(reads)
	require.False(t, c.seen)
	ended := make(chan struct{})
	go func() {
		c.Wait(c.Reads())
		close(ended)
	}()
	require.Eventually(t, waiting.Load, 10*time.Second, time.Millisecond)
	for {
		c.NoteRead()
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// The end of a connection ends a wait.
func TestWait_Closed_Ends(t *testing.T) {
	client, _ := connected(t)
	g := newGate(t, noLimit)
	c, ended := New(g, client), make(chan struct{})
	go func() {
		c.Wait(c.Reads())
		close(ended)
	}()
	require.Eventually(t, waiting.Load, 10*time.Second, time.Millisecond)
	require.NoError(t, client.Close())
	<-ended
}

// Where the clock stands still, as in a bubble of testing/synctest, the number of looks ends a wait.
func TestWait_ClockStands_Ends(t *testing.T) {
	c, _ := newConn(t, 1000*minLookTime)
	looks, look := 0, c.look
	c.look = func(fd uintptr) {
		looks++
		look(fd)
	}
	synctest.Test(t, func(*testing.T) { c.Wait(c.Reads()) })
	require.Equal(t, 1001, looks)
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
	var none *Conn
	none.Wait(none.Reads())
}
