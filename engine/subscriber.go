package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// subscriber owns the pub/sub connections to a node. It executes orders, one at a time, and posts the messages that
// arrive. It connects for the first order, and again for the next order after a break. startWorkers makes one, with all
// fields before connCount. It belongs to its goroutine, which runs run; the callbacks of its connections use only what
// is immutable.
type subscriber struct {
	nodeConn     *nodeConn
	sharded      bool // sharded pub/sub
	node         *coordinator.Node
	box          *mpsc.Mailbox[any]
	orders       <-chan *coordinator.Order
	lender       *lender
	poolTimeout  time.Duration // how long a connection may take
	unsubscriber unsubscriber
	own          *ownMessages

	connCount  int         // number of connections made so far
	connection *connection // the current connection, or nil
	next       *connection // the connection that is to replace it, or nil
}

func (s *subscriber) post(what any) { s.box.Post(&coordinator.LoopMessage{Value: what}) }

// brokenChan returns a channel that receives when the connection ends. It is nil if there is no connection.
func (c *connection) brokenChan() <-chan error {
	if c == nil {
		return nil
	}
	return c.broken
}

// run executes orders until their channel is closed, and posts what becomes of them. If a connection breaks it drops
// both: an order may have used either, and the loop has all channels subscribed again. Behind Sentinel it also polls
// for another master. At the end it leaves the connections to the unsubscriber.
func (s *subscriber) run() {
	defer s.lender.abandon()
	defer s.retireConns()
	looks, stop := s.masterTicker()
	defer stop()
	for {
		select {
		case o, open := <-s.orders:
			if !open {
				return
			}
			done := s.execute(o)
			done.Err = orderError(done.Err)
			s.post(done)
		case <-s.connection.brokenChan():
			s.dropConns()
		case <-s.next.brokenChan():
			s.dropConns()
		case <-looks:
			s.checkMaster()
		}
	}
}

// masterPollInterval is how often a subscriber checks which master Sentinel names. Each sender checks as well, after
// each call.
const masterPollInterval = 200 * time.Millisecond

// masterTicker returns a ticker for checkMaster; behind no Sentinel it never fires.
func (s *subscriber) masterTicker() (looks <-chan time.Time, stop func()) {
	if !s.nodeConn.sentinelMaster {
		return nil, func() {}
	}
	ticker := time.NewTicker(masterPollInterval)
	return ticker.C, ticker.Stop
}

// checkMaster reports to the loop if Sentinel names another master. The connection to the old one may live on without
// messages. It is closed once nothing is subscribed there.
func (s *subscriber) checkMaster() {
	if next := s.nodeConn.newMaster(); next != "" {
		s.post(coordinator.MasterChanged{Address: next})
	}
}

// execute executes an order. Channels are unsubscribed by replacing the connection, so that no message is missed. The
// old connection is then unsubscribed in slices: see unsubscriber. After an error reply of the server the order counts
// as failed. After a connection error nothing is subscribed any more.
func (s *subscriber) execute(o *coordinator.Order) (done coordinator.OrderDone) {
	done.Node = s.node
	if o.CloseConns {
		s.retireConns()
		done.GoneConn = s.connCount
		return done
	}
	to, err := s.connectionFor(o)
	if err != nil {
		done.Err = err
		return done
	}
	done.Conn = to.number
	err = to.subscribe(o.Channels)
	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		s.dropConns()
	}
	if err == nil && o.SwitchConn {
		err = s.switchConn()
		done.GoneConn = to.number - 1
	}
	done.Err = err
	return done
}

// connectionFor returns the connection that an order is for, and opens it if necessary. Without a current connection,
// the new one is the current one.
func (s *subscriber) connectionFor(o *coordinator.Order) (*connection, error) {
	at := &s.connection
	if o.OnNextConn && s.connection != nil {
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

// switchConn replaces the current connection by the next one. Messages published before the next one was subscribed
// arrive before the PING reply on the old connection. Without that reply messages may have been missed, and all
// listeners must check again.
func (s *subscriber) switchConn() error {
	if s.next == nil {
		return nil
	}
	if !s.connection.ping() {
		s.dropConns()
		return errConnLost
	}
	before := s.connection
	s.connection, s.next = s.next, nil
	s.unsubscriber.retire(before)
	return nil
}

// errConnLost reports that the connection broke before it was replaced.
var errConnLost = errors.New("the connection for messages broke")

// dropConns closes all connections. Nothing is subscribed until the next order.
func (s *subscriber) dropConns() {
	for _, c := range []*connection{s.connection, s.next} {
		if c != nil {
			c.close()
		}
	}
	s.connection, s.next = nil, nil
	s.nodeConn.cached = nil
	s.post(coordinator.PubsubDown{Node: s.node, GoneConn: s.connCount})
}

func (s *subscriber) retireConns() {
	for _, c := range []*connection{s.connection, s.next} {
		if c != nil {
			s.unsubscriber.retire(c)
		}
	}
	s.connection, s.next = nil, nil
}

// connection is one pub/sub connection. connect makes it; from then on all fields but channels and unsubscribing are
// immutable. It belongs to its subscriber's goroutine, and from retire on to the one that unsubscribes it. The
// callbacks run on a goroutine of rueidis: of what changes they read unsubscribing only.
type connection struct {
	client        rueidis.DedicatedClient
	number        int
	sharded       bool
	own           string // the engine's own channel, which is never sharded
	release       func()
	broken        <-chan error
	channels      [][]string                       // all channels that the server has subscribed on it
	unsubscribing atomic.Pointer[unsubscribeNotes] // nil until the connection is retired: then its messages are ignored
}

// connect returns a new connection, with the next number, on which nothing is subscribed yet. Its callbacks post
// messages and confirmations to the loop as they arrive. It returns ErrUnknownNode if the client does not know the
// node. It blocks until the client has a connection to spare, for at most poolTimeout; then it returns the error of
// lender.lend.
func (s *subscriber) connect() (*connection, error) {
	node := s.nodeConn.nodeClient()
	if node == nil {
		s.checkMaster()
		return nil, coordinator.ErrUnknownNode
	}
	lent, err := s.lender.lend(node, s.poolTimeout)
	if err != nil {
		return nil, err
	}
	s.connCount++
	c := &connection{client: lent.client, number: s.connCount, sharded: s.sharded, own: s.own.channel, release: lent.release}
	c.broken = lent.client.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) {
			if c.unsubscribing.Load() != nil {
				return
			}
			if m.Channel == s.own.channel {
				if message, ok := s.own.received(m.Message); ok {
					s.post(message)
				}
			} else {
				s.post(coordinator.ChannelMessage{Node: s.node, Channel: m.Channel})
			}
		},
		OnSubscription: func(m rueidis.PubSubSubscription) {
			switch left := c.unsubscribing.Load(); {
			case left != nil:
				left.note(m.Kind)
			case m.Kind == "subscribe", m.Kind == "ssubscribe":
				s.post(coordinator.ChannelSubscribed{Node: s.node, Channel: m.Channel, Conn: c.number})
			case m.Kind == "sunsubscribe": // by the server, unasked
				s.post(coordinator.ChannelUnsubscribed{Node: s.node, Channel: m.Channel, Conn: c.number})
			}
		},
	})
	return c, nil
}

// note records that channels were subscribed. It copies them: the list of an order may have much room left, which
// would take memory for as long as the connection lasts. Rejected channels are not recorded: they are requested again
// and again. After a connection error no record is needed, because the connection is closed.
func (c *connection) note(channels []string) { c.channels = append(c.channels, slices.Clone(channels)) }

// subscribe subscribes to channels: up to MaxChannelsPerCommand per SUBSCRIBE, or one SSUBSCRIBE per slot.
func (c *connection) subscribe(channels []string) error {
	if c.sharded {
		if at := slices.Index(channels, c.own); at >= 0 {
			if err := c.client.Do(context.Background(), c.client.B().Subscribe().Channel(c.own).Build()).Error(); err != nil {
				return err
			}
			channels = slices.Delete(slices.Clone(channels), at, at+1)
		}
		return c.subscribeShards(channels)
	}
	for some := range slices.Chunk(channels, coordinator.MaxChannelsPerCommand) {
		if err := c.client.Do(context.Background(), c.client.B().Subscribe().Channel(some...).Build()).Error(); err != nil {
			return err
		}
		c.note(some)
	}
	return nil
}

// subscribeShards continues after a rejection, so that slots which did not move are not delayed. It returns the first
// rejection.
func (c *connection) subscribeShards(channels []string) (rejection error) {
	var subscribed []string
	for some := range slices.Chunk(groupBySlot(channels), coordinator.MaxBundleBatches) {
		calls := make([]rueidis.Completed, len(some))
		for i, ofSlot := range some {
			calls[i] = c.client.B().Ssubscribe().Channel(ofSlot...).Build()
		}
		for i, result := range c.client.DoMulti(context.Background(), calls...) {
			err := result.Error()
			if _, replied := rueidis.IsRedisErr(err); err != nil && !replied {
				return err
			}
			if err == nil {
				subscribed = append(subscribed, some[i]...)
			}
			rejection = cmp.Or(rejection, err)
		}
	}
	if len(subscribed) > 0 {
		c.note(subscribed)
	}
	return rejection
}

// ping reports whether the server still replies on this connection. It blocks until it does, or until the connection
// breaks.
func (c *connection) ping() bool {
	err := c.client.Do(context.Background(), c.client.B().Ping().Build()).Error()
	_, rejected := rueidis.IsRedisErr(err)
	return err == nil || rejected
}

func (c *connection) close() {
	c.client.Close()
	c.release()
}

// orderError wraps the error of a subscriber's order.
func orderError(err error) error {
	if _, replied := rueidis.IsRedisErr(err); err == nil || err == coordinator.ErrUnknownNode || err == coordinator.ErrPoolExhausted || replied {
		return err
	}
	return rediserr.AsClientError(err)
}
