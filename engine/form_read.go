package engine

import (
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// holdKeys appends the keys of a reader's holds.
func (w *writer) holdKeys(c *actor.Command) {
	id := w.id + ":" + strconv.FormatUint(c.Tenure, 10)
	for number := range len(leasesOf(c)) {
		w.keys = append(w.keys, scripts.HoldKey(c.Key, id, number+1))
	}
}

// leasesOf returns the lease of each hold of a reader.
func leasesOf(c *actor.Command) []time.Duration {
	if c.Reads != nil && len(c.Reads.Leases) > 0 {
		return c.Reads.Leases
	}
	return []time.Duration{c.Lease}
}

func (w *writer) reads(b *batch) {
	w.word(w.publish())
	w.leases(b)
	w.writers(b)
	w.ghosts(b)
}

// writers appends how many readers read beside a writer. Then it appends a pair for each: index of the lock, tenure of
// the writer.
func (w *writer) writers(b *batch) {
	beside := int64(0)
	for i := range b.commands {
		if b.commands[i].Reads != nil {
			beside++
		}
	}
	w.number(beside)
	for i := range b.commands {
		if reads := b.commands[i].Reads; reads != nil {
			w.number(int64(i + 1))
			w.tenure(reads.Writer)
		}
	}
}

func (w *writer) rereads(b *batch) {
	w.word(w.subscribers())
	for i := range b.commands {
		c := &b.commands[i]
		leases := leasesOf(c)
		w.tenure(c.Tenure)
		w.flag(c.Reads != nil && c.Reads.Falls)
		if c.Reads != nil && c.Reads.Holds > 0 {
			w.word(strconv.Itoa(len(leases)) + "/" + strconv.Itoa(c.Reads.Holds))
		} else {
			w.number(int64(len(leases)))
		}
		for _, lease := range leases {
			w.number(milliseconds(lease))
		}
	}
}

// readWrite is the state of a read/write lock at one instant.
type readWrite struct {
	ttl            time.Duration
	mode           string
	writer, reader string
	holds, readers int64
}

func readWriteBy(row []message) (s readWrite, ok bool) {
	if len(row) != 6 {
		return s, false
	}
	ttl, errTTL := row[0].AsInt64()
	mode, errMode := row[1].ToString()
	writer, errWriter := row[2].ToString()
	holds, errHolds := row[3].AsInt64()
	readers, errReaders := row[4].AsInt64()
	reader, errReader := row[5].ToString()
	for _, err := range []error{errTTL, errMode, errWriter, errHolds, errReaders, errReader} {
		if err != nil {
			return s, false
		}
	}
	return readWrite{ttlOf(ttl), mode, writer, reader, holds, readers}, true
}

// writtenBy decodes the reply to a read acquire that a writer keeps out.
func writtenBy(row []message) answer {
	a := takenBy(row)
	a.Writer, a.Holder = a.Holder, ""
	return a
}

// heldBy decodes the reply to a write acquire that readers or another writer keep out.
func heldBy(row []message) answer {
	if len(row) != 3 {
		return takenBy(row)
	}
	readers, err := row[2].ToString()
	if err != nil {
		return garbled()
	}
	a := takenBy(row[:2])
	a.Readers = readers
	return a
}

// unlocked returns the state of a lock that is not held in the requested mode.
func unlocked() answer { return answer{Status: actor.Done, TTL: -2} }

// writerBy decodes a state for the writer's side.
func writerBy(row []message) answer {
	s, ok := readWriteBy(row)
	switch {
	case !ok:
		return garbled()
	case s.mode == "":
		return answer{Status: actor.Done, TTL: s.ttl}
	case s.mode != "write":
		return unlocked()
	}
	return answer{Status: actor.Done, TTL: s.ttl, Holder: s.writer, Count: toInt(s.holds)}
}

// readersBy decodes a state for the readers' side.
func readersBy(row []message) answer {
	s, ok := readWriteBy(row)
	switch {
	case !ok:
		return garbled()
	case s.mode == "":
		return answer{Status: actor.Done, TTL: s.ttl}
	case s.readers == 0:
		return unlocked()
	case s.readers > 1:
		s.reader = ""
	}
	return answer{Status: actor.Done, TTL: s.ttl, Holder: s.reader, Count: toInt(s.readers)}
}
