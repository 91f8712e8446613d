package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

// syncers is how many batches can be under way to a node that its replicas are asked about.
const syncers = 2

// replication is how many replicas must have a grant, and how long they are waited for.
type replication struct {
	least    int
	patience time.Duration
}

// asksReplicas reports whether replicas must have what commands of that verb grant: a lock, or the next
// token. They leave by couriers of their own, because others would wait behind them.
func (c *coordinator) asksReplicas(verb actor.Verb) bool {
	return c.fx.Config.Replicas != 0 && grants(verb)
}

func grants(verb actor.Verb) bool {
	switch verb {
	case actor.SendAcquire, actor.SendFencedAcquire, actor.SendFencedPass, actor.SendFairAcquire,
		actor.SendReadAcquire, actor.SendWriteAcquire:
		return true
	}
	return false
}

// syncer is a courier for what replicas must have. WAIT counts for what the same connection wrote, and holds
// up what comes behind it, so each syncer has a connection of its own. It understands no more than other
// couriers: the count goes into the replies.
type syncer struct {
	way      *way
	writer   *writer
	replicas replication

	connection rueidis.DedicatedClient // nil when there is none
	release    func()
}

func (s *syncer) carry(batches <-chan *batch, box *mailbox) {
	for b := range batches {
		if node := s.way.node(); node != nil {
			s.bring(node, b)
		} else {
			s.lead(b)
		}
		s.way.judge(b)
		box.post(&b.mail)
	}
	s.disconnect()
}

// bring sends calls and the question behind them, in one go.
func (s *syncer) bring(node rueidis.Client, first *batch) {
	if s.connection == nil {
		s.connection, s.release = node.Dedicate()
	}
	s.send(s.connection, first)
	for b := first; b != nil; b = b.next {
		if useless(b) {
			s.disconnect()
			return
		}
	}
}

// useless reports whether a connection is no good any more: an answer that comes late must not answer the
// next question, and a master that was replaced does not become one again.
func useless(b *batch) bool {
	return b.lost || b.failed != nil && strings.HasPrefix(b.failed.Error(), "READONLY")
}

// lead sends calls by the map of the cluster's client, as way does, each on a connection of its own: a
// connection is to one node.
func (s *syncer) lead(first *batch) {
	for b := first; b != nil; b = b.next {
		next := b.next
		b.next, b.led = nil, true
		connection, release := s.way.client.Dedicate()
		s.send(connection, b)
		connection.Close()
		release()
		b.next = next
	}
}

func (s *syncer) send(connection rueidis.DedicatedClient, first *batch) {
	replicas, err := s.writer.bundle(connection, first, s.replicas.wait(connection))[0].AsInt64()
	_, refused := rueidis.IsRedisErr(err)
	for b := first; b != nil; b = b.next {
		switch {
		case b.failed != nil:
		case err != nil && !refused:
			b.failed, b.lost = err, true
		default:
			count(b, int(replicas), err)
		}
	}
}

func count(b *batch, replicas int, err error) {
	for i := range b.replies {
		if reply := &b.replies[i]; reply.Status == actor.Done {
			reply.Replicas, reply.Err = replicas, err
		}
	}
}

func (s *syncer) disconnect() {
	if s.connection != nil {
		s.connection.Close()
		s.release()
		s.connection = nil
	}
}

// wait is WAIT as any other command: what rueidis makes of it has no limit in time, and a dead connection
// would never be noticed.
func (r replication) wait(client caller) rueidis.Completed {
	return client.B().Arbitrary("WAIT").Args(strconv.Itoa(r.least), strconv.FormatInt(milliseconds(r.patience), 10)).Build()
}

// askReplicas reports why the replicas of one server cannot be asked: nil if they can.
func askReplicas(ctx context.Context, client rueidis.Client) error {
	return client.Dedicated(func(c rueidis.DedicatedClient) error {
		return c.Do(ctx, replication{}.wait(c)).Error()
	})
}
