package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

// syncers is how many batches can be under way that replicas are asked about.
const syncers = 2

// syncer is a courier for acquires that replicas must have. WAIT counts for what the same connection wrote, and holds up what comes
// behind it, so each syncer has a connection of its own. It understands no more than other couriers: the count goes
// into the replies.
type syncer struct {
	client   rueidis.Client
	replicas int
	most     time.Duration
	to       *mailbox

	connection rueidis.DedicatedClient // nil when there is none
	release    func()
}

func (s *syncer) carry(w *writer, batches <-chan *batch) {
	for b := range batches {
		s.bring(w, b)
		if b.lost {
			s.disconnect() // an answer that comes late must not answer the next question
		}
		s.to.post(&b.mail)
	}
	s.disconnect()
}

// bring sends a batch and the question behind it, in one go.
func (s *syncer) bring(w *writer, b *batch) {
	if s.connection == nil {
		s.connection, s.release = s.client.Dedicate()
	}
	answers := s.connection.DoMulti(context.Background(), w.call(s.connection, b),
		wait(s.connection, s.replicas, s.most))
	read(answers[0], b)
	if b.failed != nil {
		return
	}
	replicas, err := answers[1].AsInt64()
	if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
		b.failed, b.lost = err, true
		return
	}
	for i := range b.replies {
		if reply := &b.replies[i]; reply.Status == actor.Done {
			reply.Replicas, reply.Err = int(replicas), err
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

// wait is WAIT as any other command: what rueidis makes of it has no limit in time, and a dead connection would never be noticed.
func wait(client builder, replicas int, most time.Duration) rueidis.Completed {
	return client.B().Arbitrary("WAIT").Args(strconv.Itoa(replicas), strconv.FormatInt(milliseconds(most), 10)).Build()
}

var errClusterReplicas = errors.New("Options.Replicas: not in a cluster yet")

// CountsReplicas reports why replicas cannot be asked: nil if they can.
func (s *Server) CountsReplicas(ctx context.Context) error {
	if s.Cluster() {
		return errClusterReplicas
	}
	err := s.client.Dedicated(func(c rueidis.DedicatedClient) error { return c.Do(ctx, wait(c, 0, 0)).Error() })
	if err != nil {
		return fmt.Errorf("Options.Replicas: the server does not answer WAIT: %w", err)
	}
	return nil
}
