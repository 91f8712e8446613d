package engine

import (
	"context"
	"slices"

	"github.com/redis/rueidis"
)

// subscriber owns the pub/sub connection: it carries out orders, one at a time, and posts what it hears.
// It connects when there is something to hear, and again when the next order comes after a break.
type subscriber struct {
	client rueidis.Client
	to     *mailbox
	orders <-chan *order

	connection *connection // nil when there is none
}

// broken tells when the connection ends; it never does when there is none.
func (s *subscriber) broken() <-chan error {
	if s.connection == nil {
		return nil
	}
	return s.connection.broken
}

func (s *subscriber) run() {
	defer s.disconnect()
	for {
		select {
		case o, open := <-s.orders:
			if !open {
				return
			}
			s.to.post(&mail{kind: orderDone, err: s.carryOut(o)})
		case <-s.broken():
			s.disconnect()
			s.to.post(&mail{kind: deaf})
		}
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
		s.connection = s.connect()
	}
	err := s.connection.join(o.join)
	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		s.disconnect()
		s.to.post(&mail{kind: deaf})
	}
	return err
}

// replace listens to what stays and to what is new on another connection, and then closes this one.
func (s *subscriber) replace(o *order) error {
	if len(o.keep) == 0 {
		s.disconnect()
		return nil
	}
	next := s.connect()
	if err := next.join(o.keep); err != nil {
		next.close()
		return err
	}
	// What was published before the new connection listened comes before this answer. Without one, messages
	// may have been missed, and everybody is to try again; what the new one listens to, it goes on listening to.
	if s.connection != nil && !s.connection.answers() {
		s.to.post(&mail{kind: deaf})
		for _, channel := range o.keep {
			s.to.post(&mail{kind: subscribes, channel: channel})
		}
	}
	s.disconnect()
	s.connection = next
	return nil
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
	release func()
	broken  <-chan error
}

func (s *subscriber) connect() *connection {
	client, release := s.client.Dedicate()
	broken := client.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) {
			s.to.post(&mail{kind: hears, channel: m.Channel})
		},
		OnSubscription: func(m rueidis.PubSubSubscription) {
			if m.Kind == "subscribe" {
				s.to.post(&mail{kind: subscribes, channel: m.Channel})
			}
		},
	})
	return &connection{client: client, release: release, broken: broken}
}

// join subscribes to channels, so many a command.
func (c *connection) join(channels []string) error {
	for some := range slices.Chunk(channels, orderMost) {
		if err := c.client.Do(context.Background(), c.client.B().Subscribe().Channel(some...).Build()).Error(); err != nil {
			return err
		}
	}
	return nil
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
