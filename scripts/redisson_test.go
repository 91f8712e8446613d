package scripts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

const (
	ours   = "6f0e6a4e-1111-2222-3333-444455556666:17"
	theirs = "0a1b2c3d-4444-5555-6666-777788889999:35" // Redisson's client id and thread
)

// To Redisson, the lock is one of its own: one field, named after the holder, with the count in decimal, and a TTL.
func TestLockFormat_MatchesRedisson(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		require.Equal(t, []any{int64(1)}, s.run(scripts.Acquire, []string{"myLock"}, "PUBLISH", ours, 30_000))
		require.Equal(t, []any{"myLock"}, s.do("KEYS", "*"), "no other key")
		require.Equal(t, "hash", s.do("TYPE", "myLock"))
		require.Equal(t, []any{ours, "1"}, s.do("HGETALL", "myLock"))
		require.InDelta(t, 25_000, s.do("PTTL", "myLock"), 5_000)

		require.Equal(t, []any{[]any{int64(1), int64(1), int64(-1)}}, s.run(scripts.Renew, []string{"myLock"}, "NUMSUB", ours, 60_000, 1, 12, ""))
		require.Equal(t, []any{ours, "12"}, s.do("HGETALL", "myLock"))
		require.InDelta(t, 55_000, s.do("PTTL", "myLock"), 5_000)

		require.Equal(t, []any{int64(1)}, s.run(scripts.Release, []string{"myLock"}, "PUBLISH", ours))
		require.Equal(t, int64(0), s.do("DBSIZE"))
	})
}

// redisson does with plain commands what the scripts of Redisson's lock do, as long as no other command runs in
// between.
type redisson struct{ *server }

// lock returns nil when granted, else the TTL of the current hold.
func (r redisson) lock(name string, lease int) any {
	if r.do("EXISTS", name) == int64(0) || r.do("HEXISTS", name, theirs) == int64(1) {
		r.do("HINCRBY", name, theirs, 1)
		r.do("PEXPIRE", name, lease)
		return nil
	}
	return r.do("PTTL", name)
}

// unlock returns nil when the client does not hold the lock, else 1 when the lock is free and 0 when it is still held.
func (r redisson) unlock(name string) any {
	switch {
	case r.do("HEXISTS", name, theirs) == int64(0):
		return nil
	case r.do("HINCRBY", name, theirs, -1).(int64) > 0:
		r.do("PEXPIRE", name, 30_000)
		return 0
	}
	r.do("DEL", name)
	r.do("PUBLISH", channels[name], 0)
	return 1
}

// Redisson's scripts and lockwheel's exclude each other, and notify each other's waiters.
func TestRedissonPeer_TakesTurns(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		peer, sub := redisson{s}, s.listen()
		for _, name := range []string{"a", "a{b}c"} {
			published := []message{{channels[name], "0"}}
			acquire := func() any {
				return s.run(scripts.Acquire, []string{name}, "PUBLISH", ours, 60_000)[0]
			}
			// ours holds
			require.Equal(t, int64(1), acquire())
			require.InDelta(t, 55_000, peer.lock(name, 30_000), 5_000)
			require.Nil(t, peer.unlock(name))
			require.Equal(t, int64(1), s.run(scripts.Release, []string{name}, "PUBLISH", ours)[0])
			require.Equal(t, published, sub.receive())
			// theirs holds, twice
			require.Nil(t, peer.lock(name, 30_000))
			require.Nil(t, peer.lock(name, 30_000))
			refused := acquire().([]any)
			require.Equal(t, theirs, refused[1])
			require.InDelta(t, 25_000, refused[0], 5_000)
			require.Equal(t, int64(0), s.run(scripts.Renew, []string{name}, "NUMSUB", ours, 60_000)[0])
			require.Equal(t, int64(0), s.run(scripts.Release, []string{name}, "PUBLISH", ours)[0])
			state := s.run(scripts.State, []string{name})[0].([]any)
			require.Equal(t, []any{theirs, int64(2)}, state[1:])
			require.Equal(t, 0, peer.unlock(name))
			require.Empty(t, sub.receive())
			require.Equal(t, 1, peer.unlock(name))
			require.Equal(t, published, sub.receive())
			// and ours again, until an operator of theirs takes it away
			require.Equal(t, int64(1), acquire())
			require.Equal(t, int64(1), s.do("DEL", name))
			require.Equal(t, int64(0), s.run(scripts.Renew, []string{name}, "NUMSUB", ours, 60_000)[0])
			require.Nil(t, peer.lock(name, 30_000))
			require.Equal(t, int64(1), s.run(scripts.Force, []string{name}, "PUBLISH")[0])
			require.Equal(t, published, sub.receive())
			require.Nil(t, peer.unlock(name))
		}
	})
}
