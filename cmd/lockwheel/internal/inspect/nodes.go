package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

// Node is one server with keys: the only one, or a master of a cluster.
type Node struct {
	Addr   string
	client rueidis.Client
}

// Nodes returns the servers with keys, ordered by address. In a cluster these are the masters. If a node of a cluster
// does not reply, or executes nothing now, Nodes returns the others and an error that names it. Its keys are missing if
// it is a master; a silent replica is no error. The nodes are asked at the same time.
func (s *Server) Nodes(ctx context.Context) (nodes []Node, err error) {
	all := s.client.Nodes()
	addresses := slices.Sorted(maps.Keys(all))
	if !s.Cluster() {
		for _, addr := range addresses {
			nodes = append(nodes, Node{addr, all[addr]})
		}
		return nodes, nil
	}
	replies, failed := make([]nodeReply, len(addresses)), make([]error, len(addresses))
	var asking sync.WaitGroup
	for i, addr := range addresses {
		asking.Go(func() { replies[i], failed[i] = s.askNode(ctx, Node{addr, all[addr]}) })
	}
	asking.Wait()
	var owners map[string]bool
	for i, addr := range addresses {
		if failed[i] == nil && replies[i].master {
			nodes = append(nodes, Node{addr, all[addr]})
			if owners == nil {
				owners = replies[i].owners
			}
		}
	}
	for i, addr := range addresses {
		owner, known := owners[addr]
		switch {
		case failed[i] == nil, known && !owner: // keys of a replica are those of its master
		case owner:
			err = errors.Join(err, fmt.Errorf("the node %s %s, so its keys are missing: %w", addr, verb(failed[i]), failed[i]))
		default:
			err = errors.Join(err, fmt.Errorf("the node %s %s, so its keys are missing if it is a master: %w", addr, verb(failed[i]), failed[i]))
		}
	}
	if len(all) == 0 || owners != nil && len(owners) == 0 {
		err = errors.Join(err, errors.New("no node that was asked knows of one with slots, so all keys are missing"))
	}
	// The newer servers tell rueidis of the nodes that they consider online only.
	for _, addr := range slices.Sorted(maps.Keys(owners)) {
		if owners[addr] && all[addr] == nil {
			err = errors.Join(err, fmt.Errorf("the node %s does not reply, so its keys are missing: the cluster considers it down", addr))
		}
	}
	return nodes, err
}

// knowsSlots reports whether the client knows of nodes with slots, unless it is not told. A node that was taken out of
// a cluster knows of itself only.
func (s *Server) knowsSlots(ctx context.Context) bool {
	if !s.Cluster() {
		return true
	}
	all := s.client.Nodes()
	for addr, client := range all {
		if len(all) > 1 {
			break
		}
		r, err := s.askNode(ctx, Node{addr, client})
		return err != nil || r.owners == nil || len(r.owners) > 0
	}
	return len(all) > 0
}

// verb says what a node does that could not be read: one that replies with an error does reply.
func verb(err error) string {
	if errors.As(err, new(actor.ServerError)) {
		return "cannot be read"
	}
	return "does not reply"
}

// AboutNode returns an error of a question to a node, in a cluster with its address. Of nil it is nil.
func (s *Server) AboutNode(n Node, err error) error {
	if err == nil || !s.Cluster() {
		return err
	}
	return fmt.Errorf("the node %s %s, so keys of it are missing: %w", n.Addr, verb(err), err)
}

// nodeReply is what a node of a cluster says of itself and of the others.
type nodeReply struct {
	master bool
	owners map[string]bool // the nodes by address: true if it has slots, false if it is a replica of such a node; nil: not told
}

// askNode asks a node of a cluster. One that does not tell its role may have keys.
func (s *Server) askNode(ctx context.Context, n Node) (r nodeReply, err error) {
	replies, err := s.ask(ctx, n.client, n.client.B().Hello().Build(), n.client.B().ClusterSlots().Build())
	if err != nil {
		return r, err
	}
	fields, err := replies[0].AsMap()
	role := fields["role"]
	name, _ := role.ToString()
	r.master = err != nil || name == "master"
	if spans, err := replies[1].ToArray(); err == nil {
		r.owners = make(map[string]bool)
		for _, span := range spans {
			addOwners(r.owners, n.Addr, span)
		}
	}
	return r, nil
}

// addOwners adds the nodes of one span of slots, the master first. The addresses have the form in which rueidis dials
// them: a node that does not know its own is at the one that was asked.
func addOwners(owners map[string]bool, asked string, span rueidis.RedisMessage) {
	parts, err := span.ToArray()
	if err != nil {
		return
	}
	for i := 2; i < len(parts); i++ {
		node, err := parts[i].ToArray()
		if err != nil || len(node) < 2 {
			continue
		}
		host, _ := node[0].ToString()
		if host == "" {
			host, _, _ = net.SplitHostPort(asked)
		}
		port, err := node[1].AsInt64()
		if err != nil || host == "?" {
			continue
		}
		addr := net.JoinHostPort(host, strconv.FormatInt(port, 10))
		owners[addr] = owners[addr] || i == 2
	}
}
