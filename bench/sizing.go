package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// SizingResult has the constants of the cost model, as measured with pairs alone and with renewals alone, and checks of
// what it predicts for both together. The model: client and servers share the processors, each pair and each renewal
// costs the same at any size, and callers that do not wait use as much processor time as in the measurement of pairs.
type SizingResult struct {
	One, Cluster SizingConstants // of one server, and of a cluster: there each slot has a call of its own
	Checks       []SizingCheck
	Failure      string // no constants of one server
}

// SizingConstants are the costs of a pair and of a renewal.
type SizingConstants struct {
	Pair, Renewal SizingCost
	Cores         float64 // that client and servers used for pairs
}

// SizingCost is what a pair or a renewal costs.
type SizingCost struct {
	Client, Server time.Duration // processor time
	Loop           time.Duration // of the turns of the client's loop, also while it had no processor
	In, Out        float64       // bytes that the servers received and sent
}

// SizingCheck compares the model with a measurement: callers lock and unlock names of their own as fast as they can
// while the same engine holds and renews other locks.
type SizingCheck struct {
	Masters            int // of a cluster; 0: a single server
	Keep               HoldPlan
	Measured, Expected SizingFigures
	Failure            string
}

// SizingFigures are rates per second, and cores.
type SizingFigures struct{ Pairs, Renewals, Client, Server float64 }

// expect returns what the model predicts for this many renewals a second.
func (m *SizingConstants) expect(renewals float64) SizingFigures {
	client, server := renewals*m.Renewal.Client.Seconds(), renewals*m.Renewal.Server.Seconds()
	pairs := (m.Cores - client - server) / (m.Pair.Client + m.Pair.Server).Seconds()
	return SizingFigures{
		Pairs: pairs, Renewals: renewals,
		Client: client + pairs*m.Pair.Client.Seconds(), Server: server + pairs*m.Pair.Server.Seconds(),
	}
}

// Sizing measures the constants on one server and on a cluster, and then compares.
func Sizing(s *Server, p Plan) (*SizingResult, error) {
	m := &SizingResult{}
	one := servers{s}
	if err := m.One.measure(one, p); err != nil {
		m.Failure = err.Error()
		return m, s.Clear()
	}
	for _, keep := range p.Sizes {
		m.check(one, p, &m.One, SizingCheck{Keep: keep})
		if err := s.Clear(); err != nil {
			return m, err
		}
	}
	if len(p.Sizes) == 0 {
		return m, nil
	}
	check := SizingCheck{Masters: SizingMasters, Keep: p.Sizes[len(p.Sizes)/2]}
	cluster, err := openCluster(context.Background(), SizingMasters)
	if err == nil {
		err = m.Cluster.measure(cluster, p)
	}
	if err != nil {
		check.Failure = err.Error()
		m.Checks = append(m.Checks, check)
	} else {
		m.check(cluster, p, &m.Cluster, check)
	}
	return m, cluster.close()
}

// measure measures rounds of pairs, and then rounds of renewals.
func (m *SizingConstants) measure(on servers, p Plan) error {
	pairs, err := p.pairsBesideHeld(on, HoldPlan{})
	if err != nil {
		return err
	}
	pair := medianCost(pairs.costs)
	var renewals []SizingCost
	for i := range p.Rounds + 1 {
		cost, err := measureRenewalCost(on, p)
		if err != nil {
			return err
		}
		if i > 0 {
			renewals = append(renewals, cost)
		}
	}
	m.Pair, m.Renewal = pair, medianCost(renewals)
	m.Cores = pairs.PairsPerSecond() * (pair.Client + pair.Server).Seconds()
	return nil
}

func medianCost(costs []SizingCost) (c SizingCost) {
	setMedians(&c, costs,
		func(c *SizingCost) *time.Duration { return &c.Client },
		func(c *SizingCost) *time.Duration { return &c.Server },
		func(c *SizingCost) *time.Duration { return &c.Loop })
	setMedians(&c, costs,
		func(c *SizingCost) *float64 { return &c.In },
		func(c *SizingCost) *float64 { return &c.Out })
	return c
}

// measureRenewalCost measures renewals of an engine that does nothing else, each lock every second.
func measureRenewalCost(on servers, p Plan) (cost SizingCost, err error) {
	err = renewing(on[0].Addr, p, func(ours *peers.LockwheelClient) error {
		time.Sleep(renewEvery) // first renewals come in an order of their own
		before, err := readUsage(on, ours)
		if err != nil {
			return err
		}
		time.Sleep(max(p.Round, 2*renewEvery))
		after, err := readUsage(on, ours)
		if err != nil {
			return err
		}
		renewed := after.renewed - before.renewed
		if renewed == 0 {
			return errors.New("no lock was renewed in two intervals")
		}
		cost = after.costSince(before, renewed)
		return nil
	})
	return cost, err
}

// check measures what a check compares, and adds it.
func (m *SizingResult) check(on servers, p Plan, constants *SizingConstants, c SizingCheck) {
	pairs, err := p.pairsBesideHeld(on, c.Keep)
	if err != nil {
		c.Failure = err.Error()
	} else {
		speed := pairs.PairsPerSecond()
		c.Measured = SizingFigures{
			Pairs: speed, Renewals: measure.Median(pairs.renewals),
			Client: speed * pairs.ClientCPU().Seconds(), Server: speed * pairs.ServerCPU().Seconds(),
		}
		c.Expected = constants.expect(c.Measured.Renewals)
	}
	m.Checks = append(m.Checks, c)
}

// pairsRounds are rounds of pairs.
type pairsRounds struct {
	measure.Series
	costs    []SizingCost // of a pair, with what was renewed meanwhile
	renewals []float64    // per second
}

// pairsBesideHeld measures rounds of pairs of an engine that holds other locks. The first round does not count.
func (p Plan) pairsBesideHeld(on servers, keep HoldPlan) (*pairsRounds, error) {
	ours, err := peers.OpenLockwheel(peers.Config{Addr: on[0].Addr, Lease: keep.Lease, RenewInterval: keep.Every, Callers: acquireWorkers})
	if err != nil {
		return nil, err
	}
	defer closeWithTimeout(ours)
	locks := newHeldLocks(heldName, keep.Locks)
	length := p.Round
	if keep.Locks > 0 {
		length = max(length, keep.RenewInterval())
		p.logf("%d locks are acquired, to be renewed every %v", keep.Locks, keep.RenewInterval())
		if err := locks.acquire(ours); err != nil {
			return nil, err
		}
		time.Sleep(keep.RenewInterval())
	}
	pairs := &pairsRounds{}
	e := ownNames(peers.Lockwheel.Name, ours, p.ThroughputWorkers, length)
	for i := range p.Rounds + 1 {
		before, err := readUsage(on, ours)
		if err != nil {
			return nil, err
		}
		sample, failed, err := measureRound(on, e)
		if err := errors.Join(failed, err); err != nil {
			return nil, err
		}
		after, err := readUsage(on, ours)
		if err != nil {
			return nil, err
		}
		if sample.Pairs == 0 {
			return nil, errors.New("a round without a pair")
		}
		if i == 0 {
			continue
		}
		pairs.Add(sample)
		cost := after.costSince(before, uint64(sample.Pairs))
		one := measure.Series{Samples: []measure.Sample{sample}} // without the collection of garbage before the round
		cost.Client, cost.Server = one.ClientCPU(), one.ServerCPU()
		pairs.costs = append(pairs.costs, cost)
		pairs.renewals = append(pairs.renewals, float64(after.renewed-before.renewed)/after.at.Sub(before.at).Seconds())
	}
	if lost := locks.lost(); lost > 0 {
		return nil, fmt.Errorf("%d of %d locks were lost", lost, keep.Locks)
	}
	return pairs, locks.release()
}
