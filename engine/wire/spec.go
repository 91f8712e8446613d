package wire

import (
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/scripts"
)

// spec describes how the script of a verb is called, and how its reply is decoded.
type spec struct {
	script      scripts.Script
	extraKeys   []string                           // prefixes of further keys per lock
	keys        func(*Encoder, *coordinator.Batch) // appends the keys; nil: those of the locks and more
	holdKeys    bool                               // each hold of a reader has a key, too
	encode      func(*Encoder, *coordinator.Batch) // appends the arguments that the script's header names; nil: none
	uniform     bool                               // a reply of 1 instead of a list means 1 for every lock
	decodeInt   func(int64) decodedReply           // decodes an integer; nil: not expected
	decodeArray func([]respMessage) decodedReply   // decodes a list; nil: not expected
	digitString bool                               // a string of digits is a number that Lua cannot represent
	publishes   *releaseMessage                    // message that it publishes for each lock it releases; nil: none to repeat
}

// releaseMessage is a message to the waiters of a lock.
type releaseMessage struct{ channel, text string }

var (
	unlockMessage      = &releaseMessage{scripts.Channel, "0"}
	readUnlockMessage  = &releaseMessage{scripts.RWChannel, "0"}
	writeUnlockMessage = &releaseMessage{scripts.RWChannel, "1"}
)

// Short names for the types of every decode function.
type (
	respMessage  = rueidis.RedisMessage
	decodedReply = actor.Reply
)

// Specs holds the form of every verb.
var Specs = [actor.Verbs]spec{
	actor.SendAcquire: {script: scripts.Acquire, uniform: true, encode: (*Encoder).encodeAcquire, decodeInt: decodeGranted, decodeArray: decodeTaken},
	actor.SendRenew:   {script: scripts.Renew, uniform: true, encode: (*Encoder).encodeRenew, decodeInt: decodeRenewed, decodeArray: decodeConfirmed},
	actor.SendRelease: {script: scripts.Release, uniform: true, encode: (*Encoder).encodeRelease, decodeInt: decodeReleased, publishes: unlockMessage},
	actor.SendForce:   {script: scripts.Force, encode: (*Encoder).encodeForce, decodeInt: decodeReleased, publishes: unlockMessage},
	actor.SendState:   {script: scripts.State, decodeArray: decodeState},

	actor.SendFairAcquire: {script: scripts.FairAcquire, uniform: true, extraKeys: fairKeys, encode: (*Encoder).encodeFairAcquire, decodeInt: decodeGranted, decodeArray: decodeQueued},
	actor.SendFairRelease: {script: scripts.FairRelease, extraKeys: fairKeys, encode: (*Encoder).encodeFairRelease, decodeInt: decodeReleased},
	actor.SendFairForce:   {script: scripts.FairForce, extraKeys: fairKeys, encode: (*Encoder).encodeFairForce, decodeInt: decodeReleased},
	actor.SendReadAcquire: {script: scripts.ReadAcquire, uniform: true, holdKeys: true, encode: (*Encoder).encodeReadAcquire, decodeInt: decodeGranted, decodeArray: decodeReadTaken},
	actor.SendReadRenew:   {script: scripts.ReadRenew, uniform: true, holdKeys: true, encode: (*Encoder).encodeReadRenew, decodeInt: decodeRenewed, decodeArray: decodeConfirmed},
	actor.SendReadRelease: {script: scripts.ReadRelease, uniform: true, encode: (*Encoder).encodeRelease, decodeInt: decodeReleased, publishes: readUnlockMessage},
	actor.SendReadForce:   {script: scripts.ReadForce, encode: (*Encoder).encodeForce, decodeInt: decodeReleased, publishes: readUnlockMessage},
	actor.SendReadState:   {script: scripts.RWState, decodeArray: decodeReadersState},

	actor.SendWriteAcquire: {script: scripts.WriteAcquire, uniform: true, encode: (*Encoder).encodeAcquire, decodeInt: decodeGranted, decodeArray: decodeWriteTaken},
	actor.SendWriteRenew:   {script: scripts.WriteRenew, uniform: true, encode: (*Encoder).encodeRenew, decodeInt: decodeRenewed, decodeArray: decodeConfirmed},
	actor.SendWriteRelease: {script: scripts.WriteRelease, uniform: true, encode: (*Encoder).encodeRelease, decodeInt: decodeReleased, publishes: writeUnlockMessage},
	actor.SendWriteForce:   {script: scripts.WriteForce, encode: (*Encoder).encodeForce, decodeInt: decodeReleased, publishes: writeUnlockMessage},
	actor.SendWriteState:   {script: scripts.RWState, decodeArray: decodeWriterState},

	actor.SendFencedAcquire: {script: scripts.FencedAcquire, extraKeys: []string{scripts.TokenKey}, encode: (*Encoder).encodeAcquire, decodeInt: decodeFenced, decodeArray: decodeTaken, digitString: true},
	actor.SendFencedRenew:   {script: scripts.FencedRenew, extraKeys: []string{scripts.TokenKey}, encode: (*Encoder).encodeFencedRenew, decodeInt: decodeGone, decodeArray: decodeFencedRenewed},

	actor.SendMultiAcquire: {script: scripts.MultiAcquire, uniform: true, keys: (*Encoder).partKeys, encode: (*Encoder).encodeMultiAcquire, decodeInt: decodeGranted, decodeArray: decodePart},
}

var fairKeys = []string{scripts.FairQueueKey, scripts.FairTimeoutKey, scripts.FairPlacesKey}

// FairQueue returns the name of the queue of the fair lock with that key. As in Redisson, a key without braces appears
// in braces there.
func FairQueue(key string) string { return scripts.RedissonKey(scripts.FairQueueKey, key) }

// Encode encodes a batch.
func (w *Encoder) Encode(client RedisClient, b *coordinator.Batch) rueidis.Completed {
	w.reset(b.Buf)
	f := &Specs[b.Verb]
	if f.keys != nil {
		f.keys(w, b)
	} else {
		w.lockKeys(b, f)
	}
	if f.encode != nil {
		f.encode(w, b)
	}
	text, start := w.finish(b), 0
	for _, end := range w.argEnds {
		w.args = append(w.args, text[start:end])
		start = end
	}
	keys := int64(len(w.keys))
	if b.SendText {
		return client.B().Eval().Script(f.script.Text).Numkeys(keys).Key(w.keys...).Arg(w.args...).Build()
	}
	return client.B().Evalsha().Sha1(f.script.SHA1).Numkeys(keys).Key(w.keys...).Arg(w.args...).Build()
}

// finish returns the encoded arguments. The batch keeps the buffer for its next use.
func (w *Encoder) finish(b *coordinator.Batch) string {
	b.Buf = w.buf
	if !w.ReuseBuffer {
		return string(b.Buf)
	}
	return rueidis.BinaryString(b.Buf)
}

func (w *Encoder) lockKeys(b *coordinator.Batch, f *spec) {
	for i := range b.Commands {
		key := b.Commands[i].Key
		w.keys = append(w.keys, key)
		for _, prefix := range f.extraKeys {
			w.keys = append(w.keys, scripts.RedissonKey(prefix, key))
		}
		if f.holdKeys {
			w.holdKeys(&b.Commands[i])
		}
	}
}

// publishVerb and subscribers return the pub/sub commands for the topology. Redisson chooses them in the same way: not
// by the server's version.
func (w *Encoder) publishVerb() string {
	if w.Sharded {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

func (w *Encoder) numsubVerb() string {
	if w.Sharded {
		return "SHARDNUMSUB"
	}
	return "NUMSUB"
}

// encodeForce encodes the arguments of a force: the engines of other holders are told.
func (w *Encoder) encodeForce(*coordinator.Batch) {
	w.str(w.publishVerb())
	w.encodeTeller()
}

func (w *Encoder) encodeFairForce(b *coordinator.Batch) {
	w.encodePublishNow(b)
	w.encodeTeller()
}

// encodeTeller encodes the id that a force tells no engine about, because it is the caller's.
func (w *Encoder) encodeTeller() {
	if w.Silent {
		w.str("")
		return
	}
	w.str(w.ID)
}

func (w *Encoder) encodeAcquire(b *coordinator.Batch) {
	w.str(w.publishVerb())
	w.encodeLeases(b)
	w.encodeOrphans(b)
}

func (w *Encoder) encodeRenew(b *coordinator.Batch) {
	w.str(w.numsubVerb())
	w.encodeLeases(b)
	w.encodeExtras(b)
}

// encodeLeases appends the tenures and their leases. If all leases are equal, as they usually are, it appends the lease
// once. That also saves the server one twentieth of an acquire.
func (w *Encoder) encodeLeases(b *coordinator.Batch) {
	same := sameLease(b.Commands)
	if same {
		w.integer(Milliseconds(b.Commands[0].Lease))
	} else {
		w.str("")
	}
	for i := range b.Commands {
		w.holderID(b.Commands[i].Tenure)
		if !same {
			w.integer(Milliseconds(b.Commands[i].Lease))
		}
	}
}

func (w *Encoder) encodeFencedRenew(b *coordinator.Batch) {
	w.str(w.numsubVerb())
	for i := range b.Commands {
		c := &b.Commands[i]
		w.holderID(c.Tenure)
		w.integer(Milliseconds(c.Lease))
		w.optionalCount(int(c.Count))
		w.encodeRenewFlags(c)
		w.integer(int64(c.Token))
	}
}

func (w *Encoder) encodeRelease(b *coordinator.Batch) {
	w.str(w.publishVerb())
	for i := range b.Commands {
		w.holderID(b.Commands[i].Tenure)
	}
}

// encodePublishNow encodes the start of batches for scripts that compare the times of callers' clocks.
func (w *Encoder) encodePublishNow(b *coordinator.Batch) {
	w.str(w.publishVerb())
	w.integer(b.SentWallMillis)
}

func (w *Encoder) encodeFairAcquire(b *coordinator.Batch) {
	w.encodePublishNow(b)
	w.integer(b.EffectUntilMillis)
	for i := range b.Commands {
		c := &b.Commands[i]
		w.holderID(c.Tenure)
		w.integer(Milliseconds(c.Lease))
		w.optionalDuration(c.Wait)
		if c.QueuedAfter == 0 {
			w.str("")
		} else {
			w.holderID(c.QueuedAfter)
		}
	}
	w.encodeOrphans(b)
}

func (w *Encoder) encodeFairRelease(b *coordinator.Batch) {
	w.encodePublishNow(b)
	for i := range b.Commands {
		w.holderID(b.Commands[i].Tenure)
		w.optionalDuration(b.Commands[i].Wait)
	}
}

func (w *Encoder) optionalDuration(d time.Duration) {
	if d == 0 {
		w.str("")
		return
	}
	w.integer(Milliseconds(d))
}

// encodeOrphans appends a pair per orphan that an acquire releases first: index of the lock, tenure.
func (w *Encoder) encodeOrphans(b *coordinator.Batch) {
	for i := range b.Commands {
		for _, orphan := range b.Commands[i].Orphans {
			w.integer(int64(i + 1))
			w.holderID(orphan)
		}
	}
}

// encodeExtras appends a triple per renewal with extras: index of the key, count to write, flags.
func (w *Encoder) encodeExtras(b *coordinator.Batch) {
	for i := range b.Commands {
		c := &b.Commands[i]
		if !HasExtras(c) {
			continue
		}
		w.integer(int64(i + 1))
		w.optionalCount(int(c.Count))
		w.encodeRenewFlags(c)
	}
}

// encodeRenewFlags appends flags: 1 to count listeners, 2 if the TTL may fall, 4 instead if it is that of a fair lock.
func (w *Encoder) encodeRenewFlags(c *actor.Command) {
	wishes := int64(0)
	if c.CountListeners && !w.NoListenerCount {
		wishes++
	}
	switch {
	case c.MayShorten && c.Fair:
		wishes += 4
	case c.MayShorten:
		wishes += 2
	}
	if wishes == 0 {
		w.str("")
		return
	}
	w.integer(wishes)
}

func sameLease(commands []actor.Command) bool {
	for i := range commands {
		if commands[i].Lease != commands[0].Lease {
			return false
		}
	}
	return true
}

// HasExtras reports whether a renewal carries more than a lease: a hold count, a question for listeners, or leave to
// lower the TTL.
func HasExtras(c *actor.Command) bool { return c.Count != 0 || c.CountListeners || c.MayShorten }

func (w *Encoder) optionalCount(count int) {
	if count == 0 {
		w.str("")
		return
	}
	w.integer(int64(count))
}

func (w *Encoder) flag(set bool) {
	if set {
		w.str("1")
	} else {
		w.str("")
	}
}

// decodeReply decodes a script's reply for one key.
func decodeReply(v *respMessage, verb actor.Verb) decodedReply {
	f := &Specs[verb]
	switch {
	case v.IsInt64() && f.decodeInt != nil:
		n, _ := v.AsInt64()
		return f.decodeInt(n)
	case v.IsArray():
		values, _ := v.ToArray()
		if len(values) > 0 && values[0].IsString() {
			return decodeNoHash(values)
		}
		if f.decodeArray != nil {
			return f.decodeArray(values)
		}
	case v.IsString():
		text, _ := v.ToString()
		if n, err := v.AsInt64(); err == nil && f.digitString {
			return f.decodeInt(n)
		}
		return decodeRejected(text)
	}
	if err := v.Error(); err != nil {
		if _, ok := rueidis.IsRedisErr(err); ok {
			return decodedReply{Status: actor.Rejected, Err: rediserr.RedactQuoted(err.Error())}
		}
	}
	return malformed()
}

func decodeRejected(text string) decodedReply {
	return decodedReply{Status: actor.Rejected, Err: rediserr.RedactQuoted(text)}
}

// decodeNoHash decodes {error, TTL, type}: the reply of scripts/lib/no_hash.lua for a key of another type.
func decodeNoHash(row []respMessage) decodedReply {
	if len(row) != 3 {
		return malformed()
	}
	why, errWhy := row[0].ToString()
	ttl, errTTL := row[1].AsInt64()
	kind, errKind := row[2].ToString()
	if errWhy != nil || errTTL != nil || errKind != nil {
		return malformed()
	}
	reply := decodeRejected(why)
	reply.TTL, reply.KeyType = DecodeTTL(ttl), kind
	return reply
}

// malformed returns the reply that stands for one which no script produces.
func malformed() decodedReply { return decodedReply{Err: errMalformed, Malformed: true} }

func decodeGranted(n int64) decodedReply {
	if n != 1 {
		return malformed()
	}
	return decodedReply{Status: actor.OK, Listeners: -1}
}

func decodeGone(n int64) decodedReply {
	if n != 0 {
		return malformed()
	}
	return decodedReply{Status: actor.NotFound}
}

func decodeRenewed(n int64) decodedReply {
	if n == 0 {
		return decodeGone(n)
	}
	return decodeGranted(n)
}

func decodeReleased(n int64) decodedReply {
	if n == 2 {
		return decodedReply{Status: actor.OK, Unpublished: true}
	}
	return decodeRenewed(n)
}

func decodeTaken(row []respMessage) decodedReply {
	if len(row) != 2 {
		return malformed()
	}
	ttl, errTTL := row[0].AsInt64()
	holder, errHolder := row[1].ToString()
	if errTTL != nil || errHolder != nil {
		return malformed()
	}
	return decodedReply{Status: actor.HeldByOther, TTL: DecodeTTL(ttl), Holder: holder}
}

// decodeFenced decodes the token of a grant, which is at least 1.
func decodeFenced(n int64) decodedReply {
	if n < 1 {
		return malformed()
	}
	return decodedReply{Status: actor.OK, Listeners: -1, Token: uint64(n)}
}

// decodeQueued decodes the TTL and the holder, as decodeTaken does. Then come the remaining time of the tenure in the
// queue, and the server's clock. The reply to a batch that came too late has only the clock.
func decodeQueued(row []respMessage) decodedReply {
	if len(row) == 1 {
		return decodeLate(&row[0])
	}
	if len(row) != 4 {
		return malformed()
	}
	reply := decodeTaken(row[:2])
	left, err := row[2].AsInt64()
	if reply.Status != actor.HeldByOther || err != nil {
		return malformed()
	}
	reply.QueueTTL = DecodeTTL(left)
	if reply.ServerMillis, err = row[3].AsInt64(); err != nil {
		return malformed()
	}
	return reply
}

func decodeLate(v *respMessage) decodedReply {
	clock, err := v.AsInt64()
	if err != nil {
		return malformed()
	}
	return decodedReply{Status: actor.Rejected, Err: actor.ErrLate, Late: true, ServerMillis: clock}
}

func decodeConfirmed(row []respMessage) decodedReply {
	if len(row) != 3 {
		return malformed()
	}
	renewed, errRenewed := row[0].AsInt64()
	wrote, errWrote := row[1].AsInt64()
	listeners, errListeners := row[2].AsInt64()
	if errRenewed != nil || renewed != 1 || errWrote != nil || errListeners != nil {
		return malformed()
	}
	return decodedReply{Status: actor.OK, CountNotStored: wrote == 0, Listeners: toInt(listeners)}
}

func decodeFencedRenewed(row []respMessage) decodedReply {
	if len(row) != 4 {
		return malformed()
	}
	reply := decodeConfirmed(row[:3])
	token, ok := decodeToken(&row[3])
	if reply.Status != actor.OK || !ok {
		return malformed()
	}
	reply.Token = token
	return reply
}

// decodeToken decodes a fencing token, which is at least 1.
func decodeToken(v *respMessage) (token uint64, ok bool) {
	n, err := v.AsInt64()
	return uint64(n), err == nil && n > 0
}

func decodeState(row []respMessage) decodedReply {
	if len(row) != 3 {
		return malformed()
	}
	ttl, errTTL := row[0].AsInt64()
	holder, errHolder := row[1].ToString()
	count, errCount := row[2].AsInt64()
	if errTTL != nil || errHolder != nil || errCount != nil {
		return malformed()
	}
	return decodedReply{Status: actor.OK, TTL: DecodeTTL(ttl), Holder: holder, Count: toInt(count)}
}

// maxTTL is what longer TTLs are capped at: a moment as long from now does not overflow.
const maxTTL = 100 * 365 * 24 * time.Hour

// DecodeTTL decodes a PTTL: actor.NoTTL and actor.NoKey stay as they are, and longer ones than maxTTL are capped.
func DecodeTTL(ms int64) time.Duration {
	if ms < 0 {
		return time.Duration(ms)
	}
	return time.Duration(min(ms, maxTTL.Milliseconds())) * time.Millisecond
}
