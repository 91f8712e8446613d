package engine

import (
	"context"
	"errors"

	"github.com/redis/rueidis"
)

// Server is what an engine runs on: one server, whether or not Sentinel names it, or a cluster.
type Server struct {
	client  rueidis.Client
	chart   *chart // nil outside a cluster
	sharded bool   // in a cluster: messages stay in their shard (SPUBLISH)
}

// Meet asks a server who it is and teaches it the scripts. The error is that of a server that does not
// answer or refuses the credentials; the client stays the caller's in any case.
func Meet(ctx context.Context, client rueidis.Client) (*Server, error) {
	s := &Server{client: client}
	if client.Mode() == rueidis.ClientModeCluster {
		return s, s.meetCluster(ctx)
	}
	if err := client.Do(ctx, client.B().Ping().Build()).Error(); err != nil {
		return nil, err
	}
	return s, teach(ctx, client)
}

// Cluster reports whether it is a cluster.
func (s *Server) Cluster() bool { return s.chart != nil }

func (s *Server) meetCluster(ctx context.Context) (err error) {
	if s.chart, err = s.ask(ctx, nil); err != nil {
		return err
	}
	if len(s.chart.spans) == 0 {
		return errors.New("the cluster has no slots: create it first")
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
	teachAll(ctx, s.client, s.chart)
	return nil
}

func (s *Server) way(address string) *way { return &way{client: s.client, address: address} }

func (s *Server) writer(id string) *writer {
	return &writer{id: id, sharded: s.sharded, deaf: s.Cluster() && !s.sharded}
}
