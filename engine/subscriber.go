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

// subscriber owns the pub/sub connections to a node. It executes orders, one at a time, and posts the messages that
// arrive. It connects for the first order, and again for the next order after a break. Its fields belong to its
// goroutine.
type subscriber struct {
	way     *way
	sharded bool // sharded pub/sub
	node    *node
	to      *mailbox
	orders  <-chan *order
	lender  *lender
	leaver  leaver

	connected  int         // number of connections made so far
	connection *connection // the current connection, or nil
	next       *connection // the connection that is to replace it, or nil
}

// errStranger is the error for a node that the cluster's client does not know.
var errStranger = errors.New("lockwheel: no connection to the node yet")

func (s *subscriber) post(what any) { s.to.post(&mail{what: what}) }

// brokenOff returns a channel that receives when the connection ends. It is nil if there is no connection.
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

// lookGap is how often a subscriber checks which master Sentinel names. Each sender checks as well, after each call.
const lookGap = 200 * time.Millisecond

// looks returns a ticker for look; behind no Sentinel it never fires.
func (s *subscriber) looks() (looks <-chan time.Time, stop func()) {
	if !s.way.master {
		return nil, func() {}
	}
	ticker := time.NewTicker(lookGap)
	return ticker.C, ticker.Stop
}

// look reports to the loop if Sentinel names another master. The connection to the old one may live on without
// messages. It is closed once nothing is subscribed there.
func (s *subscriber) look() {
	if next := s.way.replaced(); next != "" {
		s.post(replaced{next})
	}
}

// carryOut executes an order. Channels are unsubscribed by replacing the connection, so that no message is missed. The
// old connection is then unsubscribed in slices: see leaver. After an error reply of the server the order counts as
// failed. After a connection error nothing is subscribed any more.
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

// connectionFor returns the connection that an order is for, and opens it if necessary. Without a current connection,
// the new one is the current one.
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

// change replaces the current connection by the next one. Messages published before the next one was subscribed arrive
// before the PING reply on the old connection. Without that reply messages may have been missed, and all listeners must
// check again.
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

// errCutOff reports that the connection broke before it was replaced.
var errCutOff = errors.New("the connection for messages broke")

// lose closes all connections. Nothing is subscribed until the next order.
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
	joined  [][]string // all channels requested on it
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
			case m.Kind == "sunsubscribe": // by the server, unasked
				s.post(silenced{s.node, m.Channel, c.number})
			}
		},
	})
	return c, nil
}

// join subscribes to channels: up to orderMost per SUBSCRIBE, or one SSUBSCRIBE per slot.
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

// joinShards continues after a rejection, so that slots which did not move are not delayed. It returns the first
// rejection.
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

// answers reports whether the server still replies on this connection. It blocks until it does, or until the connection
// breaks.
func (c *connection) answers() bool {
	err := c.client.Do(context.Background(), c.client.B().Ping().Build()).Error()
	_, refused := rueidis.IsRedisErr(err)
	return err == nil || refused
}

func (c *connection) close() {
	c.client.Close()
	c.release()
}
