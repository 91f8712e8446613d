package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Conn is a plain connection to a server that speaks only RESP2. It is for one goroutine at a time. Only Close may
// be called from another one; it ends a Receive in progress.
type Conn struct {
	net net.Conn
	in  *bufio.Reader
}

// Error is an error that the server returned: "WRONGTYPE Operation against …".
type Error string

func (e Error) Error() string { return string(e) }

// Dial connects to any server, including the embedded one and one behind a proxy.
func Dial(addr string) (*Conn, error) { return dial(addr, "", dialWait) }

func dial(addr, password string, wait time.Duration) (*Conn, error) {
	nc, err := net.DialTimeout("tcp", addr, wait)
	if err != nil {
		return nil, err
	}
	c := &Conn{net: nc, in: bufio.NewReader(nc)}
	if password == "" {
		return c, nil
	}
	if _, err := c.Do("AUTH", password); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Do sends a command and returns its reply, or an error. The error is an Error that the server returned, or one of the
// connection, which includes the lack of a reply within 30 s. After an error of the connection, the connection cannot
// be used any more.
//
// Arguments are strings, []byte, or values that fmt prints as the server should read them, such as integers. A
// reply is nil, a string, an int64 or a []any of these and of Error.
func (c *Conn) Do(args ...any) (any, error) {
	if err := c.Send(args...); err != nil {
		return nil, err
	}
	return c.Receive(probeWait)
}

// Send sends a command. The caller reads its reply with Receive.
func (c *Conn) Send(args ...any) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		text, ok := arg.([]byte)
		if !ok {
			text = fmt.Append(nil, arg)
		}
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(text), text)
	}
	if err := c.net.SetWriteDeadline(time.Now().Add(probeWait)); err != nil {
		return err
	}
	_, err := c.net.Write(b.Bytes())
	return err
}

// Receive returns the next reply, or the next message that the server sends by itself after SUBSCRIBE or MONITOR.
// If nothing comes within wait, the error is os.ErrDeadlineExceeded. If that happened between two replies, the
// connection can still be used.
func (c *Conn) Receive(wait time.Duration) (any, error) {
	if err := c.net.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	reply, err := c.read()
	if serverErr, ok := reply.(Error); ok {
		return nil, serverErr
	}
	return reply, err
}

// Close closes the connection at once. Commands that were sent may still run.
func (c *Conn) Close() error { return c.net.Close() }

// read reads one reply of RESP2. The error is the connection's. An error of the server is a reply like any other.
func (c *Conn) read() (any, error) {
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("redistest: not RESP: %q", line)
	}
	kind, text := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+':
		return text, nil
	case '-':
		return Error(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("redistest: not RESP: %q", line)
	case kind == ':':
		return n, nil
	case kind == '$':
		return c.readBulk(n)
	case kind == '*':
		return c.readArray(n)
	}
	return nil, fmt.Errorf("redistest: not RESP2: %q", line)
}

func (c *Conn) readBulk(size int64) (any, error) {
	if size < 0 {
		return nil, nil
	}
	text := make([]byte, size+2) // including the CR LF behind it
	if _, err := io.ReadFull(c.in, text); err != nil {
		return nil, err
	}
	return string(text[:size]), nil
}

func (c *Conn) readArray(size int64) (any, error) {
	if size < 0 {
		return nil, nil
	}
	array := make([]any, size)
	for i := range array {
		var err error
		if array[i], err = c.read(); err != nil {
			return nil, err
		}
	}
	return array, nil
}

// ReadCommand reads one command of a client, for a server that a test scripts.
func ReadCommand(r *bufio.Reader) (words []string, err error) {
	count, err := readLength(r)
	for range count {
		size, err := readLength(r)
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words = append(words, string(word[:size]))
	}
	return words, err
}

func readLength(r *bufio.Reader) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil || len(line) < 3 {
		return 0, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return strconv.Atoi(line[1 : len(line)-2])
}
