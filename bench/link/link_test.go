package link

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	RunIfAsked()
	os.Exit(m.Run())
}

// echo starts a server that sends back what it receives, and returns its address.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// dial starts a link to target in a process of its own, and connects through it.
func dial(t *testing.T, target string, delay time.Duration) (*Link, net.Conn) {
	l, err := Start(target, delay)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l, connect(t, l.Addr())
}

func connect(t *testing.T, addr string) net.Conn {
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return c
}

// roundTrips returns the durations of round trips of one byte, the shortest first.
func roundTrips(t *testing.T, c net.Conn, times int) (took []time.Duration) {
	b := make([]byte, 1)
	for range times {
		began := time.Now()
		_, err := c.Write(b)
		require.NoError(t, err)
		_, err = io.ReadFull(c, b)
		require.NoError(t, err)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

// A link adds its delay in each direction: never less, and to some round trips at least not a millisecond more.
func TestLink_RoundTrip_DelayedTwice(t *testing.T) {
	target := echo(t)
	for _, delay := range []time.Duration{250 * time.Microsecond, time.Millisecond, 20 * time.Millisecond} {
		_, c := dial(t, target, delay)
		took := roundTrips(t, c, 50)
		require.GreaterOrEqual(t, took[0], 2*delay, delay)
		require.Less(t, took[0], 2*delay+time.Millisecond, "a timer of the runtime would be late by a millisecond twice")
	}
}

// A link keeps the order of bytes in both directions, loses none, and forwards the end of a stream after them.
func TestLink_ManyWrites_OrderKept(t *testing.T) {
	_, c := dial(t, echo(t), 250*time.Microsecond)
	random := rand.NewChaCha8([32]byte{1})
	sent := make([]byte, 8<<20)
	random.Read(sent)
	go func() {
		for left := sent; len(left) > 0; {
			n, err := c.Write(left[:min(len(left), 1+rand.N(100_000))])
			if err != nil {
				return
			}
			left = left[n:]
		}
		c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.True(t, bytes.Equal(sent, got), "%d bytes of %d", len(got), len(sent))
}

// A link with a delay of 20 ms carries far more in a second than fits into 50 round trips. What is in flight does not
// hold up what follows. That is true of many bytes that arrive one by one, as pipelined commands do, and of very many
// at once.
func TestLink_Pipelined_NotLimited(t *testing.T) {
	const delay = 20 * time.Millisecond
	for _, c := range []struct{ writes, each int }{{2000, 1}, {512, maxChunk}} {
		_, conn := dial(t, echo(t), delay)
		roundTrips(t, conn, 1)
		go func() {
			for range c.writes {
				if _, err := conn.Write(make([]byte, c.each)); err != nil {
					return
				}
			}
		}()
		began := time.Now()
		_, err := io.ReadFull(conn, make([]byte, c.writes*c.each))
		require.NoError(t, err)
		require.Less(t, time.Since(began), time.Duration(c.writes)*delay/8, "%d of %d bytes; one after the other they take eight times that", c.writes, c.each)
	}
}

// The connections of a link do not delay each other: one that nothing is read from stands still alone.
func TestLink_StalledConnection_OthersGoOn(t *testing.T) {
	l, stalled := dial(t, echo(t), 250*time.Microsecond)
	go stalled.Write(make([]byte, 64<<20)) // its echo is never read
	require.Len(t, roundTrips(t, connect(t, l.Addr()), 20), 20)
}

// The end of one side reaches the other side, and Close ends the process.
func TestLink_SideEnds_OtherTold(t *testing.T) {
	l, c := dial(t, echo(t), 250*time.Microsecond)
	roundTrips(t, c, 1)
	require.NoError(t, l.Close())
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = net.DialTimeout("tcp", l.Addr(), time.Second)
	require.Error(t, err)
}

// A server that is not there, and a program that cannot forward, are errors and no standstill.
func TestLink_NoServer_ConnectionEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nothing := l.Addr().String()
	l.Close()
	_, c := dial(t, nothing, time.Millisecond)
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = Start(nothing, 0)
	require.EqualError(t, err, "link: a delay of 0s")
}
