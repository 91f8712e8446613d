package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// subscriber owns the pub/sub connections to a node: it carries out orders, one at a time, and posts what
// it hears. It connects when there is something to hear, and again when the next order comes after a break.
type subscriber struct {
	way     *way
	sharded bool // the channels are those of the node's shard
	node    *node
	to      *mailbox
	orders  <-chan *order
	lender  *lender
	leaver  leaver

	connected  int         // connections so far
	connection *connection // nil when there is none
	next       *connection // that is to replace it; nil when none is
}

// errStranger is for a node that the cluster's client has not heard of.
var errStranger = errors.New("lockwheel: no connection to the node yet")

func (s *subscriber) post(what any) { s.to.post(&mail{what: what}) }

// broken tells when the connection ends; it never does when there is none.
func (c *connection) brokenOff() <-chan error {
	if c == nil {
		return nil
	}
	return c.broken
}

func (s *subscriber) run() {
	defer s.lender.leave()
	defer s.leaveBoth()
	looks, stop := s.looks()
	defer stop()
	for {
		select {
		case o, open := <-s.orders:
			if !open {
				return
			}
			done := s.carryOut(o)
			done.err = ofOrder(done.err)
			s.post(done)
		case <-s.connection.brokenOff():
			s.lose()
		case <-s.next.brokenOff():
			s.lose()
		case <-looks:
			s.look()
		}
	}
}

// lookGap is how often a subscriber looks whom Sentinel has named. Who carries a call looks as well, behind it.
const lookGap = 200 * time.Millisecond

// looks tells when to look: never where Sentinel has no say.
func (s *subscriber) looks() (looks <-chan time.Time, stop func()) {
	if !s.way.master {
		return nil, func() {}
	}
	ticker := time.NewTicker(lookGap)
	return ticker.C, ticker.Stop
}

// look says so if the master was replaced. The connection to it may live on, and there is nothing more to be heard there: it
// is closed when nothing is to be heard from this node any more.
func (s *subscriber) look() {
	if next := s.way.replaced(); next != "" {
		s.post(replaced{next})
	}
}

// carryOut joins and leaves channels. Channels are left by taking another connection without them, so that nothing is missed
// meanwhile, and then in slices on the one that nothing needs any more: see leaver. After an error of the server nothing of the order
// is done; after one of a connection nothing is listened to any more.
func (s *subscriber) carryOut(o *order) (done orderDone) {
	done.node = s.node
	if o.leave {
		s.leaveBoth()
		done.gone = s.connected
		return done
	}
	to, err := s.connectionFor(o)
	if err != nil {
		done.err = err
		return done
	}
	done.on = to.number
	err = to.join(o.join)
	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		s.lose()
	}
	if err == nil && o.change {
		err = s.change()
		done.gone = to.number - 1
	}
	done.err = err
	return done
}

// connectionFor is the connection that an order is about. The first that there is is never the next one.
func (s *subscriber) connectionFor(o *order) (*connection, error) {
	at := &s.connection
	if o.next && s.connection != nil {
		at = &s.next
	}
	if *at == nil {
		connection, err := s.connect()
		if err != nil {
			return nil, err
		}
		*at = connection
	}
	return *at, nil
}

// change takes the next connection in place of the one before. What was published before the next one listened comes before the answer
// of that one. Without an answer messages may have been missed, and everybody is to try again.
func (s *subscriber) change() error {
	if s.next == nil {
		return nil
	}
	if !s.connection.answers() {
		s.lose()
		return errCutOff
	}
	before := s.connection
	s.connection, s.next = s.next, nil
	s.leaver.leave(before)
	return nil
}

// errCutOff is for a connection that broke before another one replaced it.
var errCutOff = errors.New("the connection for messages broke")

// lose lets go of all connections: nothing is heard until there is another one.
func (s *subscriber) lose() {
	for _, c := range []*connection{s.connection, s.next} {
		if c != nil {
			c.close()
		}
	}
	s.connection, s.next = nil, nil
	s.way.known = nil
	s.post(deaf{s.node, s.connected})
}

func (s *subscriber) leaveBoth() {
	for _, c := range []*connection{s.connection, s.next} {
		if c != nil {
			s.leaver.leave(c)
		}
	}
	s.connection, s.next = nil, nil
}

// connection is one pub/sub connection.
type connection struct {
	client  rueidis.DedicatedClient
	number  int
	sharded bool
	release func()
	broken  <-chan error
	joined  [][]string // the channels that it was to have
	leaving atomic.Pointer[leaving]
}

func (s *subscriber) connect() (*connection, error) {
	node := s.way.node()
	if node == nil {
		s.look()
		return nil, errStranger
	}
	lent, err := s.lender.lend(node, freeFor)
	if err != nil {
		return nil, err
	}
	s.connected++
	c := &connection{client: lent.client, number: s.connected, sharded: s.sharded, release: lent.release}
	c.broken = lent.client.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) {
			if c.leaving.Load() == nil {
				s.post(hears{s.node, m.Channel})
			}
		},
		OnSubscription: func(m rueidis.PubSubSubscription) {
			switch left := c.leaving.Load(); {
			case left != nil:
				left.note(m.Kind)
			case m.Kind == "subscribe", m.Kind == "ssubscribe":
				s.post(subscribes{s.node, m.Channel, c.number})
			case m.Kind == "sunsubscribe": // unasked
				s.post(silenced{s.node, m.Channel, c.number})
			}
		},
	})
	return c, nil
}

// join subscribes to channels, so many a command, or those of a slot a command.
func (c *connection) join(channels []string) error {
	c.joined = append(c.joined, channels)
	if c.sharded {
		return c.joinShards(channels)
	}
	for some := range slices.Chunk(channels, orderMost) {
		if err := c.client.Do(context.Background(), c.client.B().Subscribe().Channel(some...).Build()).Error(); err != nil {
			return err
		}
	}
	return nil
}

// joinShards goes on after a refusal: slots that did not move are not to wait for one that did.
func (c *connection) joinShards(channels []string) (refused error) {
	bySlot := make(map[uint16][]string)
	for _, channel := range channels {
		slot := slotOf(channel)
		bySlot[slot] = append(bySlot[slot], channel)
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(bySlot)), mostCalls) {
		calls := make([]rueidis.Completed, len(some))
		for i, slot := range some {
			calls[i] = c.client.B().Ssubscribe().Channel(bySlot[slot]...).Build()
		}
		for _, result := range c.client.DoMulti(context.Background(), calls...) {
			err := result.Error()
			if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
				return err
			}
			refused = cmp.Or(refused, err)
		}
	}
	return refused
}

// answers reports whether the server still answers here. It blocks until it does, or the break is noticed.
func (c *connection) answers() bool {
	err := c.client.Do(context.Background(), c.client.B().Ping().Build()).Error()
	_, refused := rueidis.IsRedisErr(err)
	return err == nil || refused
}

func (c *connection) close() {
	c.client.Close()
	c.release()
}
