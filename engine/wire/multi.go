package wire

import (
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

func (w *Encoder) partKeys(b *coordinator.Batch) {
	for i := range b.Commands {
		for j := range b.Commands[i].Parts {
			w.keys = append(w.keys, b.Commands[i].Parts[j].Key)
		}
	}
}

func (w *Encoder) encodeMultiAcquire(b *coordinator.Batch) {
	w.str(w.publishVerb())
	w.integer(int64(len(b.Commands)))
	for i := range b.Commands {
		c := &b.Commands[i]
		w.integer(int64(len(c.Parts)))
		w.holderID(c.Tenure)
		w.integer(Milliseconds(c.Lease))
	}
	key := int64(0)
	for i := range b.Commands {
		for _, part := range b.Commands[i].Parts {
			key++
			for _, orphan := range part.Orphans {
				w.integer(key)
				w.holderID(orphan)
			}
		}
	}
}

// decodePart decodes {n, ttl, holder}, if the n-th lock is held by another. If the server rejected it, it decodes {n,
// error} or {n, {error, TTL, type}}.
func decodePart(row []respMessage) decodedReply {
	if len(row) < 2 {
		return malformed()
	}
	n, err := row[0].AsInt64()
	if err != nil || n < 1 {
		return malformed()
	}
	var reply decodedReply
	switch {
	case len(row) != 2:
		reply = decodeTaken(row[1:])
	case row[1].IsArray():
		values, _ := row[1].ToArray()
		reply = decodeNoHash(values)
	default:
		why, err := row[1].ToString()
		if err != nil {
			return malformed()
		}
		reply = decodeRejected(why)
	}
	reply.FailedPart = toInt(n - 1)
	return reply
}
