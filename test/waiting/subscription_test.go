package waiting_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// The pub/sub connection is cut during a wait.
// redisson#6026, #3077: subscriptions were not re-established.
func TestSubscription_Cut_WaitGoesOn(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(context.Context, lockwheel.Mutex) <-chan locktest.Outcome{
		"Lock": func(ctx context.Context, m lockwheel.Mutex) <-chan locktest.Outcome { return locktest.Locking(ctx, m) },
		"a Wait": func(ctx context.Context, m lockwheel.Mutex) <-chan locktest.Outcome {
			return locktest.Locking(ctx, m, lockwheel.Wait(time.Hour))
		},
		"LockAsync": func(ctx context.Context, m lockwheel.Mutex) <-chan locktest.Outcome {
			return locktest.TakingAsync(ctx, m)
		},
	} {
		for _, lost := range []bool{false, true} {
			t.Run(name+", message lost="+strconv.FormatBool(lost), func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
				hold := locktest.Lock(t, holder.Mutex("n"))
				waiting := wait(t.Context(), waiter.Mutex("n"))
				locktest.RequireWaiting(t, waiter, 1, 1)
				before := s.Subscriptions()
				s.Do("CLIENT", "KILL", "TYPE", "pubsub")
				if !lost {
					locktest.Eventually(t, "subscribed again", func() bool { return s.Subscriptions() > before })
				}
				locktest.Unlock(t, hold)
				locktest.Unlock(t, locktest.Granted(t, waiting))
			})
		}
	}
}

// A hundred names at once.
func TestSubscription_HundredCut_ComeBack(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	const names = 100
	holds := locktest.HoldMany(t, holder, names)
	var waiting []<-chan locktest.Outcome
	for _, hold := range holds {
		waiting = append(waiting, locktest.TakingAsync(t.Context(), waiter.Mutex(hold.Name())))
	}
	locktest.RequireWaiting(t, waiter, names, names)
	s.Do("CLIENT", "KILL", "TYPE", "pubsub")
	locktest.Unlock(t, holds[42])
	locktest.Granted(t, waiting[42])
	locktest.Eventually(t, "all channels again", func() bool { return len(s.Channels()) >= names-1 })
	locktest.Eventually(t, "one subscription", func() bool { return s.Subscribers() == 1 })
	for i, hold := range holds {
		if i != 42 {
			locktest.Unlock(t, hold)
			locktest.Granted(t, waiting[i])
		}
	}
}

// redisson#4294, #4216, #4064: one failed SUBSCRIBE made the channel unusable for ever.
func TestSubscription_Fails_Retried(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	holder, waiter := s.Open(lockwheel.Options{}), s.OpenAt(p.Addr(), lockwheel.Options{})
	for i := range 10 {
		hold := locktest.Lock(t, holder.Mutex("n"))
		p.SetFor(proxy.Subscribers, proxy.Replies, proxy.CutAfter(2*i)) // within the reply to SUBSCRIBE
		accepted := p.Accepted()
		waiting := locktest.Locking(t.Context(), waiter.Mutex("n"))
		locktest.Eventually(t, "a subscription that failed", func() bool { return p.Accepted() > accepted })
		p.SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass)
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, waiting))
		locktest.RequireIdle(t, waiter)
	}
}

// A waiter that cannot subscribe acquires the lock soon after a release, and not only at the end of a lease.
func TestSubscription_NotPossible_Polls(t *testing.T) {
	t.Parallel()
	for name, unsubscribe := range map[string]func(*locktest.Server) lockwheel.Options{
		"the user may not": func(s *locktest.Server) (opts lockwheel.Options) {
			s.Do("ACL", "SETUSER", "pubsubdown", "on", ">secret", "~*", "resetchannels", "+@all")
			opts.Redis.Username, opts.Redis.Password = "pubsubdown", "secret"
			return opts
		},
		"no connection is to be had": func(*locktest.Server) lockwheel.Options { return lockwheel.Options{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			holder, waiter := s.Open(lockwheel.Options{}), s.Open(unsubscribe(s))
			if name == "no connection is to be had" {
				s.Do("CONFIG", "SET", "maxclients", 1)
			}
			for range 3 {
				hold := locktest.Lock(t, holder.Mutex("n"))
				waiting := locktest.Locking(t.Context(), waiter.Mutex("n"))
				locktest.Queued(t, waiter, 1)
				since, calls := time.Now(), s.Scripts()
				locktest.RequireNoReply(t, waiting, 400*time.Millisecond)
				require.LessOrEqual(t, s.Scripts()-calls, 2+int(time.Since(since)/(50*time.Millisecond)), "no hurry")
				locktest.Unlock(t, hold)
				locktest.Unlock(t, locktest.Granted(t, waiting))
			}
		})
	}
}

// A waiter leaves while a dead connection is replaced by another. No subscription is left behind.
func TestSubscription_DeadConnection_NoneLeft(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	holder, waiter := s.Open(lockwheel.Options{}), s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 700 * time.Millisecond})
	locktest.Lock(t, holder.Mutex("a"))
	locktest.Lock(t, holder.Mutex("b"))
	first, leave := context.WithCancel(t.Context())
	second, leaveToo := context.WithCancel(t.Context())
	one, two := locktest.Locking(first, waiter.Mutex("a")), locktest.Locking(second, waiter.Mutex("b"))
	locktest.RequireWaiting(t, waiter, 2, 2)
	p.SetFor(proxy.ExistingSubscribers, proxy.Both, proxy.Drop)
	accepted := p.Accepted()
	leave()
	require.ErrorIs(t, locktest.Receive(t, one).Err, context.Canceled)
	locktest.Eventually(t, "another connection", func() bool { return p.Accepted() > accepted })
	leaveToo()
	require.ErrorIs(t, locktest.Receive(t, two).Err, context.Canceled)
	locktest.RequireIdle(t, waiter)
	locktest.Eventually(t, "the dead connection is the only one", func() bool { return s.Subscribers() == 1 })
}

// A program asks for RESP2, for the sake of other modules. A message is lost with the connection for messages, which
// another one replaces at that moment. The waiter asks again when the loss is noticed, and not when the lease ends that
// it was told: the engine's check of the old connection is one of that connection.
func TestSubscription_RESP2AskedAndDeadConnectionReplaced_WaiterAsksAgain(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	const lease = 2 * time.Minute // longer than any wait of a test
	holder := s.Open(lockwheel.Options{})
	waiter := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 700 * time.Millisecond, Redis: rueidis.ClientOption{AlwaysRESP2: true}})
	released := locktest.Lock(t, holder.Mutex("a"), lockwheel.Lease(lease))
	locktest.Lock(t, holder.Mutex("b"), lockwheel.Lease(lease))
	leaving, leave := context.WithCancel(t.Context())
	waits, leaves := locktest.Locking(t.Context(), waiter.Mutex("a")), locktest.Locking(leaving, waiter.Mutex("b"))
	locktest.RequireWaiting(t, waiter, 2, 2)
	p.SetFor(proxy.ExistingSubscribers, proxy.Both, proxy.Drop)
	accepted := p.Accepted()
	locktest.Unlock(t, released) // the message is lost
	leave()
	require.ErrorIs(t, locktest.Receive(t, leaves).Err, context.Canceled)
	locktest.Eventually(t, "another connection", func() bool { return p.Accepted() > accepted })
	locktest.Unlock(t, locktest.Granted(t, waits))
}
