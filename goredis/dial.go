package goredis

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// dialFunc is a Dialer of go-redis.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// sentinelResolver marks the dialer of connections to sentinels, of which rueidis tells nothing else that differs. A
// zero Resolver resolves names as none does.
var sentinelResolver = &net.Resolver{}

// applyDialer sets DialCtxFn if the engine's own dialer would not do: for a Dialer of the program, for other networks than tcp,
// and behind Sentinel if credentials are asked for, which must not be sent to sentinels.
func (c *common) applyDialer(option *rueidis.ClientOption) {
	marked := c.credentials.sentinels && option.AuthCredentialsFn != nil
	if marked {
		option.Sentinel.Dialer.Resolver = sentinelResolver
	}
	if marked || c.dialer != nil || c.network != "" && c.network != "tcp" || slices.ContainsFunc(c.addrs, isSocket) {
		option.DialCtxFn = c.dial
	}
}

// dial makes a connection as go-redis does: a Dialer of the program does everything, TLS as well.
func (c *common) dial(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (conn net.Conn, err error) {
	switch network := c.networkOf(addr); {
	case c.dialer != nil:
		conn, err = c.dialer(ctx, network, addr)
	case t != nil:
		conn, err = (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, network, addr)
	default:
		conn, err = d.DialContext(ctx, network, addr)
	}
	if err != nil || conn == nil || d.Resolver != sentinelResolver {
		return conn, err
	}
	return sentinelConn{conn}, nil
}

func (c *common) networkOf(addr string) string {
	switch {
	case c.network != "":
		return c.network
	case isSocket(addr):
		return "unix"
	default:
		return "tcp"
	}
}

// isSocket reports whether go-redis takes an address for the path of a unix socket.
func isSocket(addr string) bool { return strings.HasPrefix(addr, "/") }

// sentinelConn is a connection to a sentinel. Its remote address says so to the function for credentials.
type sentinelConn struct{ net.Conn }

type sentinelAddr struct{ net.Addr }

// RemoteAddr returns the address in a type that marks it.
func (c sentinelConn) RemoteAddr() net.Addr { return sentinelAddr{c.Conn.RemoteAddr()} }

// HandshakeContext completes the TLS handshake that a Dialer of the program has left to do, if any. The engine calls it within
// its bound for making a connection.
func (c sentinelConn) HandshakeContext(ctx context.Context) error {
	if conn, ok := c.Conn.(interface{ HandshakeContext(context.Context) error }); ok {
		return conn.HandshakeContext(ctx)
	}
	return nil
}
