package ctxwatch

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	// minSlots is the minimum size of a table. probes is the number of places in which a key may be.
	minSlots, probes = 64, 8
	// maxSlotsPerWatch is the maximum number of places per watch in a table that is larger than the minimum.
	maxSlotsPerWatch = 16
)

// table finds the watch of a context. It is lock-free and may miss a watch: another caller with that context
// then gets a second watch. So nothing waits while a larger or smaller table replaces the current one, and a watch
// that is put in meanwhile may be lost. The zero table is empty.
type table[C any] struct {
	seed     maphash.Seed // set before the first use
	places   atomic.Pointer[[]atomic.Pointer[Watch[C]]]
	count    atomic.Int64 // watches in places, approximately
	resizing atomic.Bool
}

// slots returns the places in which the watch of a key may be. They are chosen by the low bits of the hash, of which
// a larger table uses more.
func (t *table[C]) slots(in []atomic.Pointer[Watch[C]], key any) (some [probes]*atomic.Pointer[Watch[C]]) {
	at := maphash.Comparable(t.seed, key)
	for i := range some {
		some[i] = &in[(at+uint64(i))%uint64(len(in))]
	}
	return some
}

// find returns the watch of a key, or nil.
func (t *table[C]) find(key any) *Watch[C] {
	if places := t.places.Load(); places != nil {
		for _, slot := range t.slots(*places, key) {
			if w := slot.Load(); w != nil && w.key == key && !w.ended() {
				return w
			}
		}
	}
	return nil
}

// put adds a watch unless there is another with its key.
func (t *table[C]) put(w *Watch[C]) {
	places := t.places.Load()
	if places == nil || t.count.Load() < int64(len(*places)/maxSlotsPerWatch) && len(*places) > minSlots {
		places = t.resize(places)
	}
	if t.find(w.key) == nil && !t.insert(*places, w) {
		if t.count.Load() >= int64(len(*places)/4) {
			places = t.resize(places)
		}
		if !t.insert(*places, w) {
			t.slots(*places, w.key)[0].Store(w) // the watch that was there is no longer found
		}
	}
	if w.ended() { // maybe before it was to be found
		t.remove(w)
	}
}

// insert stores a watch in a free place of its key, and reports whether there was one.
func (t *table[C]) insert(in []atomic.Pointer[Watch[C]], w *Watch[C]) bool {
	for _, slot := range t.slots(in, w.key) {
		if slot.CompareAndSwap(nil, w) {
			t.count.Add(1)
			return true
		}
	}
	return false
}

// remove removes a watch that is over.
func (t *table[C]) remove(w *Watch[C]) {
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

// resize replaces the table by one with four to eight places per watch. One goroutine does so at a time; the others
// keep using the current table.
func (t *table[C]) resize(from *[]atomic.Pointer[Watch[C]]) *[]atomic.Pointer[Watch[C]] {
	if !t.resizing.CompareAndSwap(false, true) {
		if now := t.places.Load(); now != nil {
			return now
		}
		return &[]atomic.Pointer[Watch[C]]{{}} // there is no table yet: the watch will not be found
	}
	defer t.resizing.Store(false)
	if now := t.places.Load(); now != from {
		return now
	}
	var all []*Watch[C]
	for _, w := range watches(from) {
		if !w.ended() {
			all = append(all, w)
		}
	}
	size := minSlots
	for size < 4*(len(all)+1) {
		size *= 2
	}
	to := make([]atomic.Pointer[Watch[C]], size)
	t.count.Store(0)
	for _, w := range all {
		t.insert(to, w)
	}
	t.places.Store(&to)
	for _, w := range all {
		if w.ended() { // remove may have searched the previous table
			t.remove(w)
		}
	}
	return &to
}

// all returns all watches.
func (t *table[C]) all() []*Watch[C] { return watches(t.places.Load()) }

func watches[C any](places *[]atomic.Pointer[Watch[C]]) (all []*Watch[C]) {
	if places == nil {
		return nil
	}
	for i := range *places {
		if w := (*places)[i].Load(); w != nil {
			all = append(all, w)
		}
	}
	return all
}
