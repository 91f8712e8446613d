package engine

import (
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// form describes how the script of a verb is called, and how its reply is decoded.
type form struct {
	script scripts.Script
	more   []string               // prefixes of further keys per lock
	keys   func(*writer, *batch)  // appends the keys; nil: those of the locks and more
	holds  bool                   // each hold of a reader has a key, too
	write  func(*writer, *batch)  // appends the arguments that the script's header names; nil: none
	alone  bool                   // a reply of 1 instead of a list means 1 for every lock
	number func(int64) answer     // decodes an integer; nil: not expected
	row    func([]message) answer // decodes a list; nil: not expected
	tokens bool                   // a string of digits is a number that Lua cannot represent
	tells  *told                  // message that it publishes for each lock it releases; nil: none to repeat
}

// told is a message to the waiters of a lock.
type told struct{ channel, text string }

var (
	toldUnlocked = &told{scripts.Channel, "0"}
	toldUnread   = &told{scripts.ReadWriteChannel, "0"}
	toldWritten  = &told{scripts.ReadWriteChannel, "1"}
)

type (
	message = rueidis.RedisMessage
	answer  = actor.Reply
)

// forms holds the form of every verb.
var forms = [actor.Verbs]form{
	actor.SendAcquire: {script: scripts.Acquire, alone: true, write: (*writer).acquires, number: grantedBy, row: takenBy},
	actor.SendRenew:   {script: scripts.Renew, alone: true, write: (*writer).renews, number: renewedBy, row: confirmedBy},
	actor.SendRelease: {script: scripts.Release, alone: true, write: (*writer).releases, number: releasedBy, tells: toldUnlocked},
	actor.SendForce:   {script: scripts.Force, write: (*writer).publishes, number: releasedBy, tells: toldUnlocked},
	actor.SendState:   {script: scripts.State, row: stateBy},

	actor.SendFairAcquire: {script: scripts.FairAcquire, alone: true, more: fairKeys, write: (*writer).queues, number: grantedBy, row: queuedBy},
	actor.SendFairRelease: {script: scripts.FairRelease, more: fairKeys, write: (*writer).leaves, number: releasedBy},
	actor.SendFairForce:   {script: scripts.FairForce, more: fairKeys, write: (*writer).publishesNow, number: releasedBy},
	actor.SendReadAcquire: {script: scripts.ReadAcquire, alone: true, holds: true, write: (*writer).reads, number: grantedBy, row: writtenBy},
	actor.SendReadRenew:   {script: scripts.ReadRenew, alone: true, holds: true, write: (*writer).rereads, number: renewedBy, row: confirmedBy},
	actor.SendReadRelease: {script: scripts.ReadRelease, alone: true, write: (*writer).releases, number: releasedBy, tells: toldUnread},
	actor.SendReadForce:   {script: scripts.ReadForce, write: (*writer).publishes, number: releasedBy, tells: toldUnread},
	actor.SendReadState:   {script: scripts.ReadWriteState, row: readersBy},

	actor.SendWriteAcquire: {script: scripts.WriteAcquire, alone: true, write: (*writer).acquires, number: grantedBy, row: heldBy},
	actor.SendWriteRenew:   {script: scripts.WriteRenew, alone: true, write: (*writer).renews, number: renewedBy, row: confirmedBy},
	actor.SendWriteRelease: {script: scripts.WriteRelease, alone: true, write: (*writer).releases, number: releasedBy, tells: toldWritten},
	actor.SendWriteForce:   {script: scripts.WriteForce, write: (*writer).publishes, number: releasedBy, tells: toldWritten},
	actor.SendWriteState:   {script: scripts.ReadWriteState, row: writerBy},

	actor.SendFencedAcquire: {script: scripts.FencedAcquire, more: []string{scripts.Token}, write: (*writer).acquires, number: fencedBy, row: takenBy, tokens: true},
	actor.SendFencedPass:    {script: scripts.FencedPass, more: []string{scripts.Token}, write: (*writer).passes, number: goneBy, row: passedBy},

	actor.SendJointAcquire: {script: scripts.JointAcquire, alone: true, keys: (*writer).partKeys, write: (*writer).joins, number: grantedBy, row: partBy},
}

var fairKeys = []string{scripts.Queue, scripts.Times, scripts.Places}

// FairQueue returns the name of the queue of the fair lock with that key. As in Redisson, a key without braces appears
// in braces there.
func FairQueue(key string) string { return scripts.Prefixed(scripts.Queue, key) }

// call encodes a batch.
func (w *writer) call(client caller, b *batch) rueidis.Completed {
	w.reset(b.text)
	f := &forms[b.verb]
	if f.keys != nil {
		f.keys(w, b)
	} else {
		w.lockKeys(b, f)
	}
	if f.write != nil {
		f.write(w, b)
	}
	text, start := w.finished(b), 0
	for _, end := range w.ends {
		w.args = append(w.args, text[start:end])
		start = end
	}
	keys := int64(len(w.keys))
	if b.whole {
		return client.B().Eval().Script(f.script.Text).Numkeys(keys).Key(w.keys...).Arg(w.args...).Build()
	}
	return client.B().Evalsha().Sha1(f.script.SHA1).Numkeys(keys).Key(w.keys...).Arg(w.args...).Build()
}

// finished returns the encoded arguments. The batch keeps the buffer for its next call.
func (w *writer) finished(b *batch) string {
	b.text = w.text
	if !w.private {
		return string(b.text)
	}
	return rueidis.BinaryString(b.text)
}

func (w *writer) lockKeys(b *batch, f *form) {
	for i := range b.commands {
		key := b.commands[i].Key
		w.keys = append(w.keys, key)
		for _, prefix := range f.more {
			w.keys = append(w.keys, scripts.Prefixed(prefix, key))
		}
		if f.holds {
			w.holdKeys(&b.commands[i])
		}
	}
}

// publish and subscribers return the pub/sub commands for the topology. Redisson chooses them in the same way: not by
// the server's version.
func (w *writer) publish() string {
	if w.sharded {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

func (w *writer) subscribers() string {
	if w.sharded {
		return "SHARDNUMSUB"
	}
	return "NUMSUB"
}

func (w *writer) publishes(*batch) { w.word(w.publish()) }

func (w *writer) acquires(b *batch) {
	w.word(w.publish())
	w.leases(b)
	w.ghosts(b)
}

func (w *writer) renews(b *batch) {
	w.word(w.subscribers())
	w.leases(b)
	w.extras(b)
}

// leases appends the tenures and their leases. If all leases are equal, as they usually are, it appends the lease once.
// That also saves the server one twentieth of an acquire.
func (w *writer) leases(b *batch) {
	same := sameLease(b.commands)
	if same {
		w.number(milliseconds(b.commands[0].Lease))
	} else {
		w.word("")
	}
	for i := range b.commands {
		w.tenure(b.commands[i].Tenure)
		if !same {
			w.number(milliseconds(b.commands[i].Lease))
		}
	}
}

func (w *writer) passes(b *batch) {
	w.word(w.subscribers())
	for i := range b.commands {
		c := &b.commands[i]
		w.tenure(c.Tenure)
		w.number(milliseconds(c.Lease))
		w.count(c.Count)
		w.wishes(c)
		w.number(int64(c.Token))
	}
}

func (w *writer) releases(b *batch) {
	w.word(w.publish())
	for i := range b.commands {
		w.tenure(b.commands[i].Tenure)
	}
}

// publishesNow encodes the start of calls to scripts that compare the times of callers' clocks.
func (w *writer) publishesNow(b *batch) {
	w.word(w.publish())
	w.number(b.wall)
}

func (w *writer) queues(b *batch) {
	w.publishesNow(b)
	w.number(b.latest)
	for i := range b.commands {
		c := &b.commands[i]
		w.tenure(c.Tenure)
		w.number(milliseconds(c.Lease))
		w.wait(c.Wait)
		if c.Behind == 0 {
			w.word("")
		} else {
			w.tenure(c.Behind)
		}
	}
	w.ghosts(b)
}

func (w *writer) leaves(b *batch) {
	w.publishesNow(b)
	for i := range b.commands {
		w.tenure(b.commands[i].Tenure)
		w.wait(b.commands[i].Wait)
	}
}

func (w *writer) wait(d time.Duration) {
	if d == 0 {
		w.word("")
		return
	}
	w.number(milliseconds(d))
}

// ghosts appends a pair per orphan that an acquire releases first: index of the lock, tenure.
func (w *writer) ghosts(b *batch) {
	for i := range b.commands {
		for _, ghost := range b.commands[i].Ghosts {
			w.number(int64(i + 1))
			w.tenure(ghost)
		}
	}
}

// extras appends a triple per renewal with extras: index of the key, count to write, flags.
func (w *writer) extras(b *batch) {
	for i := range b.commands {
		c := &b.commands[i]
		if !hasExtras(c) {
			continue
		}
		w.number(int64(i + 1))
		w.count(c.Count)
		w.wishes(c)
	}
}

// wishes appends flags: 1 to count listeners, 2 if the TTL may fall.
func (w *writer) wishes(c *actor.Command) {
	wishes := int64(0)
	if c.Listen && !w.deaf {
		wishes++
	}
	if c.Falls {
		wishes += 2
	}
	if wishes == 0 {
		w.word("")
		return
	}
	w.number(wishes)
}

func sameLease(commands []actor.Command) bool {
	for i := range commands {
		if commands[i].Lease != commands[0].Lease {
			return false
		}
	}
	return true
}

func hasExtras(c *actor.Command) bool { return c.Count != 0 || c.Listen || c.Falls }

func (w *writer) count(count int) {
	if count == 0 {
		w.word("")
		return
	}
	w.number(int64(count))
}

func (w *writer) flag(set bool) {
	if set {
		w.word("1")
	} else {
		w.word("")
	}
}

// replyOf decodes a script's reply for one key.
func replyOf(v *message, verb actor.Verb) answer {
	f := &forms[verb]
	switch {
	case v.IsInt64() && f.number != nil:
		n, _ := v.AsInt64()
		return f.number(n)
	case v.IsArray() && f.row != nil:
		values, _ := v.ToArray()
		return f.row(values)
	case v.IsString():
		text, _ := v.ToString()
		if n, err := v.AsInt64(); err == nil && f.tokens {
			return f.number(n)
		}
		return answer{Status: actor.Refused, Err: refusal(text)}
	}
	if err := v.Error(); err != nil {
		if _, ok := rueidis.IsRedisErr(err); ok {
			return answer{Status: actor.Refused, Err: refusal(err.Error())}
		}
	}
	return garbled()
}

// garbled returns the reply that stands for one which no script produces.
func garbled() answer { return answer{Err: errForm, Garbled: true} }

func grantedBy(n int64) answer {
	if n != 1 {
		return garbled()
	}
	return answer{Status: actor.Done, Listeners: -1}
}

func goneBy(n int64) answer {
	if n != 0 {
		return garbled()
	}
	return answer{Status: actor.Gone}
}

func renewedBy(n int64) answer {
	if n == 0 {
		return goneBy(n)
	}
	return grantedBy(n)
}

func releasedBy(n int64) answer {
	if n == 2 {
		return answer{Status: actor.Done, Muted: true}
	}
	return renewedBy(n)
}

func takenBy(row []message) answer {
	if len(row) != 2 {
		return garbled()
	}
	ttl, errTTL := row[0].AsInt64()
	holder, errHolder := row[1].ToString()
	if errTTL != nil || errHolder != nil {
		return garbled()
	}
	return answer{Status: actor.Taken, TTL: ttlOf(ttl), Holder: holder}
}

// fencedBy decodes the token of a grant, which is at least 1.
func fencedBy(n int64) answer {
	if n < 1 {
		return garbled()
	}
	return answer{Status: actor.Done, Listeners: -1, Token: uint64(n)}
}

// queuedBy decodes the TTL and the holder, as takenBy does. Then come the remaining time of the tenure in the queue,
// and the server's clock. The reply to a call that came too late has only the clock.
func queuedBy(row []message) answer {
	if len(row) == 1 {
		return lateBy(&row[0])
	}
	if len(row) != 4 {
		return garbled()
	}
	reply := takenBy(row[:2])
	left, err := row[2].AsInt64()
	if reply.Status != actor.Taken || err != nil {
		return garbled()
	}
	reply.Left = ttlOf(left)
	if reply.Clock, err = row[3].AsInt64(); err != nil {
		return garbled()
	}
	return reply
}

func lateBy(v *message) answer {
	clock, err := v.AsInt64()
	if err != nil {
		return garbled()
	}
	return answer{Status: actor.Refused, Err: actor.ErrLate, Late: true, Clock: clock}
}

func confirmedBy(row []message) answer {
	if len(row) != 3 {
		return garbled()
	}
	renewed, errRenewed := row[0].AsInt64()
	wrote, errWrote := row[1].AsInt64()
	listeners, errListeners := row[2].AsInt64()
	if errRenewed != nil || renewed != 1 || errWrote != nil || errListeners != nil {
		return garbled()
	}
	return answer{Status: actor.Done, Uncounted: wrote == 0, Listeners: toInt(listeners)}
}

func passedBy(row []message) answer {
	if len(row) != 4 {
		return garbled()
	}
	reply := confirmedBy(row[:3])
	token, ok := tokenOf(&row[3])
	if reply.Status != actor.Done || !ok {
		return garbled()
	}
	reply.Token = token
	return reply
}

// tokenOf decodes a fencing token, which is at least 1.
func tokenOf(v *message) (token uint64, ok bool) {
	n, err := v.AsInt64()
	return uint64(n), err == nil && n > 0
}

func stateBy(row []message) answer {
	if len(row) != 3 {
		return garbled()
	}
	ttl, errTTL := row[0].AsInt64()
	holder, errHolder := row[1].ToString()
	count, errCount := row[2].AsInt64()
	if errTTL != nil || errHolder != nil || errCount != nil {
		return garbled()
	}
	return answer{Status: actor.Done, TTL: ttlOf(ttl), Holder: holder, Count: toInt(count)}
}

// ttlOf decodes a PTTL: -1 and -2 stay as they are, and values that do not fit are capped.
func ttlOf(ms int64) time.Duration {
	if ms < 0 {
		return time.Duration(ms)
	}
	return time.Duration(min(ms, int64(1<<63-1)/int64(time.Millisecond))) * time.Millisecond
}
