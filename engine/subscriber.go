package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

// subscriber owns the pub/sub connection to a node: it carries out orders, one at a time, and posts what
// it hears. It connects when there is something to hear, and again when the next order comes after a break.
type subscriber struct {
	way     *way
	sharded bool // the channels are those of the node's shard
	node    *node
	to      *mailbox
	orders  <-chan *order

	lender     *lender
	connection *connection // nil when there is none
}

// errStranger is for a node that the cluster's client has not heard of.
var errStranger = errors.New("lockwheel: no connection to the node yet")

func (s *subscriber) post(what any) { s.to.post(&mail{what: what}) }

// broken tells when the connection ends; it never does when there is none.
func (s *subscriber) broken() <-chan error {
	if s.connection == nil {
		return nil
	}
	return s.connection.broken
}

func (s *subscriber) run() {
	defer s.lender.leave()
	defer s.disconnect()
	looks, stop := s.looks()
	defer stop()
	for {
		select {
		case o, open := <-s.orders:
			if !open {
				return
			}
			s.post(orderDone{s.node, ofOrder(s.carryOut(o))})
		case <-s.broken():
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

// carryOut leaves and joins channels. Channels are left by taking another connection without them, so
// that nothing is missed meanwhile: rueidis v1.0.79 writes a PING behind each UNSUBSCRIBE and panics if
// the server refuses both, as it does while a script keeps it busy. After an error nothing of the order
// is done; after one of the connection nothing is listened to any more.
func (s *subscriber) carryOut(o *order) error {
	if len(o.leave) > 0 {
		return s.replace(o)
	}
	if s.connection == nil {
		connection, err := s.connect()
		if err != nil {
			return err
		}
		s.connection = connection
	}
	err := s.connection.join(o.join)
	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		s.lose()
	}
	return err
}

// replace listens to what stays and to what is new on another connection, and then closes this one.
func (s *subscriber) replace(o *order) error {
	if len(o.keep) == 0 {
		s.disconnect()
		return nil
	}
	next, err := s.connect()
	if err != nil {
		return err
	}
	if err := next.join(o.keep); err != nil {
		next.close()
		s.way.known = nil
		if s.sharded {
			s.lose() // some of it was confirmed, on a connection that is none any more
		}
		return err
	}
	// What was published before the new connection listened comes before this answer. Without one, messages
	// may have been missed, and everybody is to try again; what the new one listens to, it goes on listening to.
	if s.connection != nil && !s.connection.answers() {
		s.post(deaf{s.node})
		for _, channel := range o.keep {
			s.post(subscribes{s.node, channel})
		}
	}
	s.disconnect()
	s.connection = next
	return nil
}

// lose lets go of a connection: nothing is heard until it is replaced.
func (s *subscriber) lose() {
	s.disconnect()
	s.way.known = nil
	s.post(deaf{s.node})
}

func (s *subscriber) disconnect() {
	if s.connection != nil {
		s.connection.close()
		s.connection = nil
	}
}

// connection is one pub/sub connection.
type connection struct {
	client  rueidis.DedicatedClient
	sharded bool
	release func()
	broken  <-chan error
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
	broken := lent.client.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { s.post(hears{s.node, m.Channel}) },
		OnSubscription: func(m rueidis.PubSubSubscription) {
			switch m.Kind {
			case "subscribe", "ssubscribe":
				s.post(subscribes{s.node, m.Channel})
			case "sunsubscribe": // unasked: we never leave like this
				s.post(silenced{s.node, m.Channel})
			}
		},
	})
	return &connection{client: lent.client, sharded: s.sharded, release: lent.release, broken: broken}, nil
}

// join subscribes to channels, so many a command, or those of a slot a command.
func (c *connection) join(channels []string) error {
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
