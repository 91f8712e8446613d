package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simBooks are what the simulation knows besides what anybody believes: for each tenure how long the
// server has it, for each hold and request how it stands.
type simBooks struct {
	tenures map[simHolder]*simTenure
	active  []*simHold // granted and not ended
	spare   []*simAsk
	asked   int  // how many requests there were
	late    bool // what runs is a late copy
	saw     [simSights]int
}

// simTenure is the truth about a tenure. Moments are true time unless it says otherwise.
type simTenure struct {
	horizon time.Duration // until when the server has it: no belief may reach further
	present bool          // in the server

	// What has become of it at the server, at any time.
	robbed   bool // taken away by somebody else; what was believed then may be believed to its end
	robbedAt time.Duration
	removed  bool // released
	expired  bool
	late     bool // a late copy brought it, or brought it back
	revived  bool // a restart with old data did
	created  time.Duration

	// What its engine did with it.
	owner     uint64 // whose token it is
	token     uint64
	granted   time.Duration // its latest hold was
	lost      bool          // one of its holds was
	fixed     bool          // one of its holds has, or had, a lease of its own
	confirmed time.Duration // when the latest command left that set its TTL and was answered. Engine's clock
	released  time.Duration // a release was answered for the first time
	unsure    bool          // a command had no answer, or a refusal
	forbidden bool          // a command was refused for good
	flying    int           // commands under way
	releases  int           // of them, releases
}

func newSimBooks() simBooks { return simBooks{tenures: map[simHolder]*simTenure{}} }

func (b *simBooks) tenure(h simHolder) *simTenure {
	t := b.tenures[h]
	if t == nil {
		t = &simTenure{}
		b.tenures[h] = t
	}
	return t
}

// What happens to a key, told by the server.

func (b *simBooks) created(k *simKey, now time.Duration) {
	t := b.tenure(k.holder)
	k.tenure = t
	t.present, t.created = true, now
	t.late = t.late || b.late
	b.prolonged(k)
}

func (b *simBooks) prolonged(k *simKey) {
	t := b.tenure(k.holder)
	if t.robbed {
		t.horizon = max(t.horizon, k.ends())
	} else {
		t.horizon = k.ends()
	}
}

func (b *simBooks) expired(k *simKey) {
	t := b.tenure(k.holder)
	t.present, t.expired = false, true
}

func (b *simBooks) released(k *simKey, now time.Duration) {
	t := b.tenure(k.holder)
	t.present, t.removed, t.horizon = false, true, now
}

// replaced is one key in the place of another, by no doing of their holders. A horizon stays: it is what
// the loser may believe.
func (b *simBooks) replaced(before, after *simKey, now time.Duration) {
	if before.exists {
		t := b.tenure(before.holder)
		same := after.exists && after.holder == before.holder
		if !same || after.expires < before.expires {
			t.present, t.robbed, t.robbedAt = same, true, now
		}
	}
	if after.exists {
		t := b.tenure(after.holder)
		t.horizon = max(t.horizon, after.ends())
		t.revived = t.revived || !t.present
		t.present = true
	}
}

// returned notes what a batch that comes back confirms.
func (b *simBooks) returned(e *simEngine, back *batch, now time.Duration) {
	for i := range back.commands {
		c := &back.commands[i]
		t := b.tenure(simHolder{e.life, c.Tenure})
		t.flying--
		if simReleases(c.Verb) {
			t.releases--
		}
		switch {
		case back.failed != nil:
			t.refused(back.lost, back.failed)
		case i >= len(back.replies):
			t.unsure = true
		case back.replies[i].Status == actor.Refused:
			t.refused(false, back.replies[i].Err)
		case simReleases(c.Verb) && t.released == 0:
			t.released = now
		case back.replies[i].Status == actor.Done && c.Lease != 0:
			t.confirmed = max(t.confirmed, back.sent)
		}
	}
}

// refused notes that a command was not done, or that nobody knows.
func (t *simTenure) refused(lost bool, err error) {
	if !lost && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return // it is sent again at once, and nobody is to notice
	}
	t.unsure = true
	t.forbidden = t.forbidden || !lost && !actor.Passing(err.Error())
}

// drop takes a hold that has ended out of those that may be believed in.
func (b *simBooks) drop(h *simHold) {
	if h.active {
		h.active = false
		b.active = without(b.active, h)
	}
}

// without takes one out of a list, keeping the order.
func without[T comparable](list []T, one T) []T {
	if i := slices.Index(list, one); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// forget is for an engine that is gone: nobody believes anything any more.
func (b *simBooks) forget(e *simEngine) {
	b.active = slices.DeleteFunc(b.active, func(h *simHold) bool { return h.e == e })
	e.asks, e.holds = nil, nil
}

func (b *simBooks) spareAsk() *simAsk {
	last := len(b.spare) - 1
	if last < 0 {
		return &simAsk{}
	}
	a := b.spare[last]
	b.spare = b.spare[:last]
	return a
}

// giveBack makes a request usable again, as Call.Free does.
func (b *simBooks) giveBack(a *simAsk) {
	a.Reset()
	*a = simAsk{}
	b.spare = append(b.spare, a)
}

// simSight is something that a run may see; all of them together must have seen everything.
type simSight uint8

const (
	sawGrant simSight = iota
	sawReentry
	sawNotAcquired
	sawUnavailable
	sawRefused
	sawClosed
	sawReleased
	sawLost
	sawRobbed
	sawExtended
	sawGhost
	sawLateCopy
	sawRefusal
	sawMuted
	sawUnheard
	sawLie
	sawDoubt
	sawShutdown
	sawFull
	simSights int = iota
)

var simSightNames = [simSights]string{
	"granted", "re-entered", "not acquired", "unavailable", "refused for good", "closed", "released", "lost",
	"robbed", "extended", "ghosts", "late copies", "calls refused", "messages forbidden", "messages lost",
	"short answers", "doubts", "shutdowns", "full calls",
}

func (w *simWorld) saw(s simSight) { w.books.saw[s]++ }
