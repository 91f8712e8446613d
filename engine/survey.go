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
	// mostAsked is how many nodes a survey asks before it gives up.
	mostAsked = 8
	// nodePatience is how long one node of several is waited for.
	nodePatience = 500 * time.Millisecond
)

var (
	errUncharted = errors.New("no node of the cluster told who owns which slots: create it first")
	errNoSlots   = errors.New("no node of the cluster that answered knows of slots: create it first")
)

// Uncharted reports whether nodes of a cluster were met of which none knows of slots. A client of several addresses may have asked one alone
// that is in no cluster yet.
func Uncharted(err error) bool { return err == errUncharted || err == errNoSlots }

// chartAll is the surveyor: it asks nodes for a chart until one answers, and posts that.
func chartAll(s *Server, patience time.Duration, surveys <-chan *survey, box *mailbox) {
	for order := range surveys {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		known, err := s.ask(ctx, order.addresses)
		cancel()
		box.post(&mail{what: charts{known, err}})
	}
}

// ask asks those nodes and then the others for a chart. A silent one is not waited for long, and one that knows of no slots, as when it has
// lost its disk, is none of the cluster's.
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

// askOne asks one node. Reading is harmless, so it may be given up.
func askOne(ctx context.Context, node rueidis.Client, address string) (*chart, error) {
	patience := nodePatience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/3) // it must not use up the time of the others
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

// spanOf reads one entry of CLUSTER SLOTS: first slot, last slot, the master, its replicas. Each is a host,
// empty or nil for that of the node that was asked, a port, and more.
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

// addresses lists the masters.
func (k *chart) addresses() (all []string) {
	for _, s := range k.spans {
		if !slices.Contains(all, s.address) {
			all = append(all, s.address)
		}
	}
	return all
}
