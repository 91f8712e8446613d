package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/leaks"
	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/internal/testport"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const (
	testTimeout  = 10 * time.Second       // a deadline: nothing takes that long
	quietTime    = 60 * time.Millisecond  // how long nothing must come for a test to conclude that nothing comes
	pollInterval = 2 * time.Millisecond   // between two looks
	longDelay    = 150 * time.Millisecond // a delay that cannot be mistaken for slowness
)

func TestProxy_BytesPassBothWays(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	c.send("hello")
	c.expect("hello")
	big := strings.Repeat("x", 1<<20)
	c.send(big)
	c.expect(big)
	require.Equal(t, 1, p.Connections())
	require.Zero(t, p.Buffered(Both))
}

func TestProxy_ClientCloses_NoConnLeft(t *testing.T) {
	p := Start(t, echo(t))
	for range 20 {
		c := connect(t, p)
		c.send("a")
		c.expect("a")
		c.Close()
	}
	eventually(t, func() bool { return p.Connections() == 0 })
	require.Equal(t, 20, p.Accepted())
}

func TestProxy_ServerCloses_ClientGetsEOF(t *testing.T) {
	p := Start(t, server(t, func(c *net.TCPConn) { io.WriteString(c, "bye") }))
	c := connect(t, p)
	c.expect("bye")
	require.ErrorIs(t, c.readEnd(), io.EOF)
}

func TestProxy_HeldReplies_ReleasedInOrder(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, Hold)
	c.send("one ")
	eventually(t, func() bool { return p.Buffered(Replies) == 4 })
	c.send("two")
	eventually(t, func() bool { return p.Buffered(Replies) == 7 })
	require.Zero(t, p.Buffered(Commands))
	c.expectNothing()
	p.Set(Replies, Pass)
	c.expect("one two")
	require.Zero(t, p.Buffered(Both))
}

// Held commands reach the server, once they pass, after their client has closed its connection.
func TestProxy_HeldCommands_OutliveClient(t *testing.T) {
	received := make(chan string, 1)
	p := Start(t, server(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c)
		received <- string(all)
	}))
	c := connect(t, p)
	p.Set(Commands, Hold)
	c.send("late")
	eventually(t, func() bool { return p.Buffered(Commands) == 4 })
	c.Close()
	select {
	case got := <-received:
		t.Fatalf("%q went through", got)
	case <-time.After(quietTime):
	}
	p.Set(Commands, Pass)
	require.Equal(t, "late", <-received)
	eventually(t, func() bool { return p.Connections() == 0 })
}

// Delay postpones each byte by that long, and is not a queue.
func TestProxy_Delay_RepliesArriveLater(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, Delay(longDelay))
	before := time.Now()
	c.send("a")
	c.expect("a")
	require.GreaterOrEqual(t, time.Since(before), longDelay)

	before = time.Now()
	for range 50 {
		c.send("b")
	}
	c.expect(strings.Repeat("b", 50))
	require.GreaterOrEqual(t, time.Since(before), longDelay)
	require.Less(t, time.Since(before), 50*longDelay, "a delay is not a queue")
}

// A shorter delay also applies to bytes that wait already.
func TestProxy_ShorterDelay_AlsoForWaiting(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, Delay(time.Hour))
	c.send("a")
	eventually(t, func() bool { return p.Buffered(Replies) == 1 })
	p.Set(Replies, Delay(time.Millisecond))
	c.expect("a")
}

// With Drop in both directions, neither end notices that the other one has closed.
func TestProxy_Drop_NeitherEndNotices(t *testing.T) {
	serverSides := make(chan *net.TCPConn, 2)
	p := Start(t, server(t, func(c *net.TCPConn) {
		serverSides <- c
		<-t.Context().Done()
	}))
	c := connect(t, p)
	far := <-serverSides
	p.Set(Both, Drop)
	c.send("a")
	io.WriteString(far, "b")
	c.expectNothing()
	require.NoError(t, far.Close())
	c.expectNothing()

	p.Set(Both, Pass)
	c = connect(t, p)
	far = <-serverSides
	p.Set(Both, Drop)
	c.send("a")
	require.NoError(t, c.Close())
	require.NoError(t, far.SetReadDeadline(time.Now().Add(quietTime)))
	_, err := far.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// A connection that lost bytes is reset when bytes pass again.
func TestProxy_LostBytes_ConnReset(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, Drop)
	p.Set(Replies, Pass)
	c.send("kept") // nothing was lost
	c.expect("kept")
	p.Set(Replies, Hold)
	c.send("lost")
	eventually(t, func() bool { return p.Buffered(Replies) == 4 })
	p.Set(Replies, Drop)
	eventually(t, func() bool { return p.Buffered(Replies) == 0 })
	p.Set(Replies, Hold)
	c.expectNothing()
	p.Set(Replies, Pass)
	require.ErrorIs(t, c.readEnd(), syscall.ECONNRESET)
	c = connect(t, p)
	c.send("new")
	c.expect("new")
}

func TestProxy_Cut_ResetsBothSides(t *testing.T) {
	ended := make(chan error, 2)
	p := Start(t, server(t, func(c *net.TCPConn) {
		_, err := io.Copy(c, c)
		ended <- err
	}))
	c := connect(t, p)
	c.send("a")
	c.expect("a")
	p.Cut()
	require.ErrorIs(t, c.readEnd(), syscall.ECONNRESET)
	require.ErrorIs(t, <-ended, syscall.ECONNRESET)
	eventually(t, func() bool { return p.Connections() == 0 })

	c = connect(t, p)
	c.send("b")
	c.expect("b")
}

// CutAfter forwards at most that many bytes, and then resets the connection.
func TestProxy_CutAfter_ForwardsExactly(t *testing.T) {
	for n := range 5 {
		p := Start(t, echo(t))
		c := connect(t, p)
		c.send("x")
		c.expect("x")
		p.SetFor(Existing, Replies, CutAfter(n))
		p.SetFor(Existing, Commands, Pass) // does not start the count again
		c.send("abcde")
		got, err := io.ReadAll(c)
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.LessOrEqual(t, len(got), n, "a reset may overtake what was forwarded, but nothing more is")
		require.True(t, strings.HasPrefix("abcde", string(got)))
	}
}

// CutAfter passes bytes up to its limit, and cuts at the next one.
func TestProxy_CutAfter_PassesBelowLimit(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, CutAfter(5))
	c.send("ab")
	c.expect("ab")
	p.Set(Commands, Delay(0))
	c.send("cde")
	c.expect("cde")
	c.send("f")
	require.ErrorIs(t, c.readEnd(), syscall.ECONNRESET)
}

// Refuse makes new connections fail, and open ones go on.
func TestProxy_Refuse_OpenConnsGoOn(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	c.send("a")
	c.expect("a")
	require.NoError(t, p.Refuse(true))
	require.NoError(t, p.Refuse(true), "a second time")
	_, err := net.Dial("tcp", p.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	c.send("b")
	c.expect("b")
	require.NoError(t, p.Refuse(false))
	c = connect(t, p)
	c.send("c")
	c.expect("c")
}

// A fault for existing or for new connections does not affect the others.
func TestProxy_Faults_OnlyInScope(t *testing.T) {
	p := Start(t, echo(t))
	old := connect(t, p)
	old.send("a")
	old.expect("a")

	p.SetFor(Upcoming, Replies, Hold)
	young := connect(t, p)
	young.send("b")
	young.expectNothing()
	old.send("c")
	old.expect("c")

	p.SetFor(Existing, Both, Pass)
	young.expect("b")
	p.SetFor(Existing, Replies, Hold)
	p.SetFor(Upcoming, Both, Pass)
	third := connect(t, p)
	third.send("d")
	third.expect("d")
	old.send("e")
	young.send("f")
	old.expectNothing()
	young.expectNothing()

	require.NoError(t, p.Heal())
	old.expect("e")
	young.expect("f")
}

// A fault for subscribers begins with the SUBSCRIBE of a connection.
func TestProxy_Subscribers_FromSubscribeOn(t *testing.T) {
	p := Start(t, echo(t))
	p.SetFor(Subscribers, Replies, Hold)
	c, other := connect(t, p), connect(t, p)
	c.send("a")
	c.expect("a")
	subscribe := "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n"
	c.send(subscribe)
	eventually(t, func() bool { return p.Buffered(Replies) == len(subscribe) })
	unsubscribe := "*2\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\na\r\n"
	other.send(unsubscribe)
	other.expect(unsubscribe)
	p.Set(Replies, Pass)
	c.expectNothing()
	other.send("b")
	other.expect("b")
	require.NoError(t, p.Heal())
	c.expect(subscribe)
}

// Trickle brings every byte, in pieces with a gap between them.
func TestProxy_Trickle_BringsEveryByte(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	const pieces, gap = 10, 10 * time.Millisecond
	p.Set(Replies, Trickle(2, gap))
	before := time.Now()
	c.send(strings.Repeat("ab", pieces))
	c.expect(strings.Repeat("ab", pieces))
	require.GreaterOrEqual(t, time.Since(before), (pieces-1)*gap)
}

// A fault for existing subscribers does not affect later ones.
func TestProxy_OldSubscribers_NewUnaffected(t *testing.T) {
	p := Start(t, echo(t))
	plain, listener := connect(t, p), connect(t, p)
	const subscribe = "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n"
	listener.send(subscribe)
	listener.expect(subscribe)
	p.SetFor(ExistingSubscribers, Replies, Hold)
	listener.send("a")
	listener.expectNothing()
	next := connect(t, p)
	next.send(subscribe)
	next.expect(subscribe)
	plain.send("b")
	plain.expect("b")
	p.Set(Replies, Pass)
	listener.expect("a")
}

// A client is reset if the server cannot be reached.
func TestProxy_NoServer_ResetsClient(t *testing.T) {
	port, err := testport.Port() // not used by another process
	require.NoError(t, err)
	p := Start(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil { // otherwise the reset was as fast as the connection
		err = client{conn.(*net.TCPConn), t}.readEnd()
		conn.Close()
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
	eventually(t, func() bool { return p.Connections() == 0 })
}

// Close ends all connections, whatever fault they have.
func TestProxy_CloseWithFault_EndsAll(t *testing.T) {
	for _, fault := range []Fault{Pass, Hold, Drop, Delay(time.Hour), CutAfter(1 << 20)} {
		p, err := New(echo(t))
		require.NoError(t, err)
		p.Set(Both, fault)
		c := connect(t, p)
		c.send("a")
		require.NoError(t, p.Close())
		require.NoError(t, p.Close(), "a second time")
		require.ErrorIs(t, p.Refuse(false), net.ErrClosed)
		require.Zero(t, p.Connections())
		require.Error(t, c.readEnd())
	}
}

// Close ends a connection with full buffers in both directions.
func TestProxy_CloseWhenFull_Ends(t *testing.T) {
	p := Start(t, server(t, func(*net.TCPConn) { <-t.Context().Done() })) // reads nothing
	c := connect(t, p)
	c.send(strings.Repeat("x", 1<<20))
	eventually(t, func() bool { return p.Connections() == 1 })
	require.NoError(t, p.Close())
}

// Faults may be set by many goroutines at once.
func TestProxy_ConcurrentFaults_NoRace(t *testing.T) {
	p := Start(t, echo(t))
	var wg sync.WaitGroup
	for _, f := range []Fault{Hold, Delay(time.Millisecond), CutAfter(100), Pass, Drop} {
		wg.Go(func() {
			for i := range 50 {
				p.SetFor(Scope(i%4), Direction(1+i%3), f)
				p.Buffered(Both)
				if i%10 == 0 {
					p.Cut()
				}
			}
		})
		wg.Go(func() {
			for range 20 {
				conn, err := net.Dial("tcp", p.Addr())
				if err != nil {
					continue
				}
				io.WriteString(conn, "$9\r\nSUBSCRIBE\r\n")
				conn.Close()
			}
		})
	}
	wg.Wait()
	p.Cut()
	require.NoError(t, p.Heal())
	eventually(t, func() bool { return p.Connections() == 0 })
	c := connect(t, p)
	c.send("well")
	c.expect("well")
}

// The faults of the package documentation work on a real server, each as described.
func TestProxy_RealServer_Recipes(t *testing.T) {
	s := redistest.Start(t)

	t.Run("a reply lost, the command run", func(t *testing.T) {
		p := Start(t, s.Addr())
		c := probe(t, p)
		_, err := c.Do("PING")
		require.NoError(t, err)
		p.SetFor(Existing, Replies, CutAfter(0))
		_, err = c.Do("INCR", "lost")
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.Equal(t, 1, s.Int(t, "GET", "lost"))
		_, err = probe(t, p).Do("PING")
		require.NoError(t, err, "the next connection works")
	})

	t.Run("a reply late, the command run", func(t *testing.T) {
		p := Start(t, s.Addr())
		c := probe(t, p)
		p.Set(Replies, Hold)
		require.NoError(t, c.Send("INCR", "late"))
		eventually(t, func() bool { return p.Buffered(Replies) > 0 })
		require.Equal(t, 1, s.Int(t, "GET", "late"))
		p.Set(Replies, Pass)
		reply, err := c.Receive(testTimeout)
		require.NoError(t, err)
		require.Equal(t, int64(1), reply)
	})

	t.Run("a command that runs after its client has gone", func(t *testing.T) {
		p := Start(t, s.Addr())
		c := probe(t, p)
		p.Set(Commands, Hold)
		require.NoError(t, c.Send("INCR", "gone"))
		eventually(t, func() bool { return p.Buffered(Commands) > 0 })
		require.NoError(t, c.Close())
		require.Equal(t, 0, s.Int(t, "EXISTS", "gone"))
		p.Set(Commands, Pass)
		eventually(t, func() bool { return s.Int(t, "EXISTS", "gone") == 1 })
		eventually(t, func() bool { return p.Connections() == 0 })
	})

	t.Run("late confirmations of SUBSCRIBE only", func(t *testing.T) {
		p := Start(t, s.Addr())
		p.SetFor(Subscribers, Replies, Delay(longDelay))
		before := time.Now()
		c := probe(t, p)
		_, err := c.Do("SUBSCRIBE", "channel")
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(before), longDelay)
		_, err = probe(t, p).Do("PING")
		require.NoError(t, err)
	})

	t.Run("connected, then silence", func(t *testing.T) {
		p := Start(t, s.Addr())
		p.SetFor(Upcoming, Both, Drop)
		c := probe(t, p)
		require.NoError(t, c.Send("PING"))
		_, err := c.Receive(quietTime)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})

	t.Run("a server that comes back", func(t *testing.T) {
		p := Start(t, s.Addr())
		c := probe(t, p)
		_, err := c.Do("PING")
		require.NoError(t, err)
		require.NoError(t, s.Kill())
		_, err = c.Receive(testTimeout)
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, s.Restart())
		_, err = probe(t, p).Do("PING")
		require.NoError(t, err)
	})
}

// client is a client's connection with the checks of these tests.
type client struct {
	*net.TCPConn
	t *testing.T
}

func connect(t *testing.T, p *Proxy) client {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(testTimeout)))
	return client{conn.(*net.TCPConn), t}
}

func (c client) send(text string) {
	c.t.Helper()
	wrote := make(chan error, 1)
	go func() { _, err := io.WriteString(c, text); wrote <- err }() // a large text fills the pipe until it is read
	if len(text) < 1<<10 {
		require.NoError(c.t, <-wrote)
	}
}

func (c client) expect(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(c, got)
	require.NoError(c.t, err, "after %q", got[:n])
	require.Equal(c.t, text, string(got))
}

func (c client) expectNothing() {
	c.t.Helper()
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(quietTime)))
	n, err := c.Read(make([]byte, 100))
	require.Zero(c.t, n)
	require.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(testTimeout)))
}

// readEnd reads to the end and returns how it ended; io.EOF for a proper end.
func (c client) readEnd() error {
	_, err := io.Copy(io.Discard, c)
	if err == nil {
		return io.EOF
	}
	return err
}

func probe(t *testing.T, p *Proxy) *redistest.Conn {
	t.Helper()
	c, err := redistest.Dial(p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func echo(t *testing.T) string {
	return server(t, func(c *net.TCPConn) { io.Copy(c, c) })
}

// server takes connections until the test ends and handles each with f, then closes it.
func server(t *testing.T, f func(*net.TCPConn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				f(conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, testTimeout, pollInterval)
}
