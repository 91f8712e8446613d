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

	queueHint   int32 // no lock before this index waits in the fair queue
	awaitedHint int32 // no lock before this index is awaited
}

// maxUnindexed is the largest number of locks without a map.
const maxUnindexed = 64

// isSmall reports whether the list is searched linearly.
func (ll *lockList) isSmall() bool { return ll.positions == nil }

func (ll *lockList) len() int { return len(ll.list) - ll.head - ll.gaps }

func (ll *lockList) has(l *actor.Lock) bool {
	if ll.positions == nil {
		return slices.Contains(ll.list, l)
	}
	_, has := ll.positions[l]
	return has
}

// newest returns the newest lock, or nil.
func (ll *lockList) newest() *actor.Lock {
	if len(ll.list) == 0 {
		return nil
	}
	return ll.list[len(ll.list)-1]
}

func (ll *lockList) add(l *actor.Lock) {
	ll.list = append(ll.list, l)
	if int(ll.queueHint) == len(ll.list)-1 {
		ll.queueHint++ // it does not wait in the fair queue yet
	}
	switch {
	case ll.positions != nil:
		ll.positions[l] = len(ll.list) - 1
	case len(ll.list) > maxUnindexed:
		ll.buildIndex()
	}
}

func (ll *lockList) remove(l *actor.Lock) {
	if ll.positions == nil {
		ll.list = slices.DeleteFunc(ll.list, func(other *actor.Lock) bool { return other == l })
		ll.queueHint, ll.awaitedHint = 0, 0
		return
	}
	at, has := ll.positions[l]
	if !has {
		return
	}
	delete(ll.positions, l)
	ll.list[at] = nil
	ll.gaps++
	for last := len(ll.list) - 1; last >= ll.head && ll.list[last] == nil; last-- {
		ll.list = ll.list[:last]
		ll.gaps--
	}
	for ; ll.head < len(ll.list) && ll.list[ll.head] == nil; ll.head++ {
		ll.gaps--
	}
	if ll.head+ll.gaps > ll.len() {
		ll.queueHint, ll.awaitedHint = ll.countBefore(ll.queueHint), ll.countBefore(ll.awaitedHint)
		ll.list = ll.all()
		ll.buildIndex()
	}
}

// countBefore returns the number of locks before an index.
func (ll *lockList) countBefore(at int32) (n int32) {
	for _, l := range ll.list[ll.head:max(ll.head, min(int(at), len(ll.list)))] {
		if l != nil {
			n++
		}
	}
	return n
}

// buildIndex rebuilds the map. The list must have no holes.
func (ll *lockList) buildIndex() {
	ll.positions, ll.head, ll.gaps = nil, 0, 0
	if len(ll.list) <= maxUnindexed {
		return
	}
	ll.positions = make(map[*actor.Lock]int, len(ll.list))
	for at, l := range ll.list {
		ll.positions[l] = at
	}
}

// all returns a copy, because the caller may end locks while it iterates.
func (ll *lockList) all() []*actor.Lock {
	all := make([]*actor.Lock, 0, ll.len())
	for _, l := range ll.list[ll.head:] {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}

// filter returns a copy of the locks that match.
func (ll *lockList) filter(matches func(*actor.Lock) bool) (some []*actor.Lock) {
	for _, l := range ll.list[ll.head:] {
		if l != nil && matches(l) {
			some = append(some, l)
		}
	}
	return some
}

// someOldest calls each with the oldest locks. It looks at no more than budget places of the list, and reports whether
// these were all.
func (ll *lockList) someOldest(budget int, each func(*actor.Lock)) (all bool) {
	end := min(len(ll.list), ll.head+budget)
	for _, l := range ll.list[ll.head:end] {
		if l != nil {
			each(l)
		}
	}
	return end == len(ll.list)
}

// first returns the oldest lock that matches, or nil.
func (ll *lockList) first(matches func(*actor.Lock) bool) *actor.Lock {
	for _, l := range ll.list[ll.head:] {
		if l != nil && matches(l) {
			return l
		}
	}
	return nil
}

// queueHead returns the oldest lock that waits in the fair queue, or nil. Locks before it are not examined again until
// noteQueued is called, because very many may leave one after the other.
func (ll *lockList) queueHead() *actor.Lock {
	return ll.firstFrom(&ll.queueHint, (*actor.Lock).IsQueued)
}

// noteQueued notes that a lock may wait in the fair queue from now on.
func (ll *lockList) noteQueued(l *actor.Lock) { ll.queueHint = min(ll.queueHint, ll.index(l)) }

// firstAwaited returns the oldest lock that is awaited, or nil. Locks before it are not examined again until
// noteAwaited is called: very many that were given up may still have releases on their way.
func (ll *lockList) firstAwaited() *actor.Lock {
	return ll.firstFrom(&ll.awaitedHint, (*actor.Lock).Awaited)
}

// noteAwaited notes that a lock is awaited from now on.
func (ll *lockList) noteAwaited(l *actor.Lock) { ll.awaitedHint = min(ll.awaitedHint, ll.index(l)) }

// firstFrom returns the oldest lock that matches, or nil. No lock before hint does; it sets hint to the index of the
// lock that it returns.
func (ll *lockList) firstFrom(hint *int32, matches func(*actor.Lock) bool) *actor.Lock {
	for *hint = max(*hint, int32(ll.head)); int(*hint) < len(ll.list); *hint++ {
		if l := ll.list[*hint]; l != nil && matches(l) {
			return l
		}
	}
	return nil
}

// index returns the index of a lock of the list; 0 if the list is not indexed.
func (ll *lockList) index(l *actor.Lock) int32 {
	if l == ll.newest() {
		return int32(len(ll.list) - 1)
	}
	return int32(ll.positions[l])
}
