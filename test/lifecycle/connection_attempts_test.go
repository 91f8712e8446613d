package lifecycle_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// longEnough is a CallTimeout within which a server replies on a machine that is busy with much else.
const longEnough = 3 * time.Second

// A connection attempt that hangs costs no hold: the engine makes another one.
func TestDial_OneHangs_CostsNoHold(t *testing.T) {
	eachHanging(t, func(t *testing.T, s *locktest.Server, h *hanging, opts lockwheel.Options) {
		costsNoHold(t, s, h, opts)
	})
}

// A connection attempt that ends its goroutine costs no hold: the engine makes another one.
func TestDial_OneEndsGoroutine_CostsNoHold(t *testing.T) {
	eachHanging(t, func(t *testing.T, s *locktest.Server, h *hanging, opts lockwheel.Options) {
		h.ends = true
		costsNoHold(t, s, h, opts)
	})
}

func costsNoHold(t *testing.T, s *locktest.Server, h *hanging, opts lockwheel.Options) {
	opts.CallTimeout = longEnough
	e := locktest.OpenRetrying(t, opts)
	hold := locktest.Lock(t, e.Mutex("n"))
	h.once = true
	h.hangs.Store(true)
	s.Do("CLIENT", "KILL", "TYPE", "normal")
	locktest.Eventually(t, "another lock on the next connection", func() bool {
		other, err := e.Mutex("m").TryLock(t.Context())
		return err == nil && len(h.called) > 0 && other.Unlock(t.Context()) == nil
	})
	locktest.Unlock(t, hold)
	h.comeLate(t)
	require.NoError(t, e.Close())
	locktest.Eventually(t, "no connection left", func() bool { return len(s.Clients()) <= 1 })
}

// Open ends in time if no connection is ever made, and leaves none behind.
func TestOpen_DialHangs_EndsInTime(t *testing.T) {
	eachHanging(t, func(t *testing.T, s *locktest.Server, h *hanging, opts lockwheel.Options) {
		h.hangs.Store(true)
		failed := make(chan error, 1)
		go func() {
			_, err := lockwheel.Open(context.Background(), opts)
			failed <- err
		}()
		require.Error(t, locktest.Receive(t, failed))
		h.comeLate(t)
		locktest.Eventually(t, "no connection left", func() bool { return len(s.Clients()) <= 1 })
	})
}

// A waiter polls while the pub/sub connection is not made, and a later one subscribes again.
func TestWaiter_NoPubSubConnection_Polls(t *testing.T) {
	eachHanging(t, func(t *testing.T, s *locktest.Server, h *hanging, opts lockwheel.Options) {
		opts.CallTimeout = longEnough
		e := locktest.OpenRetrying(t, opts)
		s.HoldAsOther("n", time.Hour)
		h.hangs.Store(true)
		waiting := e.Mutex("n").LockAsync(t.Context())
		locktest.Eventually(t, "polling", func() bool { return e.Stats().Polling == 1 })
		s.Do("DEL", "n")
		hold, err := locktest.OutcomeOf(t, waiting)
		require.NoError(t, err)
		locktest.Unlock(t, hold)

		h.hangs.Store(false)
		s.HoldAsOther("n", time.Hour)
		waiting = e.Mutex("n").LockAsync(t.Context())
		locktest.RequireWaiting(t, e, 1, 1)
		locktest.ForceUnlock(t, e.Mutex("n"))
		hold, err = locktest.OutcomeOf(t, waiting)
		require.NoError(t, err)
		locktest.Unlock(t, hold)
		h.comeLate(t)
		require.NoError(t, e.Close())
	})
}

// failing is a dialer that fails while it is set to.
type failing struct {
	fails atomic.Bool
	err   error
}

func (f *failing) dial(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	if f.fails.Load() {
		return nil, f.err
	}
	return d.DialContext(ctx, "tcp", address)
}

func (f *failing) credentials(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	if f.fails.Load() {
		return rueidis.AuthCredentials{}, f.err
	}
	return rueidis.AuthCredentials{}, nil
}

// A call without a wait fails at once, whatever error the connection attempt has.
func TestTryLock_DialFails_FailsAtOnce(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{
		"plain":                errors.New("tunnel: no way to the server"),
		"wrapped":              fmt.Errorf("tunnel: %w", syscall.ECONNREFUSED),
		"a certificate":        x509.UnknownAuthorityError{},
		"another's operation":  &net.OpError{Op: "socks connect", Err: errors.New("host unreachable")},
		"neither one nor both": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &failing{err: why}
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{Lease: time.Hour, CallTimeout: time.Minute, Redis: rueidis.ClientOption{DialCtxFn: f.dial}})
			f.fails.Store(true)
			s.Do("CLIENT", "KILL", "TYPE", "normal")
			triesOnce(t, e, why)
			f.fails.Store(false)
			comesBack(t, e)
		})
	}
	t.Run("credentials", func(t *testing.T) {
		t.Parallel()
		f := &failing{err: errors.New("no credentials today")}
		s := locktest.RealServer(t)
		e := s.Open(lockwheel.Options{Lease: time.Hour, CallTimeout: time.Minute, Redis: rueidis.ClientOption{AuthCredentialsFn: f.credentials}})
		f.fails.Store(true)
		s.Do("CLIENT", "KILL", "TYPE", "normal")
		triesOnce(t, e, f.err)
		f.fails.Store(false)
		comesBack(t, e)
	})
}

// A call without a wait fails at once if the server rejects the handshake, and works again once it accepts it.
func TestTryLock_HandshakeFails_FailsAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("another password", func(t *testing.T) {
		t.Parallel()
		s := locktest.RealServer(t)
		e := s.As(lockwheel.Options{Lease: time.Hour, CallTimeout: time.Minute}, "~* &* +@all")
		s.Do("ACL", "SETUSER", "limited", "resetpass", ">other")
		s.Do("CLIENT", "KILL", "USER", "limited")
		says(t, triesOnce(t, e, nil), "WRONGPASS")
		s.Do("ACL", "SETUSER", "limited", "resetpass", ">secret")
		comesBack(t, e)
	})
	for name, info := range map[string][]string{"as rueidis greets": nil, "with one command": {}} {
		t.Run("no room for another client, "+name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{Lease: time.Hour, CallTimeout: time.Minute, Redis: rueidis.ClientOption{ClientSetInfo: info}})
			hold := locktest.Lock(t, e.Mutex("n"))
			s.Do("CONFIG", "SET", "maxclients", 1)
			s.Do("CLIENT", "KILL", "TYPE", "normal")
			says(t, triesOnce(t, e, nil), "max number of clients")
			extending := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				extending <- hold.Extend(ctx, 2*time.Hour)
			}()
			require.ErrorIs(t, locktest.Receive(t, extending), lockwheel.ErrUnavailable)
			require.NoError(t, hold.Err())
			s.Do("CONFIG", "SET", "maxclients", 100)
			comesBack(t, e)
			locktest.Unlock(t, hold)
		})
	}
}

// says requires that an error contains the server's words.
func says(t *testing.T, err error, words string) {
	t.Helper()
	var said lockwheel.ServerError
	require.ErrorAs(t, err, &said)
	require.Contains(t, said.Error(), words)
}

// triesOnce requires that one try fails long before CallTimeout, with that error.
func triesOnce(t *testing.T, e *lockwheel.Engine, why error) (last error) {
	t.Helper()
	for range 3 {
		for _, try := range []func() error{
			func() error { return locktest.Second(e.Mutex("a").TryLock(t.Context())) },
			func() error { return locktest.Second(e.Mutex("b").Lock(t.Context(), lockwheel.Wait(0))) },
		} {
			done := make(chan error, 1)
			go func() { done <- try() }()
			last = locktest.Receive(t, done)
			require.ErrorIs(t, last, lockwheel.ErrUnavailable)
			if why != nil {
				require.ErrorIs(t, last, why)
			}
		}
	}
	return last
}

func comesBack(t *testing.T, e *lockwheel.Engine) {
	t.Helper()
	locktest.Eventually(t, "a lock when there is a connection again", func() bool {
		hold, err := e.Mutex("a").TryLock(t.Context())
		return err == nil && hold.Unlock(t.Context()) == nil
	})
}

// Locks are sent to the master even if the client's options send commands to replicas.
func TestLocks_OptionsWithReplicas_OnMaster(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	for name, redis := range map[string]rueidis.ClientOption{
		"some calls":   {SendToReplicas: func(rueidis.Completed) bool { return true }, Standalone: rueidis.StandaloneOption{ReplicaAddress: []string{replica.Addr}}},
		"all calls":    {ReplicaOnly: true},
		"of a cluster": {SendToReplicas: func(rueidis.Completed) bool { return true }},
		"with a selector": {
			SendToReplicas:  func(rueidis.Completed) bool { return true },
			ReplicaSelector: func(uint16, []rueidis.NodeInfo) int { return 0 },
		},
		"with a selector of nodes": {
			SendToReplicas:   func(rueidis.Completed) bool { return true },
			ReadNodeSelector: func(uint16, []rueidis.NodeInfo) int { return 1 },
		},
	} {
		e := master.Open(lockwheel.Options{Redis: redis})
		locktest.Unlock(t, locktest.Lock(t, e.Mutex(name)))
	}
}
