package locktest

import (
	"context"
	"crypto/tls"
	"net"
	"regexp"
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel"
)

// ahead is a connection of a machine with a clock that is ahead. Times that it sends are later by that much. Times of
// the server are earlier, as that machine would see them.
type ahead struct {
	net.Conn
	by time.Duration
}

var saidTime, heardTime = regexp.MustCompile(`\$13\r\n1[0-9]{12}\r\n`), regexp.MustCompile(`:1[0-9]{12}\r\n`)

func (c ahead) Write(p []byte) (int, error) {
	_, err := c.Conn.Write(saidTime.ReplaceAllFunc(p, func(said []byte) []byte {
		return append([]byte("$13\r\n"), later(said[5:], c.by)...)
	}))
	return len(p), err
}

func (c ahead) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	copy(p, heardTime.ReplaceAllFunc(p[:n], func(heard []byte) []byte {
		return append([]byte(":"), later(heard[1:], -c.by)...)
	}))
	return n, err
}

// later adds to each line that is a number of thirteen digits.
func later(line []byte, by time.Duration) []byte {
	ms, _ := strconv.ParseInt(string(line[:13]), 10, 64)
	return []byte(strconv.FormatInt(ms+by.Milliseconds(), 10) + "\r\n")
}

// OpenAhead opens an engine with a clock that is ahead.
func (s *Server) OpenAhead(by time.Duration, opts lockwheel.Options) *lockwheel.Engine {
	s.T.Helper()
	opts.Redis.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		conn, err := d.DialContext(ctx, "tcp", addr)
		return ahead{conn, by}, err
	}
	return s.Open(opts)
}
