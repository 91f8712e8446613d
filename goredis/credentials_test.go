package goredis_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/goredis"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// vault provides a password that changes, and counts what it is asked for.
type vault struct {
	password atomic.Pointer[string]
	asked    atomic.Int64
	failing  atomic.Bool

	mu        sync.Mutex
	listeners map[auth.CredentialsListener]bool
	begun     int // how often there was a first listener: some providers start a token manager then
}

func newVault(password string) *vault {
	v := &vault{listeners: make(map[auth.CredentialsListener]bool)}
	v.password.Store(&password)
	return v
}

var errVault = errors.New("the vault is closed")

func (v *vault) get() (string, string) {
	v.asked.Add(1)
	return user, *v.password.Load()
}

func (v *vault) getContext(ctx context.Context) (string, string, error) {
	name, word := v.get()
	if v.failing.Load() {
		return "", "", errVault
	}
	return name, word, ctx.Err()
}

// Subscribe makes a vault a provider of streaming credentials.
func (v *vault) Subscribe(l auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	if v.failing.Load() {
		return nil, nil, errVault
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.listeners) == 0 {
		v.begun++
	}
	v.listeners[l] = true
	return auth.NewBasicCredentials(v.get()), func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.listeners, l)
		return nil
	}, nil
}

// subscribed returns how many listeners there are, and how often there was a first one.
func (v *vault) subscribed() (listeners, begun int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.listeners), v.begun
}

// requireCollected waits until the garbage collector has ended all subscriptions to a vault.
func requireCollected(t *testing.T, v *vault) {
	t.Helper()
	locktest.Eventually(t, "no listener", func() bool {
		runtime.GC()
		listeners, _ := v.subscribed()
		return listeners == 0
	})
}

// providers are the fields for functions that provide credentials.
var providers = map[string]func(*redis.Options, *vault){
	"CredentialsProvider":          func(o *redis.Options, v *vault) { o.CredentialsProvider = v.get },
	"CredentialsProviderContext":   func(o *redis.Options, v *vault) { o.CredentialsProviderContext = v.getContext },
	"StreamingCredentialsProvider": func(o *redis.Options, v *vault) { o.StreamingCredentialsProvider = v },
}

// Each new connection of either asks the provider anew. When the password has changed and the server has ended all
// connections, both log in with the new one. The lock that the engine holds stays.
func TestProvider_NewPassword_NextConnection(t *testing.T) {
	t.Parallel()
	for field, set := range providers {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			allow(t, s)
			theirs, ours := newVault(password), newVault(password)
			o := redis.Options{Addr: s.Addr(), Username: "not used", Password: "not used"}
			set(&o, theirs)
			client := redis.NewClient(&o)
			t.Cleanup(func() { client.Close() })
			set(&o, ours)
			where, err := goredis.Options(&o)
			require.NoError(t, err)
			var engine *lockwheel.Engine
			requireAll(t, connections(t, s, func() {
				engine = open(t, where)
				requireSeen(t, client, engine, "orders/7")
			}), map[string]string{"user": user})
			hold := locktest.Lock(t, engine.Mutex("orders/8"))
			before := []int64{theirs.asked.Load(), ours.asked.Load()}
			require.Positive(t, before[0])
			require.Positive(t, before[1])

			next := "another"
			require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", user, "resetpass", ">"+next))
			theirs.password.Store(&next)
			ours.password.Store(&next)
			require.NotZero(t, s.Int(t, "CLIENT", "KILL", "USER", user))
			require.NoError(t, hold.Extend(t.Context(), time.Minute))
			require.NoError(t, hold.Err())
			requireSeen(t, client, engine, "orders/7")
			require.Greater(t, theirs.asked.Load(), before[0])
			require.Greater(t, ours.asked.Load(), before[1])
		})
	}
}

// A password that the server does not accept, and an error of the provider, fail both.
func TestProvider_WrongPassword_BothFail(t *testing.T) {
	t.Parallel()
	for field, set := range providers {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			allow(t, s)
			v := newVault(locktest.MarkedPassword + "wrong")
			o := &redis.Options{Addr: s.Addr(), Username: user, Password: password}
			set(o, v)
			client := redis.NewClient(o)
			t.Cleanup(func() { client.Close() })
			require.ErrorContains(t, client.Ping(t.Context()).Err(), "WRONGPASS")
			requireOpenFails(t, o, "WRONGPASS")

			if field == "CredentialsProvider" {
				return // it has no error
			}
			v.failing.Store(true)
			require.ErrorContains(t, client.Ping(t.Context()).Err(), errVault.Error())
			requireOpenFails(t, o, errVault.Error())
		})
	}
}

// With several providers both ask the same one. Without a password from it neither logs in.
func TestProvider_Several_SameIsAsked(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	allow(t, s)
	plain, withContext, streaming := newVault(""), newVault(password), newVault(password)
	o := &redis.Options{Addr: s.Addr(), Username: user, Password: password, CredentialsProvider: plain.get}
	requireAlike(t, s, o, map[string]string{"user": "default"})
	plain.asked.Store(0)
	o.CredentialsProviderContext = withContext.getContext
	requireAlike(t, s, o, map[string]string{"user": user})
	withContext.asked.Store(0)
	o.StreamingCredentialsProvider = streaming
	requireAlike(t, s, o, map[string]string{"user": user})
	require.Zero(t, plain.asked.Load())
	require.Zero(t, withContext.asked.Load())
}

// The context of a provider ends after DialTimeout, or after 5 s.
func TestProvider_Context_HasADeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ set, want time.Duration }{{0, 5 * time.Second}, {-1, 5 * time.Second}, {time.Minute, time.Minute}} {
		s := redistest.Start(t)
		var left atomic.Int64
		where, err := goredis.Options(&redis.Options{
			Addr: s.Addr(), DialTimeout: c.set,
			CredentialsProviderContext: func(ctx context.Context) (string, string, error) {
				end, _ := ctx.Deadline()
				left.Store(int64(time.Until(end)))
				return "", "", nil
			},
		})
		require.NoError(t, err)
		open(t, where)
		require.LessOrEqual(t, time.Duration(left.Load()), c.want)
		require.Greater(t, time.Duration(left.Load()), c.want/2)
	}
}

// A provider that returns nothing at all is an error, not a login without a password.
func TestProvider_NoCredentials_IsAnError(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	requireOpenFails(t, &redis.Options{Addr: s.Addr(), StreamingCredentialsProvider: nothing{}}, "StreamingCredentialsProvider")
}

type nothing struct{}

func (nothing) Subscribe(auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	return nil, nil, nil
}

// An option has one subscription, however many engines and connections use it: some providers stop and restart a token
// manager when there is no other. It ends when nothing can use the option any more.
func TestProvider_Streaming_OneSubscription(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	allow(t, s)
	v := newVault(password)
	requireOne := func() {
		listeners, begun := v.subscribed()
		require.Equal(t, [2]int{1, 1}, [2]int{listeners, begun})
	}
	func() {
		where, err := goredis.Options(&redis.Options{Addr: s.Addr(), StreamingCredentialsProvider: v})
		require.NoError(t, err)
		for range 2 {
			engine, err := lockwheel.Open(context.Background(), lockwheel.Options{Redis: where})
			require.NoError(t, err)
			hold, err := engine.Mutex("orders/7").Lock(context.Background())
			require.NoError(t, err)
			asked := v.asked.Load()
			require.NotZero(t, s.Int(t, "CLIENT", "KILL", "USER", user))
			require.NoError(t, hold.Extend(context.Background(), time.Minute))
			require.Greater(t, v.asked.Load(), asked, "a new connection asks anew")
			requireOne()
			require.NoError(t, hold.Unlock(context.Background()))
			engine.Close()
			runtime.GC()
			requireOne()
		}
		runtime.KeepAlive(&where)
	}()
	requireCollected(t, v)
}

// A provider that fails after it has subscribed is unsubscribed all the same.
func TestProvider_FailsSubscribed_Unsubscribed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	v := &subscribedAndFailed{vault: newVault(password)}
	requireOpenFails(t, &redis.Options{Addr: s.Addr(), StreamingCredentialsProvider: v}, errVault.Error())
	require.Positive(t, v.asked.Load())
	requireCollected(t, v.vault)
}

// subscribedAndFailed is a vault that returns an error beside a subscription.
type subscribedAndFailed struct{ *vault }

func (v subscribedAndFailed) Subscribe(l auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	_, unsubscribe, _ := v.vault.Subscribe(l)
	return nil, unsubscribe, errVault
}
