package actor

import (
	"cmp"
	"slices"
	"time"
)

// Reads is what the commands of a reader carry besides what all have.
type Reads struct {
	Writer uint64          // SendReadAcquire: the tenure of the owner's own write, which does not keep it out; 0 none
	Falls  bool            // SendReadRenew: the TTL may have to fall
	Leases []time.Duration // SendReadRenew: of each hold, the longest first. Of very many the longest alone
	Holds  int             // SendReadRenew: how many there are, if they are more
}

// reading is what a reader knows of the writer beside which it reads: that of the same owner. In Redis it has
// the writer's number then, as one thread of Redisson would be both. Otherwise numbers are not used twice,
// because a command without an answer may run later; so after one of those, the next reader has a new number.
//
// A writer notes here that its number is not to be used any more.
type reading struct {
	writer  uint64 // its tenure; 0: none
	number  bool   // the reader may have its number
	asked   bool   // it was asked for beside the writer
	over    bool   // the reader was granted and ended, or the writer is gone: it is like any other
	spoiled bool   // commands in the number's name may still run
}

// Beside makes a lock the reader of an owner who writes; number says whether it may have the writer's number. If it had that
// before, what may still run in its name goes on to be known.
func (l *Lock) Beside(writer *Lock, number bool) {
	r := l.withRare().withReading()
	*r = reading{writer: writer.tenure, number: number, spoiled: r.spoiled && r.writer == writer.tenure}
}

// GoBeside makes a claim that waits to read go on as the reader of its owner, who writes since.
func (l *Lock) GoBeside(now time.Duration, writer *Lock, number bool) {
	l.Beside(writer, number)
	x := l.rare
	x.stepBack, x.askAt, x.again = 0, now, true
}

// refused takes in that a question was, that was asked beside that writer: if it is the one of now, it is gone.
func (r *reading) refused(asked *Reads) {
	r.over = r.over || asked != nil && asked.Writer == r.writer
}

func (l *Lock) besideWriter() bool {
	return l.rare != nil && l.rare.reading != nil && l.rare.reading.writer != 0 && !l.rare.reading.over
}

// nextTenure is the number of the tenure that is to be asked for.
func (l *Lock) nextTenure(fx *Effects) uint64 {
	if l.besideWriter() && l.rare.reading.number && !l.rare.reading.spoiled {
		return l.rare.reading.writer
	}
	return fx.nextTenure()
}

// tenureEnds is called before a tenure of the lock is forgotten.
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

// Spoils reports whether no other reader may have that number, or not any more, because of this one: it has it, asks
// again with it, or had it.
func (l *Lock) Spoils(number uint64) bool {
	if l.rare == nil || l.rare.reads().writer != number {
		return l.tenure == number
	}
	r := l.rare.reads()
	return l.tenure == number || r.spoiled || r.number && !r.over && !l.queue.empty() // also while a tenure of before ends
}

// Spoil makes a writer's number one that no reader gets.
func (l *Lock) Spoil() { l.withRare().withReading().spoiled = true }

// Spoiled reports whether it is one. Of writers.
func (l *Lock) Spoiled() bool { return l.rare != nil && l.rare.reads().spoiled }

// Share tells a writer whether this engine has readers of the lock: then it is not handed on to the next
// writer, who would keep out those who wait and be there beside those who read.
func (l *Lock) Share(readers bool) {
	if readers || l.rare != nil {
		l.withRare().shared = readers
	}
}

// ReadsLess reports whether a command of a reader, answered so, may have left the lock with a longer TTL than those need who are
// left, and until when that can be at most. It is asked before the reader is told.
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

// Raised tells a writer that the TTL may be that long, because of what reads beside it needed and need no longer. If that is more
// than is needed, it is set once more: others would wait for it if this process died.
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

// Pending reports whether somebody waits for a lock that this engine does not hold.
func (l *Lock) Pending() bool {
	return !l.queue.empty() && (l.phase == free || l.phase == asking)
}

// StandAside makes a lock that was just begun let others come first: until then, or until it is Called.
func (l *Lock) StandAside(until time.Duration) { l.withRare().stepBack = until }

func (l *Lock) called(now time.Duration) {
	if x := l.rare; x != nil && now < x.stepBack {
		x.stepBack, x.askAt = 0, now
	}
}

// stampsMost is how many holds of a reader have keys at most. Whoever looks for what a reader needs takes the longest lease, so
// of more than that the others do not matter until those have gone, and then a renewal is due.
const stampsMost = 64

// stamps is what the renewal of a reader carries: what its holds need, each by itself. The first key has the
// lease of the tenure, which also covers whoever is about to hold it.
func (l *Lock) stamps(now time.Duration, n need, fx *Effects) *Reads {
	count := l.holdCount()
	late := l.shortest() != 0                                       // a command without an answer may have raised it
	falls := n.exact || late || count < l.written || l.written == 0 // 0: what is written is not known
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
