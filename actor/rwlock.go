package actor

import (
	"cmp"
	"slices"
	"time"
)

// ReaderArgs is the additional content of a reader's commands. It belongs to whichever side owns its Command. Without
// one, a command is that of a reader with one hold that reads beside no writer. The zero value is that of
// such a reader in a renewal; an acquire has one only beside a writer.
type ReaderArgs struct {
	Writer     uint64          // SendReadAcquire: tenure of the owner's own write, which does not exclude it; 0: none
	MayShorten bool            // SendReadRenew: the TTL may have to fall
	Leases     []time.Duration // SendReadRenew: one per hold, the longest first; of more than maxHoldKeys only the longest
	Holds      int             // SendReadRenew: the number of holds, if there are more than Leases
}

// readerState has two uses. In a reader's Lock it is the reader's knowledge of the writer beside which it reads: the
// one of the same owner. In a writer's Lock it has only burned, which records that no reader may use its number any
// more. The zero value is that of a reader that reads beside no writer, and of a writer with a number that readers may
// use.
//
// Redisson's holder id is of a thread, and the writer's has the suffix ":write": a thread that writes and then reads
// is one holder in two modes, and keeps the lock as a reader when it unlocks the writer. So a reader beside its owner's
// write has the writer's number in Redis. A command without a reply may run later, so after such a command the next
// reader gets a new number:
//
//	the reader                                        its number        granted while the owner writes
//	its owner does not write                          a new one         no
//	beside the write, first of the owner's readers    the writer's      yes
//	beside the write, another has the number          a new one         yes: the command names the writer
//	beside the write, the number is burned            a new one         yes: the command names the writer
type readerState struct {
	writer          uint64 // the writer's tenure; 0: none
	mayUseNumber    bool   // the reader may have the writer's number
	sentUnderWriter bool   // an acquire beside the writer was sent
	ended           bool   // the reader was granted and ended, or the writer is gone: the reader is like any other
	burned          bool   // commands with the number may still run
}

// ReadUnderWriter makes the lock the reader of an owner that writes. number says whether it may have the writer's
// number. If it had that number before, burned is kept.
func (l *Lock) ReadUnderWriter(writer *Lock, number bool) {
	r := l.ensureExt().ensureReader()
	*r = readerState{writer: writer.tenure, mayUseNumber: number, burned: r.burned && r.writer == writer.tenure}
}

// ContinueUnderWriter changes a per-request lock that waits to read, because its owner has acquired the write lock
// since. It continues as the reader beside that writer.
func (l *Lock) ContinueUnderWriter(now time.Duration, writer *Lock, number bool) {
	l.ReadUnderWriter(writer, number)
	x := l.ext
	x.yieldUntil, x.nextTry, x.retryNow = 0, now, true
}

// onHeldByOther handles a rejected acquire that was sent with these arguments. If it was sent beside the current
// writer, that writer is gone.
func (r *readerState) onHeldByOther(sent *ReaderArgs) {
	r.ended = r.ended || sent != nil && sent.Writer == r.writer
}

// UnderWriter reports whether a reader reads, or is to read, beside a write that its own owner holds.
func (l *Lock) UnderWriter() bool {
	return l.ext != nil && l.ext.reader != nil && l.ext.reader.writer != 0 && !l.ext.reader.ended
}

// nextTenure returns the number of the tenure to be acquired.
func (l *Lock) nextTenure(fx *Effects) uint64 {
	if l.UnderWriter() && l.ext.reader.mayUseNumber && !l.ext.reader.burned {
		return l.ext.reader.writer
	}
	return fx.nextTenure()
}

// onTenureEnd is called before the lock's tenure is reset.
func (r *readerState) onTenureEnd(l *Lock) {
	x := l.ext
	switch {
	case l.kind == Write:
		*r = readerState{}
	case l.tenure == r.writer:
		unanswered := l.inFlight != None || x.acquireUnacked || x.releaseUnacked || x.leaseView().minUnackedLease != 0
		r.burned = r.burned || unanswered || x.isOrphan(l.tenure) || x.forcedTenure() == l.tenure
	}
	r.ended = r.ended || r.sentUnderWriter && l.phase != acquiring && l.ownedSince != 0
}

// UsesNumber reports whether, because of this reader, no other reader may have that number. That is so if this one has
// it, had it, or will use it in its next acquire.
func (l *Lock) UsesNumber(number uint64) bool {
	if l.ext == nil || l.ext.readerView().writer != number {
		return l.tenure == number
	}
	r := l.ext.readerView()
	return l.tenure == number || r.burned || r.mayUseNumber && !r.ended && !l.queue.empty() // also while an earlier tenure ends
}

// burnOwnNumber is for a command that may run after the tenure has ended. A number that the reader has from its owner's
// write must then not be that of another reader.
func (l *Lock) burnOwnNumber() {
	if l.ext != nil && l.ext.readerView().writer == l.tenure {
		l.BurnNumber()
	}
}

// BurnNumber marks a writer's number as unusable for readers.
func (l *Lock) BurnNumber() { l.ensureExt().ensureReader().burned = true }

// NumberBurned reports whether a writer's number is marked so.
func (l *Lock) NumberBurned() bool { return l.ext != nil && l.ext.readerView().burned }

// SetLocalReaders records in a writer whether this engine has readers of the lock. If so, the lock is not handed off to
// the next writer, which would keep waiting readers out and be there beside those that read.
func (l *Lock) SetLocalReaders(readers bool) {
	if readers || l.ext != nil {
		l.ensureExt().hasLocalReaders = readers
	}
}

// MayLeaveLongTTL reports whether a reader's command with that reply may have left a longer TTL than the remaining
// holders need. until is when that TTL ends at the latest. It must be called before the reader's Lock handles the
// reply. That may end the tenure or drop the orphan, and with it what is known of the leases that were sent.
func (l *Lock) MayLeaveLongTTL(now time.Duration, c *Command, reply *Reply) (until time.Duration, is bool) {
	own := l.isInFlight(c)
	switch {
	case reply.Status != OK && reply.Status != NotFound:
		return 0, false
	case own && (c.Verb == SendReadRelease || c.Verb == SendReadRenew && (reply.Status == NotFound || c.Reader != nil && c.Reader.MayShorten)):
		return now + l.maxSentLease(), true
	case own:
		return 0, false
	}
	o := l.orphanOf(c)
	if o == nil {
		return 0, false
	}
	return o.until, true
}

// HadTenure reports whether a command is about a tenure that this engine has, or is releasing. That it is not in Redis
// is a loss then. For an acquire without a reply, which may never have run, that says nothing. HadTenure must be called
// before the Lock handles the reply.
func (l *Lock) HadTenure(c *Command) bool {
	return l.isInFlight(c) && (l.phase == held || l.phase == releasing && !l.rollsBack())
}

// OnTTLRaised records in a writer that the TTL may last to until, because of what reads beside it needed and need no
// longer. If that is more than is needed, the TTL is set again: if this process died, others would wait for it.
func (l *Lock) OnTTLRaised(now, until time.Duration, fx *Effects) {
	if l.phase != held || until <= l.validUntil {
		return
	}
	x := l.ensureExt().ensureLease()
	x.raisedUntil = max(x.raisedUntil, until)
	if l.mayExceedNeed(now, fx) && l.exceedsNeed(now, fx) {
		l.flags |= wantSet | wantConfirm
	}
}

// Awaited reports whether requests wait for a lock that this engine does not hold.
func (l *Lock) Awaited() bool {
	return !l.queue.empty() && (l.phase == free || l.phase == acquiring)
}

// YieldUntil makes a new lock yield to others, to the time until or to the message WriterGone.
func (l *Lock) YieldUntil(until time.Duration) { l.ensureExt().yieldUntil = until }

func (l *Lock) onWriterGone(now time.Duration) {
	if x := l.ext; x != nil && now < x.yieldUntil {
		x.yieldUntil, x.nextTry = 0, now
	}
}

// maxHoldKeys is the maximum number of a reader's holds that have keys. Only the longest lease of a reader counts, so
// further holds do not matter until those have ended, and then a renewal is due.
const maxHoldKeys = 64

// readerArgs returns what the renewal of a reader carries: the lease of each hold. The first key has the tenure's
// lease, which also covers re-entries about to be granted. nil: one hold, with the tenure's lease.
func (l *Lock) readerArgs(now time.Duration, n leaseNeed, fx *Effects) *ReaderArgs {
	count := l.holdCount()
	unacked := l.minUnackedLease() != 0                                               // a command without a reply may have raised it
	mayShorten := n.mustSet || unacked || count < l.storedCount || l.storedCount == 0 // 0: the count in Redis is not known
	if !mayShorten && count == 1 {
		return nil
	}
	leases := []time.Duration{n.lease}
	for _, own := range l.longestNeeds(now, fx) {
		if now+validity(own.lease) < own.until {
			own.lease = leaseCovering(own.until - now)
		}
		leases = append(leases, own.lease)
	}
	slices.SortFunc(leases[1:], func(a, b time.Duration) int { return cmp.Compare(b, a) })
	if len(leases) > 1 {
		leases = append(leases[:1], leases[2:]...)
	}
	reads := &ReaderArgs{MayShorten: mayShorten, Leases: leases}
	if len(leases) > maxHoldKeys {
		reads.Leases = leases[:maxHoldKeys]
	}
	if int(count) > len(reads.Leases) {
		reads.Holds = int(count)
	}
	return reads
}
