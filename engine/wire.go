package engine

import (
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// script of each verb.
var script = [...]scripts.Script{
	actor.SendAcquire: scripts.Acquire,
	actor.SendRenew:   scripts.Renew,
	actor.SendRelease: scripts.Release,
	actor.SendForce:   scripts.Force,
	actor.SendState:   scripts.State,
}

// errForm is for a reply that no script of ours gives.
var errForm = errors.New("lockwheel: unexpected form of a reply")

// writer turns batches into calls. It belongs to one courier, which uses it again and again: all text of
// a call lies in one string, so that a batch costs one allocation and not two for every lock.
type writer struct {
	id   string // the engine's
	text []byte
	ends []int // of each argument in text
	keys []string
	args []string
}

func (w *writer) reset() {
	w.text, w.ends = w.text[:0], w.ends[:0]
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

// builder is a client or one connection of it.
type builder interface{ B() rueidis.Builder }

// milliseconds rounds a lease down; it is never 0 unless it was.
func milliseconds(lease time.Duration) int64 {
	if lease == 0 {
		return 0
	}
	return max(int64(lease/time.Millisecond), 1)
}

// call builds the call of a batch: its arguments are those that the script's header names.
func (w *writer) call(client builder, b *batch) rueidis.Completed {
	w.reset()
	for i := range b.commands {
		w.keys = append(w.keys, b.commands[i].Key)
	}
	w.arguments(b)
	text, start := string(w.text), 0
	for _, end := range w.ends {
		w.args = append(w.args, text[start:end])
		start = end
	}
	s := &script[b.verb]
	if b.whole {
		return client.B().Eval().Script(s.Text).Numkeys(int64(len(w.keys))).Key(w.keys...).Arg(w.args...).Build()
	}
	return client.B().Evalsha().Sha1(s.SHA1).Numkeys(int64(len(w.keys))).Key(w.keys...).Arg(w.args...).Build()
}

func (w *writer) arguments(b *batch) {
	switch b.verb {
	case actor.SendAcquire:
		w.word("PUBLISH")
		for i := range b.commands {
			w.tenure(b.commands[i].Tenure)
			w.number(milliseconds(b.commands[i].Lease))
		}
		w.ghosts(b)
	case actor.SendRenew:
		w.word("NUMSUB")
		for i := range b.commands {
			w.tenure(b.commands[i].Tenure)
			w.number(milliseconds(b.commands[i].Lease))
		}
		w.extras(b)
	case actor.SendRelease:
		w.word("PUBLISH")
		for i := range b.commands {
			w.tenure(b.commands[i].Tenure)
		}
	case actor.SendForce:
		w.word("PUBLISH")
	}
}

// ghosts adds the pairs of an acquire: index of the key, tenure to release first.
func (w *writer) ghosts(b *batch) {
	for i := range b.commands {
		for _, ghost := range b.commands[i].Ghosts {
			w.number(int64(i + 1))
			w.tenure(ghost)
		}
	}
}

// extras adds the triples of a renewal: index of the key, count to write, whether to count listeners.
func (w *writer) extras(b *batch) {
	for i := range b.commands {
		c := &b.commands[i]
		if !hasExtras(c) {
			continue
		}
		w.number(int64(i + 1))
		if c.Count != 0 {
			w.number(int64(c.Count))
		} else {
			w.word("")
		}
		if c.Listen {
			w.word("1")
		} else {
			w.word("")
		}
	}
}

func hasExtras(c *actor.Command) bool { return c.Count != 0 || c.Listen }

// read turns the result of a call into the batch's replies. A server that lies about the form of one
// reply leaves that one unanswered and the others as they are.
func read(result rueidis.RedisResult, b *batch) {
	b.replies = b.replies[:0]
	if err := result.Error(); err != nil {
		b.failed = err
		_, answered := rueidis.IsRedisErr(err)
		if b.lost = !answered; answered {
			b.failed = actor.ServerError(err.Error())
		}
		return
	}
	values, err := result.ToArray()
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

// replyOf reads one script's answer for one key.
func replyOf(v *rueidis.RedisMessage, verb actor.Verb) actor.Reply {
	switch {
	case v.IsInt64():
		n, _ := v.AsInt64()
		return statusOf(n, verb)
	case v.IsArray():
		values, _ := v.ToArray()
		return rowOf(values, verb)
	case v.IsString():
		text, _ := v.ToString()
		return actor.Reply{Status: actor.Refused, Err: actor.ServerError(text)}
	}
	if err := v.Error(); err != nil {
		if _, ok := rueidis.IsRedisErr(err); ok {
			return actor.Reply{Status: actor.Refused, Err: actor.ServerError(err.Error())}
		}
	}
	return actor.Reply{Err: errForm, Garbled: true}
}

func statusOf(n int64, verb actor.Verb) actor.Reply {
	switch {
	case n == 1 && verb != actor.SendState:
		return actor.Reply{Status: actor.Done, Listeners: -1}
	case n == 0 && verb != actor.SendState && verb != actor.SendAcquire:
		return actor.Reply{Status: actor.Gone}
	case n == 2 && (verb == actor.SendRelease || verb == actor.SendForce):
		return actor.Reply{Status: actor.Done, Muted: true}
	}
	return actor.Reply{Err: errForm, Garbled: true}
}

func rowOf(row []rueidis.RedisMessage, verb actor.Verb) actor.Reply {
	switch {
	case verb == actor.SendAcquire && len(row) == 2:
		ttl, errTTL := row[0].AsInt64()
		holder, errHolder := row[1].ToString()
		if errTTL == nil && errHolder == nil {
			return actor.Reply{Status: actor.Taken, TTL: ttlOf(ttl), Holder: holder}
		}
	case verb == actor.SendRenew && len(row) == 3:
		renewed, errRenewed := row[0].AsInt64()
		wrote, errWrote := row[1].AsInt64()
		listeners, errListeners := row[2].AsInt64()
		if errRenewed == nil && renewed == 1 && errWrote == nil && errListeners == nil {
			return actor.Reply{Status: actor.Done, Uncounted: wrote == 0, Listeners: int(listeners)}
		}
	case verb == actor.SendState && len(row) == 3:
		ttl, errTTL := row[0].AsInt64()
		holder, errHolder := row[1].ToString()
		count, errCount := row[2].AsInt64()
		if errTTL == nil && errHolder == nil && errCount == nil {
			return actor.Reply{Status: actor.Done, TTL: ttlOf(ttl), Holder: holder, Count: int(count)}
		}
	}
	return actor.Reply{Err: errForm, Garbled: true}
}

// ttlOf reads a PTTL: -1 and -2 stay what they are, and what does not fit is as long as can be.
func ttlOf(ms int64) time.Duration {
	if ms < 0 {
		return time.Duration(ms)
	}
	return time.Duration(min(ms, int64(1<<63-1)/int64(time.Millisecond))) * time.Millisecond
}
