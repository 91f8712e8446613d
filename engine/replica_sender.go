package engine

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// replication is the minimum number of replicas for a grant, and how long WAIT waits for them. It is immutable. The
// zero value is that of WAIT 0 0, which the server replies to at once, whatever replicas it has. checkNodeReplicas asks
// with it whether WAIT is permitted.
type replication struct {
	min     int
	timeout time.Duration
}

// replicaSender sends batches of grants, each followed by WAIT. WAIT covers the writes of its own connection and delays
// what follows on it, so each replica sender has a dedicated connection. It does not interpret replies, but stores the
// number of replicas in them. startWorkers makes one, with all fields before connection. It belongs to its goroutine,
// which runs run.
type replicaSender struct {
	nodeConn    *nodeConn
	encoder     *wire.Encoder
	replicas    replication
	lender      *lender
	poolTimeout time.Duration // how long it waits for a dedicated connection

	connection rueidis.DedicatedClient // nil when there is none
	release    func()
}

// run sends the batches of a channel and posts each with its replies, until the channel is closed. Then it closes its
// connection.
func (s *replicaSender) run(batches <-chan *coordinator.Batch, box *mpsc.Mailbox[any]) {
	for b := range batches {
		switch node := s.nodeConn.nodeClient(); {
		case node != nil:
			s.sendTo(node, b)
		case s.nodeConn.sentinelMaster:
			s.nodeConn.failReplaced(b)
		default:
			s.sendViaCluster(b)
		}
		s.nodeConn.dropIfBroken(b, box)
		box.Post(&b.Msg)
	}
	s.disconnect()
	s.lender.abandon()
}

// sendTo sends a bundle, followed by WAIT, in one pipeline.
func (s *replicaSender) sendTo(node rueidis.Client, first *coordinator.Batch) {
	if s.connection == nil {
		lent, err := s.lender.lend(node, s.poolTimeout)
		if err != nil {
			for b := first; b != nil; b = b.Next {
				b.Failed, b.NoReply = err, true
			}
			return
		}
		s.connection, s.release = lent.client, lent.release
	}
	s.send(s.connection, first)
	for b := first; b != nil; b = b.Next {
		if breaksConn(b) {
			s.disconnect()
			return
		}
	}
}

// breaksConn reports whether a connection must be closed. A late reply must not be taken for that of the next batch,
// and a replaced master does not become one again.
func breaksConn(b *coordinator.Batch) bool {
	return b.NoReply || b.Failed != nil && actor.HasPrefixFold(b.Failed.Error(), "READONLY")
}

// sendViaCluster sends batches by the topology of the cluster's client, as nodeConn.sendViaCluster does. Each batch has
// a connection of its own, because a connection goes to one node.
func (s *replicaSender) sendViaCluster(first *coordinator.Batch) {
	for b := first; b != nil; b = b.Next {
		next := b.Next
		b.Next, b.ViaClusterClient = nil, true
		connection, release := s.nodeConn.client.Dedicate()
		if err := s.take(connection, b); err != nil {
			b.Failed, b.NoReply = err, true
		} else {
			s.send(connection, b)
		}
		connection.Close()
		release()
		b.Next = next
	}
}

// errNoConnection is for a batch for which a cluster's client has no connection in time. The client's pool is used up,
// or the node does not reply.
var errNoConnection = errors.New("the client of the cluster gave no connection to the node in time")

// take sends a first command on a connection of a cluster's client, which takes a connection to the batch's node out of
// the pool. That blocks while the pool is used up. So this command has a deadline, and only reads: a call of a script
// has none.
func (s *replicaSender) take(connection rueidis.DedicatedClient, b *coordinator.Batch) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.poolTimeout)
	defer cancel()
	err := connection.Do(ctx, connection.B().Pttl().Key(b.Commands[0].Key).Build()).NonRedisError()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return errNoConnection
	}
	return rediserr.AsClientError(err)
}

func (s *replicaSender) send(connection rueidis.DedicatedClient, first *coordinator.Batch) {
	replicas, err := s.encoder.SendBundle(connection, first, s.replicas.waitCommand(connection))[0].AsInt64()
	_, rejected := rueidis.IsRedisErr(err)
	for b := first; b != nil; b = b.Next {
		switch {
		case b.Failed != nil:
		case err != nil && !rejected:
			b.Failed, b.NoReply = rediserr.AsClientError(err), true
		case coordinator.IsDemotion(err):
			b.Failed, b.NoReply, b.Demoted = err, true, true
		default:
			setReplicas(b, int(replicas), err)
		}
	}
}

func setReplicas(b *coordinator.Batch, replicas int, err error) {
	for i := range b.Replies {
		if reply := &b.Replies[i]; reply.Status == actor.OK {
			reply.Replicas, reply.Err = replicas, rediserr.RedactError(err)
		}
	}
}

func (s *replicaSender) disconnect() {
	if s.connection != nil {
		s.connection.Close()
		s.release()
		s.connection = nil
	}
}

// waitCommand builds WAIT as an arbitrary command: the typed one of rueidis has no timeout, so a dead connection would
// never be noticed.
func (r replication) waitCommand(client wire.RedisClient) rueidis.Completed {
	return client.B().Arbitrary("WAIT").Args(strconv.Itoa(r.min), strconv.FormatInt(wire.Milliseconds(r.timeout), 10)).Build()
}

// checkNodeReplicas returns nil if one server accepts WAIT, and otherwise the reason why not. own says that the client
// is the engine's.
func checkNodeReplicas(ctx context.Context, client rueidis.Client, own bool, timeout time.Duration) error {
	lent, err := borrow(ctx, client, own, timeout/2) // leave time to report the reason
	if err != nil {
		return err
	}
	defer lent.release()
	return lent.client.Do(ctx, replication{}.waitCommand(lent.client)).Error()
}
