package engine

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

// errForm is for a reply that no script of ours gives.
var errForm = errors.New("lockwheel: unexpected form of a reply")

// writer turns batches into calls. It belongs to one courier, which uses it again and again: all text of
// a call lies together, in the batch, so that it costs no allocation, or one if others look at it.
type writer struct {
	id      string // the engine's
	private bool   // nobody else looks at the text of calls
	sharded bool   // messages stay in the shard: the verbs are those of a cluster
	deaf    bool   // nobody can know who listens: a cluster without shards' messages

	text []byte // the batch's
	ends []int  // of each argument in text
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

// tenure writes the id that Redisson calls the lock name.
func (w *writer) tenure(number uint64) {
	w.text = append(append(w.text, w.id...), ':')
	w.text = strconv.AppendUint(w.text, number, 10)
	w.cut()
}

// milliseconds rounds a lease down; it is never 0 unless it was.
func milliseconds(lease time.Duration) int64 {
	if lease == 0 {
		return 0
	}
	return max(int64(lease/time.Millisecond), 1)
}

// read turns the result of a call into the batch's replies. A server that lies about the form of one
// reply leaves that one unanswered and the others as they are.
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

// stands reports whether a reply stands for those of all locks.
func stands(reply *message, verb actor.Verb) bool {
	if !forms[verb].alone || !reply.IsInt64() {
		return false
	}
	n, _ := reply.AsInt64()
	return n == 1
}

// toInt keeps the sign of a number that an int of 32 bits has no room for.
func toInt(n int64) int { return int(min(max(n, math.MinInt), math.MaxInt)) }
