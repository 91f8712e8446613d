//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// clusterOf starts a cluster and takes locks at each master. It returns them by the number of the node.
func clusterOf(t *testing.T, replicas int) (c *redistest.Cluster, names [3][]string) {
	t.Helper()
	c = redistest.StartCluster(t, 3, replicas, "--cluster-require-full-coverage", "no")
	for _, name := range c.SpreadKeys("lock", 6) {
		master := c.Master(t, c.Slot(t, name))
		takenBy(t, master, name, other)
		at := slices.Index(c.Nodes, master)
		names[at] = append(names[at], name)
	}
	return c, names
}

// allOf is a URL with the addresses of all masters.
func allOf(c *redistest.Cluster) string {
	return urlOf(c.Nodes[0].Addr()) + "?addr=" + c.Nodes[1].Addr() + "&addr=" + c.Nodes[2].Addr()
}

// keepBusy has a script run on a server until the test ends.
func keepBusy(t *testing.T, s *redistest.Server) {
	t.Helper()
	s.Do(t, "CONFIG", "SET", "lua-time-limit", 10)
	asks := s.Conn(t)
	require.NoError(t, s.Conn(t).Send("EVAL", "while true do end", 0))
	eventually(t, func() bool {
		_, err := asks.Do("PING")
		return err != nil && strings.HasPrefix(err.Error(), "BUSY")
	}, "it is busy")
	t.Cleanup(func() { s.Kill() })
}

// Only the node that is silent is named, after the timeout as well. It is the lock's own, and the others reply.
func TestCluster_MasterSilent_WaitNamesIt(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 0)
	p := startCommand(t, allOf(c), "wait", names[2][0], "--timeout", "3s")
	eventually(t, func() bool { return c.Nodes[2].CommandCalls(t, "exists") > 0 }, "it asks")
	require.NoError(t, c.Nodes[2].Pause())
	assert.Equal(t, exitFailed, p.status(t))
	assert.Contains(t, p.err.String(), fmt.Sprintf("lock %q in the cluster of ", names[2][0]))
	assert.Contains(t, p.err.String(), "the node "+c.Nodes[2].Addr()+" does not reply, so its keys are missing: ")
	assert.NotContains(t, p.err.String(), "the node "+c.Nodes[0].Addr())
	assert.NotContains(t, p.err.String(), "the node "+c.Nodes[1].Addr())
	assert.NotContains(t, p.err.String(), "within 0s")
}

// The record of a holder's engine may be at a node that does not reply. The holder's id is known all the same.
func TestRun_HoldersRecordSilent_HolderNamed(t *testing.T) {
	t.Parallel()
	c, _ := clusterOf(t, 0)
	id := ""
	for k := 0; id == "" || c.Master(t, c.Slot(t, identity.Key("", id))) != c.Nodes[2]; k++ {
		id = fmt.Sprintf("%08d-0000-4000-8000-000000000000", k)
	}
	name := "held"
	for i := 0; c.Master(t, c.Slot(t, name)) != c.Nodes[0]; i++ {
		name = fmt.Sprint("held", i)
	}
	takenBy(t, c.Nodes[0], name, id+":1")
	require.NoError(t, c.Nodes[2].Pause())
	status, _, stderr := result(t, urlOf(c.Nodes[0].Addr()), "run", name, "--no-wait", "--", "true")
	assert.Equal(t, exitNotAcquired, status)
	assert.Contains(t, stderr, "held by "+id+":1")
}

// What force does not show it need not know: with --yes it asks the lock's own node alone.
func TestForce_Yes_OtherNodesNotAsked(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 0)
	status, stdout, stderr := result(t, allOf(c), "force", names[0][0], "--yes")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, names[0][0]+": taken away; right before, it was held by "+other)
	for _, n := range c.Nodes {
		assert.Zero(t, n.CommandCalls(t, "pubsub|numsub"))
	}
	status, _, _ = result(t, allOf(c), "force", names[0][1]) // the answer is no
	assert.Equal(t, exitFailed, status)
	assert.NotZero(t, c.Nodes[1].CommandCalls(t, "pubsub|numsub"), "it is shown then")
}

// A user that may not ask for the nodes of a cluster would see the keys of one of them without a word.
func TestCluster_NodesForbidden_Error(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 0)
	for _, n := range c.Nodes {
		n.Do(t, "ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "+@all", "-cluster|slots", "-cluster|shards")
	}
	for _, args := range [][]string{{"ls"}, {"engines"}, {"state", names[0][0]}, {"top", "--once", "--interval", "100ms"}} {
		status, _, stderr := result(t, "redis://few:word@"+c.Nodes[0].Addr(), args...)
		assert.Equal(t, exitFailed, status, args)
		assert.Regexp(t, `it is a node of a cluster, and does not tell this user the other nodes: NOPERM .*cluster.slots`, stderr, args)
	}
}

// What a user may not ask is not 0.
func TestCluster_ListenersForbidden_Unknown(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 0)
	for _, n := range c.Nodes {
		n.Do(t, "ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "+@all", "-pubsub|shardnumsub")
	}
	_, stdout, _ := result(t, "redis://few:word@"+c.Nodes[0].Addr(), "state", names[0][0], "--json")
	assert.EqualValues(t, -1, locksOf(t, stdout)[0].Waiting.Clients)
	_, stdout, _ = result(t, "redis://few:word@"+c.Nodes[0].Addr(), "top", "--once", "--interval", "100ms")
	assert.Contains(t, stdout, "refused: PUBSUB NUMSUB or SHARDNUMSUB: WAITERS lacks the clients that listen\n")
}

// A client may listen to any node. If one does not tell, the number is that of a part, and state says so.
func TestCluster_OtherMasterSilent_StateSaysPart(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 0)
	held := names[0][0]
	for _, n := range []int{1, 2} {
		c.Nodes[n].Subscribe(t, "redisson_lock__channel:{"+held+"}")
	}
	status, stdout, stderr := result(t, allOf(c), "state", held)
	require.Equal(t, exitOK, status, stderr)
	require.Contains(t, stdout, "clients that listen: 2; in the fair queue: 0\n")
	require.NoError(t, c.Nodes[2].Kill())
	missing := "the node " + c.Nodes[2].Addr() + " does not reply, so its keys are missing"
	status, stdout, stderr = result(t, allOf(c), "state", held, names[1][0])
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stdout, "clients that listen: 1+; in the fair queue: 0\n            incomplete: "+missing)
	assert.Contains(t, stdout, names[1][0], "and the state of the next lock")
	assert.Equal(t, 1, strings.Count(stderr, "not all that wait are counted: "+missing), "it is said once: %s", stderr)
	status, stdout, _ = result(t, allOf(c), "state", held, "--json", "--waiters")
	assert.Equal(t, exitFailed, status)
	l := locksOf(t, stdout)[0]
	assert.EqualValues(t, 1, l.Waiting.Clients)
	assert.Contains(t, l.Waiting.Error, missing)
	assert.Contains(t, l.Waiters.Error, missing)

	// A lock can be taken away all the same.
	status, _, stderr = result(t, allOf(c), "force", held, "--yes")
	assert.Equal(t, exitOK, status, stderr)
}

// What a replica has its master has as well.
func TestCluster_ReplicaSilent_NothingMissing(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 1)
	replica := c.Replica(t, c.Nodes[1])
	for _, n := range c.Nodes[:3] {
		eventually(t, func() bool {
			return strings.Contains(fmt.Sprint(n.Do(t, "CLUSTER", "SLOTS")), fmt.Sprint(replica.Port()))
		}, "it is known")
	}
	option, err := rueidis.ParseURL(allOf(c))
	require.NoError(t, err)
	s, err := inspect.Open(t.Context(), option, "") // it knows the replica, and goes on while the masters consider it down
	require.NoError(t, err)
	defer s.Close()
	noneMissing := func(when string) {
		_, silent := s.Nodes(t.Context())
		assert.NoError(t, silent, when)
	}
	nothingMissing := func() {
		for _, args := range [][]string{{"ls"}, {"state", names[0][0]}, {"engines"}} {
			status, _, stderr := result(t, allOf(c), args...)
			assert.Equal(t, exitOK, status, "%v: %s", args, stderr)
		}
	}
	noneMissing("all reply")
	require.NoError(t, replica.Kill())
	noneMissing("it is gone")
	nothingMissing()
	for _, n := range c.Nodes[:3] {
		eventually(t, func() bool { return strings.Contains(n.String(t, "CLUSTER", "NODES"), "slave,fail ") }, "it is considered down")
	}
	noneMissing("it is considered down")
	nothingMissing()
}

// A master that the cluster considers down may be in no list of nodes any more. Its keys are missing.
func TestCluster_MasterConsideredDown_LsSaysSo(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 0)
	require.NoError(t, c.Nodes[2].Kill())
	for _, n := range c.Nodes[:2] {
		eventually(t, func() bool { return strings.Contains(n.String(t, "CLUSTER", "NODES"), "master,fail ") }, "it is considered down")
	}
	for _, args := range [][]string{{"ls"}, {"engines"}, {"top", "--once", "--interval", "100ms"}, {"state", names[0][0]}} {
		status, stdout, stderr := result(t, allOf(c), args...)
		assert.Equal(t, exitFailed, status, args)
		assert.NotEmpty(t, stdout, args)
		assert.Contains(t, stderr, "the node "+c.Nodes[2].Addr()+" does not reply, so its keys are missing", args)
	}
}

// A master that a script keeps busy tells nothing. It is named, and what the others have is printed.
func TestCluster_MasterBusy_Named(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 0)
	for i, n := range c.Nodes {
		id := ""
		for k := 0; id == "" || c.Master(t, c.Slot(t, identity.Key("", id))) != n; k++ {
			id = fmt.Sprintf("00000000-0000-4000-8000-%012d", k)
		}
		n.Do(t, "HSET", identity.Key("", id), "pid", "12", "name", fmt.Sprint("name-", i))
	}
	keepBusy(t, c.Nodes[2])
	// rueidis asks the node that accepts a connection first for the others, and that one may be busy.
	last := urlOf(c.Nodes[2].Addr()) + "?addr=" + c.Nodes[2].Addr() + "&addr=" + c.Nodes[0].Addr()
	for _, url := range []string{allOf(c), last, urlOf(c.Nodes[1].Addr())} {
		status, stdout, stderr := result(t, url, "ls", "--json")
		assert.Equal(t, exitFailed, status)
		assert.Len(t, locksOf(t, stdout), 4)
		assert.Regexp(t, `the node `+c.Nodes[2].Addr()+` cannot be read, so its keys are missing: BUSY `, stderr, url)
	}
	status, stdout, stderr := result(t, allOf(c), "engines")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stdout, "name-0")
	assert.Contains(t, stdout, "name-1")
	assert.Regexp(t, `the node `+c.Nodes[2].Addr()+` cannot be read, so its keys are missing: BUSY `, stderr)
	status, stdout, stderr = result(t, allOf(c), "top", "--once", "--interval", "100ms", "--json")
	assert.Equal(t, exitFailed, status)
	var l look
	require.NoError(t, json.Unmarshal([]byte(stdout), &l), stderr)
	assert.EqualValues(t, 4, l.Locks)
	assert.False(t, l.Exact)
	assert.Contains(t, l.Error, c.Nodes[2].Addr())
	assert.Contains(t, stderr, c.Nodes[2].Addr()+" cannot be read")
	for _, args := range [][]string{{"state", names[2][0]}, {"wait", names[2][0], "--timeout", "0"}, {"force", "--yes", names[2][0]}} {
		status, _, stderr = result(t, allOf(c), args...)
		assert.Equal(t, exitFailed, status)
		assert.Contains(t, stderr, fmt.Sprintf("lock %q in the cluster of ", names[2][0]), args)
		assert.Contains(t, stderr, c.Nodes[2].Addr()+" cannot be read", args)
		assert.NotContains(t, stderr, c.Nodes[0].Addr()+" cannot be read", args)
	}
	status, stdout, stderr = result(t, allOf(c), "state", names[0][0])
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stdout, other)
	assert.Contains(t, stderr, c.Nodes[2].Addr()+" cannot be read")
}

// If the fair queue cannot be read, what was not asked is not told as if it had been.
func TestCluster_QueueForbidden_RestIsTrue(t *testing.T) {
	t.Parallel()
	c, _ := clusterOf(t, 0)
	name := c.Key("held", 1)
	p := startCommand(t, allOf(c), "run", name, "--", "sleep", "60")
	eventually(t, func() bool { return exists(t, c.Master(t, c.Slot(t, name)), name) }, "it holds")
	for _, n := range c.Nodes {
		n.Do(t, "ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "+@all", "-llen")
	}
	few := "redis://few:word@" + c.Nodes[0].Addr()
	var stdout string
	eventually(t, func() bool {
		status, out, stderr := result(t, few, "state", name)
		assert.Equal(t, exitFailed, status)
		assert.Contains(t, stderr, "the fair queue: NOPERM")
		stdout = out
		return strings.Contains(out, fmt.Sprintf("pid %d,", p.cmd.Process.Pid)) // its record is written a moment after
	}, "the engine is named")
	assert.NotContains(t, stdout, "it has no record")
	assert.Contains(t, stdout, "clients that listen: 0+; in the fair queue: unknown\n            incomplete: the fair queue: NOPERM")
	_, stdout, _ = result(t, few, "state", name, "--json")
	l := locksOf(t, stdout)[0]
	assert.EqualValues(t, -1, l.Waiting.Queue)
	assert.Contains(t, l.Waiting.Error, "the fair queue: NOPERM")
	require.NotNil(t, l.Holders[0].Engine)
}

// While a slot moves, keys of it are at both masters. Those that moved already are listed as well.
func TestCluster_SlotMoves_AllListed(t *testing.T) {
	t.Parallel()
	c, names := clusterOf(t, 0)
	id := "11111111-2222-3333-4444-555555555555"
	record := identity.Key("", id)
	c.Master(t, c.Slot(t, record)).Do(t, "HSET", record, "pid", "12", "name", "n")
	c.Master(t, c.Slot(t, names[0][1])).Do(t, "DEL", names[0][1])
	c.Master(t, c.Slot(t, names[0][1])).Do(t, "SET", names[0][1], "AAECAwQFBgcICQoLDA0ODw==")
	for _, key := range []string{names[0][0], names[0][1], record} {
		slot := c.Slot(t, key)
		to := c.Nodes[1]
		if c.Master(t, slot) == to {
			to = c.Nodes[2]
		}
		c.Migrate(t, slot, to).Move(t, 1)
	}
	status, stdout, stderr := result(t, allOf(c), "ls", "--json", "--foreign")
	assert.Equal(t, exitOK, status, stderr)
	var listed []string
	for _, l := range locksOf(t, stdout) {
		listed = append(listed, l.Name)
	}
	assert.ElementsMatch(t, slices.Concat(names[0], names[1], names[2]), listed)
	status, stdout, stderr = result(t, allOf(c), "engines", "--json")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, id)
	status, stdout, stderr = result(t, allOf(c), "top", "--once", "--interval", "100ms", "--json")
	assert.Equal(t, exitOK, status, stderr)
	var l look
	require.NoError(t, json.Unmarshal([]byte(stdout), &l))
	assert.EqualValues(t, 5, l.Locks)
}

// A slot moves to a node that does not know of it, as after a failover during the move. Then each of two nodes names
// the other. The command follows that a few times, and says so.
func TestCluster_NodesNameEachOther_Ends(t *testing.T) {
	t.Parallel()
	c, _ := clusterOf(t, 0)
	const name = "away"
	from, to := c.Master(t, c.Slot(t, name)), c.Nodes[1]
	if from == to {
		to = c.Nodes[2]
	}
	from.Do(t, "CLUSTER", "SETSLOT", c.Slot(t, name), "MIGRATING", to.Do(t, "CLUSTER", "MYID"))
	to.Do(t, "CONFIG", "RESETSTAT")
	status, _, stderr := result(t, allOf(c), "state", name)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, "MOVED")
	asked := regexp.MustCompile(`errorstat_MOVED:count=(\d+)`).FindStringSubmatch(to.Do(t, "INFO", "errorstats").(string))
	require.NotNil(t, asked)
	times, err := strconv.Atoi(asked[1])
	require.NoError(t, err)
	assert.Less(t, times, 100)
}

// A node that left the cluster knows of no other one. Another address of the URL does.
func TestCluster_FirstAddressLeft_OthersAsked(t *testing.T) {
	t.Parallel()
	c, _ := clusterOf(t, 0)
	left := redistest.Start(t, "--cluster-enabled", "yes")
	for range 5 { // the first that accepts a connection is asked, which is either
		status, stdout, stderr := result(t, urlOf(left.Addr())+"?addr="+c.Nodes[0].Addr(), "ls", "--json")
		assert.Equal(t, exitOK, status, stderr)
		assert.Len(t, locksOf(t, stdout), 6)
	}
	status, _, stderr := result(t, urlOf(left.Addr()), "ls")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, "slots")
}

// A server that is silent from the first connection on does not keep wait longer than its timeout either.
func TestWait_SilentFromTheStart_EndsSoonAfterTimeout(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	require.NoError(t, s.Pause())
	for _, url := range []string{urlOf(s.Addr()), urlOf(s.Addr()) + "?addr=" + s.Addr() + "&master_set=m"} {
		begun := time.Now()
		p := startCommand(t, url, "wait", "a", "--timeout", "0")
		assert.Equal(t, exitFailed, p.status(t))
		assert.Less(t, time.Since(begun), 4*time.Second)
		assert.Regexp(t, `connecting to .*: no reply within [1-3](\.\d)?s`, p.err.String())
	}
}

// Each of several silent sentinels would have as long as one has.
func TestRun_SentinelsSilent_EndsSoonAfterWait(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 3)
	addrs := w.Addrs()
	for _, s := range w.Sentinels {
		require.NoError(t, s.Pause())
	}
	url := urlOf(addrs[0]) + "?addr=" + addrs[1] + "&addr=" + addrs[2] + "&master_set=" + w.Name
	begun := time.Now()
	p := startCommand(t, url, "run", "a", "--no-wait", "--", "true")
	assert.Equal(t, exitRunFailed, p.status(t))
	assert.Less(t, time.Since(begun), 6*time.Second)
	assert.Contains(t, p.err.String(), addrs[0]+", "+addrs[1]+", "+addrs[2]+": no server within 3.5s")
}

// Most sentinels are silent, and the master that another one names is gone: both are in the error.
func TestSentinel_MostSilent_ErrorNamesEach(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 3)
	addrs := w.Addrs()
	require.NoError(t, w.Servers[0].Kill())
	for _, s := range w.Sentinels[1:] {
		require.NoError(t, s.Pause())
	}
	p := startCommand(t, urlOf(addrs[0])+"?addr="+addrs[1]+"&addr="+addrs[2]+"&master_set="+w.Name, "wait", "a", "--timeout", "1s")
	assert.Equal(t, exitFailed, p.status(t))
	assert.Contains(t, p.err.String(), w.Servers[0].Addr()+": dial tcp "+w.Servers[0].Addr()+": connect: connection refused")
	assert.Contains(t, p.err.String(), addrs[1]+" does not reply")
	assert.Contains(t, p.err.String(), addrs[2]+" does not reply")
	assert.NotContains(t, p.err.String(), addrs[0]+" does not reply")
}

// A silent sentinel does not delay the command while another one replies, whichever comes first in the URL.
func TestSentinel_OneSilent_OtherAsked(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 3)
	addrs := w.Addrs()
	require.NoError(t, w.Sentinels[0].Pause())
	status, _, stderr := result(t, urlOf(addrs[0])+"?addr="+addrs[1]+"&addr="+addrs[2]+"&master_set="+w.Name, "wait", "a", "--timeout", "0")
	assert.Equal(t, exitOK, status, stderr)
}

// Behind Sentinel a silent master is named, and only it: sentinels that reply are not, nor those that were not asked.
func TestSentinel_MasterSilent_NamedAlone(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 3)
	addrs := w.Addrs()
	require.NoError(t, w.Servers[0].Pause())
	url := urlOf(addrs[0]) + "?addr=" + addrs[1] + "&addr=" + addrs[2] + "&master_set=" + w.Name
	for _, args := range [][]string{{"wait", "a", "--timeout", "0"}, {"state", "a"}} {
		status, _, stderr := result(t, url, args...)
		assert.Equal(t, exitFailed, status)
		assert.Contains(t, stderr, w.Servers[0].Addr()+" does not reply")
		for _, sentinel := range addrs {
			assert.NotContains(t, stderr, sentinel+" does not reply")
		}
	}
}

// A sentinel that missed a failover names the old master. The command asks the others, as engines do.
func TestSentinel_MissedFailover_NewestMaster(t *testing.T) {
	long.Only(t, "sentinels replace a master, and one of them does not know")
	t.Parallel()
	w := redistest.StartSentinels(t, 2, 3)
	old := w.Servers[0]
	for _, s := range w.Sentinels { // they tell each other nothing directly
		s.Do(t, "ACL", "SETUSER", "default", "-publish")
		s.Do(t, "SENTINEL", "FLUSHCONFIG")
	}
	require.NoError(t, w.Sentinels[2].Kill())
	old.Do(t, "ACL", "SETUSER", "default", "-publish", "-slaveof")
	require.NoError(t, old.Pause())
	next := w.AwaitMaster(t, old)
	for _, s := range w.Sentinels[:2] {
		eventually(t, func() bool {
			at := s.Strings(t, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", w.Name)
			return net.JoinHostPort(at[0], at[1]) == next.Addr()
		}, "it knows the next one")
	}
	_, err := next.Conn(t).Do("HSET", "a", other, 1)
	require.NoError(t, err)
	for _, s := range w.Servers[1:] { // nor through the servers, and the last one must not make the next master a replica
		_, err := s.Conn(t).Do("ACL", "SETUSER", "default", "-publish", "-slaveof") // Sentinel has ended the other connections
		require.NoError(t, err)
	}
	require.NoError(t, old.Continue())
	require.NoError(t, w.Sentinels[2].Restart())
	at := w.Sentinels[2].Strings(t, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", w.Name)
	require.Equal(t, old.Addr(), net.JoinHostPort(at[0], at[1]))
	addrs := w.Addrs()
	url := urlOf(addrs[2]) + "?addr=" + addrs[0] + "&addr=" + addrs[1] + "&master_set=" + w.Name
	status, stdout, stderr := result(t, url, "state", "a", "--json")
	assert.Equal(t, exitOK, status, stderr)
	assert.Equal(t, inspect.Exclusive, locksOf(t, stdout)[0].Kind)
	status, _, stderr = result(t, url, "wait", "a", "--timeout", "0")
	assert.Equal(t, exitNo, status, stderr)
	_, stdout, stderr = result(t, url, "ls")
	assert.Contains(t, stdout, other, stderr)
	status, _, stderr = result(t, url, "force", "a", "--yes")
	assert.Equal(t, exitOK, status, stderr)
}
