package locktest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// WithReplica returns a master, and a replica that has caught up.
func WithReplica(t *testing.T, args ...string) (master, replica *Server) {
	t.Helper()
	master, replicas := WithReplicas(t, 1, args...)
	return master, replicas[0]
}

// WithReplicas returns a master, and n replicas that have caught up.
func WithReplicas(t *testing.T, n int, args ...string) (master *Server, replicas []*Server) {
	t.Helper()
	master = RealServer(t, slices.Concat(args, []string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"})...)
	for range n {
		replicas = append(replicas, RealServer(t, slices.Concat(args, []string{"--replicaof", "127.0.0.1 " + strconv.Itoa(master.Real.Port())})...))
	}
	for _, replica := range replicas {
		Eventually(t, "a replica has caught up", func() bool {
			return strings.Contains(fmt.Sprint(replica.Do("INFO", "replication")), "master_link_status:up")
		})
	}
	Eventually(t, "all replicas answer", func() bool { return master.Do("WAIT", n, 50) == int64(n) })
	return master, replicas
}

var Twice = lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1}}

// FailOver makes the replica the master, as Sentinel would: clients find it at the address of the old one.
func FailOver(t *testing.T, master, replica *redistest.Server, links ...*proxy.Proxy) {
	t.Helper()
	require.NoError(t, master.Kill())
	require.NoError(t, replica.Continue())
	require.Equal(t, "OK", replica.Do(t, "REPLICAOF", "NO", "ONE"))
	for _, p := range links {
		p.Retarget(replica.Addr())
		p.Cut()
	}
}

// Grantable returns all kinds of lock, including the shared one.
func Grantable() map[string]KindOfLock {
	all := map[string]KindOfLock{
		"reader": func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() },
		"writer": func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).Writer() },
	}
	for name, kind := range Kinds {
		all[name] = kind
	}
	return all
}

var (
	masterOffset  = regexp.MustCompile(`master_repl_offset:(\d+)`)
	replicaOffset = regexp.MustCompile(`slave\d+:.*state=online,offset=(\d+)`)
)

// Replicated waits until that many replicas have all data of a master. WAIT would wait only for the writes of its own
// connection.
func Replicated(t testing.TB, master *redistest.Server, replicas int) {
	t.Helper()
	offsets := func(of *regexp.Regexp) (all []int) {
		for _, found := range of.FindAllStringSubmatch(fmt.Sprint(master.Do(t, "INFO", "replication")), -1) {
			offset, _ := strconv.Atoi(found[1])
			all = append(all, offset)
		}
		return all
	}
	wanted := offsets(masterOffset)[0]
	Eventually(t, fmt.Sprintf("%d replicas at %d", replicas, wanted), func() bool {
		have := 0
		for _, offset := range offsets(replicaOffset) {
			if offset >= wanted {
				have++
			}
		}
		return have >= replicas
	})
}
