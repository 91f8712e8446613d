package actor

import (
	"cmp"
	"slices"
	"time"
)

// Reads is the additional content of a reader's commands.
type Reads struct {
	Writer uint64          // SendReadAcquire: tenure of the owner's own write, which does not exclude it; 0: none
	Falls  bool            // SendReadRenew: the TTL may have to fall
	Leases []time.Duration // SendReadRenew: one per hold, the longest first; of more than stampsMost only the longest
	Holds  int             // SendReadRenew: the number of holds, if there are more than Leases
}

// reading is a reader's knowledge of the writer beside which it reads: the one of the same owner. In Redis the reader
// then has the writer's number, as one Redisson thread would be both. Otherwise numbers are never reused, because a
// command without a reply may run later. So after such a command the next reader gets a new number.
//
// A writer has a reading only to record in spoiled that its number must not be used again.
type reading struct {
	writer  uint64 // the writer's tenure; 0: none
	number  bool   // the reader may have the writer's number
	asked   bool   // an acquire beside the writer was sent
	over    bool   // the reader was granted and ended, or the writer is gone: the reader is like any other
	spoiled bool   // commands with the number may still run
}

// Beside makes the lock the reader of an owner that writes. number says whether it may have the writer's number. If it
// had that number before, spoiled is kept.
func (l *Lock) Beside(writer *Lock, number bool) {
	r := l.withRare().withReading()
	*r = reading{writer: writer.tenure, number: number, spoiled: r.spoiled && r.writer == writer.tenure}
}

// GoBeside changes a per-request lock that waits to read, because its owner has acquired the write lock since. It
// continues as the reader beside that writer.
func (l *Lock) GoBeside(now time.Duration, writer *Lock, number bool) {
	l.Beside(writer, number)
	x := l.rare
	x.stepBack, x.askAt, x.again = 0, now, true
}

// refused handles a rejected acquire that was sent with asked. If it was sent beside the current writer, that writer is
// gone.
func (r *reading) refused(asked *Reads) {
	r.over = r.over || asked != nil && asked.Writer == r.writer
}

func (l *Lock) besideWriter() bool {
	return l.rare != nil && l.rare.reading != nil && l.rare.reading.writer != 0 && !l.rare.reading.over
}

// nextTenure returns the number of the tenure to be acquired.
func (l *Lock) nextTenure(fx *Effects) uint64 {
	if l.besideWriter() && l.rare.reading.number && !l.rare.reading.spoiled {
		return l.rare.reading.writer
	}
	return fx.nextTenure()
}

// tenureEnds is called before the lock's tenure is reset.
func (r *reading) tenureEnds(l *Lock) {
	x := l.rare
	switch {
	case l.kind == Write:
		*r = reading{}
	case l.tenure == r.writer:
		unanswered := l.flight != None || x.acquiring || x.releasing || x.lease().shortest != 0
		r.spoiled = r.spoiled || unanswered || x.haunted(l.tenure) || x.evicted() == l.tenure
	}
	r.over = r.over || r.asked && l.phase != asking
}

// Spoils reports whether, because of this reader, no other reader may have that number. That is so if this one has it,
// had it, or will use it in its next acquire.
func (l *Lock) Spoils(number uint64) bool {
	if l.rare == nil || l.rare.reads().writer != number {
		return l.tenure == number
	}
	r := l.rare.reads()
	return l.tenure == number || r.spoiled || r.number && !r.over && !l.queue.empty() // also while an earlier tenure ends
}

// Spoil marks a writer's number as unusable for readers.
func (l *Lock) Spoil() { l.withRare().withReading().spoiled = true }

// Spoiled reports whether a writer's number is marked so.
func (l *Lock) Spoiled() bool { return l.rare != nil && l.rare.reads().spoiled }

// Share records in a writer whether this engine has readers of the lock. If so, the lock is not handed off to the next
// writer, which would keep waiting readers out and be there beside those that read.
func (l *Lock) Share(readers bool) {
	if readers || l.rare != nil {
		l.withRare().shared = readers
	}
}

// ReadsLess reports whether a reader's command with that reply may have left a longer TTL than the remaining holders
// need. until is when that TTL ends at the latest. ReadsLess must be called before the reader's Lock handles the reply.
func (l *Lock) ReadsLess(now time.Duration, c *Command, reply *Reply) (until time.Duration, is bool) {
	own := c.Tenure == l.tenure && c.Verb == l.flight
	switch {
	case reply.Status != Done && reply.Status != Gone:
		return 0, false
	case own && (c.Verb == SendReadRelease || c.Verb == SendReadRenew && (reply.Status == Gone || c.Reads != nil && c.Reads.Falls)):
		return now + l.reach(), true
	case own:
		return 0, false
	}
	g := l.ghostOf(c)
	if g == nil {
		return 0, false
	}
	return g.until, true
}

// Raised records in a writer that the TTL may last to until, because of what reads beside it needed and need no longer.
// If that is more than is needed, the TTL is set again: if this process died, others would wait for it.
func (l *Lock) Raised(now, until time.Duration, fx *Effects) {
	if l.phase != held || until <= l.until {
		return
	}
	x := l.withRare().withLeases()
	x.raised = max(x.raised, until)
	if l.mayOutlive(now, fx) && l.outlives(now, fx) {
		l.wants |= wantSet | wantConfirm
	}
}

// Pending reports whether requests wait for a lock that this engine does not hold.
func (l *Lock) Pending() bool {
	return !l.queue.empty() && (l.phase == free || l.phase == asking)
}

// StandAside makes a new lock yield to others, to the time until or to the message Called.
func (l *Lock) StandAside(until time.Duration) { l.withRare().stepBack = until }

func (l *Lock) called(now time.Duration) {
	if x := l.rare; x != nil && now < x.stepBack {
		x.stepBack, x.askAt = 0, now
	}
}

// stampsMost is the maximum number of a reader's holds that have keys. Only the longest lease of a reader counts, so
// further holds do not matter until those have ended, and then a renewal is due.
const stampsMost = 64

// stamps returns what the renewal of a reader carries: the lease of each hold. The first key has the tenure's lease,
// which also covers re-entries about to be granted. nil: one hold, with the tenure's lease.
func (l *Lock) stamps(now time.Duration, n need, fx *Effects) *Reads {
	count := l.holdCount()
	late := l.shortest() != 0                                       // a command without a reply may have raised it
	falls := n.exact || late || count < l.written || l.written == 0 // 0: the count in Redis is not known
	if !falls && count == 1 {
		return nil
	}
	leases := []time.Duration{n.lease}
	for _, own := range l.longestNeeds(now, fx) {
		if now+believed(own.lease) < own.until {
			own.lease = reaching(own.until - now)
		}
		leases = append(leases, own.lease)
	}
	slices.SortFunc(leases[1:], func(a, b time.Duration) int { return cmp.Compare(b, a) })
	if len(leases) > 1 {
		leases = append(leases[:1], leases[2:]...)
	}
	reads := &Reads{Falls: falls, Leases: leases}
	if len(leases) > stampsMost {
		reads.Leases = leases[:stampsMost]
	}
	if int(count) > len(reads.Leases) {
		reads.Holds = int(count)
	}
	return reads
}
