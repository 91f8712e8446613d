package engine

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/slot"
)

const (
	// maxNodesAsked is the maximum number of nodes asked in one topology refresh. Nodes that the client does not know
	// cannot be asked and do not count. If all masters are replaced, as many of these may come first.
	maxNodesAsked = 8
	// nodeTimeout is how long one of several nodes is waited for.
	nodeTimeout = 500 * time.Millisecond
)

var (
	errNoTopology = errors.New("no node of the cluster told who owns which slots: create it first")
	errNoSlots    = errors.New("no node of the cluster that replied knows of slots: create it first")
)

// IsNoTopology reports whether nodes were reached of which none knows any slots. A client with several addresses may
// have asked only a node that is not in a cluster yet.
func IsNoTopology(err error) bool { return err == errNoTopology || err == errNoSlots }

// refreshLoop runs the topology refresher: for each request it asks nodes for the topology until one replies, and posts
// the result.
func refreshLoop(s *Server, asks *topologyQueries, timeout time.Duration, refreshes <-chan *coordinator.RefreshRequest, box *mpsc.Mailbox[any]) {
	for order := range refreshes {
		ctx, cancel := context.WithTimeout(context.Background(), 2*timeout)
		known, err := s.fetchTopology(ctx, asks, order.Addresses)
		cancel()
		box.Post(&coordinator.LoopMessage{Value: coordinator.TopologyResult{Topology: known, Err: err}})
	}
}

// fetchTopology asks the given nodes and then the others for the topology. It does not wait long for a silent node. It
// skips a node without slots, such as one that has lost its disk. It trusts the first that knows slots. If that one is
// cut off and its topology is old, what the coordinator cannot reach makes another refresh due. That refresh asks
// another node first (Coordinator.nodesByHealth).
func (s *Server) fetchTopology(ctx context.Context, asks *topologyQueries, first []string) (*coordinator.Topology, error) {
	nodes := s.client.Nodes()
	for address := range nodes {
		if !slices.Contains(first, address) {
			first = append(first, address)
		}
	}
	first = slices.DeleteFunc(first, func(address string) bool { return nodes[address] == nil })
	err := errNoTopology
	for _, address := range first[:min(len(first), maxNodesAsked)] {
		known, failed := asks.from(ctx, nodes[address], address)
		switch {
		case failed == nil && len(known.Ranges) > 0:
			return known, nil
		case failed == nil:
			err = errNoSlots
		case err != errNoSlots:
			err = failed
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// topologyQueries are the calls that ask nodes for the topology, at most one for each node. They have no deadline: at
// the end of one, rueidis would break the connection, and with it the commands for locks. So a node that does not reply
// in time is asked no more until that call has ended. run starts a goroutine. It belongs to the goroutine that asks.
type topologyQueries struct {
	run      func(func())
	inFlight map[string]*topologyQuery // by address
}

// topologyQuery is one of these calls. known and err are set before done is closed.
type topologyQuery struct {
	done  chan struct{}
	known *coordinator.Topology
	err   error
}

func newTopologyQueries(run func(func())) *topologyQueries {
	return &topologyQueries{run: run, inFlight: make(map[string]*topologyQuery)}
}

// from asks one node, and waits for at most nodeTimeout. The reply to an earlier call that is in flight will do.
func (a *topologyQueries) from(ctx context.Context, node rueidis.Client, address string) (*coordinator.Topology, error) {
	timeout := nodeTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/3) // leave time for the other nodes
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	maps.DeleteFunc(a.inFlight, func(_ string, q *topologyQuery) bool { return q.ended() })
	q := a.inFlight[address]
	if q == nil {
		q = &topologyQuery{done: make(chan struct{})}
		a.inFlight[address] = q
		a.run(func() {
			q.known, q.err = fetchFrom(node, address)
			close(q.done)
		})
	}
	select {
	case <-q.done:
		return q.known, q.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *topologyQuery) ended() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// fetchFrom asks one node. It blocks until the node has replied, or the client ends the call.
func fetchFrom(node rueidis.Client, address string) (*coordinator.Topology, error) {
	spans, err := node.Do(context.Background(), node.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, err
	}
	known := &coordinator.Topology{Source: address}
	for i := range spans {
		if s, ok := parseSlotRange(&spans[i], address); ok {
			known.Ranges = append(known.Ranges, s)
		}
	}
	return known, nil
}

// parseSlotRange decodes one entry of CLUSTER SLOTS: first slot, last slot, master, replicas. Each node is a host, a
// port, and more. An empty or nil host is that of the node that was asked.
func parseSlotRange(entry *rueidis.RedisMessage, source string) (s coordinator.SlotRange, ok bool) {
	parts, err := entry.ToArray()
	if err != nil || len(parts) < 3 {
		return s, false
	}
	first, errFirst := parts[0].AsInt64()
	last, errLast := parts[1].AsInt64()
	master, errMaster := parts[2].ToArray()
	if errFirst != nil || errLast != nil || errMaster != nil || len(master) < 2 {
		return s, false
	}
	host, _ := master[0].ToString()
	port, errPort := master[1].AsInt64()
	if host == "" {
		host, _, _ = net.SplitHostPort(source)
	}
	ok = errPort == nil && host != "?" && first >= 0 && first <= last && last < slot.Count
	return coordinator.SlotRange{First: int(first), Last: int(last), Address: net.JoinHostPort(host, strconv.FormatInt(port, 10))}, ok
}
