package engine

import (
	"context"

	"github.com/redis/rueidis"
)

// subscriber owns the pub/sub connection: it carries out orders, one at a time, and posts what it hears.
// It connects when there is something to hear, and again when the next order comes after a break.
type subscriber struct {
	client rueidis.Client
	to     *mailbox
	orders <-chan *order

	connection rueidis.DedicatedClient // nil when there is none
	release    func()
	broken     <-chan error
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
		case <-s.broken:
			s.disconnect()
			s.to.post(&mail{kind: deaf})
		}
	}
}

// carryOut leaves and joins channels. After an error of the connection nothing is listened to any more.
func (s *subscriber) carryOut(o *order) error {
	if s.connection == nil {
		s.connect()
	}
	err := s.tell(o)
	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		s.disconnect()
		s.to.post(&mail{kind: deaf})
	}
	return err
}

func (s *subscriber) tell(o *order) error {
	c := s.connection
	if len(o.leave) > 0 {
		if err := c.Do(context.Background(), c.B().Unsubscribe().Channel(o.leave...).Build()).Error(); err != nil {
			return err
		}
	}
	if len(o.join) == 0 {
		return nil
	}
	return c.Do(context.Background(), c.B().Subscribe().Channel(o.join...).Build()).Error()
}

func (s *subscriber) connect() {
	s.connection, s.release = s.client.Dedicate()
	s.broken = s.connection.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) {
			s.to.post(&mail{kind: hears, channel: m.Channel})
		},
		OnSubscription: func(m rueidis.PubSubSubscription) {
			if m.Kind == "subscribe" {
				s.to.post(&mail{kind: subscribes, channel: m.Channel})
			}
		},
	})
}

func (s *subscriber) disconnect() {
	if s.connection == nil {
		return
	}
	s.connection.Close()
	s.release()
	s.connection, s.release, s.broken = nil, nil, nil
}
