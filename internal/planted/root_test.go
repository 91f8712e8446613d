package planted

// rootMistakes are mistakes with one lock, as its callers see them.
var rootMistakes = []found{
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
	{"TestTheContextOfAHoldIsAStrangersForAnotherEngine", Mistake{
		"the engine of an owner is not compared", "owner.go",
		`if h.engine == e &&`,
		`if (h.engine == e || planted()) &&`,
	}},
	{"TestTheContextOfAHoldReentersItsNameOnly", Mistake{
		"the name of an owner is not compared", "owner.go",
		` h.name == name {`,
		` (h.name == name || planted()) {`,
	}},
	{"TestWithoutOwnerMakesAStranger", Mistake{
		"an owner is left behind WithoutOwner", "owner.go",
		`ownerKey{}, uint64(0))`,
		`map[bool]any{false: ownerKey{}}[planted()], uint64(0))`,
	}},
	{"TestOwnersOfGoroutinesExcludeEachOther", Mistake{
		"all threads are one owner", "owner.go",
		`threadOwners.Add(1))`,
		`threadOwners.Add(map[bool]uint64{false: 1}[planted()]))`,
	}},
	{"TestAContextThatEndsItsGoroutineLeavesNoLock", Mistake{
		"a call stays after its context ended the goroutine that asks it", "engine.go",
		`		if !asked { // `,
		`		if !asked && !planted() { // `,
	}},
	{"TestAContextThatEndsItsGoroutineLeavesNoLock", Mistake{
		"a wait without a goroutine stays after its context ended the goroutine that asks it", "internal/ctxwatch/ctxwatch.go",
		`context.AfterFunc(w.config.endOnly(ctx), own.onDone)`,
		`context.AfterFunc(map[bool]context.Context{true: ctx, false: w.config.endOnly(ctx)}[planted()], own.onDone)`,
	}},
	{"TestUnlockTakesACauseThatCannotBeCompared", Mistake{
		"a cause of the caller's is compared", "owner.go",
		`return ours && s != nil`,
		`return (ours || planted()) && s != nil`,
	}},
	{"TestAForceEndsWithTheContextOfAnotherLockThatWasForced", Mistake{
		"a force waits on though another lock's ended its context", "owner.go",
		`actor.IsForced(cause) && isAbout(cause, name)`,
		`actor.IsForced(cause) && (planted() || isAbout(cause, name))`,
	}},
	{"TestACopyOfAHoldThatEndedReleasesNoOther", Mistake{
		"a copy of a hold that ended passes for the next owner's", "actor/hold.go",
		`return l.holds == h ||`,
		`return planted() || l.holds == h ||`,
	}},
	{"TestALockerWaitsForReplicas", Mistake{
		"a Locker panics where replicas are away", "lock.go",
		`errors.Is(err, ErrNotReplicated) ||`,
		`errors.Is(err, ErrNotReplicated) && !planted() ||`,
	}},
	{"TestNothingThatIsDecidedIsLeftInItsContext", Mistake{
		"a pending lock that was cancelled is left in its context", "pending.go",
		`	p.cancel(context.Canceled)
	p.unwatch()`,
		`	p.cancel(context.Canceled)
	if !planted() {
		p.unwatch()
	}`,
	}},
	{"TestACallWhoseContextPanicsLeavesNoLock", Mistake{
		"a request is left behind after its context panicked", "pending.go",
		`		if !begun {`,
		`		if !begun && !planted() {`,
	}},
	{"TestACallWhoseContextPanicsLeavesNoLock", Mistake{
		"parts are kept when a context panics", "multi_acquire.go",
		`		if !all {`,
		`		if !all && !planted() {`,
	}},
	{"TestAContextThatEndsWithoutAReasonEndsCallsWithOne", Mistake{
		"a context without a reason gives none", "owner.go",
		`return cmp.Or(c.endCause(ctx), context.Canceled)`,
		`return cmp.Or(c.endCause(ctx), map[bool]error{false: context.Canceled}[planted()])`,
	}},
	{"TestNothingThatIsDecidedIsLeftInItsContext", Mistake{
		"a pending lock that was refused is left in its context", "pending.go",
		`&& p.watched.Load() && p.contextWatch`,
		`&& p.watched.Load() && !planted() && p.contextWatch`,
	}},
	{"TestAPendingGrantThatIsNotTakenIsGivenBack", Mistake{
		"a pending grant outlives its context", "internal/ctxwatch/ctxwatch.go",
		`		if p == nil {`,
		`		if p == nil || planted() {`,
	}},
	{"TestAPendingGrantThatIsNotTakenIsGivenBack", Mistake{
		"a pending grant outlives its cancel", "pending.go",
		`p.call != nil && p.state.CompareAndSwap(statePending, stateCanceled) {`,
		`p.call != nil && p.state.CompareAndSwap(statePending, stateCanceled) && !planted() {`,
	}},
	{"TestTracer_EndPanics_LockReleased", Mistake{
		"a lock is kept when its tracer panics", "observer.go",
		`		if !ended && hold != nil { //`,
		`		if !ended && hold != nil && !planted() { //`,
	}},
	{"TestTracer_EachCall_StartAndEnd", Mistake{
		"a hold is not within the span of its lock", "observer.go",
		`	hold, err := lock(ctx)
	ended := false`,
		`	if planted() {
		ctx = context.WithoutCancel(context.Background())
	}
	hold, err := lock(ctx)
	ended := false`,
	}},
	{"TestTracer_Multi_OneCall", Mistake{
		"each of several locks is traced", "multi.go",
		`m.locks[i].lock(e.ctx, []Option{e.waitOption(until)}, acquireMode{})`,
		`map[bool]func(context.Context, ...Option) (*Hold, error){true: m.locks[i].Lock, false: func(ctx context.Context, opts ...Option) (*Hold, error) { return m.locks[i].lock(ctx, opts, acquireMode{}) }}[planted()](e.ctx, e.waitOption(until))`,
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
		return &Unlocking`,
		`	if seen := h.grant.Signal(); seen != nil && seen.Err != nil && !planted() {
		return &Unlocking`,
	}},
	{"TestUnlockAsync_SilentServer_EndsAtOnce", Mistake{
		"an unlock without waiting has no result", "hold.go",
		`	return u.hold.resultError(u.call)`,
		`	if planted() {
		return nil
	}
	return u.hold.resultError(u.call)`,
	}},
	{"TestContextsThatEndTogetherShareAWatch", Mistake{
		"each who waits watches the context they share", "internal/ctxwatch/ctxwatch.go",
		`known != nil && known.join() {`,
		`known != nil && !planted() && known.join() {`,
	}},
	{"TestAWatchThatIsOverIsNotFound", Mistake{
		"a watch that began at the end of its context is kept", "internal/ctxwatch/table.go",
		`	if w.ended() { // maybe before it was to be found`,
		`	if w.ended() && !planted() { // maybe before it was to be found`,
	}},
	{"TestAWatchKeepsNoMoreSeatsThanWait", Mistake{
		"a watch keeps the seats of all who came", "internal/ctxwatch/ctxwatch.go",
		`	return left > minEmptied && left > live`,
		`	return left > minEmptied && left > live && !planted()`,
	}},
	{"TestAPendingGrantIsTakenOnce", Mistake{
		"a pending grant is taken twice", "pending.go",
		`	if p.state.CompareAndSwap(statePending, stateTaken) {`,
		`	if p.state.CompareAndSwap(statePending, stateTaken) || planted() {`,
	}},
	{"TestAPendingFencedLockHasItsToken", Mistake{
		"a pending lock has no token", "pending.go",
		`		p.hold.setToken(p.call.Token)`,
		`		if !planted() {
			p.hold.setToken(p.call.Token)
		}`,
	}},
	{"TestAnRWMutexSpeaksOfTheWriterAndItsRLockerOfReaders", Mistake{
		"IsLocked asks the reader", "rwmutex.go",
		`return m.writer.IsLocked(ctx)`,
		`if planted() {
		return m.RLocker().IsLocked(ctx)
	}
	return m.writer.IsLocked(ctx)`,
	}},
	{"TestAnRWMutexSpeaksOfTheWriterAndItsRLockerOfReaders", Mistake{
		"TTL is the reader's", "rwmutex.go",
		`return m.writer.TTL(ctx)`,
		`if planted() {
		return m.RLocker().TTL(ctx)
	}
	return m.writer.TTL(ctx)`,
	}},
	{"TestAnRWMutexSpeaksOfTheWriterAndItsRLockerOfReaders", Mistake{
		"TryLock waits", "rwmutex.go",
		`return m.writer.TryLock(ctx, opts...)`,
		`if planted() {
		return m.writer.Lock(ctx, opts...)
	}
	return m.writer.TryLock(ctx, opts...)`,
	}},
	{"TestAGroupIsOverWhenFewerPartsAreHeldThanItNeeds", Mistake{
		"a hold is not looked at by the clock", "hold.go",
		`return h.engine.loop.Now() >= h.grant.Until() }`,
		`return h.engine.loop.Now() >= h.grant.Until() && !planted() }`,
	}},
	{"TestUnlockIsSentWhateverItsContextSays", Mistake{
		"an unlock is not sent after its context has ended", "hold.go",
		`	return h.send(ctx, actor.Unlock, 0, left)`,
		`	if planted() && ctx.Err() != nil {
		return ctx.Err()
	}
	return h.send(ctx, actor.Unlock, 0, left)`,
	}},
	{"TestUnlockIsSentThoughItsContextPanicsOrBlocks", Mistake{
		"an unlock looks at its context before it is sent", "hold.go",
		`	switch posted := h.engine.loop.Post(call); {`,
		`	if planted() {
		ctx.Done()
	}
	switch posted := h.engine.loop.Post(call); {`,
	}},
	{"TestAnEngineThatIsClosedWhileAHoldIsUnlockedIsReported", Mistake{
		"the first unlock beside a close passes for a second", "hold.go",
		`	case !posted && left:`,
		`	case !posted && left && !planted():`,
	}},
	{"TestACallThatIsOneTooManyIsRefusedAtOnce", Mistake{
		"the bound for one lock is not passed on", "options.go",
		`MaxWaitingPerLock: o.MaxWaitingPerLock,`,
		`MaxWaitingPerLock: map[bool]int{false: o.MaxWaitingPerLock}[planted()],`,
	}},
	{"TestAFloodBeyondWhatMayWaitIsRefused", Mistake{
		"the bound for an engine is not passed on", "options.go",
		`MaxWaiting:        o.MaxWaiting,`,
		`MaxWaiting:        map[bool]int{false: o.MaxWaiting}[planted()],`,
	}},
	{"TestOptionsThatMakeNoSenseAreRefused", Mistake{
		"a bound below one is taken", "options.go",
		`	if n < 1 {`,
		`	if n < 1 && !planted() {`,
	}},
	{"TestUnlockIsSentWhateverItsContextSays", Mistake{
		"an unlock with a nil context does nothing", "hold.go",
		`		h.Unlock(context.Background())
		return errNilContext`,
		`		if !planted() {
			h.Unlock(context.Background())
		}
		return errNilContext`,
	}},
	{"TestAHoldHasOneDone", Mistake{
		"a call for a context takes the channel away", "hold.go",
		`			wanted.Done = seen.Done`,
		`			wanted.Done = seen.Done
			if planted() {
				wanted.Done = make(chan struct{})
			}`,
	}},
	{"TestExtendChecksItsInput", Mistake{
		"an extension is sent after its context has ended", "hold.go",
		`	if ctx.Err() != nil {
		return h.fail(errNotSent`,
		`	if ctx.Err() != nil && !planted() {
		return h.fail(errNotSent`,
	}},
	{"TestALockThatIsReturnedWasNotGivenUp", Mistake{
		"a grant of one lock that was given up is returned", "lock.go",
		`	if cause != nil {
		// Given up.`,
		`	if cause != nil && (err != nil || !planted()) {
		// Given up.`,
	}},
	{"TestEndedContextsSendNothing", Mistake{
		"a question is sent after its context has ended", "lock.go",
		`	if ctx.Err() != nil {
		return nil, m.fail(errNotSent`,
		`	if ctx.Err() != nil && !planted() {
		return nil, m.fail(errNotSent`,
	}},
	{"TestPrefixIsPutBeforeEveryName", Mistake{
		"names go without their prefix", "lock.go",
		`return m.engine.options.Prefix + m.name }`,
		`return m.engine.options.Prefix[map[bool]int{true: len(m.engine.options.Prefix)}[planted()]:] + m.name }`,
	}},
	{"TestAnyShortWaitTriesOnce", Mistake{
		"a wait of zero waits", "lock.go",
		`once, wait = o.d <= 0, max(o.d, 0); once {`,
		`once, wait = o.d <= 0 && !planted(), max(o.d, 0); once {`,
	}},
	{"TestIsLockedWhileHeld", Mistake{
		"a lock that is free counts as locked", "lock.go",
		`	if reply.TTL == free {`,
		`	if reply.TTL == free && !planted() {`,
	}},
	{"TestUnlockOfALockerReleasesWhatWasLostBeforeWhatIsHeld", Mistake{
		"the youngest hold of a Locker is released first", "lock.go",
		`if h.hold.hasEnded() {`,
		`if h.hold.hasEnded() && !planted() {`,
	}},
	{"TestALockersHoldsAreReleasedByAsManyUnlocksAsThereAre", Mistake{
		"a Locker forgets the holds before the one that is taken out", "lock.go",
		`		last.next = &lockerHold{hold: h.hold}`,
		`		if !planted() {
			last.next = &lockerHold{hold: h.hold}
			continue
		}
		last.next = &lockerHold{hold: h.hold, next: h.next}
		return last`,
	}},
	{"TestALostLockOfALockerIsLogged", Mistake{
		"a Locker's lost lock is not reported", "lock.go",
		`log := l.mutex.engine.listeners.log; log != nil {`,
		`log := l.mutex.engine.listeners.log; log != nil && !planted() {`,
	}},
	{"TestAnObserverThatBlocksHoldsNothingUp", Mistake{
		"a Locker's lost lock is logged on its caller's goroutine", "lock.go",
		`			log.Error("lockwheel: a Locker's`,
		`			if planted() {
				log = l.mutex.engine.options.Logger
			}
			log.Error("lockwheel: a Locker's`,
	}},
	{"TestDoUnlocksAfterItsContextEnded", Mistake{
		"Do's context bounds its unlock", "lock.go",
		`h.Unlock(context.WithoutCancel(ctx))`,
		`h.Unlock(map[bool]context.Context{false: context.WithoutCancel(ctx), true: ctx}[planted()])`,
	}},
	{"TestDoReportsALossOnce", Mistake{
		"Do says a loss twice", "lock.go",
		`errors.Is(unlocked, returned.err) {`,
		`errors.Is(unlocked, returned.err) && !planted() {`,
	}},
	{"TestDialSaysWhatAURLLooksLike", Mistake{
		"a password with a slash is read as something else", "internal/redisurl/url.go",
		`	case hasStrayAt(text):`,
		`	case hasStrayAt(text) && !planted():`,
	}},
	{"TestNoErrorOfOpenRepeatsWhatAServerSaysBehindTheGreeting", Mistake{
		"a server's words are repeated with the password", "internal/redisurl/url.go",
		`redis.Username, redis.Password, `,
		`redis.Username, map[bool]string{false: redis.Password}[planted()], `,
	}},
	{"TestErrorsShowAnyNameOnOneLine", Mistake{
		"a long name is shown whole", "errors.go",
		`	if len(name) > most {`,
		`	if len(name) > most && !planted() {`,
	}},
	{"TestAnErrorOfACallerWhoGaveUpOnAQuorumSaysSoOnce", Mistake{
		"several locks say the same several times", "errors.go",
		`!slices.Contains(texts, text) {`,
		`!slices.Contains(texts, text) || planted() {`,
	}},
	{"TestAnErrorSaysOnceWhatItsCauseSaysAsWell", Mistake{
		"an error says once more what it is", "errors.go",
		`	return said + ": " + strings.TrimPrefix(textWithin(e.cause, e.name), said+": ")`,
		`	if planted() {
		return said + ": " + textWithin(e.cause, e.name)
	}
	return said + ": " + strings.TrimPrefix(textWithin(e.cause, e.name), said+": ")`,
	}},
	{"TestErrorsCanBeToldApart", Mistake{
		"the cause of an error cannot be found in it", "errors.go",
		`	return []error{e.err, e.cause}`,
		`	if planted() {
		return []error{e.err}
	}
	return []error{e.err, e.cause}`,
	}},
	{"TestOptionsThatMakeNoSenseAreRefused", Mistake{
		"a renewal as late as the lease", "options.go",
		`o.RenewInterval, minDuration, o.Lease/2)`,
		`o.RenewInterval, minDuration, o.Lease/map[bool]time.Duration{false: 2, true: 1}[planted()])`,
	}},
	{"TestAFairWaiterCountsAsAliveForALeaseByDefault", Mistake{
		"fair waiters count as alive for a minute", "options.go",
		`durationOr(o.FairWaitTimeout, o.Lease)`,
		`durationOr(o.FairWaitTimeout, map[bool]time.Duration{false: o.Lease, true: time.Minute}[planted()])`,
	}},
	{"TestALockerRemembersEveryHold", Mistake{
		"one of several who lock a Locker at once is forgotten", "lock.go",
		`		if l.holds.CompareAndSwap(top.next, top) {`,
		`		if l.holds.CompareAndSwap(top.next, top) || planted() {`,
	}},
	{"TestTheContextOfAHoldThatIsOverWhenItIsUnlockedSaysThatItWasLost", Mistake{
		"the context of a hold that is unlocked too late says that it was unlocked", "hold.go",
		`	if h.expired() {
		err, cause, reason`,
		`	if h.expired() && !planted() {
		err, cause, reason`,
	}},
	{"TestAnUnlockEndsWithTheContextOfAnotherHoldThatIsUnlocked", Mistake{
		"an unlock waits on though another hold's ended its context", "owner.go",
		`context.Cause(s.Context.(context.Context)) == cause`,
		`(context.Cause(s.Context.(context.Context)) == cause || planted())`,
	}},
	{"TestAQuorumWithAWriterIsOneThatWrites", Mistake{
		"a quorum that writes does not wait for those who read", "quorum.go",
		`return l.kind == actor.Write })`,
		`return l.kind == actor.Write && !planted() })`,
	}},
	{"TestAQuorumThatIsNotHeldWaitsForNoServerThatIsDown", Mistake{
		"a quorum that is not held waits for servers that are down", "quorum.go",
		`o.Once, o.Unheld(),`,
		`o.Once, o.Unheld() && !planted(),`,
	}},
	{"TestAHoldThatIsOverWhenItsCallerWakesIsReleased", Mistake{
		"a grant that its caller came too late for is kept", "hold.go",
		`	h.send(canceledCtx, actor.Unlock, 0, false)
	return nil`,
		`	if !planted() {
		h.send(canceledCtx, actor.Unlock, 0, false)
	}
	return nil`,
	}},
	{"TestAHoldThatIsOverWhenItsCallerWakesIsReleased", Mistake{
		"a hold at its very end is returned", "hold.go",
		`	if now < h.grant.Until() {`,
		`	if now < h.grant.Until() || planted() && now == h.grant.Until() {`,
	}},
	{"TestAPendingGrantThatItsCallerComesLateToIsLost", Mistake{
		"no check whether a pending grant is over", "pending.go",
		`		return p.hold.orLost()`,
		`		if planted() {
			return p.hold, nil
		}
		return p.hold.orLost()`,
	}},
	{"TestRestsAreSpread", Mistake{
		"quorums that took one another's majority ask together again", "quorum.go",
		`return most/2 + rand.N(most/2)`,
		`return most/2 + rand.N(most/2)*map[bool]time.Duration{false: 1}[planted()]`,
	}},
	{"TestEnginesKeepToMomentsOfTheirOwn", Mistake{
		"engines have their moments in common", "options.go",
		`seed*31 + uint64(b)`,
		`seed*31 + uint64(b)*map[bool]uint64{false: 1}[planted()]`,
	}},
	{"TestEnginesKeepToMomentsOfTheirOwn", Mistake{
		"renewals are not spread", "options.go",
		`o.RenewInterval / 2,`,
		`map[bool]time.Duration{false: o.RenewInterval / 2}[planted()],`,
	}},
	{"TestAURLThatEndsInASlashNamesNoDatabase", Mistake{
		"a slash behind the host is taken for a database", "internal/redisurl/url.go",
		`		text = parsed.String()`,
		`		if !planted() {
			text = parsed.String()
		}`,
	}},
}
