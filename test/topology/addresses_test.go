package topology_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/internal/testport"
)

func secureAddrs(servers []*redistest.Server) (addrs []string) {
	for _, s := range servers {
		addrs = append(addrs, s.SecureAddr())
	}
	return addrs
}

// A cluster replies with addresses of its own, and the engine must use TLS for them, too.
func TestCluster_TLS_LocksWork(t *testing.T) {
	long.Only(t, "it starts a cluster of its own")
	t.Parallel()
	a := locktest.ServerCA(t)
	r := &locktest.ClusterEnv{T: t, Cluster: redistest.StartClusterOf(t, 3, 1, func() []string { return append(a.Secured(), "--tls-cluster", "yes") })}
	r.LocksThrough(t, rueidis.ClientOption{InitAddress: secureAddrs(r.Nodes), TLSConfig: a.Client()})
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{CallTimeout: 2 * time.Second, Redis: rueidis.ClientOption{
		InitAddress: secureAddrs(r.Nodes), TLSConfig: &tls.Config{ServerName: "127.0.0.1"},
	}})
	require.Error(t, err, "its certificate has an unknown authority")
}

// Some clusters announce host names instead of addresses, such as managed services, because their certificates need
// that.
func TestCluster_NodesAnnounceNames_LocksWork(t *testing.T) {
	long.Only(t, "it starts a cluster of its own")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 1, "--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type", "hostname")
	require.Contains(t, fmt.Sprint(r.Nodes[0].Do(t, "CLUSTER", "SLOTS")), "localhost")
	r.LocksThrough(t, rueidis.ClientOption{InitAddress: r.Addrs()[:1]})
}

// Other clusters announce only ports, because the nodes do not know under which name clients reach them.
func TestCluster_NodesAnnouncePorts_LocksWork(t *testing.T) {
	long.Only(t, "it starts a cluster of its own")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 1, "--cluster-preferred-endpoint-type", "unknown-endpoint")
	r.LocksThrough(t, rueidis.ClientOption{InitAddress: r.Addrs()[:1]})
}

// The connections to the sentinels and to the master each have their own configuration.
func TestSentinel_TLS_MasterReached(t *testing.T) {
	long.Only(t, "it starts sentinels")
	t.Parallel()
	a := locktest.ServerCA(t)
	w := redistest.StartSentinelsOf(t, 1, 3, a.Secured)
	e, other := secureBehind(t, w, a), secureBehind(t, w, a)
	hold := locktest.Lock(t, e.Mutex("n"))
	waiting := locktest.Locking(t.Context(), other.Mutex("n"))
	locktest.RequireWaiting(t, other, 1, 1)
	old := w.Master(t)
	locktest.Replicated(t, old, 1)
	require.NoError(t, old.Kill())
	next := w.AwaitMaster(t, old)
	require.Equal(t, map[string]string{hold.ID(): "1"}, next.Hash(t, "n"))
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
}

// A URL of several sentinels, one of which is down and has another name.
func TestSentinel_URLWithTLS_MasterReached(t *testing.T) {
	t.Parallel()
	a := locktest.ServerCA(t)
	w := redistest.StartSentinelsOf(t, 1, 1, a.Secured)
	down, err := testport.Port()
	require.NoError(t, err)
	option, err := lockwheel.ParseURL(fmt.Sprintf("rediss://localhost:%d?addr=%s&master_set=%s", down, w.Sentinels[0].SecureAddr(), w.Name))
	require.NoError(t, err)
	ours := a.Client()
	option.TLSConfig.RootCAs, option.TLSConfig.Certificates = ours.RootCAs, ours.Certificates
	require.Same(t, option.TLSConfig, option.Sentinel.TLSConfig)
	e := locktest.OpenRetrying(t, lockwheel.Options{CallTimeout: 3 * time.Second, Redis: option})
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
}

func secureBehind(t *testing.T, w *redistest.Sentinels, a *locktest.TestCA) *lockwheel.Engine {
	t.Helper()
	return locktest.OpenRetrying(t, lockwheel.Options{Lease: time.Minute, CallTimeout: 2 * time.Second, Redis: rueidis.ClientOption{
		InitAddress: secureAddrs(w.Sentinels), TLSConfig: a.Client(),
		Sentinel: rueidis.SentinelOption{MasterSet: w.Name, TLSConfig: a.Client()},
	}})
}

// requireIPv6 skips a test on a machine that has no IPv6.
func requireIPv6(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("needs IPv6: %v", err)
	}
	l.Close()
}

func TestLocks_IPv6_Work(t *testing.T) {
	t.Parallel()
	requireIPv6(t)
	s := locktest.RealServer(t, "--bind", "127.0.0.1 ::1")
	addr := net.JoinHostPort("::1", strconv.Itoa(s.Real.Port()))
	holder, waiter := s.OpenAt(addr, lockwheel.Options{}), s.OpenAt(addr, lockwheel.Options{})
	hold := locktest.Lock(t, holder.Mutex("n"))
	waiting := locktest.Locking(t.Context(), waiter.Mutex("n"))
	locktest.RequireWaiting(t, waiter, 1, 1)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	byURL, err := lockwheel.Dial(t.Context(), "redis://"+addr)
	require.NoError(t, err)
	defer byURL.Close()
	locktest.Unlock(t, locktest.Lock(t, byURL.Mutex("n")))
}

func TestCluster_IPv6_LocksWork(t *testing.T) {
	long.Only(t, "it starts a cluster of its own")
	t.Parallel()
	requireIPv6(t)
	r := locktest.NewClusterEnv(t, 1, "--bind", "127.0.0.1 ::1", "--cluster-announce-ip", "::1")
	require.Contains(t, fmt.Sprint(r.Nodes[0].Do(t, "CLUSTER", "SLOTS")), "::1")
	r.LocksThrough(t, rueidis.ClientOption{InitAddress: []string{net.JoinHostPort("::1", strconv.Itoa(r.Nodes[0].Port()))}})
}
