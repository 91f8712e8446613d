package engine

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// claims are the actors of one name, oldest first. Of many each is found by a map, and its place stays empty
// until half of all are, so that very many come and go without the square of the work. Few cost a slice.
type claims struct {
	list  []*actor.Lock // nil where one left; never the last
	at    map[*actor.Lock]int
	head  int // the oldest: those that came first mostly go first
	holes int // behind it
	seek  int // none that stands before has a place in a queue
}

// fewClaims is up to how many there is no map.
const fewClaims = 64

// few reports whether they are looked through when one is looked for.
func (k *claims) few() bool { return k.at == nil }

func (k *claims) len() int { return len(k.list) - k.head - k.holes }

func (k *claims) has(l *actor.Lock) bool {
	if k.at == nil {
		return slices.Contains(k.list, l)
	}
	_, has := k.at[l]
	return has
}

// youngest is the last that came; nil if there is none.
func (k *claims) youngest() *actor.Lock {
	if len(k.list) == 0 {
		return nil
	}
	return k.list[len(k.list)-1]
}

func (k *claims) add(l *actor.Lock) {
	k.list = append(k.list, l)
	if k.seek == len(k.list)-1 {
		k.seek++ // it has no place yet
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

// index is for a list without holes.
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

// all is a copy: whoever goes through it may end them.
func (k *claims) all() []*actor.Lock {
	all := make([]*actor.Lock, 0, k.len())
	for _, l := range k.list[k.head:] {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}

// those is a copy of some.
func (k *claims) those(are func(*actor.Lock) bool) (some []*actor.Lock) {
	for _, l := range k.list[k.head:] {
		if l != nil && are(l) {
			some = append(some, l)
		}
	}
	return some
}

// first is the oldest that is so; nil if none is.
func (k *claims) first(is func(*actor.Lock) bool) *actor.Lock {
	for _, l := range k.list[k.head:] {
		if l != nil && is(l) {
			return l
		}
	}
	return nil
}

// foremost is the oldest that has a place in a queue; nil if none has. Those before it are not looked at again until one of them is placed:
// very many may leave one after the other.
func (k *claims) foremost() *actor.Lock {
	for k.seek = max(k.seek, k.head); k.seek < len(k.list); k.seek++ {
		if l := k.list[k.seek]; l != nil && l.Queues() {
			return l
		}
	}
	return nil
}

// placed takes in that one may have a place since.
func (k *claims) placed(l *actor.Lock) {
	if at, numbered := k.at[l]; numbered {
		k.seek = min(k.seek, at)
	} else {
		k.seek = 0
	}
}
