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
	"github.com/lockwheel/lockwheel/internal/loopback"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const (
	soon  = 10 * time.Second       // a deadline: nothing takes that long
	quiet = 60 * time.Millisecond  // how long nothing must come for a test to conclude that nothing comes
	often = 2 * time.Millisecond   // between two looks
	late  = 150 * time.Millisecond // a delay that cannot be mistaken for slowness
)

func TestBytesPassBothWays(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	c.says("hello")
	c.hears("hello")
	big := strings.Repeat("x", 1<<20)
	c.says(big)
	c.hears(big)
	require.Equal(t, 1, p.Connections())
	require.Zero(t, p.Held(Both))
}

func TestClosedClientLeavesNoConnection(t *testing.T) {
	p := Start(t, echo(t))
	for range 20 {
		c := connect(t, p)
		c.says("a")
		c.hears("a")
		c.Close()
	}
	eventually(t, func() bool { return p.Connections() == 0 })
	require.Equal(t, 20, p.Accepted())
}

func TestEndOfTheServerReachesTheClient(t *testing.T) {
	p := Start(t, server(t, func(c *net.TCPConn) { io.WriteString(c, "bye") }))
	c := connect(t, p)
	c.hears("bye")
	require.ErrorIs(t, c.end(), io.EOF)
}

func TestHeldRepliesArriveInOrderWhenReleased(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, Hold)
	c.says("one ")
	eventually(t, func() bool { return p.Held(Replies) == 4 })
	c.says("two")
	eventually(t, func() bool { return p.Held(Replies) == 7 })
	require.Zero(t, p.Held(Commands))
	c.hearsNothing()
	p.Set(Replies, Pass)
	c.hears("one two")
	require.Zero(t, p.Held(Both))
}

func TestHeldCommandsReachTheServerAfterTheirClientHasGone(t *testing.T) {
	heard := make(chan string, 1)
	p := Start(t, server(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c)
		heard <- string(all)
	}))
	c := connect(t, p)
	p.Set(Commands, Hold)
	c.says("late")
	eventually(t, func() bool { return p.Held(Commands) == 4 })
	c.Close()
	select {
	case got := <-heard:
		t.Fatalf("%q went through", got)
	case <-time.After(quiet):
	}
	p.Set(Commands, Pass)
	require.Equal(t, "late", <-heard)
	eventually(t, func() bool { return p.Connections() == 0 })
}

func TestDelayedRepliesArriveThatMuchLater(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, Delay(late))
	before := time.Now()
	c.says("a")
	c.hears("a")
	require.GreaterOrEqual(t, time.Since(before), late)

	before = time.Now()
	for range 50 {
		c.says("b")
	}
	c.hears(strings.Repeat("b", 50))
	require.GreaterOrEqual(t, time.Since(before), late)
	require.Less(t, time.Since(before), 50*late, "a delay is not a queue")
}

func TestShorterDelayHoldsForBytesThatWaitAlready(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, Delay(time.Hour))
	c.says("a")
	eventually(t, func() bool { return p.Held(Replies) == 1 })
	p.Set(Replies, Delay(time.Millisecond))
	c.hears("a")
}

func TestHalfOpenLinkTellsNeitherEnd(t *testing.T) {
	serverSides := make(chan *net.TCPConn, 2)
	p := Start(t, server(t, func(c *net.TCPConn) {
		serverSides <- c
		<-t.Context().Done()
	}))
	c := connect(t, p)
	far := <-serverSides
	p.Set(Both, Drop)
	c.says("a")
	io.WriteString(far, "b")
	c.hearsNothing()
	require.NoError(t, far.Close())
	c.hearsNothing()

	p.Set(Both, Pass)
	c = connect(t, p)
	far = <-serverSides
	p.Set(Both, Drop)
	c.says("a")
	require.NoError(t, c.Close())
	require.NoError(t, far.SetReadDeadline(time.Now().Add(quiet)))
	_, err := far.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestAConnectionThatLostBytesIsReset(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, Drop)
	p.Set(Replies, Pass)
	c.says("kept") // nothing was lost
	c.hears("kept")
	p.Set(Replies, Hold)
	c.says("lost")
	eventually(t, func() bool { return p.Held(Replies) == 4 })
	p.Set(Replies, Drop)
	eventually(t, func() bool { return p.Held(Replies) == 0 })
	p.Set(Replies, Hold)
	c.hearsNothing()
	p.Set(Replies, Pass)
	require.ErrorIs(t, c.end(), syscall.ECONNRESET)
	c = connect(t, p)
	c.says("new")
	c.hears("new")
}

func TestCutResetsBothSides(t *testing.T) {
	ended := make(chan error, 2)
	p := Start(t, server(t, func(c *net.TCPConn) {
		_, err := io.Copy(c, c)
		ended <- err
	}))
	c := connect(t, p)
	c.says("a")
	c.hears("a")
	p.Cut()
	require.ErrorIs(t, c.end(), syscall.ECONNRESET)
	require.ErrorIs(t, <-ended, syscall.ECONNRESET)
	eventually(t, func() bool { return p.Connections() == 0 })

	c = connect(t, p)
	c.says("b")
	c.hears("b")
}

func TestCutAfterForwardsExactlyThatMuch(t *testing.T) {
	for n := range 5 {
		p := Start(t, echo(t))
		c := connect(t, p)
		c.says("x")
		c.hears("x")
		p.SetFor(Present, Replies, CutAfter(n))
		p.SetFor(Present, Commands, Pass) // does not start the count again
		c.says("abcde")
		got, err := io.ReadAll(c)
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.LessOrEqual(t, len(got), n, "a reset may overtake what was forwarded, but nothing more is")
		require.True(t, strings.HasPrefix("abcde", string(got)))
	}
}

func TestCutAfterPassesWhatStaysBelow(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	p.Set(Replies, CutAfter(5))
	c.says("ab")
	c.hears("ab")
	p.Set(Commands, Delay(0))
	c.says("cde")
	c.hears("cde")
	c.says("f")
	require.ErrorIs(t, c.end(), syscall.ECONNRESET)
}

func TestRefusedClientsFindNobodyListeningAndOthersGoOn(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	c.says("a")
	c.hears("a")
	require.NoError(t, p.Refuse(true))
	require.NoError(t, p.Refuse(true), "a second time")
	_, err := net.Dial("tcp", p.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	c.says("b")
	c.hears("b")
	require.NoError(t, p.Refuse(false))
	c = connect(t, p)
	c.says("c")
	c.hears("c")
}

func TestFaultsReachOnlyTheConnectionsTheyAreFor(t *testing.T) {
	p := Start(t, echo(t))
	old := connect(t, p)
	old.says("a")
	old.hears("a")

	p.SetFor(Future, Replies, Hold)
	young := connect(t, p)
	young.says("b")
	young.hearsNothing()
	old.says("c")
	old.hears("c")

	p.SetFor(Present, Both, Pass)
	young.hears("b")
	p.SetFor(Present, Replies, Hold)
	p.SetFor(Future, Both, Pass)
	third := connect(t, p)
	third.says("d")
	third.hears("d")
	old.says("e")
	young.says("f")
	old.hearsNothing()
	young.hearsNothing()

	require.NoError(t, p.Heal())
	old.hears("e")
	young.hears("f")
}

func TestFaultsForSubscribersBeginWithTheirSubscribe(t *testing.T) {
	p := Start(t, echo(t))
	p.SetFor(Subscribers, Replies, Hold)
	c, other := connect(t, p), connect(t, p)
	c.says("a")
	c.hears("a")
	subscribe := "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n"
	c.says(subscribe)
	eventually(t, func() bool { return p.Held(Replies) == len(subscribe) })
	unsubscribe := "*2\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\na\r\n"
	other.says(unsubscribe)
	other.hears(unsubscribe)
	p.Set(Replies, Pass)
	c.hearsNothing()
	other.says("b")
	other.hears("b")
	require.NoError(t, p.Heal())
	c.hears(subscribe)
}

func TestATrickleBringsEveryByteInPieces(t *testing.T) {
	p := Start(t, echo(t))
	c := connect(t, p)
	const pieces, gap = 10, 10 * time.Millisecond
	p.Set(Replies, Trickle(2, gap))
	before := time.Now()
	c.says(strings.Repeat("ab", pieces))
	c.hears(strings.Repeat("ab", pieces))
	require.GreaterOrEqual(t, time.Since(before), (pieces-1)*gap)
}

func TestFaultsForThoseThatListenLeaveNewOnesAlone(t *testing.T) {
	p := Start(t, echo(t))
	plain, listener := connect(t, p), connect(t, p)
	const subscribe = "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n"
	listener.says(subscribe)
	listener.hears(subscribe)
	p.SetFor(Listening, Replies, Hold)
	listener.says("a")
	listener.hearsNothing()
	next := connect(t, p)
	next.says(subscribe)
	next.hears(subscribe)
	plain.says("b")
	plain.hears("b")
	p.Set(Replies, Pass)
	listener.hears("a")
}

func TestUnreachableServerResetsTheClient(t *testing.T) {
	port, err := loopback.Port() // not used by another process
	require.NoError(t, err)
	p := Start(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil { // otherwise the reset was as fast as the connection
		err = client{conn.(*net.TCPConn), t}.end()
		conn.Close()
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
	eventually(t, func() bool { return p.Connections() == 0 })
}

func TestCloseEndsEverythingWhateverIsHeld(t *testing.T) {
	for _, fault := range []Fault{Pass, Hold, Drop, Delay(time.Hour), CutAfter(1 << 20)} {
		p, err := New(echo(t))
		require.NoError(t, err)
		p.Set(Both, fault)
		c := connect(t, p)
		c.says("a")
		require.NoError(t, p.Close())
		require.NoError(t, p.Close(), "a second time")
		require.ErrorIs(t, p.Refuse(false), net.ErrClosed)
		require.Zero(t, p.Connections())
		require.Error(t, c.end())
	}
}

func TestCloseEndsALinkThatIsFullToTheBrim(t *testing.T) {
	p := Start(t, server(t, func(*net.TCPConn) { <-t.Context().Done() })) // reads nothing
	c := connect(t, p)
	c.says(strings.Repeat("x", 1<<20))
	eventually(t, func() bool { return p.Connections() == 1 })
	require.NoError(t, p.Close())
}

func TestFaultsFromManyGoroutines(t *testing.T) {
	p := Start(t, echo(t))
	var wg sync.WaitGroup
	for _, f := range []Fault{Hold, Delay(time.Millisecond), CutAfter(100), Pass, Drop} {
		wg.Go(func() {
			for i := range 50 {
				p.SetFor(Scope(i%4), Direction(1+i%3), f)
				p.Held(Both)
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
	c.says("well")
	c.hears("well")
}

func TestRecipesOnARealServer(t *testing.T) {
	s := redistest.Start(t)

	t.Run("a reply lost, the command run", func(t *testing.T) {
		p := Start(t, s.Addr())
		c := probe(t, p)
		_, err := c.Do("PING")
		require.NoError(t, err)
		p.SetFor(Present, Replies, CutAfter(0))
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
		eventually(t, func() bool { return p.Held(Replies) > 0 })
		require.Equal(t, 1, s.Int(t, "GET", "late"))
		p.Set(Replies, Pass)
		reply, err := c.Receive(soon)
		require.NoError(t, err)
		require.Equal(t, int64(1), reply)
	})

	t.Run("a command that runs after its client has gone", func(t *testing.T) {
		p := Start(t, s.Addr())
		c := probe(t, p)
		p.Set(Commands, Hold)
		require.NoError(t, c.Send("INCR", "gone"))
		eventually(t, func() bool { return p.Held(Commands) > 0 })
		require.NoError(t, c.Close())
		require.Equal(t, 0, s.Int(t, "EXISTS", "gone"))
		p.Set(Commands, Pass)
		eventually(t, func() bool { return s.Int(t, "EXISTS", "gone") == 1 })
		eventually(t, func() bool { return p.Connections() == 0 })
	})

	t.Run("late confirmations of SUBSCRIBE only", func(t *testing.T) {
		p := Start(t, s.Addr())
		p.SetFor(Subscribers, Replies, Delay(late))
		before := time.Now()
		c := probe(t, p)
		_, err := c.Do("SUBSCRIBE", "channel")
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(before), late)
		_, err = probe(t, p).Do("PING")
		require.NoError(t, err)
	})

	t.Run("connected, then silence", func(t *testing.T) {
		p := Start(t, s.Addr())
		p.SetFor(Future, Both, Drop)
		c := probe(t, p)
		require.NoError(t, c.Send("PING"))
		_, err := c.Receive(quiet)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})

	t.Run("a server that comes back", func(t *testing.T) {
		p := Start(t, s.Addr())
		c := probe(t, p)
		_, err := c.Do("PING")
		require.NoError(t, err)
		require.NoError(t, s.Kill())
		_, err = c.Receive(soon)
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
	require.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
	return client{conn.(*net.TCPConn), t}
}

func (c client) says(text string) {
	c.t.Helper()
	wrote := make(chan error, 1)
	go func() { _, err := io.WriteString(c, text); wrote <- err }() // a large text fills the pipe until it is read
	if len(text) < 1<<10 {
		require.NoError(c.t, <-wrote)
	}
}

func (c client) hears(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(c, got)
	require.NoError(c.t, err, "after %q", got[:n])
	require.Equal(c.t, text, string(got))
}

func (c client) hearsNothing() {
	c.t.Helper()
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(quiet)))
	n, err := c.Read(make([]byte, 100))
	require.Zero(c.t, n)
	require.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(soon)))
}

// end reads to the end and returns how it ended; io.EOF for a proper end.
func (c client) end() error {
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
	require.Eventually(t, condition, soon, often)
}
