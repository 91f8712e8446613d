package topology_test

import (
	"crypto/tls"
	"crypto/x509"
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

func TestLocksWorkOverTLSForAUserWithLittle(t *testing.T) {
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

func TestOpenRefusesAServerThatNobodyVouchesFor(t *testing.T) {
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
