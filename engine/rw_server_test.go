package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// rwServer is what the scripts of the read/write lock do, in words: locks by key, with leases that end.
type rwServer struct {
	now   time.Duration
	locks map[string]*rwHash
	told  []string // keys on whose channel something was published
}

type rwHash struct {
	writer  string // "" in mode read
	readers map[string][]time.Duration
	ends    time.Duration
}

// at is a lock as it is now; nil if it is free.
func (s *rwServer) at(key string) *rwHash {
	if h := s.locks[key]; h != nil && s.now < h.ends {
		return h
	}
	delete(s.locks, key)
	return nil
}

func (s *rwServer) tell(key string) { s.told = append(s.told, key) }

// fit lets a lock in mode read live as long as its readers, and tells whether nobody of them does.
func (s *rwServer) fit(key string, h *rwHash) (gone bool) {
	h.ends = 0
	for _, stamps := range h.readers {
		h.ends = max(h.ends, slices.Max(stamps))
	}
	return s.at(key) == nil
}

func (s *rwServer) leaveRead(key, id string) actor.Status {
	h := s.at(key)
	if h == nil || h.readers[id] == nil {
		return actor.Gone
	}
	delete(h.readers, id)
	if h.writer == "" && s.fit(key, h) {
		s.tell(key)
	}
	return actor.Done
}

func (s *rwServer) leaveWrite(key, id string) actor.Status {
	h := s.at(key)
	if h == nil || h.writer != id {
		return actor.Gone
	}
	h.writer = ""
	s.fit(key, h)
	s.tell(key)
	return actor.Done
}

// run runs a command as its script does.
func (s *rwServer) run(engine string, c *actor.Command) actor.Reply {
	id := fmt.Sprint(engine, ":", c.Tenure)
	for _, ghost := range c.Ghosts {
		if c.Verb == actor.SendReadAcquire {
			s.leaveRead(c.Key, fmt.Sprint(engine, ":", ghost))
		} else {
			s.leaveWrite(c.Key, fmt.Sprint(engine, ":", ghost))
		}
	}
	h, lease := s.at(c.Key), c.Lease.Truncate(time.Millisecond)
	done, gone := actor.Reply{Status: actor.Done, Listeners: -1}, actor.Reply{Status: actor.Gone}
	switch c.Verb {
	case actor.SendReadAcquire:
		if h == nil {
			h = &rwHash{readers: map[string][]time.Duration{}}
			s.locks[c.Key] = h
		}
		beside := c.Reads != nil && h.writer == fmt.Sprint(engine, ":", c.Reads.Writer)
		if h.readers[id] == nil && h.writer != "" && !beside {
			return actor.Reply{Status: actor.Taken, TTL: h.ends - s.now}
		}
		if h.readers[id] == nil {
			h.readers[id] = []time.Duration{0}
		}
		h.readers[id][0] = max(h.readers[id][0], s.now+lease)
		h.ends = max(h.ends, s.now+lease)
	case actor.SendReadRenew:
		if h == nil || h.readers[id] == nil {
			return gone
		}
		var stamps []time.Duration
		for _, own := range leasesOf(c) {
			stamps = append(stamps, s.now+own.Truncate(time.Millisecond))
		}
		h.readers[id] = stamps
		h.ends = max(h.ends, s.now+lease)
		if c.Reads != nil && c.Reads.Falls && h.writer == "" {
			s.fit(c.Key, h)
		}
	case actor.SendReadRelease:
		return actor.Reply{Status: s.leaveRead(c.Key, id)}
	case actor.SendWriteAcquire:
		switch {
		case h == nil:
			s.locks[c.Key] = &rwHash{writer: id, readers: map[string][]time.Duration{}, ends: s.now + lease}
		case h.writer == id:
			h.ends = max(h.ends, s.now+lease)
		default:
			return actor.Reply{Status: actor.Taken, TTL: h.ends - s.now, Holder: h.writer}
		}
	case actor.SendWriteRenew:
		if h == nil || h.writer != id {
			return gone
		}
		if c.Lease != 0 && (len(h.readers) == 0 || h.ends < s.now+lease) {
			h.ends = s.now + lease
		}
		if c.Listen {
			done.Listeners = 1
		}
	case actor.SendWriteRelease:
		return actor.Reply{Status: s.leaveWrite(c.Key, id)}
	case actor.SendReadForce, actor.SendWriteForce:
		if h == nil || (h.writer != "") != (c.Verb == actor.SendWriteForce) {
			return gone
		}
		delete(s.locks, c.Key)
		s.tell(c.Key)
	default:
		panic(fmt.Sprint("unexpected verb ", c.Verb))
	}
	return done
}

// String shows what is in the server.
func (s *rwServer) String() string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(s.locks)) {
		if h := s.at(key); h != nil {
			texts = append(texts, fmt.Sprintf("%s: writer %q readers %v until %v", key, h.writer, h.readers, h.ends))
		}
	}
	return strings.Join(texts, "; ")
}
