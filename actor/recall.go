package actor

import "time"

// A command that has not left is taken back at the end of the step in which it became unneeded. This does not depend on
// the length of its queue, or on whether the server can be reached. The coordinator is notified by Effects.Recalled;
// the command's entry stays in the queue until then.

// flight returns the number that a command of the tenure has which may leave.
func (l *Lock) flight() uint32 {
	if l.ext == nil || l.ext.failure == nil {
		return 0
	}
	return l.ext.failure.flight
}

// hastened reports whether the tenure's command was queued once more, or is to be, for a caller that blocks.
func (l *Lock) hastened() bool { return l.ext != nil && l.ext.failure != nil && l.ext.failure.hastened }

// isInFlight reports whether a command is the one that the tenure has queued or sent.
func (l *Lock) isInFlight(c *Command) bool {
	return c.Tenure == l.tenure && c.Verb == l.inFlight && c.Flight == l.flight()
}

// StillWants reports whether a command that has not left is still needed.
func (l *Lock) StillWants(c *Command) bool {
	if l.isInFlight(c) {
		return l.flags&dispatched == 0
	}
	o := l.orphanOf(c)
	return o != nil && o.inFlight && !o.dispatched
}

// TryDispatch marks a waiting command as departed, and reports whether it may leave: it may not if it was taken back.
func (l *Lock) TryDispatch(c *Command) bool {
	if l.flags&dispatched == 0 && l.isInFlight(c) {
		l.flags |= dispatched
		return true // the most frequent case
	}
	if !l.StillWants(c) {
		return false
	}
	l.SetDispatched(c, true)
	return true
}

// SetDispatched records that a command has left, or that it waits again.
func (l *Lock) SetDispatched(c *Command, departed bool) {
	switch o := l.orphanOf(c); {
	case l.isInFlight(c):
		if l.flags &^= dispatched; departed {
			l.flags |= dispatched
		}
	case o != nil:
		o.dispatched = departed
	}
}

// canRecall reports whether a command of the tenure has not left yet.
func (l *Lock) canRecall() bool { return l.inFlight != None && l.flags&dispatched == 0 }

// Queued returns the verb of the tenure's command if it has not left yet; else None.
func (l *Lock) Queued() Verb {
	if l.canRecall() {
		return l.inFlight
	}
	return None
}

// recall takes back the tenure's command, which has not left, if it is not needed any more.
func (l *Lock) recall(now time.Duration, fx *Effects) {
	if l.commandNeeded() {
		return
	}
	if l.phase == forcing {
		l.endTenure(now, fx)
		return
	}
	l.clearInFlight(fx)
}

// onRequeued handles a command that had left, was not executed, and waits to be sent again if it is still needed.
func (l *Lock) onRequeued(now time.Duration, c *Command, fx *Effects) {
	l.SetDispatched(c, false)
	if o := l.orphanOf(c); o != nil && now >= o.until {
		o.inFlight = false
	}
	if !l.isInFlight(c) || l.commandNeeded() {
		return
	}
	if l.inFlight = None; l.phase == forcing {
		l.endTenure(now, fx)
	}
}

// commandNeeded reports whether the tenure's command is still needed.
func (l *Lock) commandNeeded() bool {
	p := l.protocol()
	switch l.inFlight {
	case SendMultiAcquire:
		return l.ext == nil || l.ext.multiRequest == nil || !l.ext.multiRequest.Completed()
	case p.acquire:
		r := l.queue.first()
		return r != nil && r.Multi == nil // a request for several locks acquires all of them together
	case p.renew, p.renewForNext:
		return l.phase == held
	case p.force:
		return !l.ext.forceRequests.empty()
	}
	return true
}

// clearInFlight ends the flight of the tenure's command. If the command has not left, it is taken back.
func (l *Lock) clearInFlight(fx *Effects) {
	if l.inFlight != None && l.flags&dispatched == 0 {
		l.noteRecalled(l.inFlight, fx)
	}
	l.inFlight = None
}

// hasten queues the tenure's command once more, among those of callers that block, if a request of such a caller is
// about to wait for it and it has not left. Commands for which no caller blocks leave later, and there may be very
// many.
func (l *Lock) hasten(r *Request, fx *Effects) {
	if !r.blocksCaller() || !l.canRecall() || l.hastened() {
		return
	}
	switch p := l.protocol(); l.inFlight {
	case p.acquire:
		first, repeats := l.queue.first(), l.ext != nil && l.ext.knownHeld && (r.Once || r.Op == Force)
		if first == nil || first.Multi != nil || first.blocksCaller() && !repeats {
			return
		}
	case p.release:
		if l.releaseAwaited() {
			return
		}
	default:
		return
	}
	l.queueOnceMore(fx)
}

// hastenRelease is hasten for a release that the caller of another Lock of the key waits for.
func (l *Lock) hastenRelease(fx *Effects) {
	if l.phase == releasing && l.canRecall() && !l.releaseAwaited() {
		l.queueOnceMore(fx)
	}
}

// queueOnceMore has the tenure's command, which has not left, queued among those of callers that block.
func (l *Lock) queueOnceMore(fx *Effects) {
	l.clearInFlight(fx)
	f := l.ensureExt().ensureFailure()
	f.hastened = true
	f.flight++
}

// noteRecalled reports to the coordinator that a waiting command must not leave.
func (l *Lock) noteRecalled(verb Verb, fx *Effects) {
	fx.Recalled = append(fx.Recalled, verb)
	l.flags |= hasStaleCommand
}

// Reusable reports whether a Lock that has finished may be used for another key. If one of its commands is still
// queued, that command would be taken for one of the new key. Numbers do not prevent that: a reader beside a writer has
// the writer's number, and so has the next one.
func (l *Lock) Reusable() bool { return l.flags&hasStaleCommand == 0 }

// noteMultiRequest records a request for several locks that has its result now, if this is its command lock. The
// command must not be sent for a request that has left.
func (l *Lock) noteMultiRequest(r *Request) {
	if r.Multi != nil && r.Reserved() && r.lock == l {
		l.ensureExt().multiRequest = r
	}
}
