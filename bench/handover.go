package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// HandoverLatency is the time from a release to the grant for a waiter in another client.
type HandoverLatency struct {
	Name    string
	Took    measure.Histogram
	Turns   []measure.Quantiles // of each turn, of which there are the plan's Rounds
	Failure string
}

const (
	warmUp          = 5                    // hand-overs that do not count
	waiterSetup     = 5 * time.Millisecond // for the waiter to be rejected and to subscribe
	handoverTimeout = 5 * time.Second      // after which a waiter is considered lost
)

// HandoverPlain is the name of hand-overs over plain TCP connections: what the protocol needs, which is a release, a
// message and an acquire, with little in between.
const HandoverPlain = "plain TCP: release, message, acquire"

// Wake passes one name back and forth between two clients. For comparison it hands the name over between plain TCP
// connections (HandoverPlain), and sends bare round trips (PingRueidis). The contestants take turns.
func Wake(s *Server, p Plan) ([]*HandoverLatency, error) {
	client, err := peers.OpenPlain(s.Addr)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ping, plain := &HandoverLatency{Name: PingRueidis}, &HandoverLatency{Name: HandoverPlain}
	latencies := []*HandoverLatency{{Name: peers.Lockwheel.Name}, {Name: peers.Rueidislock.Name}, {Name: peers.Redsync.Name}}
	for range p.Rounds {
		times := (p.Handovers + p.Rounds - 1) / p.Rounds
		for i, kind := range []peers.ContestantSpec{peers.Lockwheel, peers.Rueidislock, peers.Redsync} {
			if err := latencies[i].runRound(s, func() error { return latencies[i].measure(s, times, kind) }); err != nil {
				return nil, err
			}
		}
		if err := plain.runRound(s, func() error { return plain.measurePlain(s, times) }); err != nil {
			return nil, err
		}
		if err := ping.pings(times, client); err != nil {
			return nil, err
		}
	}
	return append(latencies, plain, ping), nil
}

// runRound runs a contestant's turn, unless it failed before.
func (w *HandoverLatency) runRound(s *Server, measure func() error) error {
	if w.Failure != "" {
		return nil
	}
	if err := withTimeout("handing over", stepTimeout, measure); err != nil {
		w.Failure = err.Error()
	}
	return s.Clear()
}

func (w *HandoverLatency) pings(times int, client rueidis.Client) error {
	var turn measure.Histogram
	for range times {
		pause()
		began := time.Now()
		if err := pingWith(context.Background(), client); err != nil {
			return err
		}
		turn.Record(time.Since(began))
	}
	w.add(&turn)
	return nil
}

func (w *HandoverLatency) add(turn *measure.Histogram) {
	w.Took.Add(turn)
	w.Turns = append(w.Turns, turn.Quantiles())
}

func (w *HandoverLatency) measure(s *Server, times int, kind peers.ContestantSpec) error {
	var sides [2]peers.Worker
	for i := range sides {
		contestant, err := kind.Open(peers.Config{Addr: s.Addr, Callers: 1, Contended: true})
		if err != nil {
			return err
		}
		defer closeWithTimeout(contestant)
		sides[i] = contestant.Worker("lockwheel-bench-wake", i)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := sides[0].Lock(ctx); err != nil {
		return err
	}
	var turn measure.Histogram
	for i := range times + warmUp {
		took, err := handover(ctx, sides[i%2], sides[(i+1)%2])
		if err != nil {
			return err
		}
		if i >= warmUp {
			turn.Record(took)
		}
	}
	w.add(&turn)
	return sides[(times+warmUp)%2].Unlock()
}

// handover unlocks the name, which holder has, while waiter waits for it, and returns when waiter has it.
func handover(ctx context.Context, holder, waiter peers.Worker) (time.Duration, error) {
	type grant struct {
		at  time.Time
		err error
	}
	granted := make(chan grant, 1)
	go func() {
		err := waiter.Lock(ctx)
		granted <- grant{time.Now(), err}
	}()
	pause()
	released := time.Now()
	if err := holder.Unlock(); err != nil {
		return 0, err
	}
	select {
	case g := <-granted:
		return g.at.Sub(released), g.err
	case <-time.After(handoverTimeout):
		return 0, errors.New("hangs: a waiter was not granted a free lock within " + handoverTimeout.String())
	}
}

// pause gives a waiter time to subscribe. Its length varies, so it does not synchronize with contestants that poll.
func pause() { time.Sleep(waiterSetup + rand.N(waiterSetup)) }

// measurePlain hands a name over from one connection to another, which has subscribed to the lock's channel.
func (w *HandoverLatency) measurePlain(s *Server, times int) error {
	acquireSHA, releaseSHA, err := loadScripts(s.Addr)
	if err != nil {
		return err
	}
	var ends [3]*redistest.Conn // of the holder, of the waiter and of the waiter's subscription
	for i := range ends {
		if ends[i], err = redistest.Dial(s.Addr); err != nil {
			return err
		}
		defer ends[i].Close()
	}
	holder, waiter, messages := ends[0], ends[1], ends[2]
	name := "lockwheel-bench-wake"
	channel := peers.DirectChannel(name)
	if _, err := messages.Do("SUBSCRIBE", channel); err != nil {
		return err
	}
	acquire := func(by *redistest.Conn, id string) error {
		reply, err := by.Do("EVALSHA", acquireSHA, 1, name, id, leaseText)
		if err == nil && reply != int64(peers.DirectGranted) {
			err = fmt.Errorf("a free lock was not granted: %v", reply)
		}
		return err
	}
	release := func(by *redistest.Conn, id string) error {
		_, err := by.Do("EVALSHA", releaseSHA, 1, name, id, channel)
		return err
	}
	var turn measure.Histogram
	for i := range times + warmUp {
		if err := acquire(holder, "holder"); err != nil {
			return err
		}
		granted := make(chan error, 1)
		var at time.Time
		go func() {
			_, err := messages.Receive(handoverTimeout)
			if err == nil {
				err = acquire(waiter, "waiter")
			}
			at = time.Now()
			granted <- err
		}()
		pause()
		released := time.Now()
		if err := errors.Join(release(holder, "holder"), <-granted, release(waiter, "waiter")); err != nil {
			return err
		}
		if _, err := messages.Receive(handoverTimeout); err != nil { // of the waiter's own release
			return err
		}
		if i >= warmUp {
			turn.Record(at.Sub(released))
		}
	}
	w.add(&turn)
	return nil
}
