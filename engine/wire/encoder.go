package wire

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// errMalformed is the error of a reply that none of the scripts produces.
var errMalformed = errors.New("lockwheel: unexpected form of a reply")

// Encoder encodes batches as EVALSHA commands. Each sender owns one and reuses it. All arguments of a batch lie in one
// buffer, which belongs to the batch. So a batch allocates nothing, or one string if the program can see its text.
type Encoder struct {
	ID              string // the engine's id
	ReuseBuffer     bool   // the program cannot see the text of commands: its buffer may be reused
	Sharded         bool   // Sharded pub/sub: SPUBLISH and SHARDNUMSUB
	Silent          bool   // a force tells no engine that it took a lock away
	NoListenerCount bool   // listeners cannot be counted: a cluster without sharded pub/sub

	buf     []byte // the batch's buffer, with the text of the arguments
	argEnds []int  // end of each argument in buf
	keys    []string
	args    []string
}

func (w *Encoder) reset(text []byte) {
	w.buf, w.argEnds = text[:0], w.argEnds[:0]
	clear(w.keys)
	clear(w.args)
	w.keys, w.args = w.keys[:0], w.args[:0]
}

func (w *Encoder) endArg() { w.argEnds = append(w.argEnds, len(w.buf)) }

func (w *Encoder) str(s string) {
	w.buf = append(w.buf, s...)
	w.endArg()
}

func (w *Encoder) integer(n int64) {
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.endArg()
}

// holderID writes the holder id, which Redisson calls the lock name.
func (w *Encoder) holderID(number uint64) {
	w.buf = append(append(w.buf, w.ID...), ':')
	w.buf = strconv.AppendUint(w.buf, number, 10)
	w.endArg()
}

// Milliseconds rounds a lease down, but not to 0 unless the lease is 0.
func Milliseconds(lease time.Duration) int64 {
	if lease == 0 {
		return 0
	}
	return max(int64(lease/time.Millisecond), 1)
}

// DecodeResult decodes the result of a batch into the batch's replies. A malformed reply affects its own command only.
func DecodeResult(result rueidis.RedisResult, b *coordinator.Batch) {
	b.Replies = b.Replies[:0]
	reply, err := result.ToMessage()
	if err != nil {
		b.Failed, b.Buf = err, nil // the text may not have been written yet
		_, replied := rueidis.IsRedisErr(err)
		if b.NoReply = !replied; replied {
			b.Failed = rediserr.RedactError(err)
		} else {
			b.Failed = rediserr.AsClientError(err)
		}
		return
	}
	if isUniform(&reply, b.Verb) {
		for same := decodeReply(&reply, b.Verb); len(b.Replies) < len(b.Commands); {
			b.Replies = append(b.Replies, same)
		}
		return
	}
	values, err := reply.ToArray()
	if err != nil {
		b.Failed, b.NoReply = err, true
		return
	}
	for i := range b.Commands {
		if i == len(values) {
			return
		}
		b.Replies = append(b.Replies, decodeReply(&values[i], b.Verb))
	}
}

// isUniform reports whether one reply, the integer 1, stands for those of all locks of the batch.
func isUniform(reply *respMessage, verb actor.Verb) bool {
	if !Specs[verb].uniform || !reply.IsInt64() {
		return false
	}
	n, _ := reply.AsInt64()
	return n == 1
}

// toInt converts n and saturates where an int has 32 bits, so that the sign is kept.
func toInt(n int64) int { return int(min(max(n, math.MinInt), math.MaxInt)) }
