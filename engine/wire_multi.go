package engine

import "github.com/lockwheel/lockwheel/actor"

// The encoding of the script that acquires several locks atomically.

func (w *encoder) partKeys(b *batch) {
	for i := range b.commands {
		for j := range b.commands[i].Parts {
			w.keys = append(w.keys, b.commands[i].Parts[j].Key)
		}
	}
}

func (w *encoder) encodeMultiAcquire(b *batch) {
	w.str(w.publishVerb())
	w.integer(int64(len(b.commands)))
	for i := range b.commands {
		c := &b.commands[i]
		w.integer(int64(len(c.Parts)))
		w.holderID(c.Tenure)
		w.integer(milliseconds(c.Lease))
	}
	key := int64(0)
	for i := range b.commands {
		for _, part := range b.commands[i].Parts {
			key++
			for _, orphan := range part.Orphans {
				w.integer(key)
				w.holderID(orphan)
			}
		}
	}
}

// decodePart decodes {n, ttl, holder}, if the n-th lock is held by another, or {n, error}, if the server rejected it.
func decodePart(row []respMessage) decodedReply {
	if len(row) < 2 {
		return malformed()
	}
	n, err := row[0].AsInt64()
	if err != nil || n < 1 {
		return malformed()
	}
	var reply decodedReply
	if len(row) == 2 {
		why, err := row[1].ToString()
		if err != nil {
			return malformed()
		}
		reply = decodedReply{Status: actor.Rejected, Err: redactQuoted(why)}
	} else {
		reply = decodeTaken(row[1:])
	}
	reply.FailedPart = toInt(n - 1)
	return reply
}
