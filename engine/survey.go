package engine

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

const (
	// mostAsked is the maximum number of nodes asked in one topology refresh.
	mostAsked = 8
	// nodePatience is how long one of several nodes is waited for.
	nodePatience = 500 * time.Millisecond
)

var (
	errUncharted = errors.New("no node of the cluster told who owns which slots: create it first")
	errNoSlots   = errors.New("no node of the cluster that answered knows of slots: create it first")
)

// Uncharted reports whether nodes were reached of which none knows any slots. A client with several addresses may have
// asked only a node that is not in a cluster yet.
func Uncharted(err error) bool { return err == errUncharted || err == errNoSlots }

// chartAll runs the surveyor: for each request it asks nodes for the topology until one replies, and posts the result.
func chartAll(s *Server, patience time.Duration, surveys <-chan *survey, box *mailbox) {
	for order := range surveys {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		known, err := s.ask(ctx, order.addresses)
		cancel()
		box.post(&mail{what: charts{known, err}})
	}
}

// ask asks the given nodes and then the others for the topology. It does not wait long for a silent node. It skips a
// node without slots, such as one that has lost its disk.
func (s *Server) ask(ctx context.Context, first []string) (*chart, error) {
	nodes := s.client.Nodes()
	for address := range nodes {
		if !slices.Contains(first, address) {
			first = append(first, address)
		}
	}
	err := errUncharted
	for _, address := range first[:min(len(first), mostAsked)] {
		if nodes[address] == nil {
			continue
		}
		known, failed := askOne(ctx, nodes[address], address)
		switch {
		case failed == nil && len(known.spans) > 0:
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

// askOne asks one node. The command only reads, so it can be given up safely.
func askOne(ctx context.Context, node rueidis.Client, address string) (*chart, error) {
	patience := nodePatience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/3) // leave time for the other nodes
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	spans, err := node.Do(ctx, node.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, err
	}
	known := &chart{from: address}
	for i := range spans {
		if s, ok := spanOf(&spans[i], address); ok {
			known.spans = append(known.spans, s)
		}
	}
	return known, nil
}

// spanOf decodes one entry of CLUSTER SLOTS: first slot, last slot, master, replicas. Each node is a host, a port, and
// more. An empty or nil host is that of the node that was asked.
func spanOf(entry *rueidis.RedisMessage, asked string) (s span, ok bool) {
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
		host, _, _ = net.SplitHostPort(asked)
	}
	ok = errPort == nil && host != "?" && first >= 0 && first <= last && last < slotCount
	return span{int(first), int(last), net.JoinHostPort(host, strconv.FormatInt(port, 10))}, ok
}

// addresses returns the addresses of the masters.
func (k *chart) addresses() (all []string) {
	for _, s := range k.spans {
		if !slices.Contains(all, s.address) {
			all = append(all, s.address)
		}
	}
	return all
}
