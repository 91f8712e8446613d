package faults_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func serverFaults() []fault {
	return []fault{
		{name: "killed, restarted with its data", strike: killed},
		{name: "restarted in order", strike: func(s *faultEnv) { require.NoError(s.T, s.Real.Restart()) }},
		{name: "killed, restarted without data", strike: emptied, fate: keyLost},
		{name: "frozen", strike: frozen},
		{name: "paused", strike: func(s *faultEnv) { paused(s, "ALL") }},
		{name: "paused for writing", strike: func(s *faultEnv) { paused(s, "WRITE") }},
		{name: "busy with a script", strike: busy},
		{name: "scripts forgotten again and again", strike: forgetful},
		{name: "connections killed", strike: func(s *faultEnv) { s.Do("CLIENT", "KILL", "TYPE", "normal") }},
		{name: "pub/sub connections killed", strike: func(s *faultEnv) { s.Do("CLIENT", "KILL", "TYPE", "pubsub") }},
		{name: "no more connections", strike: crowded},
		{name: "out of memory", strike: func(s *faultEnv) { s.config("maxmemory", 1, 0) }},
		{name: "read-only", strike: readOnly},
		{name: "without the replicas it wants", strike: func(s *faultEnv) { s.config("min-replicas-to-write", 1, 0) }},
		{name: "password changed", strike: rekeyed},
		{name: "a user without channels", strike: func(s *faultEnv) { s.rules("resetchannels") }},
		{name: "a user without scripts", strike: func(s *faultEnv) { s.rules("-evalsha", "-eval") }, fate: stranded},
		{name: "a user without the hash commands", strike: func(s *faultEnv) { s.rules("-@hash") }, fate: stranded},
		{name: "a user without the keys", strike: func(s *faultEnv) { s.rules("resetkeys") }, fate: stranded},
		{name: "a key deleted", strike: func(s *faultEnv) {
			names := s.oneName()
			s.takes(names, func() { s.Do("DEL", names[0]) })
		}, fate: keyLost},
		{name: "a key of another type", strike: retyped, fate: keyLost},
		{name: "keys evicted", strike: evicted, fate: keyLost},
		{name: "everything flushed", strike: func(s *faultEnv) { s.takes(s.everything(), func() { s.Do("FLUSHALL") }) }, fate: keyLost},
	}
}

func killed(s *faultEnv) {
	require.NoError(s.T, s.Real.Kill())
	s.lasts()
	require.NoError(s.T, s.Real.Restart())
}

func emptied(s *faultEnv) {
	s.takes(s.everything(), func() { require.NoError(s.T, s.Real.RestartEmpty()) })
}

func frozen(s *faultEnv) {
	require.NoError(s.T, s.Real.Pause())
	s.lasts()
	require.NoError(s.T, s.Real.Continue())
}

func paused(s *faultEnv, what string) {
	s.ok("CLIENT", "PAUSE", s.spell.Milliseconds(), what)
	s.lasts()
}

func busy(s *faultEnv) {
	s.ok("CONFIG", "SET", "busy-reply-threshold", 10)
	c, err := redistest.Dial(s.Addr)
	require.NoError(s.T, err)
	require.NoError(s.T, c.Send("EVAL", "while true do end", 0))
	s.lasts()
	locktest.Eventually(s.T, "an end of the script", func() bool {
		s.Do("SCRIPT", "KILL") // rejected until the script runs
		return s.Do("PING") == "PONG"
	})
	c.Close()
}

func forgetful(s *faultEnv) {
	for end := time.Now().Add(s.spell); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.ok("SCRIPT", "FLUSH")
	}
}

// crowded leaves no room for a connection that replaces one that ends.
func crowded(s *faultEnv) {
	s.ok("CONFIG", "SET", "maxclients", 1)
	s.Do("CLIENT", "KILL", "TYPE", "pubsub")
	s.lasts()
	s.ok("CONFIG", "SET", "maxclients", 10000)
}

func readOnly(s *faultEnv) {
	s.ok("REPLICAOF", "127.0.0.1", 1)
	s.lasts()
	s.ok("REPLICAOF", "NO", "ONE")
}

func rekeyed(s *faultEnv) {
	s.ok("ACL", "SETUSER", locktest.User, "resetpass", ">another")
	s.Do("CLIENT", "KILL", "USER", locktest.User)
	s.lasts()
	s.ok("ACL", "SETUSER", locktest.User, "resetpass", ">"+locktest.Password)
}

func retyped(s *faultEnv) {
	names := s.oneName()
	s.takes(names, func() { s.Do("SET", names[0], "no lock") })
	s.lasts()
	s.Do("DEL", names[0])
}

// evicted evicts all keys repeatedly, including those created meanwhile.
func evicted(s *faultEnv) {
	from := time.Now()
	s.ok("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
	s.ok("CONFIG", "SET", "maxmemory", 1)
	locktest.Eventually(s.T, "nothing left", func() bool {
		s.Do("PING")
		return s.Do("DBSIZE") == int64(0)
	})
	s.ok("CONFIG", "SET", "maxmemory", 0)
	s.ok("CONFIG", "SET", "maxmemory-policy", "noeviction")
	for range 4 {
		s.lost(s.everything(), from, time.Now())
	}
}
