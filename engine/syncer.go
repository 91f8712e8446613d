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
	lender   *lender
	free     time.Duration // how long it waits for a connection of its own

	connection rueidis.DedicatedClient // nil when there is none
	release    func()
}

func (s *syncer) carry(batches <-chan *batch, box *mailbox) {
	for b := range batches {
		switch node := s.way.node(); {
		case node != nil:
			s.bring(node, b)
		case s.way.master:
			s.way.lead(nil, b)
		default:
			s.lead(b)
		}
		s.way.judge(b, box)
		box.post(&b.mail)
	}
	s.disconnect()
	s.lender.leave()
}

// bring sends calls and the question behind them, in one go.
func (s *syncer) bring(node rueidis.Client, first *batch) {
	if s.connection == nil {
		lent, err := s.lender.lend(node, s.free)
		if err != nil {
			for b := first; b != nil; b = b.next {
				b.failed, b.lost = err, true
			}
			return
		}
		s.connection, s.release = lent.client, lent.release
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
	return b.lost || b.failed != nil && actor.Begins(b.failed.Error(), "READONLY")
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
			b.failed, b.lost = ofClient(err), true
		case demotes(err):
			b.failed, b.lost, b.demoted = err, true, true
		default:
			count(b, int(replicas), err)
		}
	}
}

// demotes reports whether WAIT was refused because the server is a master no more: that says nothing of who has what it
// granted, nor of what the next one grants.
func demotes(err error) bool {
	if err == nil {
		return false
	}
	said := err.Error()
	return actor.Begins(said, "UNBLOCKED") || strings.Contains(strings.ToLower(said), "wait cannot be used with replica")
}

func count(b *batch, replicas int, err error) {
	for i := range b.replies {
		if reply := &b.replies[i]; reply.Status == actor.Done {
			reply.Replicas, reply.Err = replicas, Refusal(err)
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

// unreplicated tells all who wait for a name that too few replicas have what one of them was just granted. For a kind of lock
// with claims they wait in Locks of their own, and would meet the same one after the other. Who waits to write while this engine
// reads waits for that first.
func (c *coordinator) unreplicated(now time.Duration, back *actor.Lock) {
	key, shared := back.Key(), back.Kind().Shared()
	g, to := c.groups[key], audience{kind: actor.Unreplicated, key: key, waiting: true, undone: &undone{now, c.fx.Undone}}
	if c.fx.Undone = nil; shared {
		if g.undoneAt == now {
			return // as they were told in this turn: very many may have been granted it in one call
		}
		g.undoneAt = now
	}
	if writer := c.locks.of(key); writer != nil && writer != back && !(shared && g.firstGranted(func(l *actor.Lock) bool { return l.Believed(now) }) != nil) {
		c.step(now, writer, to.message())
	}
	if !c.spreadAgain(to) {
		c.spread(now, to, g.all())
	}
}

// askReplicas reports why the replicas of one server cannot be asked: nil if they can.
func askReplicas(ctx context.Context, client rueidis.Client, patience time.Duration) error {
	lent, err := borrow(ctx, client, patience/2) // there is something left to say why
	if err != nil {
		return err
	}
	defer lent.release()
	return lent.client.Do(ctx, replication{}.wait(lent.client)).Error()
}
