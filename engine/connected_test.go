package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

func usualConfig() actor.Config {
	return actor.Config{ID: "id", Lease: 30 * time.Second, RenewInterval: 10 * time.Second, CallTimeout: 3 * time.Second}
}

// closeNow closes an engine that may have something in flight.
func closeNow(t *testing.T, e *Engine) {
	t.Helper()
	c := e.NewCall()
	c.Op, c.Wait = coordinator.AskClose, time.Millisecond
	require.True(t, e.Post(c))
	<-c.Ready
	<-e.Stopped()
}

// A cluster has sharded pub/sub if its server knows the command, and otherwise cannot count listeners. A node that does
// not reply, or is loading or busy, says nothing of that.
func TestProbe_ShardedPubSub_IfServerKnowsIt(t *testing.T) {
	const busy, loading = "-BUSY Redis is busy running a script.\r\n", "-LOADING Redis is loading the dataset in memory\r\n"
	for reply, sharded := range map[string]bool{
		"*0\r\n": true, "-ERR Unknown subcommand\r\n": false, "-NOPERM no\r\n": false, hangUp: false, busy: false, loading: false,
	} {
		_, node := newScriptedServer(t, func(_ int, words []string) string {
			if words[0] == "CLUSTER" {
				return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n+alive\r\n:1\r\n"
			}
			return reply
		})
		s := &Server{client: &multiNodeClient{mode: rueidis.ClientModeCluster, nodes: map[string]rueidis.Client{"alive:1": node}}}
		if err := s.probeCluster(t.Context()); reply == hangUp || reply == busy || reply == loading {
			require.Error(t, err)
			continue
		} else {
			require.NoError(t, err)
		}
		w := s.encoder("id")
		require.Equal(t, []bool{sharded, !sharded}, []bool{w.Sharded, w.NoListenerCount}, reply)
	}
}

// What an engine of Options.Lazy is connected to is as for any other: the master's address behind Sentinel, and whether
// connections to a replica are ended.
func TestConnected_EachServer_SaysWhich(t *testing.T) {
	one := map[string]rueidis.Client{"a:1": nil}
	known := &coordinator.Topology{Source: "a:1"}
	for _, c := range []struct {
		mode     rueidis.ClientMode
		topology *coordinator.Topology
		own      bool
		want     coordinator.Connected
	}{
		{rueidis.ClientModeStandalone, nil, true, coordinator.Connected{CanRedial: true}},
		{rueidis.ClientModeStandalone, nil, false, coordinator.Connected{}},
		{rueidis.ClientModeSentinel, nil, true, coordinator.Connected{Address: "a:1"}},
		{rueidis.ClientModeCluster, known, true, coordinator.Connected{Topology: known}},
	} {
		e := newEngine(usualConfig(), nil, Hooks{}, nil)
		s := &Server{client: &multiNodeClient{mode: c.mode, nodes: one}, topology: c.topology}
		if c.own {
			s.SetRedial(func() {})
		}
		e.Connected(s)
		require.Equal(t, c.want, e.box.TakeAll().Value)
		require.Same(t, s, e.connected.Load())
	}
}

// A log is the place where an operator learns that a service started without its server, and why.
func TestUnconnected_Start_Logged(t *testing.T) {
	var said lockedBuffer
	e := StartUnconnected(errors.New("why"), usualConfig(), nil, Hooks{}, slog.New(slog.NewTextHandler(&said, nil)))
	for range 2 { // the log follows the results of a turn
		require.EqualValues(t, 1, e.Stats().ServersDown)
	}
	closeNow(t, e)
	require.Contains(t, said.String(), "the server does not reply")
	require.Contains(t, said.String(), "cause=why")
	require.Zero(t, e.Stats().ServersDown, "a gauge of a closed engine is 0")
}

// After a close nothing is in flight, although the server has not replied.
func TestStats_ClosedInFlight_GaugesZero(t *testing.T) {
	reply := make(chan struct{})
	_, client := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "EVALSHA" {
			<-reply
		}
		return ""
	})
	e := Start(&Server{client: client}, usualConfig(), nil, Hooks{}, nil)
	call := NewAsync()
	call.Op, call.Name, call.Key, call.Hold = actor.Acquire, "n", "n", &actor.Hold{}
	require.True(t, e.Post(call))
	require.Eventually(t, func() bool { return e.Stats().InFlight == 1 }, 10*time.Second, time.Millisecond)
	closeNow(t, e)
	s := e.Stats()
	require.Equal(t, []int64{0, 0, 0, 0, 0}, []int64{s.InFlight, s.Subscriptions, s.Polling, s.Waiting, s.Held})
	close(reply)
	client.Close()
	e.Wait()
}

// lockedBuffer is a buffer to which the loop writes while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// An engine of Options.Lazy that was connected to a cluster asks for its topology again when that may have changed.
func TestConnected_Cluster_TopologyRefreshed(t *testing.T) {
	_, node := newScriptedServer(t, func(_ int, words []string) string { return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n+alive\r\n:1\r\n" })
	e := newEngine(usualConfig(), nil, Hooks{}, nil)
	e.coordinator.InitCluster(&coordinator.Topology{Ranges: []coordinator.SlotRange{{First: 0, Last: 16383, Address: "alive:1"}}})
	e.coordinator.ResetOutputs()
	e.coordinator.Connected = true
	e.connected.Store(&Server{topology: &coordinator.Topology{}, client: &multiNodeClient{mode: rueidis.ClientModeCluster, nodes: map[string]rueidis.Client{"alive:1": node}}})
	e.updateWorkers(e.coordinator)
	require.NotNil(t, e.refreshes)
	e.coordinator.Connected, e.coordinator.Cluster.Request = false, &coordinator.RefreshRequest{}
	e.updateWorkers(e.coordinator)
	require.Eventually(t, func() bool {
		m := e.box.TakeAll()
		if m == nil {
			return false
		}
		known := m.Value.(coordinator.TopologyResult)
		return known.Err == nil && known.Topology.Source == "alive:1"
	}, 10*time.Second, time.Millisecond)
	close(e.refreshes)
	e.Wait()
}

// The text of commands is overwritten only where the program cannot see it.
func TestServer_BuffersReused_OnlyIfDeclared(t *testing.T) {
	s := &Server{}
	require.False(t, s.encoder("id").ReuseBuffer)
	s.ReuseBuffers()
	require.True(t, s.encoder("id").ReuseBuffer)
}
