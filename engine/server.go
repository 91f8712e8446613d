package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// Server is what an engine runs on: one server, whether or not Sentinel names it, or a cluster.
type Server struct {
	client  rueidis.Client
	chart   *chart // nil outside a cluster
	sharded bool   // in a cluster: messages stay in their shard (SPUBLISH)
	private bool   // nobody else sees the calls
	redial  func() // ends the client's connections, so that the next call makes others; nil: that is not the engine's to do
}

// Meet asks a server who it is and teaches it the scripts, each for so long at most. The error is that of a
// server that does not answer or refuses the credentials; the client stays the caller's in any case.
func Meet(ctx context.Context, client rueidis.Client, patience time.Duration) (*Server, error) {
	s := &Server{client: client}
	meet := s.meetOne
	if client.Mode() == rueidis.ClientModeCluster {
		meet = s.meetCluster
	}
	if err := inTime(ctx, patience, meet); err != nil {
		return nil, err
	}
	if s.Cluster() {
		teachAll(ctx, client, s.chart)
	} else {
		teach(ctx, client, patience)
	}
	return s, context.Cause(ctx)
}

// Private says that nobody else sees what the client sends: the text of a call may be written over once the call
// is answered. Somebody else's client may note the words of calls, as hooks do that log or trace.
func (s *Server) Private() { s.private = true }

// Redials says how all connections of the client are ended, so that the next call makes others. It is called on the loop: it must not
// block.
func (s *Server) Redials(end func()) { s.redial = end }

// redials reports whether the connections to that address are ended when it leads to a replica: not where the master is followed otherwise.
func (s *Server) redials(address string) bool {
	return s.redial != nil && address == "" && !s.Cluster()
}

// inTime takes a step that is bounded, and says so if that is why it failed.
func inTime(ctx context.Context, patience time.Duration, step func(context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %v", patience))
	defer cancel()
	err := step(bounded)
	if err != nil && bounded.Err() != nil {
		return context.Cause(bounded)
	}
	return err
}

func (s *Server) meetOne(ctx context.Context) error {
	return s.client.Do(ctx, s.client.B().Ping().Build()).Error()
}

// Cluster reports whether it is a cluster.
func (s *Server) Cluster() bool { return s.chart != nil }

func (s *Server) meetCluster(ctx context.Context) (err error) {
	if s.chart, err = s.ask(ctx, nil); err != nil {
		return err
	}
	// Redisson's rule: what decides is whether the server knows the command.
	err = errStranger
	if node := s.client.Nodes()[s.chart.from]; node != nil {
		err = node.Do(ctx, node.B().PubsubShardnumsub().Build()).Error()
	}
	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		return err
	}
	s.sharded = err == nil
	return nil
}

// AskReplicas reports why replicas cannot be asked who has what was written: nil if they can. In a cluster it
// asks the masters that answer. A server that has none answers, too. It waits for so long at most.
func (s *Server) AskReplicas(ctx context.Context, patience time.Duration) error {
	return inTime(ctx, patience, func(ctx context.Context) error { return s.askReplicas(ctx, patience) })
}

func (s *Server) askReplicas(ctx context.Context, patience time.Duration) error {
	if !s.Cluster() {
		return askReplicas(ctx, s.client, patience)
	}
	err := errStranger
	for _, address := range s.chart.addresses() {
		node := s.client.Nodes()[address]
		if node == nil {
			continue
		}
		err = askReplicas(ctx, node, patience)
		if _, refused := rueidis.IsRedisErr(err); err == nil || refused {
			return err
		}
	}
	return err
}

func (s *Server) way(address string) *way {
	return &way{client: s.client, address: address, master: address != "" && !s.Cluster()}
}

func (s *Server) writer(id string) *writer {
	return &writer{id: id, private: s.private, sharded: s.sharded, deaf: s.Cluster() && !s.sharded}
}
