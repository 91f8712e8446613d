package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// Server is what an engine runs on: one server, with or without Sentinel, or a cluster. Probe makes one; the zero
// Server has no client. It belongs to its maker until Start or Engine.Connected; from then on it is immutable, and all
// workers of the engine share it.
type Server struct {
	client       rueidis.Client
	topology     *coordinator.Topology // topology at the start; nil outside a cluster
	sharded      bool                  // cluster: use sharded pub/sub (SPUBLISH)
	reuseBuffers bool                  // the program cannot see the commands
	onBusyWait   func(commands int)    // see OnBusyWait; nil: nothing busy-waits
	redial       func()                // closes the client's connections, so that the next call makes others; nil: the engine may not do that
}

// Probe checks that a server or cluster replies and that the client speaks RESP3, which takes at most timeout. Then it
// loads the scripts, which takes at most timeout, or at most nodeTimeout in a cluster. On failure it returns
// rediserr.ErrNoRESP3, the error of a server that does not reply or rejects the credentials, or the cause of the end of
// ctx. A failure to load the scripts is not an error. The caller keeps ownership of the client in any case.
func Probe(ctx context.Context, client rueidis.Client, timeout time.Duration) (*Server, error) {
	s := &Server{client: client}
	probe := s.probeServer
	if client.Mode() == rueidis.ClientModeCluster {
		probe = s.probeCluster
	}
	if err := withTimeout(ctx, timeout, probe); err != nil {
		return nil, err
	}
	if s.Cluster() {
		loadScriptsEverywhere(ctx, client, s.topology)
	} else {
		loadScripts(ctx, client, timeout)
	}
	return s, context.Cause(ctx)
}

// ReuseBuffers declares that the program cannot see what the client sends: the text of a batch may be overwritten once
// the batch has its reply. A client that the program owns may have hooks that log or trace commands and keep their
// text. ReuseBuffers must be called before Start.
func (s *Server) ReuseBuffers() { s.reuseBuffers = true }

// OnBusyWait sets a function that the loop calls with for how many commands in flight the connections busy-wait, if
// that has changed: before more are sent, and when there are none. It must not block. OnBusyWait must be called before
// Start or Engine.Connected.
func (s *Server) OnBusyWait(set func(commands int)) { s.onBusyWait = set }

// SetRedial sets the function that closes all connections of the client, so that the next call makes others. The loop
// calls it: it must not block. SetRedial must be called before Start.
func (s *Server) SetRedial(closeAll func()) { s.redial = closeAll }

// canRedial reports whether connections to that address are closed when it leads to a replica. This is not so where the
// engine follows the master in another way.
func (s *Server) canRedial(address string) bool {
	return s.redial != nil && address == "" && !s.Cluster()
}

// withTimeout runs a step with a timeout. If the step failed because of the timeout or of ctx, it returns that as the
// error.
func withTimeout(ctx context.Context, timeout time.Duration, step func(context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no reply within %v", timeout))
	defer cancel()
	err := step(bounded)
	if err != nil && bounded.Err() != nil {
		return context.Cause(bounded)
	}
	return err
}

// probeServer checks a single server. rueidis takes a node of a cluster for one if the user may not ask for the nodes.
// Then the engine would hold locks of a part of all names, and miss the messages for the others.
func (s *Server) probeServer(ctx context.Context) error {
	b := s.client.B()
	replies := s.client.DoMulti(ctx, b.Ping().Build(), b.Hello().Build())
	if err := replies[0].Error(); err != nil {
		return err
	}
	if speaksRESP2(replies[1]) {
		return rediserr.ErrNoRESP3
	}
	fields, err := replies[1].AsMap()
	mode := fields["mode"]
	if name, _ := mode.ToString(); err != nil || name != "cluster" {
		return nil // a server that does not tell is none of a cluster
	}
	for _, reply := range s.client.DoMulti(ctx, b.ClusterSlots().Build(), b.ClusterShards().Build()) {
		if err := reply.Error(); err != nil && actor.HasPrefixFold(err.Error(), "NOPERM ") { // rueidis asks a newer server for shards
			return err
		}
	}
	return nil
}

// speaksRESP2 reports whether a client got that reply to HELLO on a connection in RESP2. A reply that does not tell is
// taken for one in RESP3: some servers inside a process know HELLO with a version only.
func speaksRESP2(hello rueidis.RedisResult) bool {
	fields, err := hello.AsMap()
	if said, replied := rueidis.IsRedisErr(err); replied {
		return rediserr.LacksRESP3(said.Error())
	}
	proto, told := fields["proto"]
	version, wrong := proto.AsInt64()
	return err == nil && !(told && wrong == nil && version >= 3)
}

// Cluster reports whether the server is a cluster.
func (s *Server) Cluster() bool { return s.topology != nil }

func (s *Server) probeCluster(ctx context.Context) (err error) {
	if s.topology, err = s.fetchTopology(ctx, newTopologyQueries(onGoroutine), nil); err != nil {
		return err
	}
	// Redisson's rule: what counts is whether the server knows the command.
	err = coordinator.ErrUnknownNode
	if node := s.client.Nodes()[s.topology.Source]; node != nil {
		replies := node.DoMulti(ctx, node.B().PubsubShardnumsub().Build(), node.B().Hello().Build())
		if err = replies[0].Error(); speaksRESP2(replies[1]) {
			return rediserr.ErrNoRESP3
		}
	}
	if _, replied := rueidis.IsRedisErr(err); err != nil && (!replied || actor.Transient(err.Error())) {
		return err // of a server that is loading or busy nothing is known yet
	}
	s.sharded = err == nil
	return nil
}

// CheckReplicas returns nil if WAIT can be used, and otherwise the reason why not. A server without replicas replies to
// WAIT, too. In a cluster it tries the masters in turn until one replies. It blocks for at most timeout.
func (s *Server) CheckReplicas(ctx context.Context, timeout time.Duration) error {
	return withTimeout(ctx, timeout, func(ctx context.Context) error { return s.checkReplicas(ctx, timeout) })
}

func (s *Server) checkReplicas(ctx context.Context, timeout time.Duration) error {
	if !s.Cluster() {
		return checkNodeReplicas(ctx, s.client, s.reuseBuffers, timeout)
	}
	err := coordinator.ErrUnknownNode
	for _, address := range s.topology.Addresses() {
		node := s.client.Nodes()[address]
		if node == nil {
			continue
		}
		err = checkNodeReplicas(ctx, node, s.reuseBuffers, timeout)
		if _, rejected := rueidis.IsRedisErr(err); err == nil || rejected {
			return err
		}
	}
	return err
}

func (s *Server) nodeConn(address string) *nodeConn {
	return &nodeConn{client: s.client, address: address, sentinelMaster: address != "" && !s.Cluster()}
}

func (s *Server) encoder(id string) *wire.Encoder {
	return &wire.Encoder{ID: id, ReuseBuffer: s.reuseBuffers, Sharded: s.sharded, NoListenerCount: s.Cluster() && !s.sharded}
}
