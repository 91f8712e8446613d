package lockwheel_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Pub/Sub connections that end while there are subscriptions.

// The pub/sub connection is cut during a wait.
// redisson#6026, #3077: subscriptions were not re-established.
func TestAWaitSurvivesTheEndOfItsSubscription(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(context.Context, lockwheel.Mutex) <-chan outcome{
		"Lock": func(ctx context.Context, m lockwheel.Mutex) <-chan outcome { return locking(ctx, m) },
		"a Wait": func(ctx context.Context, m lockwheel.Mutex) <-chan outcome {
			return locking(ctx, m, lockwheel.Wait(time.Hour))
		},
		"LockAsync": func(ctx context.Context, m lockwheel.Mutex) <-chan outcome { return takingAsync(ctx, m) },
	} {
		for _, lost := range []bool{false, true} {
			t.Run(name+", message lost="+strconv.FormatBool(lost), func(t *testing.T) {
				t.Parallel()
				s := RealServer(t)
				holder, waiter := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
				hold := lock(t, holder.Mutex("n"))
				waiting := wait(t.Context(), waiter.Mutex("n"))
				requireWaiting(t, waiter, 1, 1)
				before := s.subscriptions()
				s.do("CLIENT", "KILL", "TYPE", "pubsub")
				if !lost {
					eventually(t, "subscribed again", func() bool { return s.subscriptions() > before })
				}
				unlock(t, hold)
				unlock(t, granted(t, waiting))
			})
		}
	}
}

// takingAsync is locking through LockAsync.
func takingAsync(ctx context.Context, m lockwheel.Mutex, opts ...lockwheel.Option) <-chan outcome {
	done := make(chan outcome, 1)
	p := m.LockAsync(ctx, opts...)
	go func() {
		<-p.Done()
		hold, err := p.Hold()
		done <- outcome{hold, err}
	}()
	return done
}

// A hundred names at once.
func TestAHundredSubscriptionsComeBack(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	holder, waiter := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	const names = 100
	holds := holdMany(t, holder, names)
	var waiting []<-chan outcome
	for _, hold := range holds {
		waiting = append(waiting, takingAsync(t.Context(), waiter.Mutex(hold.Name())))
	}
	requireWaiting(t, waiter, names, names)
	s.do("CLIENT", "KILL", "TYPE", "pubsub")
	unlock(t, holds[42])
	granted(t, waiting[42])
	eventually(t, "all channels again", func() bool { return len(s.channels()) >= names-1 })
	eventually(t, "one subscription", func() bool { return s.subscribers() == 1 })
	for i, hold := range holds {
		if i != 42 {
			unlock(t, hold)
			granted(t, waiting[i])
		}
	}
}

// redisson#4294, #4216, #4064: one failed SUBSCRIBE made the channel unusable for ever.
func TestAFailedSubscriptionIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.addr)
	holder, waiter := s.open(lockwheel.Options{}), s.openAt(p.Addr(), lockwheel.Options{})
	for i := range 10 {
		hold := lock(t, holder.Mutex("n"))
		p.SetFor(proxy.Subscribers, proxy.Replies, proxy.CutAfter(2*i)) // within the reply to SUBSCRIBE
		accepted := p.Accepted()
		waiting := locking(t.Context(), waiter.Mutex("n"))
		eventually(t, "a subscription that failed", func() bool { return p.Accepted() > accepted })
		p.SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass)
		unlock(t, hold)
		unlock(t, granted(t, waiting))
		requireIdle(t, waiter)
	}
}

// A waiter that cannot subscribe acquires the lock soon after a release, and not only at the end of a lease.
func TestAWaiterThatCannotListenPolls(t *testing.T) {
	t.Parallel()
	for name, deafen := range map[string]func(*Server) lockwheel.Options{
		"the user may not": func(s *Server) (opts lockwheel.Options) {
			s.do("ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all")
			opts.Redis.Username, opts.Redis.Password = "deaf", "secret"
			return opts
		},
		"no connection is to be had": func(*Server) lockwheel.Options { return lockwheel.Options{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			holder, waiter := s.open(lockwheel.Options{}), s.open(deafen(s))
			if name == "no connection is to be had" {
				s.do("CONFIG", "SET", "maxclients", 1)
			}
			for range 3 {
				hold := lock(t, holder.Mutex("n"))
				waiting := locking(t.Context(), waiter.Mutex("n"))
				queued(t, waiter, 1)
				calls, since := s.scripts(), time.Now()
				requireNoReply(t, waiting, 400*time.Millisecond)
				require.LessOrEqual(t, s.scripts()-calls, 2+int(time.Since(since)/(50*time.Millisecond)), "no hurry")
				unlock(t, hold)
				unlock(t, granted(t, waiting))
			}
		})
	}
}

// A waiter leaves while a dead connection is replaced by another. No subscription is left behind.
func TestNoChannelIsLeftBehindWithADeadConnection(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.addr)
	holder, waiter := s.open(lockwheel.Options{}), s.openAt(p.Addr(), lockwheel.Options{CallTimeout: 700 * time.Millisecond})
	lock(t, holder.Mutex("a"))
	lock(t, holder.Mutex("b"))
	first, leave := context.WithCancel(t.Context())
	second, leaveToo := context.WithCancel(t.Context())
	one, two := locking(first, waiter.Mutex("a")), locking(second, waiter.Mutex("b"))
	requireWaiting(t, waiter, 2, 2)
	p.SetFor(proxy.ExistingSubscribers, proxy.Both, proxy.Drop)
	accepted := p.Accepted()
	leave()
	require.ErrorIs(t, receive(t, one).err, context.Canceled)
	eventually(t, "another connection", func() bool { return p.Accepted() > accepted })
	leaveToo()
	require.ErrorIs(t, receive(t, two).err, context.Canceled)
	requireIdle(t, waiter)
	eventually(t, "the dead connection is the only one", func() bool { return s.subscribers() == 1 })
}
