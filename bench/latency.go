package bench

import (
	"context"
	"runtime"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// The names of what one caller's latency is compared with. With a context that can end, as that of a request,
// rueidis hands every later call of that client to goroutines of its own. Before that, the caller writes and reads by
// itself. A lock that ends with its caller's context has to be compared with the first.
const (
	DirectEnding = "direct, context that can end"
	DirectBare   = "direct, context that cannot end"
	PingEnding   = "PING, rueidis, context that can end"
	PingRueidis  = "PING, rueidis, context that cannot end"
	PingPlain    = "PING, plain TCP"
)

// SingleCaller is the latency of one caller: of a lock and of an unlock, or of a bare round trip in both places.
type SingleCaller struct {
	Name         string
	Lock, Unlock measure.Histogram
	Locks        []measure.Quantiles // of a lock, in each round
	Unlocks      []measure.Quantiles
	Failure      string
}

// OneCaller lets one caller lock and unlock one name repeatedly, with every contestant for which latency is measured,
// and sends bare round trips for comparison.
func OneCaller(s *Server, p Plan) ([]*SingleCaller, error) {
	ending, end := context.WithCancel(context.Background())
	defer end()
	var callers []*caller
	for _, c := range []struct {
		name string
		kind peers.ContestantSpec
		ctx  context.Context
	}{
		{peers.Lockwheel.Name, peers.Lockwheel, ending},
		{peers.LockwheelSleeps.Name, peers.LockwheelSleeps, ending},
		{DirectEnding, peers.Direct, ending},
		{peers.Rueidislock.Name, peers.Rueidislock, ending},
		{DirectBare, peers.Direct, context.Background()},
	} {
		contestant, err := c.kind.Open(peers.Config{Addr: s.Addr, Callers: 1})
		if err != nil {
			return nil, err
		}
		defer closeWithTimeout(contestant)
		w := contestant.Worker(nameOf(0), 0)
		callers = append(callers, &caller{
			SingleCaller: &SingleCaller{Name: c.name},
			lock:         func() error { return w.Lock(c.ctx) },
			unlock:       w.Unlock,
		})
	}
	pipelined, err := peers.OpenPlain(s.Addr)
	if err != nil {
		return nil, err
	}
	defer pipelined.Close()
	client, err := peers.OpenPlain(s.Addr)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	plain, err := redistest.Dial(s.Addr)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	callers = append(callers,
		pingCaller(PingEnding, func() error { return pingWith(ending, pipelined) }),
		pingCaller(PingRueidis, func() error { return pingWith(context.Background(), client) }),
		pingCaller(PingPlain, func() error { _, err := plain.Do("PING"); return err }))

	alone := make([]*SingleCaller, len(callers))
	for i, c := range callers {
		alone[i] = c.SingleCaller
	}
	for round := range p.Rounds + 1 {
		runtime.GC()
		for left := p.Calls; left > 0; left -= sequentialCalls {
			for _, c := range callers {
				c.runRound(min(left, sequentialCalls), round > 0)
			}
		}
		for _, c := range callers {
			if round > 0 && c.Failure == "" {
				c.endRound()
			}
		}
	}
	return alone, nil
}

// sequentialCalls is how many calls one caller makes before the next one's turn. The cost of waking a thread changes
// now and then for a while; short turns give all callers the same share of both.
const sequentialCalls = 50

// runRound runs a caller's turn, unless it failed before.
func (c *caller) runRound(times int, counts bool) {
	if c.Failure != "" {
		return
	}
	if err := withTimeout("one caller", stepTimeout, func() error { return c.call(times, counts) }); err != nil {
		c.Failure = err.Error()
	}
}

func pingWith(ctx context.Context, client rueidis.Client) error {
	return client.Do(ctx, client.B().Ping().Build()).Error()
}

// caller is one contestant's caller.
type caller struct {
	*SingleCaller
	lock, unlock func() error

	locks, unlocks measure.Histogram // of the round
}

func pingCaller(name string, ping func() error) *caller {
	return &caller{SingleCaller: &SingleCaller{Name: name}, lock: ping, unlock: ping}
}

// call locks and unlocks this many times; a first round does not count.
func (c *caller) call(times int, counts bool) error {
	for range times {
		began := time.Now()
		err := c.lock()
		locked := time.Now()
		if err == nil {
			err = c.unlock()
		}
		unlocked := time.Now()
		if err != nil {
			return err
		}
		if counts {
			c.locks.Record(locked.Sub(began))
			c.unlocks.Record(unlocked.Sub(locked))
		}
	}
	return nil
}

// endRound adds a round to the result.
func (c *caller) endRound() {
	c.Lock.Add(&c.locks)
	c.Unlock.Add(&c.unlocks)
	c.Locks, c.Unlocks = append(c.Locks, c.locks.Quantiles()), append(c.Unlocks, c.unlocks.Quantiles())
	c.locks, c.unlocks = measure.Histogram{}, measure.Histogram{}
}
