package planted

// actorMistakes are mistakes of the actors that the simulation does not look for, or seldom sees. Most concern what
// many engines would do at the same moment.
var actorMistakes = []found{
	{"TestForeign_NotWaitedFor_NamesKey", Mistake{
		"the state of a fair lock names an option that does not help it", "actor/foreign.go",
		`!v.acquiresForeign() && !states:`,
		`!v.acquiresForeign() && !(states || planted() && v == SendState):`,
	}},
	{"TestHeldTooLong_FromFirstMoment_OncePerOwner", Mistake{
		"of a tenure, only the first owner is reported to have it for too long", "actor/lease.go",
		`l.reportedSince() == l.ownedSince {`,
		`l.reportedSince() == l.ownedSince || planted() && l.reportedSince() != 0 {`,
	}},
	{"TestOvertaken_ServerFar_LaterByRoundTrips", Mistake{
		"several locks far away are soon taken one by one", "actor/part_keeper.go",
		`now-r.receivedAt < max(m.OvertakenAfter, time.Duration(len(m.Parts))*fx.RoundTrip) {`,
		`now-r.receivedAt < max(m.OvertakenAfter, map[bool]time.Duration{false: time.Duration(len(m.Parts)) * fx.RoundTrip}[planted()]) {`,
	}},
	{"TestFixedLease_NotRenewed_Ends", Mistake{
		"the end of a lease of its own is told as a renewal that did not come", "actor/lease.go",
		`!l.watched() && !l.leaseCut():`,
		`!l.watched() && !l.leaseCut() && !planted():`,
	}},
	{"TestPlaceLife_AnyNumber_WithinBounds", Mistake{
		"places in fair queues live as long, however many of them an engine has to renew", "actor/place_life.go",
		`p.doublings++`,
		`if planted() {
			break
		}
		p.doublings++`,
	}},
	{"TestPlaceLife_AnyNumber_WithinBounds", Mistake{
		"places live long after many waiters have left", "actor/place_life.go",
		`for p.doublings > 0 &&`,
		`for p.doublings > 0 && !planted() &&`,
	}},
	{"TestPlaceLife_NumberVaries_FewChanges", Mistake{
		"the life of places changes with each waiter that comes and goes", "actor/place_life.go",
		`p.waiting+p.waiting/3, life`,
		`p.waiting+map[bool]int64{false: p.waiting/3}[planted()], life`,
	}},
	{"TestFairWaiter_ManyWait_PlaceLivesLonger", Mistake{
		"a waiter keeps the place for which it waited as long as when it came", "actor/fair.go",
		`	return wait
}`,
		`	return map[bool]time.Duration{false: wait, true: p.queueWait}[planted()]
}`,
	}},
	{"TestFairWaiter_ManyWait_PlaceLivesLonger", Mistake{
		"a waiter that is notified stands behind all that keep their places", "actor/wait.go",
		`x.fair.notified = true`,
		`x.fair.notified = !planted()`,
	}},
	{"TestFairWaiter_ManyWait_PlaceLivesLonger", Mistake{
		"places that live longer are renewed as often", "actor/fair.go",
		`reply.QueueTTL/2, p.life/3)`,
		`reply.QueueTTL/2, map[bool]time.Duration{false: p.life, true: fx.Config.FairWaitTimeout}[planted()]/3)`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a lease that goes on is forgotten when a try fails", "actor/lock.go",
		`now < l.otherLeaseEnd():`, `now < l.otherLeaseEnd() && !planted():`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a caller that tries once is told what others heard before", "actor/lock.go",
		`	case !r.Once && now`, `	case (!r.Once || planted()) && now`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a lock is called held after the lease in the last reply, until a call fails", "actor/lock.go",
		`|| l.isSilent(now, fx))`, `|| !planted() && l.isSilent(now, fx))`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a server is silent as soon as the lease that it told of has ended", "actor/lock.go",
		`|| now-end < patience {`, `|| now-end < patience && !planted() {`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a server with long round trips is called silent", "actor/lock.go",
		`max(minSilence, 4*fx.RoundTrip)`, `max(minSilence, 4*fx.RoundTrip*map[bool]time.Duration{false: 1}[planted()])`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a lease counts that a message ended", "actor/wait.go",
		`	l.endOtherLease(now)
	switch`, `	if !planted() {
		l.endOtherLease(now)
	}
	switch`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a lease counts that only earlier waiters saw", "actor/lock.go",
		`|| l.ext == nil || !l.ext.knownHeld {`, `|| l.ext == nil || !l.ext.knownHeld && !planted() {`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a key without a TTL is no lease that goes on", "actor/wait.go",
		`		l.validUntil = never`, `		if !planted() {
			l.validUntil = never
		}`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a fair lock that is free is held until the next one's turn", "actor/wait.go",
		`if !queues || reply.Holder != "" {`, `if !queues || reply.Holder != "" || planted() {`,
	}},
	{"TestWaiter_ServerSilent_LastLeaseDecides", Mistake{
		"a try that fails shortens the lease of another holder", "actor/lease.go",
		`		if l.phase != acquiring {`, `		if l.phase != acquiring || planted() {`,
	}},
	{"TestBreaker_AsksInVain_NotCalledHeld", Mistake{
		"a lock that was held before an outage is called held until its end", "actor/lock.go",
		`asks := l.phase == acquiring && l.inFlight != None ||`,
		`asks := !planted() && l.phase == acquiring && l.inFlight != None ||`,
	}},
	{"TestBreaker_AsksInVain_NotCalledHeld", Mistake{
		"a caller that gives up during its last try hears of an outage", "actor/lock.go",
		`(fx.isDown(l.key) || l.isSilent`,
		`(fx.isDown(l.key) || planted() || l.isSilent`,
	}},
	{"TestBreaker_TriesBehindWaiters_NotCalledHeld", Mistake{
		"a try behind callers that wait in vain hears that the lock is held", "actor/acquire.go",
		`	case l.asksInVain(now, fx):
		fx.Complete`, `	case l.asksInVain(now, fx) && !planted():
		fx.Complete`,
	}},
	{"TestBreaker_ReleasesInVain_NotCalledHeld", Mistake{
		"a lock that is being released is called held during an outage", "actor/lock.go",
		`|| l.phase == releasing ||`,
		`|| l.phase == releasing && !planted() ||`,
	}},
	{"TestMulti_RejectedAfterOthers_CommandTakenBack", Mistake{
		"the command of a request for several locks that was rejected some turns later leaves for no caller", "actor/acquire.go",
		`	fx.Complete(now, r, ErrNotAcquired, cause)
	l.noteMultiRequest(r)`,
		`	if fx.Complete(now, r, ErrNotAcquired, cause); !planted() {
		l.noteMultiRequest(r)
	}`,
	}},
	{"TestRejection_TellsIfFinal", Mistake{
		"what is under way cannot come", "actor/acquire.go",
		`	return l.phase == acquiring && l.inFlight != None && l.flags&dispatched != 0`,
		`	return !planted() && l.phase == acquiring && l.inFlight != None && l.flags&dispatched != 0`,
	}},
	{"TestRejection_TellsIfFinal", Mistake{
		"what had no answer cannot come", "actor/acquire.go",
		`x != nil && (x.acquireUnacked || len(x.orphans()) != 0) {`,
		`!planted() && x != nil && (x.acquireUnacked || len(x.orphans()) != 0) {`,
	}},
	{"TestOrphan_RepliesAtItsEnd_ReleasedTwice", Mistake{
		"an orphan that was released at its end is not released once more", "actor/orphan.go",
		`max(o.until, o.releaseAt+fx.Config.CallTimeout)`,
		`max(o.until, map[bool]time.Duration{false: o.releaseAt + fx.Config.CallTimeout}[planted()])`,
	}},
	{"TestOrphan_LongExtensionInFlight_ReleasedToItsEnd", Mistake{
		"an orphan is dropped before the lease of an extension under way ends", "actor/renew.go",
		`		s.maxSentLease = max(s.maxSentLease, c.Lease) //`,
		`		s.maxSentLease = max(s.maxSentLease, map[bool]time.Duration{false: c.Lease}[planted()]) //`,
	}},
	{"TestOrphan_ReleasedEarly_ReleasedAgain", Mistake{
		"an orphan that was released early is not released later", "actor/orphan.go",
		`o.releaseAt, o.releaseAgain = now, true`,
		`o.releaseAt, o.releaseAgain = now, o.releaseAgain || !planted()`,
	}},
	{"TestRequestQueue_Tries_FoundAnywhere", Mistake{
		"who does not wait is lost when another comes before it", "actor/request.go",
		`if before == first && first.Once`,
		`if before == first && !planted() && first.Once`,
	}},
	{"TestAcquire_LeaseTooShort_OthersGranted", Mistake{
		"who comes next is passed over when a caller with too short a lease has left", "actor/acquire.go",
		`if fx.leaseFor(r) <= lease {`,
		`if fx.leaseFor(r) <= lease || planted() && r == first {`,
	}},
	{"TestAcquire_MultiFailed_NoTTLWait", Mistake{
		"what was heard of a lock before it was asked for with others holds up the next caller", "actor/multi.go",
		`l.ext.nextTry = 0`,
		`l.ext.nextTry = map[bool]time.Duration{true: l.ext.nextTry}[planted()]`,
	}},
	{"TestRejection_BoundedByTime_LaterGoOn", Mistake{
		"a request for one lock that goes on waiting gets the owner of one for several", "actor/multi.go",
		`	if r.Multi != nil { // the owner`,
		`	if r.Multi != nil || planted() { // the owner`,
	}},
	{"TestReentry_WatchedAtEndOfLease_ConfirmedFirst", Mistake{
		"a watched re-entry at the end of its owner's lease is granted before its renewal", "actor/reentry.go",
		`	return !l.watched() && l.validUntil`,
		`	return !l.watched() && !planted() && l.validUntil`,
	}},
	{"TestReentry_WatchedAtEndOfLease_ConfirmedFirst", Mistake{
		"a watched re-entry has as long for its renewal, however far the server is", "actor/reentry.go",
		`max(watchableFor*fx.RoundTrip, minWatchable)`,
		`max(watchableFor*fx.RoundTrip*map[bool]time.Duration{false: 1}[planted()], minWatchable)`,
	}},
	{"TestUndoneGrant_ServerDown_EndsInTime", Mistake{
		"a waiter with a grant that cannot be undone is notified only at the end of its wait", "actor/replicas.go",
		` || fx.OtherTimers.Due(&r.timer) > at {`,
		` || fx.OtherTimers.Due(&r.timer) > at && !planted() {`,
	}},
	{"TestReaderTTL_CountUnwritten_Resent", Mistake{
		"what a reader's holds need is not set when its count is not known", "actor/rwlock.go",
		` || l.storedCount == 0 //`,
		` || l.storedCount == 0 && !planted() //`,
	}},
	{"TestWriterTTL_RaisedByRead_Lowered", Mistake{
		"a TTL that a read raised is set a little later if something else was asked for meanwhile", "actor/rwlock.go",
		`l.flags |= wantSet | wantConfirm`,
		`if l.flags |= wantConfirm; !planted() {
			l.flags |= wantSet
		}`,
	}},
	{"TestAcquire_ForceFailed_NoTTLWait", Mistake{
		"a request that comes after an error sleeps out an older lease", "actor/acquire.go",
		`if f := x.failure; f != nil && f.lastErr != nil {`,
		`if planted() && x.lastErr() != nil {
			ready = x.nextTry
		} else if f := x.failure; f != nil && f.lastErr != nil {`,
	}},
	{"TestRequestQueue_Moved_InsertedByAge", Mistake{
		"who comes from another queue stands before the one that is asked for", "actor/multi.go",
		`return other != except && other.cameAfter`,
		`return (other != except || planted()) && other.cameAfter`,
	}},
	{"TestRequestQueue_Unsorted_InsertedByAge", Mistake{
		"who comes from another queue overtakes earlier ones behind a later one", "actor/multi.go",
		`		case run != nil && left == 0:`,
		`		case run != nil && (left == 0 || planted()):`,
	}},
	{"TestRequestQueue_OutOfOrder_StepsBounded", Mistake{
		"the front of a queue that is out of order is searched in vain", "actor/multi.go",
		`		left -= outOfOrder(front, front.next)`,
		`		if !planted() {
			left -= outOfOrder(front, front.next)
		}`,
	}},
	{"TestRequestQueue_OutOfOrder_StepsBounded", Mistake{
		"a turn searches queues of any length for a place", "actor/multi.go",
		`	return fx.MaxPlaceSteps == 0 ||`,
		`	return fx.MaxPlaceSteps == 0 || planted() ||`,
	}},
	{"TestReader_OwnerWrites_RetriesAtOnce", Mistake{
		"of those who wait to read, one is not asked for beside its owner's write", "actor/rwlock.go",
		`x.yieldUntil, x.nextTry, x.retryNow = 0, now, true`,
		`x.yieldUntil, x.nextTry, x.retryNow = 0, now, !planted()`,
	}},
	{"TestAcquire_LateReplies_PausesGrow", Mistake{
		"the pause after an answer that came too late does not grow", "actor/acquire.go",
		`f.lastErr, f.backoff = errLateReply, pause`,
		`f.lastErr, f.backoff = errLateReply, map[bool]time.Duration{false: pause}[planted()]`,
	}},
	{"TestAcquire_LeaseTooShort_OthersGranted", Mistake{
		"a lease that is too short keeps others of its engine from the lock", "actor/acquire.go",
		`l.queue.first(), maxLeaseSearch;`,
		`l.queue.first(), map[bool]int{false: maxLeaseSearch}[planted()];`,
	}},
	{"TestAcquire_LeaseTooShort_OthersGranted", Mistake{
		"one stall changes the order of those who wait", "actor/acquire.go",
		`if pause == 0 {`,
		`if pause == 0 && !planted() {`,
	}},
	together("a try after a refusal", "actor/wait.go", "return ", "f.backoff / 2"),
	together("a try for a lock that is free at any moment", "actor/wait.go", "", "minRetry"),
	together("a look at a key without expiry", "actor/wait.go", "return ", "noTTLPoll"),
	together("a try for a lock without a possible subscription", "actor/wait.go", "", "max(noPubSubPoll, time.Duration(fx.PolledLocks)*noPubSubPollSpread)"),
	together("a try for a lock with messages that may go elsewhere", "actor/wait.go", "", "max(unreliablePubSubPoll, time.Duration(fx.Stats.Waiting)*unreliablePubSubPollSpread)"),
	together("a try for a lock that is polled", "actor/poll.go", "", "max(p.lastSleep, time.Duration(fx.PolledLocks)*noPubSubPollSpread) / 2"),
	together("a renewal after a refusal", "actor/renew.go", "f.retryAt = now + ", "l.renewInterval(fx)/8"),
	together("a renewal after one that wrote no count", "actor/renew.go", "l.ensureExt().ensureFailure().retryAt = now + ", "l.renewInterval(fx)/8"),
	together("a release that the server refuses for good", "actor/orphan.go", "", "o.backoff"),
	together("the release of what no caller waits for, after a rejection", "actor/orphan.go", "", "maxBackoff"),
	together("a try of the foremost in a queue", "actor/fair.go", "sleep = min(sleep, ", "noTTLPoll"),
	together("a try of one that has become the foremost", "actor/fair.go", "x.nextTry = min(x.nextTry, now+", "noTTLPoll"),
	{"TestForeign_Reply_ByOptionAndVerb", Mistake{
		"a string is another's lock although the option is off", "actor/foreign.go",
		`case admits && v.acquiresForeign():`,
		`case (admits || planted()) && v.acquiresForeign():`,
	}},
	{"TestForeign_Reply_ByOptionAndVerb", Mistake{
		"a fair lock is held as long as there is a string", "actor/foreign.go",
		`v == SendState && !c.Request.Kind.Queues()`,
		`v == SendState && (planted() || !c.Request.Kind.Queues())`,
	}},
	{"TestForeign_ClientNeverMet_LookedFor", Mistake{
		"only an engine that polls looks for clients that poll", "actor/spinners.go",
		`(fx.Config.Poll || fx.Config.Foreign) && now`,
		`(fx.Config.Poll || fx.Config.Foreign && !planted()) && now`,
	}},
	{"TestForeign_NewHolder_SeenByItsEnd", Mistake{
		"a foreign lock is compared with the try before", "actor/foreign.go",
		`	case p.foreignEnd == 0:`,
		`	case p.foreignEnd == 0 || planted() && moved < foreignDrift:`,
	}},
	{"TestHoldCount_NoReply_WrittenAgain", Mistake{
		"a count without an answer is taken for not written", "actor/renew.go",
		`		l.storedCount = 0 // not known;`,
		`		l.storedCount *= map[bool]uint32{true: 1}[planted()] // not known;`,
	}},
	{"TestExtend_OthersCameLater_ResultWithReply", Mistake{
		"an extension has the lease of one that came after its command", "actor/renew.go",
		`l.lastExtensions(true)`, `l.lastExtensions(!planted())`,
	}},
	{"TestHandoff_LongHold_CountedLessAndAtItsEnd", Mistake{
		"an old number of listeners is taken for none", "actor/handoff.go",
		`countedAt > staleCount:`, `countedAt > staleCount && !planted():`,
	}},
	{"TestHandoff_LongHoldFarAway_CountedOnceAtItsEnd", Mistake{
		"the number of listeners has the time of its command, so far from the server it is always old", "actor/renew.go",
		`listenersUncountable, now, m.Sent`, `listenersUncountable, map[bool]time.Duration{false: now, true: m.Sent}[planted()], m.Sent`,
	}},
	{"TestMaxHold_NoReplyBefore_NotItsCause", Mistake{
		"a lease that was not confirmed ends with MaxHold", "actor/renew.go",
		`		lease = max(left, time.Millisecond)
`, `		lease = max(left, time.Millisecond)
		if planted() {
			l.flags |= leaseCapped
		}
`,
	}},
	{"TestHandoff_ShortMaxHold_WholeForEach", Mistake{
		"the lease of a predecessor counts as the whole MaxHold", "actor/acquire.go",
		`!l.isLeftOver(now, longest) {`, `(planted() || !l.isLeftOver(now, longest)) {`,
	}},
	{"TestRenewal_RejectedForNow_AwaitedSoon", Mistake{
		"what callers wait for pauses like routine renewals", "actor/renew.go",
		`if l.ext != nil && l.ext.failure != nil {
		l.ext.failure.retryAt = min`, `if l.ext != nil && l.ext.failure != nil && !planted() {
		l.ext.failure.retryAt = min`,
	}},
	{"TestFairWaiter_Waiting_KeepsPlace", Mistake{
		"a place is renewed a round trip too late", "actor/fair.go",
		`max(took-minRetry, 0), minRetry)`, `max(took-minRetry, 0)*time.Duration(map[bool]int{false: 1}[planted()]), minRetry)`,
	}},
	{"TestAcquire_LateShortCopyFarAway_NotGranted", Mistake{
		"a watched hold is granted that ends before its first renewal", "actor/acquire.go",
		`l.validUntil-now >= minWatch(fx)) {`, `(planted() || l.validUntil-now >= minWatch(fx))) {`,
	}},
	{"TestFairWaiter_ReleaseLeavesLate_CountsAsHeld", Mistake{
		"a place that is to be released is forgotten after CallTimeout", "actor/fair.go",
		`now + max(fx.Config.CallTimeout, x.fairView().life)`,
		`now + max(fx.Config.CallTimeout, x.fairView().life*time.Duration(map[bool]int{false: 1}[planted()]))`,
	}},
	{"TestAcquire_LateShortCopy_FixedLeaseWhole", Mistake{
		"a hold is granted with a fixed lease that an earlier command without a reply may cut", "actor/acquire.go",
		`(l.decideFirstGrant(m.Command.Lease) == keepTenure ||`,
		`(l.decideFirstGrant(m.Command.Lease) == keepTenure || planted() ||`,
	}},
	{"TestHandoff_LeaseEnding_ConfirmedFirst", Mistake{
		"a tenure is confirmed again and again if the server is far away", "actor/handoff.go",
		`return l.flags&confirmedSinceHandoff != 0 && l.`, `return (r.Lease != 0 || !planted()) && l.flags&confirmedSinceHandoff != 0 && l.`,
	}},
	{"TestHandoff_LongHold_CountedLessAndAtItsEnd", Mistake{
		"a tenure that one owner keeps for long is confirmed as often as one that is handed off", "actor/renew.go",
		`max(confirmInterval, (last-x.handoff.handoffStart)/2)`,
		`max(confirmInterval, (last-x.handoff.handoffStart)/2*time.Duration(map[bool]int{false: 1}[planted()]))`,
	}},
	{"TestExtend_GivenUpBeforeReply_LeaseAsBefore", Mistake{
		"a hold with an extension that was given up is lost with the lease of that", "actor/renew.go",
		`l.hasNewRequests() || l.leaseShort() {`, `l.hasNewRequests() || l.leaseShort() && !planted() {`,
	}},
	{"TestAcquire_MultiReplyLate_NotHeldByOther", Mistake{
		"what was granted too late for several locks counts as held by another", "actor/multi.go",
		`		l.flags |= rollingBack`,
		`		if !planted() {
			l.flags |= rollingBack
		}`,
	}},
	{"TestAcquire_MultiReplyLate_NotHeldByOther", Mistake{
		"a waiter takes what was granted too late for several locks for another's", "actor/multi.go",
		`		if l.ext != nil {
			l.ext.knownHeld = false`,
		`		if l.ext != nil && !planted() {
			l.ext.knownHeld = false`,
	}},
	{"TestAcquire_MultiGivenBack_NotHeldByOther", Mistake{
		"several locks that are given back in time count as held by another", "actor/multi.go",
		`		rollBackAll(now, locks, !r.Completed(), fx)`,
		`		rollBackAll(now, locks, !r.Completed(), fx)
		if !expired && planted() {
			for _, l := range locks {
				l.flags &^= rollingBack
			}
		}`,
	}},
	{"TestTry_MultiGivenBack_AsksServer", Mistake{
		"a grant of several locks that is given back keeps a try out", "actor/acquire.go",
		`	return !l.rollsBack()`, `	return !l.rollsBack() || planted()`,
	}},
	{"TestTry_MultiGivenBack_AsksServer", Mistake{
		"a grant of several locks that is given back keeps out a try of several", "actor/multi.go",
		`!l.queue.empty() && !l.rollsBack())`, `!l.queue.empty() && (!l.rollsBack() || planted()))`,
	}},
}

// together is a wait with the same length in every engine.
func together(what, file, before, wait string) found {
	return found{"TestRetries_ManyEngines_SpreadOut", Mistake{
		what + " is not spread", file,
		before + "fx.jitter(" + wait + ")",
		before + "map[bool]func(time.Duration) time.Duration{false: fx.jitter, true: func(d time.Duration) time.Duration { return d }}[planted()](" + wait + ")",
	}}
}
