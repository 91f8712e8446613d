package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// Server is what an engine runs on: one server, with or without Sentinel, or a cluster.
type Server struct {
	client  rueidis.Client
	chart   *chart // topology at the start; nil outside a cluster
	sharded bool   // cluster: use sharded pub/sub (SPUBLISH)
	private bool   // the program cannot see the calls
	redial  func() // closes the client's connections, so that the next call makes others; nil: the engine may not do that
}

// Meet checks that a server or cluster replies, which takes at most patience, and loads the scripts. Loading takes at
// most patience, or at most nodePatience in a cluster. On failure it returns the error of a server that does not reply
// or rejects the credentials, or the cause of the end of ctx. A failure to load the scripts is not an error. The caller
// keeps ownership of the client in any case.
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

// Private declares that the program cannot see what the client sends: the text of a call may be overwritten once the
// call has its reply. A client that the program owns may have hooks that log or trace calls and keep their text.
// Private must be called before Start.
func (s *Server) Private() { s.private = true }

// Redials sets the function that closes all connections of the client, so that the next call makes others. The loop
// calls it: it must not block. Redials must be called before Start.
func (s *Server) Redials(end func()) { s.redial = end }

// redials reports whether connections to that address are closed when it leads to a replica. This is not so where the
// engine follows the master in another way.
func (s *Server) redials(address string) bool {
	return s.redial != nil && address == "" && !s.Cluster()
}

// inTime runs a step with a timeout. If the step failed because of the timeout or of ctx, it returns that as the error.
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

// Cluster reports whether the server is a cluster.
func (s *Server) Cluster() bool { return s.chart != nil }

func (s *Server) meetCluster(ctx context.Context) (err error) {
	if s.chart, err = s.ask(ctx, nil); err != nil {
		return err
	}
	// Redisson's rule: what counts is whether the server knows the command.
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

// AskReplicas returns nil if WAIT can be used, and otherwise the reason why not. A server without replicas replies to
// WAIT, too. In a cluster it tries the masters in turn until one replies. It blocks for at most patience.
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
