package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

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
// it is a master. The nodes are asked at the same time. Replicas alone have replicaTimeout.
func (s *Server) Nodes(ctx context.Context) (nodes []Node, err error) {
	all := s.client.Nodes()
	addresses := slices.Sorted(maps.Keys(all))
	if !s.Cluster() {
		for _, addr := range addresses {
			nodes = append(nodes, Node{addr, all[addr]})
		}
		return nodes, nil
	}
	replies, owners, failing := s.askNodes(ctx, all)
	for _, addr := range addresses {
		if r := replies[addr]; r.err == nil && r.master {
			nodes = append(nodes, Node{addr, all[addr]})
		}
	}
	for _, addr := range addresses {
		owner, known := owners[addr]
		failed := replies[addr].err
		if failed != nil && !known && failing == nil && len(nodes) > 0 {
			failing = s.replicas(ctx, nodes[0])
		}
		switch {
		case failed == nil, known && !owner, failing[addr]: // keys of a replica are those of its master
		case owner:
			err = errors.Join(err, fmt.Errorf("the node %s %s, so its keys are missing: %w", addr, verb(failed), failed))
		default:
			err = errors.Join(err, fmt.Errorf("the node %s %s, so its keys are missing if it is a master: %w", addr, verb(failed), failed))
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

// replicaTimeout is how long replicas have for a reply once all masters have replied. One of them may just have been
// promoted.
const replicaTimeout = 500 * time.Millisecond

// askNodes asks all nodes of a cluster at the same time. It returns the replies by address, and which nodes have slots
// and which are replicas of these, as the first of the masters says. failing has the replicas that the master considers
// down, if it was asked for them.
func (s *Server) askNodes(ctx context.Context, all map[string]rueidis.Client) (replies map[string]nodeReply, owners, failing map[string]bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	came := make(chan nodeReply, len(all))
	for addr, client := range all {
		go func() { came <- s.askNode(ctx, Node{addr, client}) }()
	}
	replies = make(map[string]nodeReply, len(all))
	first := ""
	var enough <-chan time.Time
	for len(replies) < len(all) {
		select {
		case r := <-came:
			replies[r.addr] = r
			if r.err == nil && r.master && r.owners != nil && (first == "" || r.addr < first) {
				first, owners = r.addr, r.owners
			}
			if enough == nil && first != "" && silentMasters(all, replies, owners, nil) != some {
				enough = time.After(replicaTimeout)
			}
		case <-enough:
			left := silentMasters(all, replies, owners, nil)
			if left == unknown {
				failing = s.replicas(ctx, Node{first, all[first]})
				left = silentMasters(all, replies, owners, failing)
			}
			if left == none {
				return replies, owners, failing
			}
		}
	}
	return replies, owners, failing
}

// mastersLeft says whether masters may be among the nodes that have not replied.
type mastersLeft int

const (
	none    mastersLeft = iota
	unknown             // nodes of which no master tells
	some
)

// silentMasters says whether masters have not replied. An owner of slots that calls itself a replica shows
// that a failover was just now, so another node may be a master.
func silentMasters(all map[string]rueidis.Client, replies map[string]nodeReply, owners, failing map[string]bool) (left mastersLeft) {
	for addr := range all {
		owner, known := owners[addr]
		r, replied := replies[addr]
		switch {
		case owner && (!replied || r.err == nil && !r.master):
			return some
		case !known && !replied && !failing[addr]:
			left = unknown
		}
	}
	return left
}

// replicas returns which nodes a node knows as replicas. CLUSTER SLOTS names those only that it does not consider down.
func (s *Server) replicas(ctx context.Context, n Node) map[string]bool {
	found := make(map[string]bool)
	replies, err := s.ask(ctx, n.client, n.client.B().ClusterNodes().Build())
	if err != nil {
		return found
	}
	text, _ := replies[0].ToString()
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || !strings.Contains(words[2], "slave") {
			continue
		}
		at, names, _ := strings.Cut(words[1], ",") // ip:port@bus, and names
		at, _, _ = strings.Cut(at, "@")
		colon := strings.LastIndex(at, ":")
		if colon < 0 {
			continue
		}
		name, _, _ := strings.Cut(names, ",")
		for _, host := range []string{at[:colon], name} {
			found[net.JoinHostPort(host, at[colon+1:])] = true
		}
	}
	return found
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
		r := s.askNode(ctx, Node{addr, client})
		return r.err != nil || r.owners == nil || len(r.owners) > 0
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
	addr   string
	err    error // it did not reply, or executes nothing now; then the rest is not known
	master bool
	owners map[string]bool // the nodes by address: true if it has slots, false if it is a replica of such a node; nil: not told
}

// askNode asks a node of a cluster. One that does not tell its role may have keys.
func (s *Server) askNode(ctx context.Context, n Node) nodeReply {
	r := nodeReply{addr: n.Addr}
	replies, err := s.ask(ctx, n.client, n.client.B().Hello().Build(), n.client.B().ClusterSlots().Build())
	if err != nil {
		r.err = err
		return r
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
	return r
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
