package debug

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel"
)

// maxEvents is how many events of each sort a Recorder keeps.
const maxEvents = 200

// Recorder remembers what happened lately, for [Options.Recorder]: the last 200 events of each sort, so that many
// grants do not push out a loss. Names and errors are cut after 300 bytes. It needs less than 3 MB. The zero Recorder
// is ready.
//
// Its methods are those of [lockwheel.Observer]. They never block, are safe for concurrent use, and may serve several
// engines; then the page does not say which engine an event was of. Each costs one or two small allocations. A Recorder
// must not be copied.
type Recorder struct {
	lost, rejected, slow, acquired, released ring
}

// Observer returns an observer that calls the methods of the recorder. To do more on an event, set a function of your
// own that calls the method, too.
func (r *Recorder) Observer() lockwheel.Observer {
	return lockwheel.Observer{Acquired: r.Acquired, Rejected: r.Rejected, Released: r.Released, Lost: r.Lost, SlowTurn: r.SlowTurn}
}

// Acquired records a grant; see [lockwheel.Observer].
func (r *Recorder) Acquired(name string, waited time.Duration) { r.acquired.add(name, waited, nil) }

// Rejected records a request that ended without a hold; see [lockwheel.Observer]. A nil err is recorded as no error.
func (r *Recorder) Rejected(name string, waited time.Duration, err error) {
	r.rejected.add(name, waited, err)
}

// Released records an unlock; see [lockwheel.Observer].
func (r *Recorder) Released(name string, held time.Duration) { r.released.add(name, held, nil) }

// Lost records a lost hold; see [lockwheel.Observer]. A nil err is recorded as no error.
func (r *Recorder) Lost(name string, err error) { r.lost.add(name, 0, err) }

// SlowTurn records a slow turn of the loop; see [lockwheel.Observer].
func (r *Recorder) SlowTurn(turn time.Duration) { r.slow.add("", turn, nil) }

// event is immutable from when it was added to a ring, and shared from then on.
type event struct {
	number uint64 // of its ring, from 1
	at     time.Time
	name   string
	took   time.Duration
	err    string
}

// ring keeps the last events without a mutex. Goroutines may add and read at the same time.
type ring struct {
	added  atomic.Uint64
	events [maxEvents]atomic.Pointer[event]
}

func (r *ring) add(name string, took time.Duration, err error) {
	e := &event{at: time.Now(), name: shown(name), took: took}
	if err != nil {
		e.err = shown(err.Error())
	}
	e.number = r.added.Add(1)
	slot := &r.events[e.number%maxEvents]
	for old := slot.Load(); old == nil || old.number < e.number; old = slot.Load() { // a later event may have been faster
		if slot.CompareAndSwap(old, e) {
			return
		}
	}
}

// last returns the events, the latest first.
func (r *ring) last() []*event {
	all := make([]*event, 0, maxEvents)
	for i := range r.events {
		if e := r.events[i].Load(); e != nil {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *event) int {
		if a.number > b.number {
			return -1
		}
		return 1
	})
	return all
}

// sorts returns the rings with their names, those with trouble first.
func (r *Recorder) sorts() []namedRing {
	return []namedRing{{"lost", "", &r.lost}, {"rejected", "waited", &r.rejected}, {"slow turn", "took", &r.slow}, {"acquired", "waited", &r.acquired}, {"released", "held", &r.released}}
}

type namedRing struct {
	what, took string // took says what the duration of its events is; empty if they have none
	*ring
}
