package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

// syncers is the number of replica senders per node, and so the maximum number of batches in flight with WAIT.
const syncers = 2

// replication is the minimum number of replicas for a grant, and how long WAIT waits for them.
type replication struct {
	least    int
	patience time.Duration
}

// asksReplicas reports whether the grants of a verb need replicas: a lock, or the next token. Such batches have senders
// of their own, because others would be delayed behind WAIT.
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

// syncer is a replica sender: it appends WAIT to batches of grants. WAIT covers the writes of its own connection and
// delays what follows on it, so each syncer has a dedicated connection. It does not interpret replies, but stores the
// number of replicas in them. Its fields belong to its goroutine.
type syncer struct {
	way      *way
	writer   *writer
	replicas replication
	lender   *lender
	free     time.Duration // how long it waits for a dedicated connection

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

// bring sends a bundle, followed by WAIT, in one pipeline.
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

// useless reports whether a connection must be closed. A late reply must not be taken for that of the next call, and a
// replaced master does not become one again.
func useless(b *batch) bool {
	return b.lost || b.failed != nil && actor.Begins(b.failed.Error(), "READONLY")
}

// lead sends calls by the topology of the cluster's client, as way does. Each call has a connection of its own, because
// a connection goes to one node.
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

// demotes reports whether WAIT was rejected because the server is no longer a master. The error says nothing about
// which replicas have the grant, and nothing about grants of the next master.
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

// wait builds WAIT as an arbitrary command: the typed one of rueidis has no timeout, so a dead connection would never
// be noticed.
func (r replication) wait(client caller) rueidis.Completed {
	return client.B().Arbitrary("WAIT").Args(strconv.Itoa(r.least), strconv.FormatInt(milliseconds(r.patience), 10)).Build()
}

// unreplicated notifies all waiters of a name that too few replicas have a grant to one of them. For kinds with one
// lock per request, the waiters would otherwise fail one after the other. A waiting writer is not notified while this
// engine reads, because it waits for that first.
func (c *coordinator) unreplicated(now time.Duration, back *actor.Lock) {
	key, shared := back.Key(), back.Kind().Shared()
	g, to := c.groups[key], audience{kind: actor.Unreplicated, key: key, waiting: true, undone: &undone{now, c.fx.Undone}}
	if c.fx.Undone = nil; shared {
		if g.undoneAt == now {
			return // already notified in this turn: one call may have granted it to very many
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

// askReplicas returns nil if one server accepts WAIT, and otherwise the reason why not.
func askReplicas(ctx context.Context, client rueidis.Client, patience time.Duration) error {
	lent, err := borrow(ctx, client, patience/2) // leave time to report the reason
	if err != nil {
		return err
	}
	defer lent.release()
	return lent.client.Do(ctx, replication{}.wait(lent.client)).Error()
}
