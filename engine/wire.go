package engine

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

// errForm is the error of a reply that none of the scripts produces.
var errForm = errors.New("lockwheel: unexpected form of a reply")

// writer encodes batches as calls. Each sender owns one and reuses it. All arguments of a call lie in one buffer, which
// belongs to the batch. So a call allocates nothing, or one string if the program can see its text.
type writer struct {
	id      string // the engine's id
	private bool   // the program cannot see the text of calls: its buffer may be reused
	sharded bool   // sharded pub/sub: SPUBLISH and SHARDNUMSUB
	deaf    bool   // listeners cannot be counted: a cluster without sharded pub/sub

	text []byte // the batch's buffer
	ends []int  // end of each argument in text
	keys []string
	args []string
}

func (w *writer) reset(text []byte) {
	w.text, w.ends = text[:0], w.ends[:0]
	clear(w.keys)
	clear(w.args)
	w.keys, w.args = w.keys[:0], w.args[:0]
}

func (w *writer) cut() { w.ends = append(w.ends, len(w.text)) }

func (w *writer) word(s string) {
	w.text = append(w.text, s...)
	w.cut()
}

func (w *writer) number(n int64) {
	w.text = strconv.AppendInt(w.text, n, 10)
	w.cut()
}

// tenure writes the holder id, which Redisson calls the lock name.
func (w *writer) tenure(number uint64) {
	w.text = append(append(w.text, w.id...), ':')
	w.text = strconv.AppendUint(w.text, number, 10)
	w.cut()
}

// milliseconds rounds a lease down, but not to 0 unless the lease is 0.
func milliseconds(lease time.Duration) int64 {
	if lease == 0 {
		return 0
	}
	return max(int64(lease/time.Millisecond), 1)
}

// read decodes the result of a call into the batch's replies. A malformed reply affects its own command only.
func read(result rueidis.RedisResult, b *batch) {
	b.replies = b.replies[:0]
	reply, err := result.ToMessage()
	if err != nil {
		b.failed, b.text = err, nil // the text may not have been written yet
		_, answered := rueidis.IsRedisErr(err)
		if b.lost = !answered; answered {
			b.failed = Refusal(err)
		} else {
			b.failed = ofClient(err)
		}
		return
	}
	if stands(&reply, b.verb) {
		for same := replyOf(&reply, b.verb); len(b.replies) < len(b.commands); {
			b.replies = append(b.replies, same)
		}
		return
	}
	values, err := reply.ToArray()
	if err != nil {
		b.failed, b.lost = err, true
		return
	}
	for i := range b.commands {
		if i == len(values) {
			return
		}
		b.replies = append(b.replies, replyOf(&values[i], b.verb))
	}
}

// stands reports whether one reply, the integer 1, stands for those of all locks of the batch.
func stands(reply *message, verb actor.Verb) bool {
	if !forms[verb].alone || !reply.IsInt64() {
		return false
	}
	n, _ := reply.AsInt64()
	return n == 1
}

// toInt converts n and saturates where an int has 32 bits, so that the sign is kept.
func toInt(n int64) int { return int(min(max(n, math.MinInt), math.MaxInt)) }
