package wire

import (
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/scripts"
)

// holdKeys appends the keys of a reader's holds.
func (w *Encoder) holdKeys(c *actor.Command) {
	id := w.ID + ":" + strconv.FormatUint(c.Tenure, 10)
	for number := range len(HoldLeases(c)) {
		w.keys = append(w.keys, scripts.RWHoldKey(c.Key, id, number+1))
	}
}

// HoldLeases returns the lease of each hold of a reader.
func HoldLeases(c *actor.Command) []time.Duration {
	if c.Reader != nil && len(c.Reader.Leases) > 0 {
		return c.Reader.Leases
	}
	return []time.Duration{c.Lease}
}

func (w *Encoder) encodeReadAcquire(b *coordinator.Batch) {
	w.str(w.publishVerb())
	w.encodeLeases(b)
	w.encodeWriters(b)
	w.encodeOrphans(b)
}

// encodeWriters appends how many readers read beside a writer. Then it appends a pair for each: index of the lock,
// tenure of the writer.
func (w *Encoder) encodeWriters(b *coordinator.Batch) {
	beside := int64(0)
	for i := range b.Commands {
		if b.Commands[i].Reader != nil {
			beside++
		}
	}
	w.integer(beside)
	for i := range b.Commands {
		if reads := b.Commands[i].Reader; reads != nil {
			w.integer(int64(i + 1))
			w.holderID(reads.Writer)
		}
	}
}

func (w *Encoder) encodeReadRenew(b *coordinator.Batch) {
	w.str(w.numsubVerb())
	for i := range b.Commands {
		c := &b.Commands[i]
		leases := HoldLeases(c)
		w.holderID(c.Tenure)
		w.flag(c.Reader != nil && c.Reader.MayShorten)
		if c.Reader != nil && c.Reader.Holds > 0 {
			w.str(strconv.Itoa(len(leases)) + "/" + strconv.Itoa(c.Reader.Holds))
		} else {
			w.integer(int64(len(leases)))
		}
		for _, lease := range leases {
			w.integer(Milliseconds(lease))
		}
	}
}

// rwState is the state of a read/write lock at one instant.
type rwState struct {
	ttl            time.Duration
	mode           string
	writer, reader string
	holds, readers int64
}

func decodeRWState(row []respMessage) (s rwState, ok bool) {
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
	return rwState{DecodeTTL(ttl), mode, writer, reader, holds, readers}, true
}

// decodeReadTaken decodes the reply to a read acquire that a writer keeps out.
func decodeReadTaken(row []respMessage) decodedReply {
	a := decodeTaken(row)
	a.Writer, a.Holder = a.Holder, ""
	return a
}

// decodeWriteTaken decodes the reply to a write acquire that readers or another writer keep out.
func decodeWriteTaken(row []respMessage) decodedReply {
	if len(row) != 3 {
		return decodeTaken(row)
	}
	readers, err := row[2].ToString()
	if err != nil {
		return malformed()
	}
	a := decodeTaken(row[:2])
	a.Readers = readers
	return a
}

// NotHeld returns the state of a lock that is not held in the requested mode.
func NotHeld() decodedReply { return decodedReply{Status: actor.OK, TTL: actor.NoKey} }

// decodeWriterState decodes a state for the writer's side.
func decodeWriterState(row []respMessage) decodedReply {
	s, ok := decodeRWState(row)
	switch {
	case !ok:
		return malformed()
	case s.mode == "":
		return decodedReply{Status: actor.OK, TTL: s.ttl}
	case s.mode != "write":
		return NotHeld()
	}
	return decodedReply{Status: actor.OK, TTL: s.ttl, Holder: s.writer, Count: toInt(s.holds)}
}

// decodeReadersState decodes a state for the readers' side.
func decodeReadersState(row []respMessage) decodedReply {
	s, ok := decodeRWState(row)
	switch {
	case !ok:
		return malformed()
	case s.mode == "":
		return decodedReply{Status: actor.OK, TTL: s.ttl}
	case s.readers == 0:
		return NotHeld()
	case s.readers > 1:
		s.reader = ""
	}
	return decodedReply{Status: actor.OK, TTL: s.ttl, Holder: s.reader, Count: toInt(s.readers)}
}
