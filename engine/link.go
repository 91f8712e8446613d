package engine

import (
	"errors"
	"net"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

const retryFirst = 10 * time.Millisecond

// link is what the coordinator knows of the way to the server. While it is down, one batch at a time
// tries it, with backoff; all else waits, so that an outage costs neither calls nor memory.
type link struct {
	down    bool
	most    time.Duration // between tries
	backoff time.Duration
	tryAt   time.Duration
	tries   int   // that failed since it is down
	cause   error // why it is down
	refused bool  // the last try could not even connect
}

// failed takes in that a batch had no answer. Those that were under way with it say nothing new.
func (k *link) failed(now time.Duration, cause error) {
	if k.down && now < k.tryAt {
		return
	}
	k.down, k.cause, k.refused = true, cause, unconnected(cause)
	k.tries++
	k.backoff = min(max(2*k.backoff, retryFirst), k.most)
	k.tryAt = now + k.backoff
}

func (k *link) answered() { k.down, k.backoff, k.tries, k.cause, k.refused = false, 0, 0, nil, false }

// turn is which of so many kinds of commands comes at that place, the most urgent first. While the link is down, all
// but renewals take turns: what breaks the connection whenever it is sent must not be all that is ever tried.
func (k *link) turn(place, kinds int) int {
	if !k.down || place == 0 {
		return place
	}
	return 1 + (place-1+k.tries-1)%(kinds-1)
}

// refuses reports whether a try a moment ago could not connect, so that the next one is not worth waiting for.
func (k *link) refuses(now time.Duration) bool { return k.refused && now < k.tryAt }

// unconnected reports whether a call failed because there was no connection and none could be made, for want of a way to the
// server or because that lets nobody in.
func unconnected(cause error) bool {
	switch e := cause.(type) {
	case *clientError:
		return e.dial
	case *deadEnd:
		return unconnected(e.cause)
	case actor.ServerError:
		return actor.ShutsOut(string(e))
	}
	return false
}

// NotConnected is why a connection could not be made: what was returned by a dialer, by the handshake of TLS, or by a function
// that has the credentials.
type NotConnected struct{ Err error }

// Error returns the text of what was returned.
func (e *NotConnected) Error() string { return e.Err.Error() }

// Unwrap returns what was returned.
func (e *NotConnected) Unwrap() error { return e.Err }

// clientError is an error of the client. It may be one of a caller's dialer, so it is looked into before it comes to the loop, by
// who made the call; the loop does not even ask for its text.
type clientError struct {
	error
	dial bool
}

func (e *clientError) Unwrap() error { return e.error }

func ofClient(err error) error {
	var none *NotConnected
	var op *net.OpError // of a client that the caller brought
	return &clientError{OfNoContext(err), errors.As(err, &none) || errors.As(err, &op) && op.Op == "dial"}
}

// open reports whether a batch may leave while so many are out.
func (k *link) open(now time.Duration, out int) bool {
	return !k.down || out == 0 && now >= k.tryAt
}

// ofOrder is why an order of a subscriber failed.
func ofOrder(err error) error {
	if _, answered := rueidis.IsRedisErr(err); err == nil || err == errStranger || err == errNoneFree || answered {
		return err
	}
	return ofClient(err)
}
