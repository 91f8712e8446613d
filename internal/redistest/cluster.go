package redistest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/internal/testport"
)

const (
	clusterWait = 60 * time.Second // for a cluster to become complete, and for a change in it to be known to all nodes
	slotCount   = 16384

	// NodeTimeout is after how long the nodes of StartCluster and the sentinels of StartSentinels consider a silent
	// server down.
	NodeTimeout = time.Second
)

// Cluster is a cluster that was started by a test. Its methods must be called from the goroutine of that test.
type Cluster struct {
	Nodes []*Server // the first masters come first; Master returns the current ones

	ids map[*Server]string
}

// StartCluster starts a cluster with the given number of masters, each with the given number of replicas, and ends
// it with the test. It returns when all nodes consider the cluster complete and all replicas follow. The slots are
// distributed evenly, the lowest to the first master.
//
// Without a server on PATH the test is skipped, as with Start. Every node gets the arguments args.
func StartCluster(t testing.TB, masters, replicas int, args ...string) *Cluster {
	t.Helper()
	return StartClusterOf(t, masters, replicas, func() []string { return args })
}

// StartClusterOf is like StartCluster, for nodes with different arguments, such as a port: args is called for each
// node.
func StartClusterOf(t testing.TB, masters, replicas int, args func() []string) *Cluster {
	t.Helper()
	binary := binaryFor(t)
	c := &Cluster{Nodes: make([]*Server, masters*(1+replicas)), ids: make(map[*Server]string)}
	errs := make([]error, len(c.Nodes))
	var starts sync.WaitGroup
	for i := range c.Nodes {
		config := Config{Binary: binary, Dir: t.TempDir(), Args: args()}
		starts.Go(func() { c.Nodes[i], errs[i] = LaunchNode(t.Context(), config) })
	}
	starts.Wait()
	for _, s := range c.Nodes {
		if s != nil {
			closeWithTest(t, s)
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	c.join(t, masters)
	return c
}

// LaunchNode is Launch for a node of a cluster, which has no slots and knows no other node yet. It tries a few ports
// for the cluster bus, as Launch does for the server's port.
func LaunchNode(ctx context.Context, config Config) (s *Server, err error) {
	given := config.Args
	for range maxStartTries {
		var bus int
		if bus, err = testport.Port(); err != nil {
			return nil, err
		}
		config.Args = append([]string{
			"--cluster-enabled", "yes",
			"--cluster-config-file", "nodes.conf",
			"--cluster-port", strconv.Itoa(bus),
			"--cluster-node-timeout", strconv.FormatInt(NodeTimeout.Milliseconds(), 10),
			"--cluster-replica-validity-factor", "0", // a replica is always valid enough
			"--repl-diskless-sync-delay", "0",
		}, given...)
		if s, err = Launch(ctx, config); !errors.Is(err, errPortTaken) {
			return s, err
		}
	}
	return nil, err
}

// join makes one cluster of the nodes.
func (c *Cluster) join(t testing.TB, masters int) {
	t.Helper()
	for i, s := range c.Nodes {
		c.ids[s] = s.String(t, "CLUSTER", "MYID")
		s.mustDo(t, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i < masters {
			s.mustDo(t, "CLUSTER", "ADDSLOTSRANGE", i*slotCount/masters, (i+1)*slotCount/masters-1)
		}
	}
	c.awaitMeet(t)
	for i, s := range c.Nodes[masters:] {
		s.mustDo(t, "CLUSTER", "REPLICATE", c.ids[c.Nodes[i%masters]])
	}
	c.AwaitHealthy(t)
}

// AddNode adds a master without slots and ends it with the test. It returns when all nodes know the new one.
func (c *Cluster) AddNode(t testing.TB, args ...string) *Server {
	t.Helper()
	s, err := LaunchNode(t.Context(), Config{Binary: binaryFor(t), Dir: t.TempDir(), Args: args})
	if err != nil {
		t.Fatal(err)
	}
	closeWithTest(t, s)
	c.ids[s] = s.String(t, "CLUSTER", "MYID")
	c.Nodes = append(c.Nodes, s)
	c.awaitMeet(t)
	c.AwaitHealthy(t)
	return s
}

// awaitMeet introduces all nodes to the first one that runs, and waits until all know each other. Nodes
// forget another node after NodeTimeout if it had no time to shake hands, so awaitMeet introduces them again.
func (c *Cluster) awaitMeet(t testing.TB) {
	t.Helper()
	var lastMeet time.Time
	await(t, "all nodes to know each other", func() bool {
		if time.Since(lastMeet) > 3*NodeTimeout {
			c.meet(t)
			lastMeet = time.Now()
		}
		return c.all(func(s *Server) bool {
			return strings.Count(s.inspect("CLUSTER", "NODES"), " connected") == len(c.Nodes)
		})
	})
}

func (c *Cluster) meet(t testing.TB) {
	t.Helper()
	for _, s := range c.Nodes {
		c.running().mustDo(t, "CLUSTER", "MEET", "127.0.0.1", s.Port(), s.option("--cluster-port"))
	}
}

// AwaitHealthy waits until every running node considers the cluster complete and every running replica follows its
// master.
func (c *Cluster) AwaitHealthy(t testing.TB) {
	t.Helper()
	await(t, "a complete cluster", func() bool {
		return c.all(func(s *Server) bool {
			return strings.Contains(s.inspect("CLUSTER", "INFO"), "cluster_state:ok") &&
				!strings.Contains(s.inspect("INFO", "replication"), "master_link_status:down")
		})
	})
}

// all reports whether is holds for every running node.
func (c *Cluster) all(is func(s *Server) bool) bool {
	for _, s := range c.Nodes {
		if s.Running() && !is(s) {
			return false
		}
	}
	return true
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, s := range c.Nodes {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Slot returns the slot of a key, as the server computes it.
func (c *Cluster) Slot(t testing.TB, key string) int {
	t.Helper()
	return c.running().Int(t, "CLUSTER", "KEYSLOT", key)
}

// Master returns the owner of a slot. It waits until all running nodes agree. A paused node does not count as
// running.
func (c *Cluster) Master(t testing.TB, slot int) (master *Server) {
	t.Helper()
	await(t, fmt.Sprintf("agreement on slot %d", slot), func() bool {
		master = nil
		return c.all(func(s *Server) bool {
			owner := c.ownerSeenBy(s, slot)
			if master == nil {
				master = owner
			}
			return owner != nil && owner == master && owner.Running()
		})
	})
	return master
}

// ownerSeenBy returns the owner of a slot in the view of one node, nil for none.
func (c *Cluster) ownerSeenBy(s *Server, slot int) *Server {
	reply, _ := s.do([]any{"CLUSTER", "SLOTS"})
	spans, _ := reply.([]any)
	for _, span := range spans {
		parts := span.([]any)
		if int64(slot) < parts[0].(int64) || int64(slot) > parts[1].(int64) {
			continue
		}
		port := parts[2].([]any)[1].(int64)
		for _, owner := range c.Nodes {
			if int64(owner.Port()) == port {
				return owner
			}
		}
	}
	return nil
}

// Replica returns a running replica of a master. The test ends if there is none.
func (c *Cluster) Replica(t testing.TB, master *Server) *Server {
	t.Helper()
	for _, s := range c.Nodes {
		if s.Running() && strings.Contains(s.inspect("INFO", "replication"), fmt.Sprintf("\r\nmaster_port:%s\r\n", master.peerPort())) {
			return s
		}
	}
	t.Fatalf("the master at %s has no replica", master.Addr())
	return nil
}

// Key returns a key of a slot that begins with prefix, which has no braces.
func (c *Cluster) Key(prefix string, slot int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint(prefix, i); slotOf(key) == slot {
			return key
		}
	}
}

// SpreadKeys returns n keys that begin with prefix, which has no braces, spread evenly over all slots.
func (c *Cluster) SpreadKeys(prefix string, n int) []string {
	keys := make([]string, n)
	for i, missing := 0, n; missing > 0; i++ {
		key := fmt.Sprint(prefix, i)
		at := slotOf(key) * n / slotCount
		if keys[at] == "" {
			keys[at] = key
			missing--
		}
	}
	return keys
}

func (c *Cluster) running() *Server {
	return c.Nodes[slices.IndexFunc(c.Nodes, (*Server).Running)]
}

// Migration is a slot that moves from one master to another, in the steps of redis-cli's reshard.
type Migration struct {
	cluster  *Cluster
	slot     int
	from, to *Server
}

// Migrate begins to move a slot. From now on the old master redirects requests for keys that it does not have to
// the new one.
func (c *Cluster) Migrate(t testing.TB, slot int, to *Server) *Migration {
	t.Helper()
	m := &Migration{cluster: c, slot: slot, from: c.Master(t, slot), to: to}
	to.mustDo(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", c.ids[m.from])
	m.from.mustDo(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", c.ids[to])
	return m
}

// Move moves at most the given number of the keys that exist now, and returns how many it moved.
func (m *Migration) Move(t testing.TB, most int) int {
	t.Helper()
	keys := m.from.Strings(t, "CLUSTER", "GETKEYSINSLOT", m.slot, most)
	for _, key := range keys {
		m.MoveKey(t, key)
	}
	return len(keys)
}

// MoveKey moves one key, if it exists.
func (m *Migration) MoveKey(t testing.TB, key string) {
	t.Helper()
	reply := m.from.Do(t, "MIGRATE", "127.0.0.1", m.to.peerPort(), key, 0, 5000)
	if reply != "OK" && reply != "NOKEY" { // it may have been released meanwhile
		t.Fatalf("MIGRATE %s: %v", key, reply)
	}
}

// End moves the remaining keys and makes the new master the owner, first in its own view and then in the view of
// the others.
func (m *Migration) End(t testing.TB) {
	t.Helper()
	for m.Move(t, 1000) > 0 {
	}
	for _, s := range append([]*Server{m.to, m.from}, m.cluster.Nodes...) {
		if s.Running() && !strings.Contains(s.inspect("INFO", "replication"), "role:slave") {
			s.mustDo(t, "CLUSTER", "SETSLOT", m.slot, "NODE", m.cluster.ids[m.to])
		}
	}
}

// inspect sends a command and returns its reply if that is text. It returns "" for any other reply and for none:
// servers close connections when they change their role.
func (s *Server) inspect(args ...any) string {
	reply, _ := s.do(args)
	text, _ := reply.(string)
	return text
}

// ErrorCount returns how often the running nodes have replied with an error of the given kind: "MOVED", "TRYAGAIN".
func (c *Cluster) ErrorCount(t testing.TB, kind string) (n int) {
	t.Helper()
	for _, s := range c.Nodes {
		if s.Running() {
			var here int
			_, after, _ := strings.Cut(s.String(t, "INFO", "errorstats"), "errorstat_"+kind+":count=")
			_, _ = fmt.Sscan(after, &here)
			n += here
		}
	}
	return n
}

// mustDo sends a command that must return OK.
func (s *Server) mustDo(t testing.TB, args ...any) {
	t.Helper()
	if reply := s.Do(t, args...); reply != "OK" {
		t.Fatalf("%s: %v: %v", s.Addr(), args, reply)
	}
}

// option returns the value of a server argument.
func (s *Server) option(name string) string {
	return s.config.Args[slices.Index(s.config.Args, name)+1]
}

// peerPort returns the port by which other servers know it: the one for encrypted connections, if it has one.
func (s *Server) peerPort() string {
	if slices.Contains(s.config.Args, "--tls-port") {
		return s.option("--tls-port")
	}
	return strconv.Itoa(s.port)
}

// SecureAddr returns the address where a server with "--tls-port" accepts encrypted connections.
func (s *Server) SecureAddr() string { return "127.0.0.1:" + s.option("--tls-port") }

// await waits until is reports true, and ends the test if that takes too long.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(clusterWait); !is(); time.Sleep(10 * pollGap) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// slotOf returns the slot of a key without braces.
func slotOf(key string) int {
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc % slotCount)
}
