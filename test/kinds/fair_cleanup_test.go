package kinds_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// pass shortens the TTL of all keys of a server, as if that much time had passed.
const pass = `for _, key in ipairs(redis.call('KEYS', '*')) do
	local ttl = redis.call('PTTL', key)
	if ttl >= 0 then redis.call('PEXPIRE', key, ttl - ARGV[1]) end
end`

// Waiters of an engine that was cut off leave places in the queues of fair locks. These places disappear by themselves,
// even if no caller uses those names again. Close takes places back before it returns.
func TestFairQueue_EngineGone_PlacesDisappear(t *testing.T) {
	t.Parallel()
	const names, waiters = 50, 5
	const after, lease = 15 * time.Minute, 30 * time.Second
	inQueues := func(t *testing.T, lives, dies *lockwheel.Engine, s *locktest.Server) []*lockwheel.Hold {
		t.Helper()
		var holds []*lockwheel.Hold
		for i := range names {
			name := fmt.Sprint("order/", i)
			holds = append(holds, locktest.Lock(t, lives.FairMutex(name)))
			for range waiters {
				dies.FairMutex(name).LockAsync(t.Context())
			}
		}
		locktest.Eventually(t, "all in their queues", func() bool {
			waiting := 0
			for i := range names {
				waiting += s.Waiting(fmt.Sprint("order/", i))
			}
			return waiting == names*waiters
		})
		return holds
	}

	t.Run("cut off", func(t *testing.T) {
		t.Parallel()
		s, p, dies := locktest.Behind(t, lockwheel.Options{Lease: locktest.HolderLease})
		lives := s.Open(lockwheel.Options{})
		holds := inQueues(t, lives, dies, s)
		p.Refuse(true)
		p.Set(proxy.Both, proxy.Drop)
		for _, hold := range holds {
			locktest.Unlock(t, hold)
		}
		for _, key := range s.Do("KEYS", "*").([]any) {
			ttl := s.PTTL(key.(string))
			require.Greater(t, ttl, after/2, key)
			require.LessOrEqual(t, ttl, lease+locktest.HolderLease+after, key)
		}
		require.Equal(t, int64(3*names), s.Do("DBSIZE"))
		s.Do("EVAL", pass, 0, (after + lease).Milliseconds())
		locktest.Eventually(t, "nothing left", func() bool { return s.Do("DBSIZE") == int64(0) })
	})

	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		s := locktest.RealServer(t)
		lives := s.Open(lockwheel.Options{})
		dies := s.Open(lockwheel.Options{Lease: locktest.HolderLease})
		inQueues(t, lives, dies, s)
		require.NoError(t, dies.Close())
		require.Equal(t, int64(names), s.Do("DBSIZE"), "the held locks alone")
	})
}
