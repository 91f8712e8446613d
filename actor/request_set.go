package actor

import "slices"

// requestSet is a subset of a queue's requests, in the order in which they joined it, that can be found without
// scanning the queue. A request that leaves the queue must leave the set. A small set is a slice. A large one has a map
// for lookups, and a removed entry stays empty until half of the entries are. The zero value is empty. Owned by the
// coordinator.
type requestSet struct {
	list    []*Request // nil where a request left
	index   map[*Request]int
	removed int
	popped  int // all entries before have been popped
}

// indexThreshold is the largest length without a map.
const indexThreshold = 16

func (s *requestSet) len() int { return len(s.list) - s.removed }

func (s *requestSet) add(r *Request) {
	s.list = append(s.list, r)
	switch {
	case s.index != nil:
		s.index[r] = len(s.list) - 1
	case len(s.list) > indexThreshold:
		s.rebuildIndex()
	}
}

// remove removes a request if it is in the set.
func (s *requestSet) remove(r *Request) {
	if s.index == nil {
		if at := slices.Index(s.list, r); at >= 0 {
			s.list = slices.Delete(s.list, at, at+1)
		}
		return
	}
	at, has := s.index[r]
	if !has {
		return
	}
	delete(s.index, r)
	s.list[at] = nil
	if s.removed++; 2*s.removed > len(s.list) {
		s.list = slices.Clone(s.all())
		s.rebuildIndex()
	}
}

// rebuildIndex makes the map for a list without empty entries.
func (s *requestSet) rebuildIndex() {
	s.index, s.removed, s.popped = nil, 0, 0
	if len(s.list) <= indexThreshold {
		return
	}
	s.index = make(map[*Request]int, len(s.list))
	for at, r := range s.list {
		s.index[r] = at
	}
}

// all returns a copy, so the caller may remove requests while iterating over it.
func (s *requestSet) all() []*Request {
	return slices.DeleteFunc(slices.Clone(s.list), func(r *Request) bool { return r == nil })
}

// pop removes and returns the first request; nil if there is none.
func (s *requestSet) pop() *Request {
	for ; s.popped < len(s.list); s.popped++ {
		r := s.list[s.popped]
		if r == nil {
			continue
		}
		if s.index == nil {
			s.list = s.list[1:]
			return r
		}
		s.list[s.popped] = nil
		s.removed++
		delete(s.index, r)
		return r
	}
	*s = requestSet{}
	return nil
}
