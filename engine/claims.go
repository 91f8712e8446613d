package engine

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// claims is a list of the per-request locks of one name, oldest first. A long list has a map that finds a lock's index.
// A removed lock leaves a hole, and holes are compacted when they exceed half of the list. So adding and removing very
// many locks takes linear time. A short list is only a slice.
type claims struct {
	list  []*actor.Lock // nil where a lock was removed; the last element is never nil
	at    map[*actor.Lock]int
	head  int // index of the oldest lock: the oldest are usually removed first
	holes int // number of nil elements after head
	seek  int // no lock before this index waits in the fair queue
}

// fewClaims is the largest number of locks without a map.
const fewClaims = 64

// few reports whether the list is searched linearly.
func (k *claims) few() bool { return k.at == nil }

func (k *claims) len() int { return len(k.list) - k.head - k.holes }

func (k *claims) has(l *actor.Lock) bool {
	if k.at == nil {
		return slices.Contains(k.list, l)
	}
	_, has := k.at[l]
	return has
}

// youngest returns the newest lock, or nil.
func (k *claims) youngest() *actor.Lock {
	if len(k.list) == 0 {
		return nil
	}
	return k.list[len(k.list)-1]
}

func (k *claims) add(l *actor.Lock) {
	k.list = append(k.list, l)
	if k.seek == len(k.list)-1 {
		k.seek++ // it does not wait in the fair queue yet
	}
	switch {
	case k.at != nil:
		k.at[l] = len(k.list) - 1
	case len(k.list) > fewClaims:
		k.index()
	}
}

func (k *claims) remove(l *actor.Lock) {
	if k.at == nil {
		k.list = slices.DeleteFunc(k.list, func(other *actor.Lock) bool { return other == l })
		k.seek = 0
		return
	}
	at, has := k.at[l]
	if !has {
		return
	}
	delete(k.at, l)
	k.list[at] = nil
	k.holes++
	for last := len(k.list) - 1; last >= k.head && k.list[last] == nil; last-- {
		k.list = k.list[:last]
		k.holes--
	}
	for ; k.head < len(k.list) && k.list[k.head] == nil; k.head++ {
		k.holes--
	}
	if k.head+k.holes > k.len() {
		seek := 0
		for _, l := range k.list[k.head:max(k.head, min(k.seek, len(k.list)))] {
			if l != nil {
				seek++
			}
		}
		k.list = k.all()
		k.index()
		k.seek = seek
	}
}

// index rebuilds the map. The list must have no holes.
func (k *claims) index() {
	k.at, k.head, k.holes = nil, 0, 0
	if len(k.list) <= fewClaims {
		return
	}
	k.at = make(map[*actor.Lock]int, len(k.list))
	for at, l := range k.list {
		k.at[l] = at
	}
}

// all returns a copy, because the caller may end locks while it iterates.
func (k *claims) all() []*actor.Lock {
	all := make([]*actor.Lock, 0, k.len())
	for _, l := range k.list[k.head:] {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}

// those returns a copy of the locks that satisfy are.
func (k *claims) those(are func(*actor.Lock) bool) (some []*actor.Lock) {
	for _, l := range k.list[k.head:] {
		if l != nil && are(l) {
			some = append(some, l)
		}
	}
	return some
}

// first returns the oldest lock that satisfies is, or nil.
func (k *claims) first(is func(*actor.Lock) bool) *actor.Lock {
	for _, l := range k.list[k.head:] {
		if l != nil && is(l) {
			return l
		}
	}
	return nil
}

// foremost returns the oldest lock that waits in the fair queue, or nil. Locks before it are not examined again until
// placed is called, because very many may leave one after the other.
func (k *claims) foremost() *actor.Lock {
	for k.seek = max(k.seek, k.head); k.seek < len(k.list); k.seek++ {
		if l := k.list[k.seek]; l != nil && l.Queues() {
			return l
		}
	}
	return nil
}

// placed notes that a lock may wait in the fair queue from now on.
func (k *claims) placed(l *actor.Lock) {
	if at, numbered := k.at[l]; numbered {
		k.seek = min(k.seek, at)
	} else {
		k.seek = 0
	}
}
