package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

const gatewayText = "An HTTP service locks one of 10 000 accounts for each request, around a backend of 5 ms. 1 000 requests a second begin on time " +
	"whether earlier ones are answered or not, each for an account at random, and count from when they were due. With each library the service takes " +
	"turns of a second. Two PINGs take the places of lock and unlock, which need at least these round trips; without a lock only the backend works. With " + "UnlockAsync a request does not wait for the reply to its unlock, as those of " +
	"the other contestants do. " +
	"Added is a quantile of the requests with a lock minus the same quantile of the requests without one, in the same round. Figures are medians of the rounds, and the last " +
	"columns compare what is added."

// added returns what a contestant's lock added to a request in each round, nil if that was not measured.
func (r *results) added(name string) []measure.Quantiles {
	figures := r.gateway.Figures
	with := bench.FindGateway(figures, name)
	if with == nil || name == peers.Unlocked.Name {
		return nil
	}
	return with.Added(bench.FindGateway(figures, peers.Unlocked.Name))
}

// addedRatio returns the ratio of what two contestants add, unknown unless both add something.
func (r *results) addedRatio(a, b string, quantile func(measure.Quantiles) time.Duration) float64 {
	one, other := quantile(bench.MedianQuantiles(r.added(a))), quantile(bench.MedianQuantiles(r.added(b)))
	if one <= 0 || other <= 0 {
		return unknown
	}
	return float64(one) / float64(other)
}

func (r *results) gatewayGoals() []goal {
	ours, bare := peers.Lockwheel.Name, peers.PingPair.Name
	goals := []goal{
		{"Gateway", "a request: p50 added, to two PINGs", r.addedRatios(ours, bare, medianOf), false, 1.3, " ×"},
		{"Gateway", "a request: p99 added, to two PINGs", r.addedRatios(ours, bare, p99Of), false, 1.5, " ×"},
	}
	for _, peer := range []string{peers.Redislock.Name, peers.Redsync.Name, peers.Rueidislock.Name} {
		goals = append(goals, goal{"Gateway", "a request: p99, to " + peer, r.requestRatios(ours, peer, p99Of), false, 1, " ×"})
	}
	return goals
}

// addedRatios returns the ratio of what two contestants add in each round, unknown if one adds nothing.
func (r *results) addedRatios(a, b string, quantile func(measure.Quantiles) time.Duration) []float64 {
	one, other := roundQuantiles(r.added(a), quantile), roundQuantiles(r.added(b), quantile)
	if slices.ContainsFunc(one, func(x float64) bool { return x <= 0 }) {
		return only(unknown)
	}
	return ratios(one, other)
}

// requestRatios returns the ratio of how long whole requests of two contestants took in each round.
func (r *results) requestRatios(a, b string, quantile func(measure.Quantiles) time.Duration) []float64 {
	one, other := bench.FindGateway(r.gateway.Figures, a), bench.FindGateway(r.gateway.Figures, b)
	if one == nil || other == nil {
		return nil
	}
	return quantileRatios(one.Rounds, other.Rounds, quantile)
}

func (r *results) gatewayTable() string {
	rounds := 0
	for _, g := range r.gateway.Figures {
		rounds = max(rounds, len(g.Rounds))
	}
	t := newTable("", "p50 ms", "p99", "p99.9", "added p50 µs", minMax(rounds), "p99", "min..max", "p99.9", "min..max", "p50 to two PINGs", "p99")
	for _, g := range r.gateway.Figures {
		if g.Failure != "" {
			t.failed(g.Name, g.Failure)
			continue
		}
		q := bench.MedianQuantiles(g.Rounds)
		cells := []string{g.Name, millis(q.P50), millis(q.P99), millis(q.P999)}
		added := r.added(g.Name)
		for _, quantile := range []func(measure.Quantiles) time.Duration{medianOf, p99Of, p999Of} {
			cells = append(cells, addedCell(added, quantile), quantileRange(added, quantile))
		}
		for _, quantile := range []func(measure.Quantiles) time.Duration{medianOf, p99Of} {
			cells = append(cells, timesOrDash(r.addedRatio(g.Name, peers.PingPair.Name, quantile)))
		}
		t.row(cells...)
	}
	return t.String()
}

func addedCell(added []measure.Quantiles, quantile func(measure.Quantiles) time.Duration) string {
	if len(added) == 0 {
		return "–"
	}
	return micros(quantile(bench.MedianQuantiles(added)))
}

func (r *results) gatewayChart() *barChart {
	g := quantiles("What a lock adds to a request, beside a backend of 5 ms", "p50", "p99", "p99.9")
	for _, one := range r.gateway.Figures {
		added := r.added(one.Name)
		if len(added) == 0 {
			continue
		}
		q := bench.MedianQuantiles(added)
		for i, d := range []time.Duration{q.P50, q.P99, q.P999} {
			g.put(one.Name, i, inUnits(d, time.Microsecond))
		}
	}
	return g
}

func (r *results) gatewayLine(t *table) {
	if len(r.added(peers.Lockwheel.Name)) == 0 {
		return
	}
	row := func(name string) string { return addedCell(r.added(name), medianOf) + " µs" }
	text := row(peers.Lockwheel.Name)
	for _, name := range []string{peers.LockwheelAsync.Name, peers.PingPair.Name, peers.Redislock.Name, peers.Redsync.Name, peers.Rueidislock.Name} {
		if len(r.added(name)) > 0 {
			text += "; " + name + " " + row(name)
		}
	}
	t.section("a request to an HTTP service, 1 000 a second: p50 that the lock adds", text, "Gateway")
}

func gatewaySteps(into *[]*bench.GatewayResult, s *bench.Server, p bench.Plan) []step {
	return []step{{fmt.Sprintf("1 000 requests a second, %v in a round", p.Gateway), bench.Estimate{Plan: p}.Gateway(), func() (err error) {
		*into, err = bench.Gateway(s, p)
		return err
	}}}
}
