package redistest

import (
	"fmt"
	"strings"
	"testing"
)

// Sentinels is a master with replicas, watched by sentinels, all started by a test. Its methods must be called from
// the goroutine of that test.
type Sentinels struct {
	Name      string    // the master's name in the sentinels
	Servers   []*Server // the first was the first master; Master returns the current one
	Sentinels []*Server
}

// StartSentinels starts a master with the given numbers of replicas and sentinels, and ends them with the test. It
// returns when the sentinels know each other and the replicas, and the replicas follow. A majority of the sentinels
// must agree that a master is down.
//
// Without a server on PATH the test is skipped, as with Start.
func StartSentinels(t testing.TB, replicas, sentinels int) *Sentinels {
	t.Helper()
	return StartSentinelsOf(t, replicas, sentinels, func() []string { return nil })
}

// StartSentinelsOf is like StartSentinels, with arguments: args is called for each of the servers and of the sentinels.
func StartSentinelsOf(t testing.TB, replicas, sentinels int, args func() []string) *Sentinels {
	t.Helper()
	binary := binaryFor(t)
	w := &Sentinels{Name: "locks"}
	launch := func(config Config) *Server {
		config.Binary, config.Dir = binary, t.TempDir()
		s, err := Launch(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		closeWithTest(t, s)
		return s
	}
	for range 1 + replicas {
		w.Servers = append(w.Servers, launch(Config{Args: append([]string{"--repl-diskless-sync-delay", "0"}, args()...)}))
	}
	master := w.Servers[0]
	for _, s := range w.Servers[1:] {
		s.mustDo(t, "REPLICAOF", "127.0.0.1", master.peerPort())
	}
	for range sentinels {
		w.Sentinels = append(w.Sentinels, launch(Config{Args: args(), Sentinel: fmt.Sprintf(
			"sentinel monitor %s 127.0.0.1 %s %d\nsentinel down-after-milliseconds %[1]s %[4]d\nsentinel failover-timeout %[1]s %[5]d\n",
			w.Name, master.peerPort(), sentinels/2+1, NodeTimeout.Milliseconds(), 5*NodeTimeout.Milliseconds())}))
	}
	await(t, "the sentinels to know all servers", func() bool {
		for _, s := range w.Sentinels {
			if !strings.Contains(s.inspect("INFO", "sentinel"), fmt.Sprintf("slaves=%d,sentinels=%d", replicas, sentinels)) {
				return false
			}
		}
		return w.allFollow()
	})
	return w
}

// allFollow reports whether all running replicas follow.
func (w *Sentinels) allFollow() bool {
	for _, s := range w.Servers {
		if s.Running() && strings.Contains(s.inspect("INFO", "replication"), "master_link_status:down") {
			return false
		}
	}
	return true
}

// Addrs returns the addresses of the sentinels.
func (w *Sentinels) Addrs() []string {
	addrs := make([]string, len(w.Sentinels))
	for i, s := range w.Sentinels {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Master returns the server that the first running sentinel considers the master. It may be down.
func (w *Sentinels) Master(t testing.TB) *Server {
	t.Helper()
	for _, sentinel := range w.Sentinels {
		if !sentinel.Running() {
			continue
		}
		port := sentinel.Strings(t, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", w.Name)[1]
		for _, s := range w.Servers {
			if s.peerPort() == port {
				return s
			}
		}
	}
	t.Fatal("no sentinel knows a master")
	return nil
}

// AwaitMaster waits until the sentinels consider a server other than old the master, and it has that role.
func (w *Sentinels) AwaitMaster(t testing.TB, old *Server) (master *Server) {
	t.Helper()
	await(t, "another master", func() bool {
		master = w.Master(t)
		return master != old && strings.Contains(master.inspect("INFO", "replication"), "role:master")
	})
	return master
}
