package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

// SizingMasters is the number of masters of the cluster of Sizing.
const SizingMasters = 3

const (
	clusterSlots   = 16384
	clusterTimeout = time.Minute // for the nodes to know each other
)

// openCluster starts a cluster of masters that have an equal share of the slots.
func openCluster(ctx context.Context, masters int) (nodes servers, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, nodes.close())
		}
	}()
	for i := range masters {
		node, err := openClusterNode(ctx)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, node)
		if _, err := node.do("CLUSTER", "ADDSLOTSRANGE", i*clusterSlots/masters, (i+1)*clusterSlots/masters-1); err != nil {
			return nodes, err
		}
		if i == 0 {
			continue
		}
		if err := nodes[0].meet(node); err != nil {
			return nodes, err
		}
	}
	for deadline := time.Now().Add(clusterTimeout); ; time.Sleep(50 * time.Millisecond) {
		switch complete, err := nodes.complete(); {
		case err != nil:
			return nodes, err
		case complete:
			return nodes, nil
		case time.Now().After(deadline):
			return nodes, fmt.Errorf("a cluster of %d masters is not complete after %v", masters, clusterTimeout)
		}
	}
}

func openClusterNode(ctx context.Context) (*Server, error) {
	// A master may stand still for longer than in tests: it has no replica, and shares the processors with all others.
	launched, err := redistest.LaunchNode(ctx, redistest.Config{Args: []string{"--cluster-node-timeout", "15000"}})
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: launched.Addr(), launched: launched}
	if s.probe, err = redistest.Dial(s.Addr); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// meet introduces another node of the cluster.
func (s *Server) meet(other *Server) error {
	reply, err := other.do("CONFIG", "GET", "cluster-port")
	if err != nil {
		return err
	}
	option, _ := reply.([]any)
	if len(option) != 2 {
		return fmt.Errorf("CONFIG GET cluster-port: unexpected reply %v", reply)
	}
	_, err = s.do("CLUSTER", "MEET", "127.0.0.1", other.launched.Port(), option[1])
	return err
}

// complete reports whether each node knows all others and finds the cluster complete.
func (on servers) complete() (bool, error) {
	for _, s := range on {
		reply, err := s.do("CLUSTER", "INFO")
		if err != nil {
			return false, err
		}
		info := parseInfo(fmt.Sprint(reply))
		if info["cluster_state"] != "ok" || info["cluster_known_nodes"] != fmt.Sprint(len(on)) {
			return false, nil
		}
	}
	return true, nil
}
