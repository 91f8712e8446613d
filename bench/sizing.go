package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// SizingResult has the constants of the cost model, as measured with pairs alone and with renewals alone, and checks of
// what it predicts for both together. The model: client and servers share the processors, and callers that do not wait
// use as much processor time as in the measurement of pairs. A pair and a renewal cost more the more locks there are,
// because less of them is in the caches: Constants.
type SizingResult struct {
	One, Cluster SizingConstants // with few locks, of one server and of a cluster: there each slot has a call of its own
	Many         SizingConstants // with many locks, of one server; zero: not measured
	ClusterMore  SizingConstants // with more locks, of a cluster, and so more of each slot; zero: not measured
	FewLocks     int             // of One and of Cluster
	ManyLocks    int
	MoreLocks    int     // of ClusterMore
	Waiter       float64 // live bytes of the client for a caller that waits, with its name
	Checks       []SizingCheck
	Failure      string // no constants of one server
}

// Constants returns what a pair and a renewal cost with this many locks on one server, or on a cluster of this many
// masters. Between the two sizes that were measured the costs grow with the logarithm of the number, and beyond them
// not at all. In a cluster they also grow as they do on one server with a master's part of the locks.
func (m *SizingResult) Constants(locks float64, masters int) SizingConstants {
	c := m.One
	if masters > 1 {
		c = m.Cluster.between(&m.ClusterMore, logPart(locks, m.FewLocks, m.MoreLocks))
		locks /= float64(masters)
	}
	part := logPart(locks, m.FewLocks, m.ManyLocks)
	c.Pair = c.Pair.grown(m.One.Pair, m.Many.Pair, part)
	c.Renewal = c.Renewal.grown(m.One.Renewal, m.Many.Renewal, part)
	c.Cores += part * (m.Many.Cores - m.One.Cores)
	return c
}

// logPart returns how far a number is on the way between two others, by its logarithm: from 0 to 1.
func logPart(n float64, from, to int) float64 {
	if to <= from || from <= 0 {
		return 0
	}
	return min(max(math.Log(n/float64(from))/math.Log(float64(to)/float64(from)), 0), 1)
}

// between returns constants on the way from these to others.
func (m *SizingConstants) between(other *SizingConstants, part float64) SizingConstants {
	return SizingConstants{
		Pair: m.Pair.between(&other.Pair, part), Renewal: m.Renewal.between(&other.Renewal, part), Cores: m.Cores + part*(other.Cores-m.Cores),
	}
}

func (c *SizingCost) between(other *SizingCost, part float64) SizingCost {
	time := func(a, b time.Duration) time.Duration { return a + time.Duration(part*float64(b-a)) }
	return SizingCost{
		Client: time(c.Client, other.Client), Server: time(c.Server, other.Server), Loop: time(c.Loop, other.Loop),
		In: c.In + part*(other.In-c.In), Out: c.Out + part*(other.Out-c.Out),
	}
}

// grown returns the cost, grown by a part of what few and many differ by. Bytes do not grow.
func (c SizingCost) grown(few, many SizingCost, part float64) SizingCost {
	grow := func(d, few, many time.Duration) time.Duration {
		if few <= 0 {
			return d
		}
		return time.Duration(float64(d) * (1 + part*(float64(many)/float64(few)-1)))
	}
	c.Client, c.Server, c.Loop = grow(c.Client, few.Client, many.Client), grow(c.Server, few.Server, many.Server), grow(c.Loop, few.Loop, many.Loop)
	return c
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
	m := &SizingResult{FewLocks: p.WithHeld.Locks, ManyLocks: p.ManyHeld.Locks}
	one := servers{s}
	err := m.One.measure(one, p, p.renewedOften())
	if err == nil && p.ManyHeld.Locks > 0 {
		err = m.Many.measure(one, p, p.ManyHeld)
	}
	if err == nil {
		m.Waiter, err = measureWaiters(s, p.WithHeld.Locks)
	}
	if err != nil {
		m.Failure = err.Error()
		return m, s.Clear()
	}
	for _, keep := range p.Sizes {
		m.check(one, p, SizingCheck{Keep: keep})
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
		err = m.Cluster.measure(cluster, p, p.renewedOften())
	}
	if err == nil && check.Keep.Locks > m.FewLocks {
		m.MoreLocks = check.Keep.Locks
		err = m.ClusterMore.measure(cluster, p, check.Keep)
	}
	if err != nil {
		check.Failure = err.Error()
		m.Checks = append(m.Checks, check)
	} else {
		m.check(cluster, p, check)
	}
	return m, cluster.close()
}

// measure measures rounds of pairs beside locks of which none is renewed meanwhile, and then rounds of their renewals
// alone.
func (m *SizingConstants) measure(on servers, p Plan, keep HoldPlan) error {
	pairs, err := p.pairsBesideHeld(on, HoldPlan{Locks: keep.Locks, Lease: 24 * time.Hour})
	if err != nil {
		return err
	}
	pair := medianCost(pairs.costs)
	renewals, err := measureRenewalCosts(on, p, keep)
	if err != nil {
		return err
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

// measureRenewalCosts measures rounds of renewals of an engine that does nothing else.
func measureRenewalCosts(on servers, p Plan, keep HoldPlan) (costs []SizingCost, err error) {
	p.logf("%d locks are acquired, to be renewed every %v", keep.Locks, keep.RenewInterval())
	err = renewing(on[0].Addr, keep, func(ours *peers.LockwheelClient) error {
		time.Sleep(keep.RenewInterval()) // first renewals come in an order of their own
		before, err := readUsage(on, ours)
		if err != nil {
			return err
		}
		for range p.Rounds {
			time.Sleep(max(p.Round, 2*renewEvery, keep.RenewInterval()))
			after, err := readUsage(on, ours)
			if err != nil {
				return err
			}
			renewed := after.renewed - before.renewed
			if renewed == 0 {
				return errors.New("no lock was renewed in an interval")
			}
			costs = append(costs, after.costSince(before, renewed))
			before = after
		}
		return nil
	})
	return costs, err
}

// measureWaiters returns the live bytes of an engine for each of many callers that wait, each for a lock that another
// engine holds.
func measureWaiters(s *Server, waiters int) (each float64, err error) {
	var engines [2]*peers.LockwheelClient // the holder and the waiter
	for i := range engines {
		if engines[i], err = peers.OpenLockwheel(peers.Config{Addr: s.Addr, Lease: 24 * time.Hour, Callers: acquireWorkers}); err != nil {
			return 0, err
		}
		defer closeWithTimeout(engines[i])
	}
	locks := newHeldLocks(heldName, waiters)
	if err := locks.acquire(engines[0]); err != nil {
		return 0, err
	}
	ours := engines[1].Engine
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pending := make([]*lockwheel.Pending, waiters)
	wait := func(from, to int) error {
		for i := from; i < to; i++ {
			pending[i] = ours.Mutex(heldName + "-" + strconv.Itoa(i)).LockAsync(ctx)
		}
		for deadline := time.Now().Add(stepTimeout); ; time.Sleep(10 * time.Millisecond) {
			now := ours.Stats()
			if now.Waiting == int64(to) && now.Subscriptions >= int64(to) && now.InFlight == 0 {
				return nil
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%d of %d callers wait", now.Waiting, to)
			}
		}
	}
	early := waiters / 10 // connections, queues and buffers are there before the others wait
	if err := wait(0, early); err != nil {
		return 0, err
	}
	before := leastHeap()
	if err := wait(early, waiters); err != nil {
		return 0, err
	}
	each = float64(leastHeap()-before) / float64(waiters-early)
	runtime.KeepAlive(pending)
	cancel()
	return each, locks.release()
}

// check measures what a check compares, and adds it.
func (m *SizingResult) check(on servers, p Plan, c SizingCheck) {
	pairs, err := p.pairsBesideHeld(on, c.Keep)
	if err != nil {
		c.Failure = err.Error()
	} else {
		speed := pairs.PairsPerSecond()
		c.Measured = SizingFigures{
			Pairs: speed, Renewals: measure.Median(pairs.renewals),
			Client: speed * pairs.ClientCPU().Seconds(), Server: speed * pairs.ServerCPU().Seconds(),
		}
		constants := m.Constants(float64(c.Keep.Locks), c.Masters)
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
		p.logf("%d locks are acquired, to be renewed every %v", keep.Locks, keep.RenewInterval())
		if err := locks.acquire(ours); err != nil {
			return nil, err
		}
		if keep.RenewInterval() <= time.Minute { // otherwise none is renewed meanwhile
			length = max(length, keep.RenewInterval())
			time.Sleep(keep.RenewInterval())
		}
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
