package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

const (
	gatewayAccounts = 10_000
	gatewayBackend  = 5 * time.Millisecond
	gatewayWait     = 2 * time.Second // the longest that a request waits for its lock
	gatewayTurn     = time.Second     // of a contestant, until the next one's
	gatewayCallers  = 256
)

// GatewayResult is how long requests took at an HTTP service that locks with one library. Each time is from the
// request's intended start to the end of its reply.
type GatewayResult struct {
	Name    string
	Rounds  []measure.Quantiles
	Failure string
}

// Gateway sends requests to an HTTP service that locks one of 10 000 accounts around a backend of 5 ms. It sends 1 000
// a second, whether earlier ones are answered or not. The service locks with each library, sends bare round trips in
// place of lock and unlock, or does not lock at all. These take turns of a second.
func Gateway(s *Server, p Plan) ([]*GatewayResult, error) {
	work := startBackend(gatewayBackend)
	defer work.close()
	var visits []*gatewayVisits
	var results []*GatewayResult
	for _, kind := range []peers.ContestantSpec{peers.Lockwheel, peers.LockwheelAsync, peers.Redislock, peers.Redsync, peers.Rueidislock, peers.PingPair, peers.Unlocked} {
		locks, err := kind.Open(peers.Config{Addr: s.Addr, Callers: gatewayCallers, Contended: true})
		if err != nil {
			return nil, err
		}
		defer closeWithTimeout(locks)
		service := &gateway{locks: locks, wait: gatewayWait, backend: work.call}
		service.exclusive = kind.Name != peers.PingPair.Name && kind.Name != peers.Unlocked.Name
		v, err := startVisits(kind.Name, service)
		if err != nil {
			return nil, err
		}
		defer v.close()
		visits, results = append(visits, v), append(results, &v.GatewayResult)
	}
	for round := range p.Rounds + 1 {
		for left := p.Gateway; left > 0; left -= gatewayTurn {
			for _, v := range visits {
				v.turn(min(left, gatewayTurn), rand.New(rand.NewPCG(uint64(round), uint64(left))))
			}
		}
		for _, v := range visits {
			v.endRound(round > 0)
		}
	}
	return results, s.Clear()
}

// gatewayVisits are the requests to a service with one library.
type gatewayVisits struct {
	GatewayResult
	service *gateway
	site    *gatewaySite
	took    []time.Duration // of the round
}

func startVisits(name string, service *gateway) (*gatewayVisits, error) {
	site, err := serveGateway(service)
	return &gatewayVisits{GatewayResult: GatewayResult{Name: name}, service: service, site: site}, err
}

func (v *gatewayVisits) close() { v.site.close() }

// turn sends requests for a while, unless an earlier one failed. The first tenth does not count, because connections
// and caches were idle during the turns of the others.
func (v *gatewayVisits) turn(d time.Duration, accounts *rand.Rand) {
	if v.Failure != "" {
		return
	}
	runtime.GC() // no contestant pays for the garbage of another
	if _, err := v.site.load(requestsOf(d/10), time.Second/perSecond, accounts); err != nil {
		v.Failure = err.Error()
		return
	}
	visits, err := v.site.load(requestsOf(d), time.Second/perSecond, accounts)
	if err == nil {
		err = v.service.check(visits)
	}
	if err != nil {
		v.Failure = err.Error()
		return
	}
	for _, one := range visits {
		v.took = append(v.took, one.took)
	}
}

// requestsOf returns how many requests begin in a while.
func requestsOf(d time.Duration) int { return int(d * perSecond / time.Second) }

// endRound adds a round to the result, unless it does not count.
func (v *gatewayVisits) endRound(counts bool) {
	if counts && v.Failure == "" {
		v.Rounds = append(v.Rounds, measure.Quantiles{
			P50: measure.Median(v.took), P99: measure.Quantile(v.took, 0.99), P999: measure.Quantile(v.took, 0.999),
		})
	}
	v.took = v.took[:0]
}

// check returns an error unless every request was answered with 200 and no two held a lock at once.
func (g *gateway) check(visits []visit) error {
	for _, v := range visits {
		if v.err != nil {
			return v.err
		}
		if v.status != http.StatusOK {
			return fmt.Errorf("a request was answered with %d", v.status)
		}
	}
	if n := g.unreleased.Load(); n > 0 {
		return fmt.Errorf("%d locks could not be unlocked", n)
	}
	if n := g.overlaps.Load(); g.exclusive && n > 0 {
		return fmt.Errorf("%d times two requests held the lock of an account at once", n)
	}
	return nil
}

// Added returns what a lock added to a request in each round: the quantiles less those of requests without a lock in
// the same round. It is nil without either.
func (r *GatewayResult) Added(without *GatewayResult) (added []measure.Quantiles) {
	if without == nil || len(r.Rounds) != len(without.Rounds) {
		return nil
	}
	for i, q := range r.Rounds {
		w := without.Rounds[i]
		added = append(added, measure.Quantiles{P50: q.P50 - w.P50, P99: q.P99 - w.P99, P999: q.P999 - w.P999})
	}
	return added
}

// FindGateway returns the result of a contestant that did not fail, nil if there is none.
func FindGateway(results []*GatewayResult, name string) *GatewayResult {
	for _, r := range results {
		if r.Name == name && r.Failure == "" {
			return r
		}
	}
	return nil
}

// MedianQuantiles returns the median of each quantile over the rounds.
func MedianQuantiles(rounds []measure.Quantiles) measure.Quantiles {
	var p50, p99, p999 []time.Duration
	for _, q := range rounds {
		p50, p99, p999 = append(p50, q.P50), append(p99, q.P99), append(p999, q.P999)
	}
	return measure.Quantiles{P50: measure.Median(p50), P99: measure.Median(p99), P999: measure.Median(p999)}
}
