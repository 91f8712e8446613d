package actor

import "slices"

// roster is some of the requests of a queue, in the order in which they came to it, so that none of the others is looked at to
// find them. Whoever leaves the queue leaves the roster. Few cost a slice; of many each is found by a map, and its place stays
// empty until half of all are.
type roster struct {
	list  []*Request // nil where one left
	at    map[*Request]int
	holes int
	from  int // all before have been popped
}

// fewOfRoster is up to how many there is no map.
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

// remove takes somebody out who need not be there.
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

// index is for a list without holes.
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

// all is a copy: whoever goes through it may have them leave.
func (s *roster) all() []*Request {
	return slices.DeleteFunc(slices.Clone(s.list), func(r *Request) bool { return r == nil })
}

// pop takes the first out; nil if there is none.
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
