package topology_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// watcherRules returns the rules that docs/acl.md gives for users of sentinels.
func watcherRules(t *testing.T) string {
	t.Helper()
	given := regexp.MustCompile("(?s)ACL SETUSER watcher (.*?)```").FindStringSubmatch(locktest.Contents(t, "docs/acl.md"))
	require.NotNil(t, given)
	return given[1]
}

// allow gives a user exactly those permissions on each server.
func allow(t *testing.T, servers []*redistest.Server, user, rules string) {
	t.Helper()
	command := []any{"ACL", "SETUSER", user, "reset"}
	for _, rule := range strings.Fields(strings.NewReplacer("'", "", "\\\n", "").Replace(rules)) {
		command = append(command, rule)
	}
	for _, s := range servers {
		require.Equal(t, "OK", s.Do(t, command...))
	}
}

// The permissions that README lists for sentinels, and for servers behind them, are sufficient.
func TestSentinel_ReadmePermissions_Suffice(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 1)
	allow := func(servers []*redistest.Server, user, rules string) { allow(t, servers, user, rules) }
	redis := rueidis.ClientOption{InitAddress: w.Addrs(), Username: "locks", Password: "secret"}
	redis.Sentinel = rueidis.SentinelOption{MasterSet: w.Name, Username: "watcher", Password: "secret"}
	allow(w.Sentinels, "watcher", watcherRules(t))
	allow(w.Servers, "locks", "on >secret "+locktest.RulesOf(t, "plain"))
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: redis})
	require.ErrorContains(t, err, "role")

	allow(w.Servers, "locks", "on >secret "+locktest.RulesOf(t, "behind Sentinel"))
	holder, waiter := locktest.OpenRetrying(t, lockwheel.Options{Redis: redis}), locktest.OpenRetrying(t, lockwheel.Options{Redis: redis})
	hold := locktest.Lock(t, holder.Mutex("orders/7"))
	waiting := locktest.Locking(t.Context(), waiter.Mutex("orders/7"))
	locktest.RequireWaiting(t, waiter, 1, 1)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	for _, s := range append(w.Servers, w.Sentinels...) {
		if s == w.Servers[0] {
			continue // it has rejected ROLE
		}
		refused, _ := s.Do(t, "ACL", "LOG").([]any)
		for _, entry := range refused {
			require.Contains(t, fmt.Sprint(entry), "client|setinfo", "the client's name for itself, which it does without")
		}
	}
}

// The error of Open names the server that rejects the client: the master if it has another password, a sentinel if that
// has.
func TestSentinel_WrongPassword_ServerNamed(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 1)
	for _, server := range append(w.Servers, w.Sentinels...) {
		require.Equal(t, "OK", server.Do(t, "ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all"))
	}
	for _, c := range []struct{ master, sentinel, names string }{
		{"wrong", "secret", w.Servers[0].Addr() + ", which was found through the sentinels [" + w.Sentinels[0].Addr() + "]: WRONGPASS"},
		{"secret", "wrong", "connecting to [" + w.Sentinels[0].Addr() + "] for the master set \"" + w.Name + "\": WRONGPASS"},
	} {
		redis := rueidis.ClientOption{InitAddress: w.Addrs(), Username: "locks", Password: c.master}
		redis.Sentinel = rueidis.SentinelOption{MasterSet: w.Name, Username: "locks", Password: c.sentinel}
		_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: redis})
		require.ErrorContains(t, err, c.names)
	}
}
