package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/rediserr"
)

const (
	minBackoff = 10 * time.Millisecond
	// minIdle is the time without a reply after which a connection counts as idle. Servers close idle connections after
	// whole seconds.
	minIdle = time.Second
)

// breaker is the circuit breaker of a node. While it is down, one batch at a time probes the server, with backoff. All
// other commands wait, so that an outage costs neither batches nor memory. NewNode makes one. The zero value is up, but
// has no backoff at all, because maxBackoff is 0. Owned by the coordinator.
type breaker struct {
	Down         bool
	since        time.Duration // when it went down
	maxBackoff   time.Duration // longest backoff
	backoff      time.Duration
	tryAt        time.Duration
	failures     int   // failed probes since it is down
	Cause        error // why it is down
	noConnection bool  // the last probe could not connect

	connections, replicaConnections idleConns
}

// idleConns are the connections of a node that carry batches of one sort. A server, or what is between, may close them
// while they are idle, and only the next batch on each finds that out. That is no outage, so those batches are repeated
// at once. The zero value has had its last reply when the engine began. Owned by the coordinator.
type idleConns struct {
	repliedAt time.Duration // the last reply
	excusedAt time.Duration // the last failure since then that was no outage
	excused   int           // number of those failures, without batches in flight at excusedAt
}

// excuses reports whether a batch without a reply found only that one of so many connections was closed while idle. The
// batch may have run all the same, as always without a reply. A failure of the connection that is made next is not
// excused.
func (i *idleConns) excuses(now, sent time.Duration, cause error, conns int) bool {
	e, ok := cause.(*rediserr.ClientError)
	switch {
	case !ok || !e.Broken:
		return false
	case i.excused > 0 && sent < i.excusedAt:
		return true // on the same connection
	case i.excused == conns || sent-i.repliedAt < minIdle:
		return false
	}
	i.excusedAt, i.excused = now, i.excused+1
	return true
}

// onReply notes that a batch of this sort has a reply.
func (i *idleConns) onReply(now time.Duration) { *i = idleConns{repliedAt: now} }

// onFailure handles a batch without a reply. Batches that were in flight with a failed one do not count again.
func (b *breaker) onFailure(now time.Duration, cause error) {
	if b.Down && now < b.tryAt {
		return
	}
	if !b.Down {
		b.since = now
	}
	b.Down, b.Cause, b.noConnection = true, cause, isConnectFailure(cause)
	b.failures++
	b.backoff = actor.NextBackoff(b.backoff, minBackoff, b.maxBackoff)
	b.tryAt = now + b.backoff
}

func (b *breaker) onSuccess() {
	b.Down, b.backoff, b.failures, b.Cause, b.noConnection = false, 0, 0, nil, false
}

// repliedAt returns when the node last replied to a batch.
func (b *breaker) repliedAt() time.Duration {
	return max(b.connections.repliedAt, b.replicaConnections.repliedAt)
}

// mayRecover reports whether a connection was closed and no probe has failed since. The server may well be there.
func (b *breaker) mayRecover() bool {
	e, ok := b.Cause.(*rediserr.ClientError)
	return b.Down && b.failures == 1 && ok && e.Broken && !b.noConnection
}

// rotate maps a place in the order of priority to the class of commands that gets it. While the breaker is down, all
// classes but renewals rotate. Otherwise a command that breaks the connection could be the only one that is ever tried.
func (b *breaker) rotate(place, kinds int) int {
	if !b.Down || place == 0 {
		return place
	}
	return 1 + (place-1+b.failures-1)%(kinds-1)
}

// failsFast reports whether a recent probe could not connect, so that waiting for the next is pointless.
func (b *breaker) failsFast(now time.Duration) bool { return b.noConnection && now < b.tryAt }

// isConnectFailure reports whether a batch failed because no connection could be made: the server was unreachable, or
// it rejects connections.
func isConnectFailure(cause error) bool {
	switch e := cause.(type) {
	case *rediserr.ClientError:
		return e.Dial
	case *deadRedirect:
		return isConnectFailure(e.cause)
	case actor.ServerError:
		return actor.RejectsConnection(string(e))
	}
	return false
}

// allow reports whether the breaker allows a batch, beside those in flight.
func (b *breaker) allow(now time.Duration, inFlight int) bool {
	return !b.Down || inFlight == 0 && now >= b.tryAt
}
