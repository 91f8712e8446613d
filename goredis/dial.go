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

// sentinelResolver marks the dialer for sentinels. rueidis passes nothing else by which a dial function could tell a
// sentinel from a server. A zero Resolver works like none.
var sentinelResolver = &net.Resolver{}

// applyDialer sets DialCtxFn if the engine's own dialer is not enough. That is so for a Dialer of the program and for a
// network other than tcp. It is also so behind Sentinel with a provider, because its credentials must not be sent to
// sentinels.
func (c *common) applyDialer(option *rueidis.ClientOption) {
	marked := c.credentials.sentinels && option.AuthCredentialsFn != nil
	if marked {
		option.Sentinel.Dialer.Resolver = sentinelResolver
	}
	if marked || c.dialer != nil || c.network != "" && c.network != "tcp" || slices.ContainsFunc(c.addrs, isSocket) {
		option.DialCtxFn = c.dial
	}
}

// dial makes a connection as go-redis does: a Dialer of the program does everything, including TLS.
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

// isSocket reports whether go-redis treats an address as the path of a unix socket.
func isSocket(addr string) bool { return strings.HasPrefix(addr, "/") }

// sentinelConn is a connection to a sentinel. The function for credentials recognizes it by its remote address.
type sentinelConn struct{ net.Conn }

type sentinelAddr struct{ net.Addr }

// RemoteAddr returns the remote address as a sentinelAddr.
func (c sentinelConn) RemoteAddr() net.Addr { return sentinelAddr{c.Conn.RemoteAddr()} }

// HandshakeContext completes a TLS handshake that a Dialer of the program has not done. The engine calls it, so that
// the handshake counts towards CallTimeout.
func (c sentinelConn) HandshakeContext(ctx context.Context) error {
	if conn, ok := c.Conn.(interface{ HandshakeContext(context.Context) error }); ok {
		return conn.HandshakeContext(ctx)
	}
	return nil
}
