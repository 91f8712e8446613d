package topology_test

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// tlsSite returns a server that accepts encrypted connections of clients with a certificate, and its address.
func tlsSite(t *testing.T) (s *locktest.Server, addr string, a *locktest.TestCA) {
	t.Helper()
	a = locktest.ServerCA(t)
	s = locktest.RealServer(t, append(a.Secured(), "--user", locktest.User, "on", ">"+locktest.Password, "~app:*", "&redisson_lock__channel:*",
		"+ping", "+hello", "+client", "+script|load", "+evalsha", "+eval", "+subscribe", "+publish", "+pubsub|numsub",
		"+pttl", "+hset", "+pexpire", "+hexists", "+hkeys", "+hdel", "+hgetall", "+hlen", "+del")...)
	return s, s.Real.SecureAddr(), a
}

// Locks work over TLS for a user with only the permissions that README lists, also after the connection breaks.
func TestLocks_TLSAndFewPermissions_Work(t *testing.T) {
	t.Parallel()
	s, addr, a := tlsSite(t)
	p := proxy.Start(t, addr)
	opts := lockwheel.Options{
		Prefix:        "app:",
		Lease:         locktest.ShortLeaseOptions.Lease,
		RenewInterval: locktest.ShortLeaseOptions.RenewInterval,
		Redis:         rueidis.ClientOption{TLSConfig: a.Client(), Username: locktest.User, Password: locktest.Password},
	}
	holder, waiter := s.OpenAt(p.Addr(), opts), s.OpenAt(addr, opts)
	for range 3 {
		hold := locktest.Lock(t, holder.Mutex("n"))
		inner := locktest.LockWith(t, hold.Context(), holder.Mutex("n"))
		waiting := locktest.Locking(t.Context(), waiter.Mutex("n"))
		locktest.RequireWaiting(t, waiter, 1, 1)
		p.Cut()
		locktest.GoesOn(t, hold) // on another connection
		require.True(t, s.Exists("app:n"))
		locktest.Unlock(t, inner)
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, waiting))
	}
	hold := locktest.Lock(t, holder.Mutex("n"))
	locktest.ForceUnlock(t, waiter.Mutex("n"))
	locktest.RequireLocked(t, waiter.Mutex("n"), false)
	locktest.Receive(t, hold.Done())
	locktest.RequireIdle(t, waiter)
	require.Zero(t, waiter.Stats().UnpublishedReleases)
}

// Open returns an error if the certificate of the server is not trusted, if the client has none, and with a wrong
// password.
func TestOpen_TLSNotTrusted_Error(t *testing.T) {
	t.Parallel()
	_, addr, a := tlsSite(t)
	unknown, anonymous := a.Client(), a.Client()
	unknown.RootCAs = x509.NewCertPool()
	anonymous.Certificates = nil
	for name, config := range map[string]*tls.Config{"an authority unknown to us": unknown, "a client without certificate": anonymous, "no TLS": nil} {
		_, err := lockwheel.Open(t.Context(), lockwheel.Options{
			CallTimeout: 2 * time.Second,
			Redis:       rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: config, Username: locktest.User, Password: locktest.Password},
		})
		require.Error(t, err, name)
	}
	opts := lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: a.Client(), Username: locktest.User, Password: "wrong"}}
	_, err := lockwheel.Open(t.Context(), opts)
	require.ErrorContains(t, err, "WRONGPASS")
}

// With TLS 1.3 a client learns only after its handshake that the server rejects its certificate, or wants one. The
// server's alert comes instead of the first reply, or the connection breaks. That is no connection, and no silent
// server.
func TestTLS_CertificateRejected_NoConnection(t *testing.T) {
	t.Parallel()
	for name, versions := range map[string]uint16{"1.3": tls.VersionTLS13, "1.2": tls.VersionTLS12} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, addr, a := tlsSite(t)
			config := a.Client()
			config.MinVersion, config.MaxVersion = versions, versions
			certificate := config.Certificates[0]
			config.Certificates = nil
			var absent atomic.Bool
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if absent.Load() {
					return &tls.Certificate{}, nil
				}
				return &certificate, nil
			}
			opts := lockwheel.Options{
				Prefix: "app:", Lease: time.Hour, CallTimeout: time.Minute, // so that no timeout ends a call
				Redis: rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: config, Username: locktest.User, Password: locktest.Password},
			}
			e := s.OpenAt(addr, opts)
			absent.Store(true)
			s.Do("CLIENT", "KILL", "USER", locktest.User)
			const told = "certificate required|handshake failure|reset by peer|broken pipe" // an alert, unless it was lost
			for range 10 {
				done := make(chan error, 1)
				go func() { done <- locktest.Second(e.Mutex("n").TryLock(t.Context())) }()
				err := locktest.Receive(t, done)
				require.ErrorIs(t, err, lockwheel.ErrUnavailable)
				require.Regexp(t, told, err.Error())
			}
			_, err := lockwheel.Open(t.Context(), opts)
			require.Error(t, err)
			require.Regexp(t, told, err.Error())

			absent.Store(false)
			locktest.Eventually(t, "a lock with the certificate", func() bool {
				hold, err := e.Mutex("n").TryLock(t.Context())
				return err == nil && hold.Unlock(t.Context()) == nil
			})
		})
	}
}
