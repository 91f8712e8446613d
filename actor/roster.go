package actor

import "slices"

// roster is a subset of a queue's requests, in the order in which they joined it, that can be found without scanning
// the queue. A request that leaves the queue must leave the roster. A small roster is a slice. A large one has a map
// for lookups, and a removed entry stays empty until half of the entries are.
type roster struct {
	list  []*Request // nil where a request left
	at    map[*Request]int
	holes int
	from  int // all entries before have been popped
}

// fewOfRoster is the largest length without a map.
const fewOfRoster = 16

func (s *roster) len() int { return len(s.list) - s.holes }

func (s *roster) add(r *Request) {
	s.list = append(s.list, r)
	switch {
	case s.at != nil:
		s.at[r] = len(s.list) - 1
	case len(s.list) > fewOfRoster:
		s.index()
	}
}

// remove removes a request if it is in the roster.
func (s *roster) remove(r *Request) {
	if s.at == nil {
		if at := slices.Index(s.list, r); at >= 0 {
			s.list = slices.Delete(s.list, at, at+1)
		}
		return
	}
	at, has := s.at[r]
	if !has {
		return
	}
	delete(s.at, r)
	s.list[at] = nil
	if s.holes++; 2*s.holes > len(s.list) {
		s.list = slices.Clone(s.all())
		s.index()
	}
}

// index makes the map for a list without empty entries.
func (s *roster) index() {
	s.at, s.holes, s.from = nil, 0, 0
	if len(s.list) <= fewOfRoster {
		return
	}
	s.at = make(map[*Request]int, len(s.list))
	for at, r := range s.list {
		s.at[r] = at
	}
}

// all returns a copy, so the caller may remove requests while iterating over it.
func (s *roster) all() []*Request {
	return slices.DeleteFunc(slices.Clone(s.list), func(r *Request) bool { return r == nil })
}

// pop removes and returns the first request; nil if there is none.
func (s *roster) pop() *Request {
	for ; s.from < len(s.list); s.from++ {
		r := s.list[s.from]
		if r == nil {
			continue
		}
		if s.at == nil {
			s.list = s.list[1:]
			return r
		}
		s.list[s.from] = nil
		s.holes++
		delete(s.at, r)
		return r
	}
	*s = roster{}
	return nil
}
