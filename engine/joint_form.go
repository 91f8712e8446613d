package engine

import "github.com/lockwheel/lockwheel/actor"

// The encoding of the script that acquires several locks atomically.

func (w *writer) partKeys(b *batch) {
	for i := range b.commands {
		for j := range b.commands[i].Parts {
			w.keys = append(w.keys, b.commands[i].Parts[j].Key)
		}
	}
}

func (w *writer) joins(b *batch) {
	w.word(w.publish())
	w.number(int64(len(b.commands)))
	for i := range b.commands {
		c := &b.commands[i]
		w.number(int64(len(c.Parts)))
		w.tenure(c.Tenure)
		w.number(milliseconds(c.Lease))
	}
	key := int64(0)
	for i := range b.commands {
		for _, part := range b.commands[i].Parts {
			key++
			for _, ghost := range part.Ghosts {
				w.number(key)
				w.tenure(ghost)
			}
		}
	}
}

// partBy decodes {n, ttl, holder}, if the n-th lock is held by another, or {n, error}, if the server rejected it.
func partBy(row []message) answer {
	if len(row) < 2 {
		return garbled()
	}
	n, err := row[0].AsInt64()
	if err != nil || n < 1 {
		return garbled()
	}
	var reply answer
	if len(row) == 2 {
		why, err := row[1].ToString()
		if err != nil {
			return garbled()
		}
		reply = answer{Status: actor.Refused, Err: refusal(why)}
	} else {
		reply = takenBy(row[1:])
	}
	reply.Part = toInt(n - 1)
	return reply
}
