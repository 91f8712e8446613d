package engine

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

// errMalformed is the error of a reply that none of the scripts produces.
var errMalformed = errors.New("lockwheel: unexpected form of a reply")

// encoder encodes batches as calls. Each sender owns one and reuses it. All arguments of a call lie in one buffer, which
// belongs to the batch. So a call allocates nothing, or one string if the program can see its text.
type encoder struct {
	id              string // the engine's id
	reuseBuffer     bool   // the program cannot see the text of calls: its buffer may be reused
	sharded         bool   // sharded pub/sub: SPUBLISH and SHARDNUMSUB
	noListenerCount bool   // listeners cannot be counted: a cluster without sharded pub/sub

	buf     []byte // the batch's buffer
	argEnds []int  // end of each argument in text
	keys    []string
	args    []string
}

func (w *encoder) reset(text []byte) {
	w.buf, w.argEnds = text[:0], w.argEnds[:0]
	clear(w.keys)
	clear(w.args)
	w.keys, w.args = w.keys[:0], w.args[:0]
}

func (w *encoder) endArg() { w.argEnds = append(w.argEnds, len(w.buf)) }

func (w *encoder) str(s string) {
	w.buf = append(w.buf, s...)
	w.endArg()
}

func (w *encoder) integer(n int64) {
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.endArg()
}

// holderID writes the holder id, which Redisson calls the lock name.
func (w *encoder) holderID(number uint64) {
	w.buf = append(append(w.buf, w.id...), ':')
	w.buf = strconv.AppendUint(w.buf, number, 10)
	w.endArg()
}

// milliseconds rounds a lease down, but not to 0 unless the lease is 0.
func milliseconds(lease time.Duration) int64 {
	if lease == 0 {
		return 0
	}
	return max(int64(lease/time.Millisecond), 1)
}

// decodeResult decodes the result of a call into the batch's replies. A malformed reply affects its own command only.
func decodeResult(result rueidis.RedisResult, b *batch) {
	b.replies = b.replies[:0]
	reply, err := result.ToMessage()
	if err != nil {
		b.failed, b.buf = err, nil // the text may not have been written yet
		_, answered := rueidis.IsRedisErr(err)
		if b.noReply = !answered; answered {
			b.failed = RedactError(err)
		} else {
			b.failed = asClientError(err)
		}
		return
	}
	if isUniform(&reply, b.verb) {
		for same := decodeReply(&reply, b.verb); len(b.replies) < len(b.commands); {
			b.replies = append(b.replies, same)
		}
		return
	}
	values, err := reply.ToArray()
	if err != nil {
		b.failed, b.noReply = err, true
		return
	}
	for i := range b.commands {
		if i == len(values) {
			return
		}
		b.replies = append(b.replies, decodeReply(&values[i], b.verb))
	}
}

// isUniform reports whether one reply, the integer 1, stands for those of all locks of the batch.
func isUniform(reply *respMessage, verb actor.Verb) bool {
	if !specs[verb].uniform || !reply.IsInt64() {
		return false
	}
	n, _ := reply.AsInt64()
	return n == 1
}

// toInt converts n and saturates where an int has 32 bits, so that the sign is kept.
func toInt(n int64) int { return int(min(max(n, math.MinInt), math.MaxInt)) }
