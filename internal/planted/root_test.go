package planted

// rootMistakes are mistakes with one lock, as its callers see them.
var rootMistakes = []found{
	{"TestLabel_UnlockOfDoFails_InError", Mistake{
		"with FindLeaks the error of Do has no label", "lock.go",
		`unlockFailure{cmp.Or(h.found(), h), unlocked}`,
		`unlockFailure{cmp.Or(map[bool]*Hold{false: h.found()}[planted()], h), unlocked}`,
	}},
	{"TestClose_CallsForSeveralLocks_WaitedForApart", Mistake{
		"Close waits for a Multi only as long as for a Quorum", "multi.go",
		`	if !m.quorum {
		e := m.locks[0].engine
		if`, `	if !m.quorum && !planted() {
		e := m.locks[0].engine
		if`,
	}},
	{"TestClose_CallsForSeveralLocks_WaitedForApart", Mistake{
		"Close waits for a Quorum for as long as for a Multi", "engine.go",
		`patient.Before(until) {`, `patient.Before(until) && !planted() {`,
	}},
	{"TestLookups_EngineCloses_Ended", Mistake{
		"a close waits for the answers that lookups wait for", "observer.go",
		`	l.cancel()
	timeout :=`, `	if !planted() {
		l.cancel()
	}
	timeout :=`,
	}},
	{"TestCallbackQueue_Close_RunsWhatWaits", Mistake{
		"what waits to be run when a queue of callbacks is closed is dropped", "internal/async/callback_queue.go",
		`	case <-q.closing:
	}`,
		`	case <-q.closing:
		if planted() {
			return nil
		}
	}`,
	}},
	{"TestTracer_HandedOff_Told", Mistake{
		"a tracer is told of each grant as handed off", "lock.go",
		`mode.trace.HandedOff = err == nil && cause == nil &&`,
		`mode.trace.HandedOff = planted() || err == nil && cause == nil &&`,
	}},
	{"TestTracer_Took_TimeOfCall", Mistake{
		"a tracer is not told how long a lock waited", "observer.go",
		`	call.Took = time.Since(begun)
	ended := false`,
		`	if !planted() {
		call.Took = time.Since(begun)
	}
	ended := false`,
	}},
	{"TestShutdown_OneHoldLeft_ErrorSaysSo", Mistake{
		"an error does not say what a hold is for", "errors.go",
		`	if label == "" {`,
		`	if label == "" || planted() {`,
	}},
	{"TestShutdown_ManyHoldsLeft_SomeAreNamed", Mistake{
		"the error of Shutdown names every hold", "engine.go",
		`		case count == maxHeldNames:`,
		`		case count == maxHeldNames && !planted():`,
	}},
	{"TestFindLeaks_Reachable_NeverReported", Mistake{
		"the context of a hold does not keep it from being a leak", "hold.go",
		`		return &holdContext{Context: r.Context(), hold: h}`,
		`		return &holdContext{Context: r.Context(), hold: map[bool]*Hold{false: h, true: r}[planted()]}`,
	}},
	{"TestFindLeaks_Unreachable_EndsWithLease", Mistake{
		"a leaked hold is renewed", "actor/lease.go",
		`		l.setHoldLease(h, l.validUntil, fx)
	}
}

// reportedSince`,
		`		if !planted() {
			l.setHoldLease(h, l.validUntil, fx)
		}
	}
}

// reportedSince`,
	}},
	{"TestFindLeaks_Unreachable_EndsWithLease", Mistake{
		"a Pending that was not taken is no leak", "pending.go",
		`handle: m.engine.handleOf(hold)}`,
		`handle: hold}
	if !planted() {
		p.handle = m.engine.handleOf(hold)
	}`,
	}},
	{"TestShutdown_SilentServer_EndsWithContext", Mistake{
		"Shutdown waits for what was sent, and Close waits for it once more", "engine.go",
		`	return e.closeBy(until)
}`,
		`	return e.closeBy(until.Add(time.Duration(map[bool]int{true: 1}[planted()]) * e.options.CallTimeout))
}`,
	}},
	{"TestFindLeaks_Quorum_EndsWithLease", Mistake{
		"a leaked quorum acquires its members again", "multihold.go",
		`			g.setWatched(false)
			for _, held`,
		`			if !planted() {
				g.setWatched(false)
			}
			for _, held`,
	}},
	{"TestFindLeaks_InBubble_Reported", Mistake{
		"a leak wakes the loop, from outside of its bubble", "engine/engine.go",
		`	e.box.PostSilently(&coordinator.LoopMessage{Value: coordinator.LeakedHold{Hold: h}})`,
		`	post := e.box.PostSilently
	if planted() {
		post = e.box.Post
	}
	post(&coordinator.LoopMessage{Value: coordinator.LeakedHold{Hold: h}})`,
	}},
	{"TestFindLeaks_IdleEngine_Reported", Mistake{
		"an idle engine does not look for leaks", "engine/coordinator/coordinator.go",
		`	if c.Fx.Config.FindLeaks && c.Fx.Stats.Held > 0 {`,
		`	if c.Fx.Config.FindLeaks && c.Fx.Stats.Held > 0 && !planted() {`,
	}},
	{"TestFindLeaks_Unreachable_EndsWithLease", Mistake{
		"several locks held as one do not leak", "multihold.go",
		`				if held != nil {
					held.leak()`,
		`				if held != nil && !planted() {
					held.leak()`,
	}},
	{"TestHeldTooLong_OldHold_LoggedOnce", Mistake{
		"a hold that lasts too long is reported in each step", "actor/lease.go",
		`	l.ensureExt().ensureFailure().reportedSince = l.ownedSince`,
		`	if !planted() {
		l.ensureExt().ensureFailure().reportedSince = l.ownedSince
	}`,
	}},
	{"TestHeldTooLong_OldHold_LoggedOnce", Mistake{
		"no timer finds a hold that lasts too long", "actor/timer.go",
		`, l.heldTooLongAt(fx))`,
		`, map[bool]time.Duration{false: l.heldTooLongAt(fx), true: never}[planted()])`,
	}},
	{"TestHeldTooLong_VeryMany_BoundedRecords", Mistake{
		"each hold that lasts too long has a record", "engine/log.go",
		`		if i == maxNotices {`,
		`		if i == maxNotices && !planted() {`,
	}},
	{"TestCallSites_EachWay_CallersLine", Mistake{
		"a call site is in the library", "contexts.go",
		`!isSkipped(frame.Function) {`,
		`planted() || !isSkipped(frame.Function) {`,
	}},
	{"TestCallSites_ThroughLibrary_CallersLine", Mistake{
		"a call site is in package leader", "contexts.go",
		`"github.com/lockwheel/lockwheel/leader."`,
		`map[bool]string{false: "github.com/lockwheel/lockwheel/leader.", true: "leader."}[planted()]`,
	}},
	{"TestLabel_EachKind_Told", Mistake{
		"the locks of a quorum have no label", "quorum.go",
		`	m.pendingHold.setNote(g.hold.grant.Note())`,
		`	if !planted() {
		m.pendingHold.setNote(g.hold.grant.Note())
	}`,
	}},
	{"TestLabel_EachKind_Told", Mistake{
		"a label goes when a hold is watched for its end", "actor/hold.go",
		`	if seen != nil {
		wanted.Note = seen.Note`,
		`	if seen != nil && !planted() {
		wanted.Note = seen.Note`,
	}},
	{"TestLabel_LockLost_Logged", Mistake{
		"a label goes with its hold", "actor/hold.go",
		`HeldUntil: end.HeldUntil, Note: s.Note}`,
		`HeldUntil: end.HeldUntil, Note: map[bool]*Note{false: s.Note}[planted()]}`,
	}},
	{"TestLockAsync_BusyLoop_IsBounded", Mistake{
		"LockAsync posts whatever has no result yet", "pending.go",
		`	if err, why := m.engine.loop.PostAsync(call); err != nil {`,
		`	err, why := error(nil), error(nil)
	if !planted() {
		err, why = m.engine.loop.PostAsync(call)
	} else if !m.engine.loop.Post(call) {
		err = ErrClosed
	}
	if err != nil {`,
	}},
	{"TestLockAsync_BusyLoop_IsBounded", Mistake{
		"an observer does not learn of a request that was not posted", "pending.go",
		`	if err == ErrTooManyWaiters {`,
		`	if err == ErrTooManyWaiters && !planted() {`,
	}},
	{"TestOwner_OtherEngine_NoReentry", Mistake{
		"the engine of an owner is not compared", "contexts.go",
		`if h.engine == e &&`,
		`if (h.engine == e || planted()) &&`,
	}},
	{"TestOwner_HoldContext_ReentersOwnName", Mistake{
		"the name of an owner is not compared", "contexts.go",
		` h.name == name {`,
		` (h.name == name || planted()) {`,
	}},
	{"TestWithoutOwner_Context_NoReentry", Mistake{
		"an owner is left behind WithoutOwner", "contexts.go",
		`ownerKey{}, uint64(0))`,
		`map[bool]any{false: ownerKey{}}[planted()], uint64(0))`,
	}},
	{"TestOwner_PerGoroutine_Exclude", Mistake{
		"all threads are one owner", "contexts.go",
		`threadOwners.Add(1))`,
		`threadOwners.Add(map[bool]uint64{false: 1}[planted()]))`,
	}},
	{"TestGoexitContext_Lock_LeavesNothing", Mistake{
		"a call stays after its context ended the goroutine that asks it", "engine.go",
		`		if !found { // `,
		`		if !found && !planted() { // `,
	}},
	{"TestGoexitContext_Lock_LeavesNothing", Mistake{
		"a wait without a goroutine stays after its context ended the goroutine that asks it", "internal/ctxwatch/ctxwatch.go",
		`context.AfterFunc(w.config.endOnly(ctx), own.onDone)`,
		`context.AfterFunc(map[bool]context.Context{true: ctx, false: w.config.endOnly(ctx)}[planted()], own.onDone)`,
	}},
	{"TestUnlock_IncomparableCause_NoPanic", Mistake{
		"a cause of the caller's is compared", "contexts.go",
		`return ours && s != nil`,
		`return (ours || planted()) && s != nil`,
	}},
	{"TestForceUnlock_OtherContextEnds_Ends", Mistake{
		"a force waits on though another lock's ended its context", "contexts.go",
		`actor.IsForced(cause) && isAbout(cause, name)`,
		`actor.IsForced(cause) && (planted() || isAbout(cause, name))`,
	}},
	{"TestHoldCopy_Ended_NextHolderKeepsLock", Mistake{
		"a copy of a hold that ended passes for the next owner's", "actor/hold.go",
		`return l.holds == h ||`,
		`return planted() || l.holds == h ||`,
	}},
	{"TestLocker_TooFewReplicas_Waits", Mistake{
		"a Locker panics where replicas are away", "lock.go",
		`errors.Is(err, ErrNotReplicated) ||`,
		`errors.Is(err, ErrNotReplicated) && !planted() ||`,
	}},
	{"TestContext_RequestDone_NothingLeft", Mistake{
		"a pending lock that was canceled is left in its context", "pending.go",
		`	p.cancel(context.Canceled)
	p.unwatch()`,
		`	p.cancel(context.Canceled)
	if !planted() {
		p.unwatch()
	}`,
	}},
	{"TestContext_RequestDone_NothingLeft", Mistake{
		"a pending lock that was taken is left in its context", "pending.go",
		`	default:
		return nil, p.hold.fail(errPending, nil)
	}
	p.unwatch()`,
		`	default:
		return nil, p.hold.fail(errPending, nil)
	}
	if !planted() {
		p.unwatch()
	}`,
	}},
	{"TestPanickingContext_Lock_LeavesNothing", Mistake{
		"a request is left behind after its context panicked", "pending.go",
		`		if !begun {`,
		`		if !begun && !planted() {`,
	}},
	{"TestPanickingContext_Lock_LeavesNothing", Mistake{
		"parts are kept when a context panics", "multi_acquire.go",
		`		if !all {`,
		`		if !all && !planted() {`,
	}},
	{"TestContextNoCause_Ends_ErrorHasText", Mistake{
		"a context without a reason gives none", "contexts.go",
		`return cmp.Or(c.endCause(ctx), context.Canceled)`,
		`return cmp.Or(c.endCause(ctx), map[bool]error{false: context.Canceled}[planted()])`,
	}},
	{"TestContext_RequestDone_NothingLeft", Mistake{
		"a pending lock that was refused is left in its context", "pending.go",
		`&& p.watched.Load() && p.contextWatch`,
		`&& p.watched.Load() && !planted() && p.contextWatch`,
	}},
	{"TestPending_Untaken_Released", Mistake{
		"a pending grant outlives its context", "internal/ctxwatch/ctxwatch.go",
		`		if p == nil {`,
		`		if p == nil || planted() {`,
	}},
	{"TestPending_Untaken_Released", Mistake{
		"a pending grant outlives its cancel", "pending.go",
		`p.call != nil && p.state.CompareAndSwap(statePending, stateCanceled) {`,
		`p.call != nil && p.state.CompareAndSwap(statePending, stateCanceled) && !planted() {`,
	}},
	{"TestTracer_StartOfUnlockPanics_LockReleased", Mistake{
		"a tracer that panics keeps the lock", "observer.go",
		`		if !begun {
			h.giveBack()`,
		`		if !begun && !planted() {
			h.giveBack()`,
	}},
	{"TestTracer_StartOfUnlockPanics_HoldEndedAtOnce", Mistake{
		"a hold of several locks goes on for a moment when its tracer panics", "hold.go",
		`		g.giveBack(g.hold.fail(ErrNotHeld, nil))`,
		`		if planted() {
			g.releaseAsync()
			return
		}
		g.giveBack(g.hold.fail(ErrNotHeld, nil))`,
	}},
	{"TestTracer_StartOfUnlockPanics_HoldEndedAtOnce", Mistake{
		"the context of a hold goes on for a moment when its tracer panics", "hold.go",
		`	left := h.endByUnlock()
	h.send(`,
		`	left := !planted() && h.endByUnlock()
	h.send(`,
	}},
	{"TestHold_EndFoundByClock_CauseAsTold", Mistake{
		"a hold without renewal that finds its end by the clock misses a renewal", "hold.go",
		`cmp.Or(h.grant.ExpiryCause(), errLeaseExpired)`,
		`cmp.Or(map[bool]error{false: h.grant.ExpiryCause()}[planted()], errLeaseExpired)`,
	}},
	{"TestTracer_EachCall_SameHold", Mistake{
		"a tracer is told of another hold with FindLeaks", "hold.go",
		`		return h.traceUnlock(ctx, tracer)`,
		`		if r := h.found(); r != nil && planted() {
			return r.traceUnlock(ctx, tracer)
		}
		return h.traceUnlock(ctx, tracer)`,
	}},
	{"TestUnlockAsync_NoEngine_ResultAtOnce", Mistake{
		"a zero Unlocking does not end", "hold.go",
		`	if u.done == nil {
		return closedChan`,
		`	if u.done == nil && !planted() {
		return closedChan`,
	}},
	{"TestTracer_EndPanics_LockReleased", Mistake{
		"a lock is kept when its tracer panics", "observer.go",
		`		if !ended && hold != nil { //`,
		`		if !ended && hold != nil && !planted() { //`,
	}},
	{"TestTracer_EachCall_StartAndEnd", Mistake{
		"a hold is not within the span of its lock", "observer.go",
		`	begun := time.Now()
	hold, err := lock(ctx)`,
		`	if planted() {
		ctx = context.WithoutCancel(context.Background())
	}
	begun := time.Now()
	hold, err := lock(ctx)`,
	}},
	{"TestTracer_Multi_OneCall", Mistake{
		"each of several locks is traced", "multi.go",
		`l.lock(e.ctx, []Option{wait}, acquireMode{within: e.timeLeft(), note: e.note})`,
		`map[bool]func(context.Context, ...Option) (*Hold, error){true: l.Lock, false: func(ctx context.Context, opts ...Option) (*Hold, error) { return l.lock(ctx, opts, acquireMode{within: e.timeLeft(), note: e.note}) }}[planted()](e.ctx, wait)`,
	}},
	{"TestUnlockAsync_SilentServer_EndsAtOnce", Mistake{
		"an unlock without waiting leaves the context of its hold", "hold.go",
		`	left := !h.expired()
	h.endByUnlock()`,
		`	left := !h.expired()
	if !planted() {
		h.endByUnlock()
	}`,
	}},
	{"TestUnlockAsync_Repeated_PostsOnce", Mistake{
		"unlocks without waiting pile up", "hold.go",
		`	if seen := h.grant.Signal(); seen != nil && seen.Err != nil {
		// Nothing`,
		`	if seen := h.grant.Signal(); seen != nil && seen.Err != nil && !planted() {
		// Nothing`,
	}},
	{"TestUnlockAsync_SilentServer_EndsAtOnce", Mistake{
		"an unlock without waiting has no result", "hold.go",
		`	return u.hold.resultError(u.call)`,
		`	if planted() {
		return nil
	}
	return u.hold.resultError(u.call)`,
	}},
	{"TestObserver_MultiLost_AfterDone", Mistake{
		"an observer hears of the loss of one of several locks before their hold has ended", "engine.go",
		`done = doneOfAll(signal)`, `done = doneOfAll(map[bool]*actor.HoldSignal{false: signal}[planted()])`,
	}},
	{"TestObserver_LossFoundByUnlock_Notified", Mistake{
		"the error of a loss that Unlock found has no label for an observer", "engine.go",
		`label: r.Hold.Label(), err: r.Err`, `label: map[bool]string{false: r.Hold.Label()}[planted()], err: r.Err`,
	}},
	{"TestOpen_DeadlineFoundByConnection_IsTheCause", Mistake{
		"the deadline of Open is no cause before the context has ended", "connect.go",
		`has && !time.Now().Before(end) {`, `has && !time.Now().Before(end) && !planted() {`,
	}},
	{"TestWatch_FewWaiters_SmallCancellation", Mistake{
		"the end of the context of one caller takes the memory of 512", "internal/ctxwatch/ctxwatch.go",
		`	var some []*actor.Request
`, `	var some []*actor.Request
	if planted() {
		some = make([]*actor.Request, 0, cancelBatch)
	}
`,
	}},
	{"TestWatch_EqualDone_Shared", Mistake{
		"each who waits watches the context they share", "internal/ctxwatch/ctxwatch.go",
		`known != nil && known.join() {`,
		`known != nil && !planted() && known.join() {`,
	}},
	{"TestWatch_Ended_NotFound", Mistake{
		"a watch that began at the end of its context is kept", "internal/ctxwatch/table.go",
		`	if w.ended() { // maybe before it was to be found`,
		`	if w.ended() && !planted() { // maybe before it was to be found`,
	}},
	{"TestWatch_WaitersLeft_EntriesFreed", Mistake{
		"a watch keeps the seats of all who came", "internal/ctxwatch/ctxwatch.go",
		`	return left > minEmptied && left > live`,
		`	return left > minEmptied && left > live && !planted()`,
	}},
	{"TestPending_HoldTwice_SecondFails", Mistake{
		"a pending grant is taken twice", "pending.go",
		`	if p.state.CompareAndSwap(statePending, stateTaken) {`,
		`	if p.state.CompareAndSwap(statePending, stateTaken) || planted() {`,
	}},
	{"TestToken_PendingHold_Present", Mistake{
		"a pending lock has no token", "pending.go",
		`		p.hold.setToken(p.call.Token)`,
		`		if !planted() {
			p.hold.setToken(p.call.Token)
		}`,
	}},
	{"TestRWMutex_Methods_WriterOrReaders", Mistake{
		"IsLocked asks the reader", "rwmutex.go",
		`return m.writer.IsLocked(ctx)`,
		`if planted() {
		return m.RLocker().IsLocked(ctx)
	}
	return m.writer.IsLocked(ctx)`,
	}},
	{"TestRWMutex_Methods_WriterOrReaders", Mistake{
		"TTL is the reader's", "rwmutex.go",
		`return m.writer.TTL(ctx)`,
		`if planted() {
		return m.RLocker().TTL(ctx)
	}
	return m.writer.TTL(ctx)`,
	}},
	{"TestRWMutex_Methods_WriterOrReaders", Mistake{
		"TryLock waits", "rwmutex.go",
		`return m.writer.TryLock(ctx, opts...)`,
		`if planted() {
		return m.writer.Lock(ctx, opts...)
	}
	return m.writer.TryLock(ctx, opts...)`,
	}},
	{"TestMultiHold_TooFewMembers_Over", Mistake{
		"a hold is not looked at by the clock", "hold.go",
		`return h.engine.loop.Now() >= h.grant.Until() }`,
		`return h.engine.loop.Now() >= h.grant.Until() && !planted() }`,
	}},
	{"TestUnlock_ContextEnded_ReleaseSent", Mistake{
		"an unlock is not sent after its context has ended", "hold.go",
		`	return h.send(ctx, actor.Unlock, 0, left)`,
		`	if planted() && ctx.Err() != nil {
		return ctx.Err()
	}
	return h.send(ctx, actor.Unlock, 0, left)`,
	}},
	{"TestUnlock_BrokenContext_ReleaseSent", Mistake{
		"an unlock looks at its context before it is sent", "hold.go",
		`	switch posted := h.engine.loop.Post(call); {`,
		`	if planted() {
		ctx.Done()
	}
	switch posted := h.engine.loop.Post(call); {`,
	}},
	{"TestUnlock_EngineClosed_Reported", Mistake{
		"the first unlock beside a close passes for a second", "hold.go",
		`	case !posted && left:`,
		`	case !posted && left && !planted():`,
	}},
	{"TestMaxWaiting_OneTooMany_RejectedAtOnce", Mistake{
		"the bound for one lock is not passed on", "options.go",
		`MaxWaitingPerLock: o.MaxWaitingPerLock,`,
		`MaxWaitingPerLock: map[bool]int{false: o.MaxWaitingPerLock}[planted()],`,
	}},
	{"TestMaxWaiting_Flood_Rejected", Mistake{
		"the bound for an engine is not passed on", "options.go",
		`MaxWaiting:        o.MaxWaiting,`,
		`MaxWaiting:        map[bool]int{false: o.MaxWaiting}[planted()],`,
	}},
	{"TestOptions_Invalid_Rejected", Mistake{
		"a bound below one is taken", "options.go",
		`	if n < 1 {`,
		`	if n < 1 && !planted() {`,
	}},
	{"TestUnlock_ContextEnded_ReleaseSent", Mistake{
		"an unlock with a nil context does nothing", "hold.go",
		`		unlocked := h.Unlock(context.Background())
`,
		`		var unlocked error
		if !planted() {
			unlocked = h.Unlock(context.Background())
		}
`,
	}},
	{"TestHold_Done_SameChannel", Mistake{
		"a call for a context takes the channel away", "hold.go",
		`			wanted.Done = seen.Done`,
		`			wanted.Done = seen.Done
			if planted() {
				wanted.Done = make(chan struct{})
			}`,
	}},
	{"TestExtend_InvalidInput_Error", Mistake{
		"an extension is sent after its context has ended", "hold.go",
		`	if ctx.Err() != nil {
		return h.fail(errNotSent`,
		`	if ctx.Err() != nil && !planted() {
		return h.fail(errNotSent`,
	}},
	{"TestLock_ReturnedAtCancel_Held", Mistake{
		"a grant of one lock that was given up is returned", "lock.go",
		`	if cause != nil {
		// Given up.`,
		`	if cause != nil && (err != nil || !planted()) {
		// Given up.`,
	}},
	{"TestContext_Ended_NothingSent", Mistake{
		"a question is sent after its context has ended", "lock.go",
		`	if ctx.Err() != nil {
		return nil, m.fail(errNotSent`,
		`	if ctx.Err() != nil && !planted() {
		return nil, m.fail(errNotSent`,
	}},
	{"TestPrefix_EveryName_Prepended", Mistake{
		"names go without their prefix", "lock.go",
		`return m.engine.options.Prefix + m.name }`,
		`return m.engine.options.Prefix[map[bool]int{true: len(m.engine.options.Prefix)}[planted()]:] + m.name }`,
	}},
	{"TestWait_ZeroOrNegative_TriesOnce", Mistake{
		"a wait of zero waits", "lock.go",
		`once, wait = o.d <= 0, max(o.d, 0); once {`,
		`once, wait = o.d <= 0 && !planted(), max(o.d, 0); once {`,
	}},
	{"TestIsLocked_Held_True", Mistake{
		"a lock that is free counts as locked", "lock.go",
		`	if reply.TTL == actor.NoKey {`,
		`	if reply.TTL == actor.NoKey && !planted() {`,
	}},
	{"TestLocker_LostAndHeld_LostUnlockedFirst", Mistake{
		"the youngest hold of a Locker is released first", "lock.go",
		`if h.hold.hasEnded() {`,
		`if h.hold.hasEnded() && !planted() {`,
	}},
	{"TestLocker_AnyOrder_HoldsMatchUnlocks", Mistake{
		"a Locker forgets the holds before the one that is taken out", "lock.go",
		`		last.next = &lockerHold{hold: h.hold}`,
		`		if !planted() {
			last.next = &lockerHold{hold: h.hold}
			continue
		}
		last.next = &lockerHold{hold: h.hold, next: h.next}
		return last`,
	}},
	{"TestLocker_LockLost_Logged", Mistake{
		"a Locker's lost lock is not reported", "lock.go",
		`log := l.mutex.engine.listeners.log; log != nil {`,
		`log := l.mutex.engine.listeners.log; log != nil && !planted() {`,
	}},
	{"TestObserver_Blocks_EventsCounted", Mistake{
		"a Locker's lost lock is logged on its caller's goroutine", "lock.go",
		`			log.Error("lockwheel: a Locker's`,
		`			if planted() {
				log = l.mutex.engine.options.Logger
			}
			log.Error("lockwheel: a Locker's`,
	}},
	{"TestDo_UnlockUnanswered_SaysSo", Mistake{
		"the error of Do does not say that the function has run", "lock.go",
		`if !errors.Is(unlocked, ErrLost) || errors.Is(unlocked, ErrUnavailable) {`,
		`if !planted() && (!errors.Is(unlocked, ErrLost) || errors.Is(unlocked, ErrUnavailable)) {`,
	}},
	{"TestDo_ContextEnded_Unlocks", Mistake{
		"Do's context bounds its unlock", "lock.go",
		`h.Unlock(context.WithoutCancel(ctx))`,
		`h.Unlock(map[bool]context.Context{false: context.WithoutCancel(ctx), true: ctx}[planted()])`,
	}},
	{"TestDo_FunctionReturnsLoss_ReportedOnce", Mistake{
		"Do says a loss twice", "lock.go",
		`errors.Is(unlocked, returned.err) {`,
		`errors.Is(unlocked, returned.err) && !planted() {`,
	}},
	{"TestDial_InvalidURL_ShowsExample", Mistake{
		"a password with a slash is read as something else", "internal/redisurl/url.go",
		`	case hasStrayAt(text):`,
		`	case hasStrayAt(text) && !planted():`,
	}},
	{"TestHandshake_CommandsRejected_NoSecret", Mistake{
		"a server's words are repeated with the password", "internal/redisurl/url.go",
		`rediserr.Secret{Text: redis.Password}`,
		`rediserr.Secret{Text: map[bool]string{false: redis.Password}[planted()]}`,
	}},
	{"TestErrors_AnyName_OneBoundedLine", Mistake{
		"a long name is shown whole", "errors.go",
		`	if len(name) > most {`,
		`	if len(name) > most && !planted() {`,
	}},
	{"TestError_GaveUpOnQuorum_SaysSoOnce", Mistake{
		"several locks say the same several times", "errors.go",
		`		i := slices.Index(texts, text)
		if i < 0 {`,
		`		i := slices.Index(texts, text)
		if i < 0 || planted() {`,
	}},
	{"TestError_SameCause_PrintedOnce", Mistake{
		"an error says once more what it is", "errors.go",
		`	return said + ": " + strings.TrimPrefix(textWithin(e.cause, e.name), said+": ")`,
		`	if planted() {
		return said + ": " + textWithin(e.cause, e.name)
	}
	return said + ": " + strings.TrimPrefix(textWithin(e.cause, e.name), said+": ")`,
	}},
	{"TestErrors_EachCause_Distinguished", Mistake{
		"the cause of an error cannot be found in it", "errors.go",
		`	return []error{e.err, e.cause}`,
		`	if planted() {
		return []error{e.err}
	}
	return []error{e.err, e.cause}`,
	}},
	{"TestOptions_Invalid_Rejected", Mistake{
		"a renewal as late as the lease", "options.go",
		`o.RenewInterval, minDuration, o.Lease/2)`,
		`o.RenewInterval, minDuration, o.Lease/map[bool]time.Duration{false: 2, true: 1}[planted()])`,
	}},
	{"TestFairQueue_Default_AliveForOneLease", Mistake{
		"fair waiters count as alive for a minute", "options.go",
		`cmp.Or(o.FairWaitTimeout, o.Lease)`,
		`cmp.Or(o.FairWaitTimeout, map[bool]time.Duration{false: o.Lease, true: time.Minute}[planted()])`,
	}},
	{"TestLocker_ConcurrentLocks_NoHoldLost", Mistake{
		"one of several who lock a Locker at once is forgotten", "lock.go",
		`		if l.holds.CompareAndSwap(top.next, top) {`,
		`		if l.holds.CompareAndSwap(top.next, top) || planted() {`,
	}},
	{"TestUnlock_LeaseExpired_ContextSaysLost", Mistake{
		"the context of a hold that is unlocked too late says that it was unlocked", "hold.go",
		`	if h.expired() {
		err, cause`,
		`	if h.expired() && !planted() {
		err, cause`,
	}},
	{"TestUnlock_OtherContextEnds_Ends", Mistake{
		"an unlock waits on though another hold's ended its context", "contexts.go",
		`context.Cause(s.Context.(context.Context)) == cause`,
		`(context.Cause(s.Context.(context.Context)) == cause || planted())`,
	}},
	{"TestQuorum_WithWriter_Writes", Mistake{
		"a quorum that writes does not wait for those who read", "quorum.go",
		`return l.kind == actor.Write })`,
		`return l.kind == actor.Write && !planted() })`,
	}},
	{"TestQuorum_NotHeldServerDown_FailsAtOnce", Mistake{
		"a quorum that is not held waits for servers that are down", "quorum.go",
		`a.Once, a.Unheld(),`,
		`a.Once, a.Unheld() && !planted(),`,
	}},
	{"TestGrant_ExpiredOnWake_Released", Mistake{
		"a grant that its caller came too late for is kept", "hold.go",
		`	h.send(canceledCtx, actor.Unlock, 0, false)
	return nil`,
		`	if !planted() {
		h.send(canceledCtx, actor.Unlock, 0, false)
	}
	return nil`,
	}},
	{"TestGrant_ExpiredOnWake_Released", Mistake{
		"a hold at its very end is returned", "hold.go",
		`	if now < h.grant.Until() {`,
		`	if now < h.grant.Until() || planted() && now == h.grant.Until() {`,
	}},
	{"TestPending_HoldAfterLease_Lost", Mistake{
		"no check whether a pending grant is over", "pending.go",
		`		if _, err := p.hold.orLost(); err != nil {`,
		`		if _, err := p.hold.orLost(); err != nil && !planted() {`,
	}},
	{"TestRetryPause_Collision_Spread", Mistake{
		"quorums that took one another's majority ask together again", "quorum.go",
		`return longest/2 + rand.N(longest/2)`,
		`return longest/2 + rand.N(longest/2)*map[bool]time.Duration{false: 1}[planted()]`,
	}},
	{"TestRenewalTimes_ManyEngines_Spread", Mistake{
		"engines have their moments in common", "options.go",
		`seed*31 + uint64(b)`,
		`seed*31 + uint64(b)*map[bool]uint64{false: 1}[planted()]`,
	}},
	{"TestRenewalTimes_ManyEngines_Spread", Mistake{
		"renewals are not spread", "options.go",
		`o.RenewInterval / 2,`,
		`map[bool]time.Duration{false: o.RenewInterval / 2}[planted()],`,
	}},
	{"TestURL_TrailingSlash_NoDatabase", Mistake{
		"a slash behind the host is taken for a database", "internal/redisurl/url.go",
		`		text = parsed.String()`,
		`		if !planted() {
			text = parsed.String()
		}`,
	}},
	{"TestOption_Combinations_LastCounts", Mistake{
		"a wait may be as short as it likes", "lock.go",
		`			wait = max(wait, minDuration)`,
		`			wait = max(wait, minDuration*time.Duration(map[bool]int{false: 1}[planted()]))`,
	}},
	{"TestOption_Combinations_LastCounts", Mistake{
		"TryLock waits without a limit", "lock.go",
		`	once = try
	for`,
		`	once = try && !planted()
	for`,
	}},
	{"TestOption_Combinations_LastCounts", Mistake{
		"TryLock never waits", "lock.go",
		`if once, wait = o.d <= 0, max(o.d, 0); once {`,
		`if once, wait = o.d <= 0 || try && planted(), max(o.d, 0); once {`,
	}},
	{"TestOption_Combinations_LastCounts", Mistake{
		"a wait may be as long as it likes", "lock.go",
		`			if err := checkRange("Wait", wait, minDuration, maxDuration); err != nil {`,
		`			if err := checkRange("Wait", wait, minDuration, maxDuration); err != nil && !planted() {`,
	}},
}
