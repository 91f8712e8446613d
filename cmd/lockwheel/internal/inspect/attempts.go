package inspect

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/internal/redisurl"
)

// maxAttempts is how many connections are kept for an error. Later ones are not in it.
const maxAttempts = 64

// attempts are the connections that were tried behind Sentinel: the error of the last one alone would not say which
// sentinels are silent, and at which master that one of them named there is no server. newAttempts makes them; safe for
// concurrent use.
type attempts chan *attempt

// minSilence is how long a server must have had for a reply before an error says that it does not reply.
const minSilence = 500 * time.Millisecond

// attempt is one connection. It is immutable, but for what is atomic.
type attempt struct {
	address string
	begun   time.Time
	took    time.Duration // of a dial that failed
	err     error         // of the dial
	heard   atomic.Bool   // the server has sent something
}

// gaveUp reports whether the dial did not fail, or failed only because it had no more time.
func (a *attempt) gaveUp() bool {
	return a.err == nil || errors.Is(a.err, context.DeadlineExceeded) || errors.Is(a.err, context.Canceled)
}

// isOver reports whether the attempt says something of the server. It does not if it had little time, because others
// took all of that.
func (a *attempt) isOver(now time.Time) bool {
	switch {
	case a.heard.Load() || !a.gaveUp():
		return true
	case a.err == nil:
		return now.Sub(a.begun) >= minSilence
	}
	return a.took >= minSilence
}

type dialFunc = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

func newAttempts() attempts { return make(attempts, maxAttempts) }

// watch returns a dialer that keeps its attempts.
func (all attempts) watch(dial dialFunc) dialFunc {
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		begun := time.Now()
		conn, err := dial(ctx, address, d, t)
		a := &attempt{address: address, begun: begun, took: time.Since(begun), err: err}
		select {
		case all <- a:
		default:
		}
		if err != nil {
			return nil, err
		}
		return &heardConn{conn, a}, nil
	}
}

// heardConn notes that the server has sent something.
type heardConn struct {
	net.Conn
	of *attempt
}

func (c *heardConn) Read(p []byte) (n int, err error) {
	if n, err = c.Conn.Read(p); n > 0 {
		c.of.heard.Store(true)
	}
	return n, err
}

// text returns what became of the attempts at other addresses than one, for an error, as far as these failed: " (...)",
// or "". Of several at one address the last one counts that was not cut short. None counts if the server has replied to
// one of them.
func (all attempts) text(but string, option *rueidis.ClientOption) string {
	var addresses []string
	last := make(map[string]*attempt)
	for len(all) > 0 {
		a := <-all
		switch {
		case last[a.address] != nil && (last[a.address].heard.Load() || !a.isOver(time.Now())):
			continue
		case last[a.address] == nil && a.address != but:
			addresses = append(addresses, a.address)
		}
		last[a.address] = a
	}
	slices.Sort(addresses)
	var parts []string
	for _, address := range addresses {
		switch a := last[address]; {
		case a.heard.Load(), !a.isOver(time.Now()):
		case a.gaveUp():
			parts = append(parts, address+" does not reply")
		default:
			parts = append(parts, address+": "+redisurl.WithoutSecrets(a.err, option).Error())
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
