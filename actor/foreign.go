package actor

import "time"

// A foreign lock is a string at a lock's key: the lock of another library. Such a library publishes nothing when it
// unlocks, so a waiter for its lock polls.

const (
	// hintForeign, hintKind and hintForce follow the text of the error for a string. The first is without
	// Config.Foreign, for the kinds of lock that it helps.
	hintForeign = ": the lock of redislock, redsync or rueidislock? Options.Foreign waits for such a lock"
	hintKind    = ": Options.Foreign waits for such a lock only as a Mutex or a FencedMutex"
	hintForce   = ": the lock of redislock, redsync or rueidislock? ForceUnlock leaves it alone"

	// foreignDrift is by how much the end of a foreign lock may seem to change while it stays as it is. The reason is that
	// replies take more or less time. If it moves by more, the lock has another holder, or its holder extended it.
	foreignDrift = 10 * time.Millisecond
)

// ApplyForeign completes the reply for a key that is no hash, before the lock or the request receives it. With
// Config.Foreign, a string has another holder. In any other case the command stays rejected, and the error
// names what the key is.
func (fx *Effects) ApplyForeign(c *Command, reply *Reply) {
	v, kind := c.Verb, reply.KeyType
	if kind == "" {
		return
	}
	text := reply.Err.Error() + "; it is a " + kind
	states := v == SendState && !c.Request.Kind.Queues()
	switch isString, admits := kind == "string", fx.Config.Foreign; {
	case !isString:
	case admits && v.acquiresForeign():
		*reply = Reply{Status: HeldByOther, TTL: reply.TTL, FailedPart: reply.FailedPart, Foreign: true}
		return
	case admits && states:
		*reply = Reply{Status: OK, TTL: reply.TTL, Foreign: true}
		return
	case v.forces():
		text += hintForce
	case admits || !v.acquiresForeign() && !states:
		text += hintKind
	default:
		text += hintForeign
	}
	reply.Err = ServerError(text)
}

// acquiresForeign reports whether a command acquires locks of a kind that can wait for a foreign lock. A reader and a
// waiter of a fair lock would each poll for themselves. The places of a fair queue end while nothing is released.
func (v Verb) acquiresForeign() bool {
	return v == SendAcquire || v == SendFencedAcquire || v == SendMultiAcquire
}

func (v Verb) forces() bool {
	return v == SendForce || v == SendFairForce || v == SendReadForce || v == SendWriteForce
}

// noteForeign records whether a foreign lock is what the requests wait for.
func (x *ext) noteForeign(reply *Reply) {
	x.foreign = reply.Foreign
	if reply.Foreign {
		x.spinners.presumed = true
	}
}

// foreignMoved reports whether a foreign lock has another holder than at the last try, or was extended since.
// No other trace of its holder is read, so without a TTL it reports false. It compares with the time at which
// it last said so: otherwise a waiter that polls often would see nothing move.
func (p *polling) foreignMoved(now, ttl time.Duration) bool {
	if ttl < 0 {
		return false
	}
	end := now + ttl
	switch moved := end - p.foreignEnd; {
	case p.foreignEnd == 0:
		p.foreignEnd = end
	case moved > foreignDrift || moved < -foreignDrift:
		p.foreignEnd = end
		return true
	}
	return false
}
