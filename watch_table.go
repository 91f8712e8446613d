package lockwheel

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	// leastPlaces is the minimum size of a table. probes is the number of places in which a key may be.
	leastPlaces, probes = 64, 8
	// sparse is the maximum number of places per watch in a table that is larger than the minimum.
	sparse = 16
)

// watchTable finds the watch of a context. It is lock-free and may miss a watch: another caller with that context
// then gets a second watch. So nothing waits while a larger or smaller table replaces the current one, and a watch
// that is put in meanwhile may be lost. The zero table is empty.
type watchTable struct {
	seed   maphash.Seed // set before the first use
	places atomic.Pointer[[]atomic.Pointer[watch]]
	count  atomic.Int64 // watches in places, approximately
	moves  atomic.Bool
}

// slots returns the places in which the watch of a key may be. They are chosen by the low bits of the hash, of which
// a larger table uses more.
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

// put adds a watch unless there is another with its key.
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
			t.slots(*places, w.key)[0].Store(w) // the watch that was there is no longer found
		}
	}
	if w.over() { // maybe before it was to be found
		t.remove(w)
	}
}

// place stores a watch in a free place of its key, and reports whether there was one.
func (t *watchTable) place(in []atomic.Pointer[watch], w *watch) bool {
	for _, slot := range t.slots(in, w.key) {
		if slot.CompareAndSwap(nil, w) {
			t.count.Add(1)
			return true
		}
	}
	return false
}

// remove removes a watch that is over.
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

// move replaces the table by one with four to eight places per watch. One goroutine does so at a time; the others
// keep using the current table.
func (t *watchTable) move(from *[]atomic.Pointer[watch]) *[]atomic.Pointer[watch] {
	if !t.moves.CompareAndSwap(false, true) {
		if now := t.places.Load(); now != nil {
			return now
		}
		return &[]atomic.Pointer[watch]{{}} // there is no table yet: the watch will not be found
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
		if w.over() { // remove may have searched the previous table
			t.remove(w)
		}
	}
	return &to
}
