package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/busywait"
	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// burst has commands that are written at once, and the exact reply.
type burst struct {
	write []byte
	reply []byte
	pairs int // locks that are free again after it
}

// batchedBursts returns calls with lockwheel's scripts, each for keys names: the acquires and the releases of all
// names.
func batchedBursts(names, keys int) (bursts []burst) {
	for first := 0; first < names; first += keys {
		n := min(keys, names-first)
		acquire := []string{"EVALSHA", scripts.Acquire.SHA1, strconv.Itoa(n)}
		release := []string{"EVALSHA", scripts.Release.SHA1, strconv.Itoa(n)}
		for i := first; i < first+n; i++ {
			acquire, release = append(acquire, nameOf(i)), append(release, nameOf(i))
		}
		acquire, release = append(acquire, "PUBLISH", leaseText), append(release, "PUBLISH")
		for i := first; i < first+n; i++ {
			acquire = append(acquire, peers.DirectID(i))
			release = append(release, peers.DirectID(i))
		}
		done := []byte(":1\r\n") // for all of them
		bursts = append(bursts, burst{command(nil, acquire...), done, 0}, burst{command(nil, release...), done, n})
	}
	return bursts
}

// singleBursts returns calls with the baseline's single-lock scripts for each name, as many at once.
func singleBursts(names, batchSize int, acquireSHA, releaseSHA string) (bursts []burst) {
	for first := 0; first < names; first += batchSize {
		var acquire, release burst
		for i := first; i < min(first+batchSize, names); i++ {
			name, id := nameOf(i), peers.DirectID(i)
			acquire.write = command(acquire.write, "EVALSHA", acquireSHA, "1", name, id, leaseText)
			acquire.reply = fmt.Appendf(acquire.reply, ":%d\r\n", peers.DirectGranted)
			release.write = command(release.write, "EVALSHA", releaseSHA, "1", name, id, peers.DirectChannel(name))
			release.reply = append(release.reply, ":1\r\n"...)
			release.pairs++
		}
		bursts = append(bursts, acquire, release)
	}
	return bursts
}

var leaseText = strconv.FormatInt(peers.Lease.Milliseconds(), 10)

// command appends a command as the protocol writes it.
func command(b []byte, args ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, arg := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b
}

// loadScripts loads the scripts of the bursts and returns the hashes of the baseline's.
func loadScripts(addr string) (acquireSHA, releaseSHA string, err error) {
	c, err := redistest.Dial(addr)
	if err != nil {
		return "", "", err
	}
	defer c.Close()
	var hashes []any
	for _, text := range []string{scripts.Acquire.Text, scripts.Release.Text, scripts.Renew.Text, peers.DirectAcquireText, peers.DirectReleaseText} {
		hash, err := c.Do("SCRIPT", "LOAD", text)
		if err != nil {
			return "", "", err
		}
		hashes = append(hashes, hash)
	}
	return fmt.Sprint(hashes[3]), fmt.Sprint(hashes[4]), nil
}

// runLoop sends the bursts one after the other round and round for d, each after the reply to the one before. That is
// what a single caller needs at least. looks: its thread looks for each reply before it may sleep, as the engine's
// does.
func runLoop(addr string, bursts []burst, d time.Duration, looks bool) (pairs int, took time.Duration, err error) {
	c, err := dialPlain(addr, d+grace)
	if err != nil {
		return 0, 0, err
	}
	defer c.conn.Close()
	if looks {
		gate := busywait.NewGate(time.Millisecond, busywait.MaxYield)
		gate.SetInFlight(1)
		c.busy = busywait.New(gate, c.conn)
	}
	began := time.Now()
	for pairs == 0 || time.Since(began) < d {
		if err := c.exchangeAll(bursts); err != nil {
			return pairs, time.Since(began), err
		}
		pairs += pairsOf(bursts)
	}
	return pairs, time.Since(began), nil
}

func pairsOf(bursts []burst) (pairs int) {
	for i := range bursts {
		pairs += bursts[i].pairs
	}
	return pairs
}

// runOnce sends the bursts one after the other.
func runOnce(addr string, bursts []burst) error {
	c, err := dialPlain(addr, stepTimeout)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	return c.exchangeAll(bursts)
}

// plainConn is a connection that checks every byte of the replies.
type plainConn struct {
	conn net.Conn
	in   *bufio.Reader
	got  []byte

	busy *busywait.Conn // nil: the thread sleeps until the reply has come
}

func dialPlain(addr string, timeout time.Duration) (*plainConn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		conn.Close()
		return nil, err
	}
	return &plainConn{conn: conn, in: bufio.NewReaderSize(conn, 1<<16)}, nil
}

// await reads the reply to a burst.
func (c *plainConn) await(b *burst) error {
	c.got = append(c.got[:0], b.reply...)
	if _, err := io.ReadFull(c.in, c.got); err != nil {
		return err
	}
	if !bytes.Equal(c.got, b.reply) {
		return fmt.Errorf("unexpected reply: %.100q", c.got)
	}
	return nil
}

func (c *plainConn) exchangeAll(bursts []burst) error {
	for i := range bursts {
		if _, err := c.conn.Write(bursts[i].write); err != nil {
			return err
		}
		c.busy.Wait(0)
		if err := c.await(&bursts[i]); err != nil {
			return err
		}
	}
	return nil
}

// runPipelined writes the bursts round and round for d, with this many in flight, and checks every byte of the replies.
// A client could hardly do less for each lock, so the throughput is the server's limit.
func runPipelined(addr string, bursts []burst, inFlight int, d time.Duration) (pairs int, took time.Duration, err error) {
	c, err := dialPlain(addr, d+grace)
	if err != nil {
		return 0, 0, err
	}
	defer c.conn.Close()
	began := time.Now()
	sent := make(chan *burst, inFlight)
	go func() {
		defer close(sent)
		// It ends with a whole round, even the first one: every lock that was acquired is released.
		for i := 0; i == 0 || i%len(bursts) != 0 || time.Since(began) < d; i++ {
			b := &bursts[i%len(bursts)]
			sent <- b
			if _, err := c.conn.Write(b.write); err != nil {
				return // the reader gets the error too
			}
		}
	}()
	for b := range sent {
		if err := c.await(b); err != nil {
			c.conn.Close()
			for range sent {
			}
			return pairs, time.Since(began), err
		}
		pairs += b.pairs
	}
	return pairs, time.Since(began), nil
}
