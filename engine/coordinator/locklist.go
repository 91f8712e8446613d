package coordinator

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// lockList is a list of the per-request locks of one name, oldest first. A long list has a map that finds a lock's
// index. A removed lock leaves a hole, and holes are compacted when they exceed half of the list. So adding and
// removing very many locks takes linear time. A short list is only a slice. The zero value is empty. Owned by the
// coordinator.
type lockList struct {
	list      []*actor.Lock // nil where a lock was removed; the last element is never nil
	positions map[*actor.Lock]int
	head      int // index of the oldest lock: the oldest are usually removed first
	gaps      int // number of nil elements after head
	queueHint int // no lock before this index waits in the fair queue
}

// maxUnindexed is the largest number of locks without a map.
const maxUnindexed = 64

// isSmall reports whether the list is searched linearly.
func (k *lockList) isSmall() bool { return k.positions == nil }

func (k *lockList) len() int { return len(k.list) - k.head - k.gaps }

func (k *lockList) has(l *actor.Lock) bool {
	if k.positions == nil {
		return slices.Contains(k.list, l)
	}
	_, has := k.positions[l]
	return has
}

// newest returns the newest lock, or nil.
func (k *lockList) newest() *actor.Lock {
	if len(k.list) == 0 {
		return nil
	}
	return k.list[len(k.list)-1]
}

func (k *lockList) add(l *actor.Lock) {
	k.list = append(k.list, l)
	if k.queueHint == len(k.list)-1 {
		k.queueHint++ // it does not wait in the fair queue yet
	}
	switch {
	case k.positions != nil:
		k.positions[l] = len(k.list) - 1
	case len(k.list) > maxUnindexed:
		k.buildIndex()
	}
}

func (k *lockList) remove(l *actor.Lock) {
	if k.positions == nil {
		k.list = slices.DeleteFunc(k.list, func(other *actor.Lock) bool { return other == l })
		k.queueHint = 0
		return
	}
	at, has := k.positions[l]
	if !has {
		return
	}
	delete(k.positions, l)
	k.list[at] = nil
	k.gaps++
	for last := len(k.list) - 1; last >= k.head && k.list[last] == nil; last-- {
		k.list = k.list[:last]
		k.gaps--
	}
	for ; k.head < len(k.list) && k.list[k.head] == nil; k.head++ {
		k.gaps--
	}
	if k.head+k.gaps > k.len() {
		seek := 0
		for _, l := range k.list[k.head:max(k.head, min(k.queueHint, len(k.list)))] {
			if l != nil {
				seek++
			}
		}
		k.list = k.all()
		k.buildIndex()
		k.queueHint = seek
	}
}

// buildIndex rebuilds the map. The list must have no holes.
func (k *lockList) buildIndex() {
	k.positions, k.head, k.gaps = nil, 0, 0
	if len(k.list) <= maxUnindexed {
		return
	}
	k.positions = make(map[*actor.Lock]int, len(k.list))
	for at, l := range k.list {
		k.positions[l] = at
	}
}

// all returns a copy, because the caller may end locks while it iterates.
func (k *lockList) all() []*actor.Lock {
	all := make([]*actor.Lock, 0, k.len())
	for _, l := range k.list[k.head:] {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}

// filter returns a copy of the locks that match.
func (k *lockList) filter(matches func(*actor.Lock) bool) (some []*actor.Lock) {
	for _, l := range k.list[k.head:] {
		if l != nil && matches(l) {
			some = append(some, l)
		}
	}
	return some
}

// first returns the oldest lock that matches, or nil.
func (k *lockList) first(matches func(*actor.Lock) bool) *actor.Lock {
	for _, l := range k.list[k.head:] {
		if l != nil && matches(l) {
			return l
		}
	}
	return nil
}

// queueHead returns the oldest lock that waits in the fair queue, or nil. Locks before it are not examined again until
// noteQueued is called, because very many may leave one after the other.
func (k *lockList) queueHead() *actor.Lock {
	for k.queueHint = max(k.queueHint, k.head); k.queueHint < len(k.list); k.queueHint++ {
		if l := k.list[k.queueHint]; l != nil && l.IsQueued() {
			return l
		}
	}
	return nil
}

// noteQueued notes that a lock may wait in the fair queue from now on.
func (k *lockList) noteQueued(l *actor.Lock) {
	if at, numbered := k.positions[l]; numbered {
		k.queueHint = min(k.queueHint, at)
	} else {
		k.queueHint = 0
	}
}
