package lockwheel

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	// leastPlaces is how many watches a table has room for at least, and probes in how many of its places one may be.
	leastPlaces, probes = 64, 8
	// sparse is how many places a table may have for each watch, once it is larger than the least.
	sparse = 16
)

// watchTable finds the watch of a context. It has no locks, and is allowed to miss one: who shares that context has another watch then. So
// while the table is replaced by a larger or a smaller one nothing waits, and what is put in meanwhile may be lost. The zero table is empty.
type watchTable struct {
	seed   maphash.Seed // set before the first use
	places atomic.Pointer[[]atomic.Pointer[watch]]
	count  atomic.Int64 // in places, about
	moves  atomic.Bool
}

// slots are where the watch of a key may be. The bits of a hash that choose them are those that a larger table has more of.
func (t *watchTable) slots(in []atomic.Pointer[watch], key any) (some [probes]*atomic.Pointer[watch]) {
	at := maphash.Comparable(t.seed, key)
	for i := range some {
		some[i] = &in[(at+uint64(i))%uint64(len(in))]
	}
	return some
}

// find returns the watch of a key, or nil.
func (t *watchTable) find(key any) *watch {
	if places := t.places.Load(); places != nil {
		for _, slot := range t.slots(*places, key) {
			if w := slot.Load(); w != nil && w.key == key && !w.over() {
				return w
			}
		}
	}
	return nil
}

// put takes a watch in, if there is room and no other of its key.
func (t *watchTable) put(w *watch) {
	places := t.places.Load()
	if places == nil || t.count.Load() < int64(len(*places)/sparse) && len(*places) > leastPlaces {
		places = t.move(places)
	}
	if t.find(w.key) == nil && !t.place(*places, w) {
		if t.count.Load() >= int64(len(*places)/4) {
			places = t.move(places)
		}
		if !t.place(*places, w) {
			t.slots(*places, w.key)[0].Store(w) // the one that was there is not found any more
		}
	}
	if w.over() { // maybe before it was to be found
		t.remove(w)
	}
}

// place puts a watch into one of its places.
func (t *watchTable) place(in []atomic.Pointer[watch], w *watch) bool {
	for _, slot := range t.slots(in, w.key) {
		if slot.CompareAndSwap(nil, w) {
			t.count.Add(1)
			return true
		}
	}
	return false
}

// remove lets go of a watch that is over.
func (t *watchTable) remove(w *watch) {
	if w.key == nil {
		return
	}
	if places := t.places.Load(); places != nil {
		for _, slot := range t.slots(*places, w.key) {
			if slot.CompareAndSwap(w, nil) {
				t.count.Add(-1)
			}
		}
	}
}

// move replaces a table by one with four to eight places for each watch. One does so at a time; the others go on with the one that is there.
func (t *watchTable) move(from *[]atomic.Pointer[watch]) *[]atomic.Pointer[watch] {
	if !t.moves.CompareAndSwap(false, true) {
		if now := t.places.Load(); now != nil {
			return now
		}
		return &[]atomic.Pointer[watch]{{}} // before there is a first one: it is not found
	}
	defer t.moves.Store(false)
	if now := t.places.Load(); now != from {
		return now
	}
	var all []*watch
	if from != nil {
		for i := range *from {
			if w := (*from)[i].Load(); w != nil && !w.over() {
				all = append(all, w)
			}
		}
	}
	size := leastPlaces
	for size < 4*(len(all)+1) {
		size *= 2
	}
	to := make([]atomic.Pointer[watch], size)
	t.count.Store(0)
	for _, w := range all {
		t.place(to, w)
	}
	t.places.Store(&to)
	for _, w := range all {
		if w.over() { // it may have been looked for in the one before
			t.remove(w)
		}
	}
	return &to
}
