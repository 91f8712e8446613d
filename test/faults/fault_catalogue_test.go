package faults_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// effect is what happens to a held lock with time left on its lease, while a fault strikes.
type effect uint8

const (
	kept     effect = iota // it stays held
	keyLost                // the server has lost its key: another caller may acquire it before the holder knows
	stranded               // the server rejects all calls of its holder: the key expires with its lease
)

// fault is one kind of fault.
type fault struct {
	name   string
	strike func(*faultEnv) // makes the fault and undoes it: a connection can be made when it returns
	fate   effect
	silent bool // it leaves dead connections behind that no side has noticed
}

// faultEnv is where faults strike: a server, and links to it.
type faultEnv struct {
	*locktest.Server
	links []*proxy.Proxy // the links that the fault strikes
	spell time.Duration  // duration of the fault
	until func() bool    // condition for giving the user its permissions back; nil: none
	names []string       // locks in use
	turn  int            // index of the next name, for faults that strike one
	lost  func(names []string, from, to time.Time)
}

// realFaultEnv starts a server that keeps its data when it is killed.
func realFaultEnv(t testing.TB) *faultEnv {
	s := locktest.RealServer(t, "--appendonly", "yes", "--appendfsync", "no",
		"--repl-diskless-load", "swapdb", "--replica-serve-stale-data", "yes",
		"--user", locktest.User, "on", ">"+locktest.Password, "~*", "&*", "+@all")
	return &faultEnv{Server: s, spell: 150 * time.Millisecond, lost: func([]string, time.Time, time.Time) {}}
}

// enter opens an engine behind its own link.
func (s *faultEnv) enter(opts lockwheel.Options) (*lockwheel.Engine, *proxy.Proxy) {
	s.T.Helper()
	p := proxy.Start(s.T, s.Addr)
	opts.Redis.Username, opts.Redis.Password = locktest.User, locktest.Password
	return s.OpenAt(p.Addr(), opts), p
}

// lasts waits for the duration of the fault.
func (s *faultEnv) lasts() { time.Sleep(s.spell) }

// onLinks applies a fault to every link struck, waits, and heals the links.
func (s *faultEnv) onLinks(begin func(*proxy.Proxy)) {
	s.T.Helper()
	for _, p := range s.links {
		begin(p)
	}
	s.lasts()
	for _, p := range s.links {
		require.NoError(s.T, p.Heal())
	}
}

// takes runs a function that makes the server lose the named keys: those of locks, and those that count tokens.
func (s *faultEnv) takes(names []string, f func()) {
	from := time.Now()
	f()
	s.lost(names, from, time.Now())
}

// oneName returns one of the locks in use, the next one each time.
func (s *faultEnv) oneName() []string {
	s.turn++
	at := s.turn % len(s.names)
	return s.names[at : at+1]
}

// everything returns all keys of the locks in use that matter to holders.
func (s *faultEnv) everything() []string {
	all := slices.Clone(s.names)
	for _, name := range s.names {
		if locktest.KindOf(name) == "fenced" {
			all = append(all, locktest.TokenKeys+"{"+name+"}")
		}
	}
	return all
}

// ok sends a command that the server must accept.
func (s *faultEnv) ok(args ...any) {
	s.T.Helper()
	require.Equal(s.T, "OK", s.Do(args...), "%v", args)
}

// config changes a setting of the server, waits, and restores it.
func (s *faultEnv) config(name string, value, normal any) {
	s.T.Helper()
	s.ok("CONFIG", "SET", name, value)
	s.lasts()
	s.ok("CONFIG", "SET", name, normal)
}

// rules changes the permissions of the engines' user, waits, and restores them.
func (s *faultEnv) rules(rules ...any) {
	s.T.Helper()
	s.ok(append([]any{"ACL", "SETUSER", locktest.User}, rules...)...)
	s.lasts()
	if s.until != nil {
		locktest.Eventually(s.T, "the end of what this strands", s.until)
	}
	s.ok("ACL", "SETUSER", locktest.User, "reset", "on", ">"+locktest.Password, "~*", "&*", "+@all")
}

// everyFault returns all kinds of faults.
func everyFault() []fault { return append(linkFaults(), serverFaults()...) }
