package locktest

import (
	"time"

	"github.com/stretchr/testify/require"
)

const RemoveHolder = "00000000-0000-4000-8000-000000000000:1"

// AbandonWriter makes an absent client hold a lock for writing.
func (s *Server) AbandonWriter(name string, lease time.Duration) {
	s.T.Helper()
	require.Equal(s.T, int64(2), s.Do("HSET", name, "mode", "write", RemoveHolder+":write", 1))
	require.Equal(s.T, int64(1), s.Do("PEXPIRE", name, lease.Milliseconds()))
}

// AbandonReader makes an absent client hold a lock for reading, beside other readers.
func (s *Server) AbandonReader(name string, lease time.Duration) {
	s.T.Helper()
	s.Do("HSET", name, "mode", "read", RemoveHolder, 1)
	require.Equal(s.T, "OK", s.Do("SET", "{"+name+"}:"+RemoveHolder+":rwlock_timeout:1", 1, "PX", lease.Milliseconds()))
	if s.PTTL(name) < lease {
		require.Equal(s.T, int64(1), s.Do("PEXPIRE", name, lease.Milliseconds()))
	}
}
