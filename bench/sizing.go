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
// what it predicts for both together. The model: client and server share the processors, each pair and each renewal
// costs the same at any size, and callers that do not wait use as much processor time as in the measurement of pairs.
type SizingResult struct {
	PairClient, PairServer   time.Duration // processor time of a pair
	RenewClient, RenewServer time.Duration // processor time of a renewal
	PairLoop, RenewLoop      time.Duration // of that the turns of the loop, as the engine measures them
	PairIn, PairOut          float64       // bytes of a pair that the server received and sent
	Cores                    float64       // that client and server used for pairs
	Checks                   []SizingCheck
	Failure                  string
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
func (m *SizingResult) expect(renewals float64) SizingFigures {
	client, server := renewals*m.RenewClient.Seconds(), renewals*m.RenewServer.Seconds()
	pairs := (m.Cores - client - server) / (m.PairClient + m.PairServer).Seconds()
	return SizingFigures{
		Pairs: pairs, Renewals: renewals,
		Client: client + pairs*m.PairClient.Seconds(), Server: server + pairs*m.PairServer.Seconds(),
	}
}

// Sizing measures the constants on one server, and then compares.
func Sizing(s *Server, p Plan) (*SizingResult, error) {
	m := &SizingResult{}
	if err := m.measureConstants(s, p); err != nil {
		m.Failure = err.Error()
		return m, s.Clear()
	}
	for _, keep := range p.Sizes {
		m.check(servers{s}, p, SizingCheck{Keep: keep})
		if err := s.Clear(); err != nil {
			return m, err
		}
	}
	if len(p.Sizes) == 0 {
		return m, nil
	}
	cluster, err := openCluster(context.Background(), clusterMasters)
	if err != nil {
		return m, err
	}
	m.check(cluster, p, SizingCheck{Masters: clusterMasters, Keep: p.Sizes[len(p.Sizes)/2]})
	return m, cluster.close()
}

// measureConstants measures rounds of pairs, and then rounds of renewals.
func (m *SizingResult) measureConstants(s *Server, p Plan) error {
	pairs, rounds, err := p.pairsBesideHeld(servers{s}, HoldPlan{})
	if err != nil {
		return err
	}
	m.PairClient, m.PairServer = pairs.ClientCPU(), pairs.ServerCPU()
	m.PairLoop = medianOf(rounds, func(r *pairsRound) *time.Duration { return &r.loop })
	m.PairIn = medianOf(rounds, func(r *pairsRound) *float64 { return &r.in })
	m.PairOut = medianOf(rounds, func(r *pairsRound) *float64 { return &r.out })
	m.Cores = pairs.PairsPerSecond() * (m.PairClient + m.PairServer).Seconds()
	var renewals []renewalCost
	for i := range p.Rounds + 1 {
		cost, err := measureRenewalCost(s, p)
		if err != nil {
			return err
		}
		if i > 0 {
			renewals = append(renewals, cost)
		}
	}
	m.RenewClient = medianOf(renewals, func(c *renewalCost) *time.Duration { return &c.client })
	m.RenewServer = medianOf(renewals, func(c *renewalCost) *time.Duration { return &c.server })
	m.RenewLoop = medianOf(renewals, func(c *renewalCost) *time.Duration { return &c.loop })
	return nil
}

// renewalCost is the processor time of a renewal, and the time of the loop's turns.
type renewalCost struct{ client, server, loop time.Duration }

// measureRenewalCost measures renewals of an engine that does nothing else, each lock every second.
func measureRenewalCost(s *Server, p Plan) (cost renewalCost, err error) {
	err = renewing(s.Addr, p, func(ours *peers.LockwheelClient) error {
		time.Sleep(renewEvery) // first renewals come in an order of their own
		before, err := readUsage(servers{s}, ours)
		if err != nil {
			return err
		}
		time.Sleep(max(p.Round, 2*renewEvery))
		after, err := readUsage(servers{s}, ours)
		if err != nil {
			return err
		}
		renewed := time.Duration(after.renewed - before.renewed)
		if renewed == 0 {
			return errors.New("no lock was renewed in two intervals")
		}
		cost = renewalCost{after.client.Minus(before.client).CPU / renewed, (after.server - before.server) / renewed, (after.loop - before.loop) / renewed}
		return nil
	})
	return cost, err
}

// check measures what a check compares, and adds it.
func (m *SizingResult) check(on servers, p Plan, c SizingCheck) {
	pairs, rounds, err := p.pairsBesideHeld(on, c.Keep)
	if err != nil {
		c.Failure = err.Error()
	} else {
		speed := pairs.PairsPerSecond()
		c.Measured = SizingFigures{
			Pairs: speed, Renewals: medianOf(rounds, func(r *pairsRound) *float64 { return &r.renewals }),
			Client: speed * pairs.ClientCPU().Seconds(), Server: speed * pairs.ServerCPU().Seconds(),
		}
		c.Expected = m.expect(c.Measured.Renewals)
	}
	m.Checks = append(m.Checks, c)
}

// pairsRound is what else happened in a round of pairs.
type pairsRound struct {
	loop     time.Duration // of the loop's turns, per pair
	in, out  float64       // bytes per pair
	renewals float64       // per second
}

// pairsBesideHeld measures rounds of pairs of an engine that holds other locks. The first round does not count.
func (p Plan) pairsBesideHeld(on servers, keep HoldPlan) (pairs *measure.Series, rounds []pairsRound, err error) {
	ours, err := peers.OpenLockwheel(peers.Config{Addr: on[0].Addr, Lease: keep.Lease, RenewInterval: keep.Every, Callers: acquireWorkers})
	if err != nil {
		return nil, nil, err
	}
	defer closeWithTimeout(ours)
	locks := newHeldLocks(heldName, keep.Locks)
	length := p.Round
	if keep.Locks > 0 {
		length = max(length, keep.RenewInterval())
		p.logf("%d locks are acquired, to be renewed every %v", keep.Locks, keep.RenewInterval())
		if err := locks.acquire(ours); err != nil {
			return nil, nil, err
		}
		time.Sleep(keep.RenewInterval())
	}
	pairs = &measure.Series{}
	e := ownNames(peers.Lockwheel.Name, ours, p.ThroughputWorkers, length)
	for i := range p.Rounds + 1 {
		before, err := readUsage(on, ours)
		if err != nil {
			return nil, nil, err
		}
		sample, failed, err := measureRound(on, e)
		if err := errors.Join(failed, err); err != nil {
			return nil, nil, err
		}
		after, err := readUsage(on, ours)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			continue
		}
		pairs.Add(sample)
		each := float64(sample.Pairs)
		rounds = append(rounds, pairsRound{
			loop: time.Duration(float64(after.loop-before.loop) / each), in: (after.in - before.in) / each, out: (after.out - before.out) / each,
			renewals: float64(after.renewed-before.renewed) / sample.Took.Seconds(),
		})
	}
	if lost := locks.lost(); lost > 0 {
		return nil, nil, fmt.Errorf("%d of %d locks were lost", lost, keep.Locks)
	}
	return pairs, rounds, locks.release()
}

// loopTime returns how long the turns of an engine's loop took until now.
func loopTime(ours *peers.LockwheelClient) time.Duration {
	turns := ours.Engine.Stats().TurnTimes
	return time.Duration(turns.Sum * float64(time.Second))
}
