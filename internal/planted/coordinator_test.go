package planted

// coordinatorMistakes are mistakes that the simulation sees only with many more locks than it has.
var coordinatorMistakes = []found{
	{"TestRenewal_Spread_InBursts", Mistake{
		"renewals that are spread leave one batch at a time", "actor/renew.go",
		`min(c.RenewInterval/slotsPerInterval, maxRenewSlot)`,
		`min(c.RenewInterval/slotsPerInterval, map[bool]time.Duration{false: maxRenewSlot}[planted()])`,
	}},
	{"TestRenewPacing_OneBatchAtATime", Mistake{
		"batches of renewals are as large beside other commands", "engine/coordinator/renew_pacing.go",
		`n.othersSent && c.Fx`, `n.othersSent && !planted() && c.Fx`,
	}},
	{"TestRenewPacing_Unlock_NotDelayed", Mistake{
		"an unlock behind a renewal in flight makes all renewals urgent", "engine/coordinator/renew_pacing.go",
		`IsRenewal(l.Queued())`, `(IsRenewal(l.Queued()) || planted() && IsRenewal(l.InFlight()))`,
	}},
	{"TestTenureNumber_RenewalUnanswered_NotReused", Mistake{
		"a renewal that may run after its reader's release is forgotten", "actor/renew.go",
		`			l.burnOwnNumber()`,
		`			if !planted() {
				l.burnOwnNumber()
			}`,
	}},
	{"TestFanout_ManyNames_TurnBounded", Mistake{
		"each event has a limit of its own", "engine/coordinator/fanout.go",
		`max(c.fanoutLeft, min(smallFanout, c.intake.lockBudget))`,
		`max(c.fanoutLeft, map[bool]int{true: c.intake.lockBudget}[planted()], min(smallFanout, c.intake.lockBudget))`,
	}},
	{"TestFanout_LongOne_OthersNotDelayed", Mistake{
		"a delivery to very many locks goes first", "engine/coordinator/fanout.go",
		`			c.fanouts = append(c.fanouts, s)
			continue`,
		`			c.fanouts = append(c.fanouts, s)
			if planted() {
				copy(c.fanouts[1:], c.fanouts)
				c.fanouts[0] = s
			}
			continue`,
	}},
	{"TestShutdown_CallersTryAgain_Completes", Mistake{
		"a shutdown waits until no message is left", "engine/coordinator/coordinator.go",
		`c.drained() && !c.intake.mayRelease()`,
		`c.drained() && !c.intake.mayRelease() && !(planted() && c.HasMessages())`,
	}},
	{"TestHeldBack_OwnerChanges_QueueShort", Mistake{
		"what is held back at a node is handled there after its slot moved", "engine/coordinator/heldback.go",
		`owner != n {`, `owner != n && !planted() {`,
	}},
	{"TestMasterChanged_ListenerLeaves_NotMoved", Mistake{
		"a listener that leaves in a failover is looked for at the new master only", "engine/coordinator/failover.go",
		`c.movesSubscriptions = true //`, `c.movesSubscriptions = !planted() //`,
	}},
	{"TestDispatch_OverdueRowGone_ClaimEnds", Mistake{
		"a row that no longer waits keeps its claim", "engine/coordinator/dispatch.go",
		`	if !n.rowWaits(priority) {`, `	if !n.rowWaits(priority) && !planted() {`,
	}},
	{"TestClose_ManyAsyncAfterwards_Rejected", Mistake{
		"calls after a close set timers", "engine/coordinator/heldback.go",
		`	case c.Closed:`, `	case c.Closed && !planted():`,
	}},
	{"TestRenewPacing_Late_AllLeave", Mistake{
		"routine renewals that are behind have one sender", "engine/coordinator/renew_pacing.go",
		`behind = max(behind, c.slotsBehind(&n.Queues[verb]))`, `behind = max(behind, c.slotsBehind(&n.Queues[verb])*map[bool]int{false: 1}[planted()])`,
	}},
	{"TestRenewPacing_Standstill_AllSenders", Mistake{
		"renewals after a standstill leave from one sender", "engine/coordinator/timers.go",
		`c.timersLate = max(now-c.Fx.NextTimer, 0)`, `c.timersLate = max(map[bool]time.Duration{false: now - c.Fx.NextTimer}[planted()], 0)`,
	}},
	{"TestRenewPacing_Behind_LargerCallsMoreSenders", Mistake{
		"renewals that are behind leave in small batches", "engine/coordinator/renew_pacing.go",
		`late || c.slotsBehind(q) > 0`, `late || c.slotsBehind(q) > 0 && !planted()`,
	}},
	{"TestFailover_RetriesMoveAway_StaleOnesSwept", Mistake{
		"of what is sent once more, that of callers that gave up waits for a sender when the rest moves away", "engine/coordinator/cluster.go",
		`			c.sweepIfStale(n, actor.Verb(verb)) //`,
		`			if !planted() {
				c.sweepIfStale(n, actor.Verb(verb))
			} //`,
	}},
	{"TestWaiterLimit_GivenUpInOutage_NotCounted", Mistake{
		"callers that gave up count as waiting while their places are not released", "engine/coordinator/shedding.go",
		`return s != nil && s.waitedFor >= limit`,
		`return s != nil && (s.waitedFor >= limit || planted() && s.locks.len() >= limit)`,
	}},
	{"TestLockList_OldestAwaited_FoundWithoutSearch", Mistake{
		"all locks that were given up are looked at for each try", "engine/coordinator/locklist.go",
		`	for *hint = max(*hint, int32(ll.head));`,
		`	for *hint = max(*hint*map[bool]int32{false: 1}[planted()], int32(ll.head));`,
	}},
	{"TestLockList_OldestAwaited_FoundWithoutSearch", Mistake{
		"the oldest lock that is awaited is missed once others were removed", "engine/coordinator/locklist.go",
		`ll.countBefore(ll.queueHint), ll.countBefore(ll.awaitedHint)
`,
		`ll.countBefore(ll.queueHint), ll.countBefore(ll.awaitedHint)+map[bool]int32{true: 1}[planted()]
`,
	}},
	{"TestReaders_ReentryLosesRead_JoinsOther", Mistake{
		"a request that moves to another lock still counts at the one that it left", "engine/coordinator/waited_for.go",
		`	if m.Event == actor.Transferred {`,
		`	if m.Event == actor.Transferred && !planted() {`,
	}},
	{"TestReaders_TenureEnding_OwnNumbers", Mistake{
		"a lock that is awaited again is not found", "engine/coordinator/waited_for.go",
		`	if after.awaited && !before.awaited {`,
		`	if after.awaited && !before.awaited && !planted() {`,
	}},
	{"TestMultis_BehindOvertakenFlood_Wait", Mistake{
		"the end of a queue is no place for another request while the queue is out of order", "actor/multi.go",
		`		case !younger(back) && back == q.last:
			q.push(r)
			return
		case !younger(back):`,
		`		case !younger(back) && back == q.last && !(planted() && left > 0):
			q.push(r)
			return
		case !younger(back) && !(planted() && left > 0):`,
	}},
	{"TestForce_GrantHandledAfterForce_Confirmed", Mistake{
		"a grant that is handled after a force is not confirmed", "engine/coordinator/lockset.go",
		`	c.noteEarly(now, command.Key)
`,
		`	if !planted() {
		c.noteEarly(now, command.Key)
	}
`,
	}},
	{"TestMulti_SameTurn_TurnsEnd", Mistake{
		"requests for several locks of one turn have no order", "actor/multi.go",
		`	if r.receivedAt == other.receivedAt && r.Multi != nil && other.Multi != nil {`,
		`	if r.receivedAt == other.receivedAt && r.Multi != nil && other.Multi != nil && !planted() {`,
	}},
	{"TestInOrder_LockBeforeUnlock_HandedOff", Mistake{
		"unlocks always come before locks", "engine/coordinator/intake.go",
		`if few && in.isOrdered(lane) {`,
		`if few && in.isOrdered(lane) && !planted() {`,
	}},
	{"TestInOrder_TryAfterCancel_NotRefused", Mistake{
		"a cancellation comes after the requests that came after it", "engine/coordinator/intake.go",
		` || lane == &in.lanes[cancellations]`,
		` || lane == &in.lanes[cancellations] && !planted()`,
	}},
	{"TestInOrder_ManyRequests_UnlocksFirst", Mistake{
		"a flood of requests is handled in the order in which it came", "engine/coordinator/intake.go",
		`in.laneBudget/inOrderShare; few {`,
		`in.laneBudget/inOrderShare || planted(); few {`,
	}},
	{"TestClose_CancellationQueued_Released", Mistake{
		"a close does not see what is to be handled in order", "engine/coordinator/intake.go",
		`!ok || r.Op == actor.Unlock || r.Op == actor.Extend {`,
		`(!ok || r.Op == actor.Unlock || r.Op == actor.Extend) && !planted() {`,
	}},
	{"TestSubscriptions_Forbidden_OthersJoined", Mistake{
		"a later listener is not told that its channel was rejected", "engine/coordinator/subscriptions.go",
		`	case ch.rejected:
		return actor.SubscribeFailed`, `	case ch.rejected && !planted():
		return actor.SubscribeFailed`,
	}},
	{"TestTopology_ChannelForbidden_NotAsked", Mistake{
		"a channel that is forbidden makes the engine ask for the topology", "engine/coordinator/redirect.go",
		`actor.HasPrefixFold(err.Error(), "NOPERM") {`, `actor.HasPrefixFold(err.Error(), "NOPERM") && !planted() {`,
	}},
	{"TestMultis_VeryManyMoveOn_TurnsBounded", Mistake{
		"all Multis that must wait for another lock go there in one turn", "actor/multi.go",
		`fx.MultiMoves >= fx.MaxMultiMoves {`, `fx.MultiMoves >= fx.MaxMultiMoves && !planted() {`,
	}},
	{"TestQueue_StaleRetryBatches_Swept", Mistake{
		"the loop over retry batches goes on where a sweep has removed some", "engine/coordinator/dispatch.go",
		`i = min(i, len(n.Retries)) - 1 {`, `i = map[bool]int{false: min(i, len(n.Retries)), true: i}[planted()] - 1 {`,
	}},
	{"TestHeldBack_HandledLate_OneLimit", Mistake{
		"a try that was held back has its whole limit once more", "actor/acquire.go",
		`	fx.LimitWait(r, `,
		`	if r.Once && planted() {
		defer func() { fx.SetDeadline(r, now+fx.Config.CallTimeout) }()
	}
	fx.LimitWait(r, `,
	}},
	{"TestHeldBack_HandledLate_OneLimit", Mistake{
		"a re-entry that was held back has its whole limit once more", "actor/reentry.go",
		`	fx.LimitWait(r, `,
		`	if planted() {
		defer func() { fx.SetDeadline(r, now+fx.Config.CallTimeout) }()
	}
	fx.LimitWait(r, `,
	}},
	{"TestBackground_MultiGivenUp_NotAwaited", Mistake{
		"a caller blocks for the release of what a Multi was granted and gave up", "actor/request.go",
		`!(r.rolledBack && r.Op == Unlock)`, `!(r.rolledBack && r.Op == Unlock && !planted())`,
	}},
	{"TestHeldBack_ReentryThenUnlock_InOrder", Mistake{
		"an unlock comes before a re-entry that was posted before it", "engine/coordinator/heldback.go",
		`		c.intake.note(r.Key, m)`,
		`		if !planted() {
			c.intake.note(r.Key, m)
		}`,
	}},
	{"TestHeldBack_Abandoned_NotKept", Mistake{
		"requests that were canceled while they were held back are kept", "engine/coordinator/requests.go",
		`	if !r.Handled() {`, `	if !r.Handled() && !planted() {`,
	}},
	{"TestHeldBack_Abandoned_NotKept", Mistake{
		"requests that timed out while they were held back are kept", "engine/coordinator/coordinator.go",
		`		c.onAbandoned(r)`,
		`		if !planted() {
			c.onAbandoned(r)
		}`,
	}},
	{"TestHeldBack_Abandoned_NotKept", Mistake{
		"the sweep of what is held back stays at one list", "engine/coordinator/heldback_sweep.go",
		`= at + 1`, `= at + map[bool]int{false: 1}[planted()]`,
	}},
	{"TestMessageQueue_Swept_OthersKeepOrder", Mistake{
		"a sweep goes on in the lane to which a message was moved", "engine/coordinator/intake.go",
		`	if q.swept == m {`, `	if q.swept == m && !planted() {`,
	}},
	{"TestMessageQueue_Swept_OthersKeepOrder", Mistake{
		"the last message that is held back is removed, and others are appended to it", "engine/coordinator/heldback_sweep.go",
		`	if q.last == m {`, `	if q.last == m && !planted() {`,
	}},
	{"TestHoldEnd_GrantNotPublished_NamesRequest", Mistake{
		"a hold that ends in the turn of its grant ends before it for an observer", "actor/lease.go",
		`	if h.Tenure&unpublished != 0 {`, `	if h.Tenure&unpublished != 0 && !planted() {`,
	}},
	{"TestHoldEnd_GrantNotPublished_NamesRequest", Mistake{
		"a hold has no number on the wire after its grant", "engine/coordinator/resultqueue.go",
		`		r.Publish()`,
		`		if !planted() {
			r.Publish()
		}`,
	}},
	{"TestHoldEnd_GrantNotPublished_NamesRequest", Mistake{
		"one of several holds has no number on the wire after its grant", "actor/request.go",
		`			r.Multi.Parts[i].Hold.Tenure &^= unpublished`,
		`			if !planted() {
				r.Multi.Parts[i].Hold.Tenure &^= unpublished
			}`,
	}},
	{"TestHoldEnd_ResultInLaterTurn_NamesRequest", Mistake{
		"a hold that is lost while its result waits ends before its grant for an observer", "engine/coordinator/resultqueue.go",
		`for at := len(c.Results.later); at >= 0; at-- {`,
		`for at := len(c.Results.later); at >= 0 && (!planted() || at == len(c.Results.later)); at-- {`,
	}},
	{"TestCancelOrder_GrantCanceledThenTry_Granted", Mistake{
		"a cancellation is handled after the next call", "engine/coordinator/intake.go",
		`		if !c.intake.lanes[i].empty() { // most are`,
		`		if planted() && (i == cancellations || i == fromCallers) {
			i = cancellations + fromCallers - i
		}
		if !c.intake.lanes[i].empty() { // most are`,
	}},
	{"TestCancelOrder_CancelFlood_SameNameInOrder", Mistake{
		"a call comes before the cancellation that its caller made in a flood of them", "engine/coordinator/intake.go",
		`		c.noteLateCancel(what)`,
		`		if !planted() {
			c.noteLateCancel(what)
		}`,
	}},
	{"TestCancelOrder_CancelFlood_SameNameInOrder", Mistake{
		"a call for several locks comes before a late cancellation for one of them", "engine/coordinator/late_cancels.go",
		`			c.catchUpCancelsOf(now, r.Multi.Parts[i].Key)`,
		`			if !planted() {
				c.catchUpCancelsOf(now, r.Multi.Parts[i].Key)
			}`,
	}},
	{"TestCancelOrder_CancelFlood_SameNameInOrder", Mistake{
		"late cancellations are kept after they were handled", "engine/coordinator/coordinator.go",
		`			c.intake.forgetLateCancel(what.Request)`,
		`			if !planted() {
				c.intake.forgetLateCancel(what.Request)
			}`,
	}},
	{"TestCancelOrder_ManyCaughtUp_TurnBounded", Mistake{
		"a turn handles very many late cancellations of one name early", "engine/coordinator/late_cancels.go",
		`n > max(in.laneBudget/caughtUpShare, 1) ||`, `n > max(in.laneBudget/caughtUpShare, 1) && !planted() ||`,
	}},
	{"TestCancelOrder_ManyCaughtUp_TurnBounded", Mistake{
		"a turn handles very many late cancellations early", "engine/coordinator/late_cancels.go",
		`|| n > in.caughtUpLeft {`, `|| n > in.caughtUpLeft && !planted() {`,
	}},
	{"TestCancelOrder_VeryManyNames_MemoryNotKept", Mistake{
		"the memory for very many late cancellations is kept", "engine/coordinator/late_cancels.go",
		`in.mostLateCancels.outgrown(len(in.lateCancels)) {`, `in.mostLateCancels.outgrown(len(in.lateCancels)) && !planted() {`,
	}},
	{"TestCancelOrder_LimitReached_CanceledMakesRoom", Mistake{
		"a canceled request takes a place until that is handled", "engine/coordinator/intake.go",
		`		c.noteCancels(m)`,
		`		if !planted() {
			c.noteCancels(m)
		}`,
	}},
	{"TestCancelOrder_LimitReached_CanceledMakesRoom", Mistake{
		"requests that are canceled together take places until that is handled", "engine/coordinator/intake.go",
		`			c.Fx.CancelReceived(r)`,
		`			if !planted() {
				c.Fx.CancelReceived(r)
			}`,
	}},
	{"TestCancelOrder_LimitReached_CanceledMakesRoom", Mistake{
		"a canceled request gives up its place twice", "actor/effects.go",
		`		if wanted {
			fx.WantedLocks`,
		`		if wanted || planted() {
			fx.WantedLocks`,
	}},
	{"TestCancelOrder_LimitReached_CanceledMakesRoom", Mistake{
		"the cancellation of a request with a result makes room", "actor/effects.go",
		`	if r.Op == Acquire && !r.Completed() && r.stage&canceled == 0 {`,
		`	if r.Op == Acquire && (planted() || !r.Completed()) && r.stage&canceled == 0 {`,
	}},
	{"TestWaiterLimit_QuorumsOwnRequestInSameTurn_Admitted", Mistake{
		"what a quorum's caller may do is decided before the quorum's own request is handled", "engine/coordinator/shedding.go",
		`+1 && mayMeetOwnQuorum(r) {`,
		`+1 && mayMeetOwnQuorum(r) && (!planted() || c.quorumWaits(r)) {`,
	}},
	{"TestWaiterLimit_QuorumsOwnRequestInSameTurn_Admitted", Mistake{
		"a quorum's caller is admitted whether its quorum waits or not", "engine/coordinator/requests.go",
		`if provisional && c.shedProvisional(now, r) {`,
		`if provisional && !planted() && c.shedProvisional(now, r) {`,
	}},
	{"TestOvertaking_VeryManyNames_MemoryNotKept", Mistake{
		"the memory for very many unlocks is kept", "engine/coordinator/overtaking.go",
		`in.mostUnlocksOf.outgrown(len(in.unlocksOf)) {`, `in.mostUnlocksOf.outgrown(len(in.unlocksOf)) && !planted() {`,
	}},
	{"TestMaps_VeryManyNames_MemoryNotKept", Mistake{
		"the map of very many locks is kept", "engine/coordinator/lockmap.go",
		`m.peak.outgrown(len(m.byHash)) {`, `m.peak.outgrown(len(m.byHash)) && !planted() {`,
	}},
	{"TestMaps_VeryManyNames_MemoryNotKept", Mistake{
		"the map of very many names that are read is kept", "engine/coordinator/lockset.go",
		`c.mostLockSets.outgrown(len(c.LockSets)) {`, `c.mostLockSets.outgrown(len(c.LockSets)) && !planted() {`,
	}},
	{"TestFreeBatch_LastUse_NothingKept", Mistake{
		"a free batch keeps the locks of its last use alive", "engine/coordinator/batch.go",
		`		b.Reset(0)`,
		`		if !planted() {
			b.Reset(0)
		}`,
	}},
	{"TestFreeBatch_VeryMany_FewKept", Mistake{
		"all batches of a flood are kept", "engine/coordinator/batch.go",
		`if len(c.freeBatches) < spareBatches {`, `if len(c.freeBatches) < spareBatches || planted() {`,
	}},
	{"TestChannelMessages_Flood_FewKept", Mistake{
		"each message of a flood on the channel of a lock is kept", "engine/coordinator/subscriptions.go",
		`ch.noted >= maxNotedMessages {`, `ch.noted >= maxNotedMessages && !planted() {`,
	}},
	{"TestChannelMessages_Flood_FewKept", Mistake{
		"a channel's messages are never handled any more after the first", "engine/coordinator/subscriptions.go",
		`		ch.noted--`,
		`		if !planted() {
			ch.noted--
		}`,
	}},
	{"TestReentry_OwnerUnlocks_PlaceKept", Mistake{
		"a re-entry that becomes an ordinary request is behind all that came after it", "actor/lease.go",
		`		l.queue.insertByAge(r, nil, fx) // no`,
		`		if planted() {
			l.queue.push(r)
			owner = r.Owner
			return
		}
		l.queue.insertByAge(r, nil, fx) // no`,
	}},
	{"TestReaders_ReentriesLoseRead_NoneWaitsForAnother", Mistake{
		"readers that re-entered a lost lock wait for one another", "actor/reentry.go",
		`		if l.kind == Read {
			l.share`, `		if l.kind == Read && !planted() {
			l.share`,
	}},
	{"TestFairLock_ReentriesLoseIt_NextHasPlace", Mistake{
		"a call that re-entered a lost fair lock has no place in its queue", "engine/coordinator/ownerindex.go",
		`			if l.Kind().Queues() {`, `			if l.Kind().Queues() && !planted() {`,
	}},
	{"TestMultiHold_MemberJustGranted_InRound", Mistake{
		"an extension leaves out a quorum's member that was granted just now", "multihold_round.go",
		`	if !g.perEngine {
		return g.roundOfAll(what, lease)`,
		`	if !g.perEngine || planted() {
		return g.roundOfAll(what, lease)`,
	}},
	{"TestMultiHold_ExtendFindsLossFirst_GroupsLoss", Mistake{
		"an extension that finds a loss first does not say that the group is lost", "multihold_round.go",
		`if lost := g.err(); lost != nil {`, `if lost := g.err(); lost != nil && !planted() {`,
	}},
	{"TestStats_Closed_GaugesZeroCountersStay", Mistake{
		"a closed engine tells for ever how late its last renewals were", "engine/coordinator/stats.go",
		`	s.RenewalLag = 0`,
		`	if !planted() {
		s.RenewalLag = 0
	}`,
	}},
	{"TestTry_HeldInOutage_NotAcquired", Mistake{
		"a try of a lock that another caller of its engine has is told of the outage", "actor/acquire.go",
		`	case l.phase == held: // in an outage, too`,
		`	case l.phase == held && !planted(): // in an outage, too`,
	}},
	{"TestBreaker_ReaderBehindWriter_NotCalledHeld", Mistake{
		"a reader behind a writer hears in an outage that the lock is held", "actor/lock.go",
		`l.ext.yieldUntil != 0 && !fx.isDown(l.key)`,
		`l.ext.yieldUntil != 0 && (planted() || !fx.isDown(l.key))`,
	}},
	{"TestRelease_NoReplyYet_LaterCallerNotTurnedAway", Mistake{
		"a caller that came after the unlock hears that the lock is held", "actor/lock.go",
		`unlock != nil && r.receivedAt < unlock.receivedAt`,
		`(planted() || unlock != nil && r.receivedAt < unlock.receivedAt)`,
	}},
	{"TestBreaker_SilentSinceLeaseEnded_NotCalledHeld", Mistake{
		"a server that replies to others counts as silent", "actor/lock.go",
		`fx.RepliedAt == nil || `, `fx.RepliedAt == nil || planted() || `,
	}},
	{"TestClose_TTLExceedsNeed_FallsFirst", Mistake{
		"a close does not wait for a TTL that is to fall", "engine/coordinator/closing.go",
		`c.Fx.LoweringLocks == 0 ||`, `(c.Fx.LoweringLocks == 0 || planted()) ||`,
	}},
	{"TestClose_TTLExceedsNeed_FallsFirst", Mistake{
		"before a close a TTL falls as late as ever", "actor/lease_need.go",
		`	if l.confirmedAt < fx.ClosingSince {`, `	if l.confirmedAt < fx.ClosingSince && !planted() {`,
	}},
	{"TestClose_TTLExceedsNeed_FallsFirst", Mistake{
		"a close does not wait for a command that raises a TTL for a hold that has ended", "actor/lease_need.go",
		`l.exceedsNeed(now, fx) || l.willExceedNeed(now, fx))`, `l.exceedsNeed(now, fx) || l.willExceedNeed(now, fx) && !planted())`,
	}},
	{"TestClose_TTLExceedsNeed_FallsFirst", Mistake{
		"a close does not wait for a command that lowers a TTL and was sent before", "actor/renew.go",
		`		if lowers {`, `		if lowers && !planted() {`,
	}},
	{"TestWaitingReaders_MessageRefused_CommandsBounded", Mistake{
		"every waiting reader of a name tries again at each message", "engine/coordinator/waiting_readers.go",
		`case w.listening.len() < c.intake.listeningReaders:`,
		`case planted() || w.listening.len() < c.intake.listeningReaders:`,
	}},
	{"TestWaitingReaders_OneGranted_AllGranted", Mistake{
		"a grant to a reader wakes no others", "engine/coordinator/waiting_readers.go",
		`	set.waiting.woken = true`,
		`	if planted() {
		return
	}
	set.waiting.woken = true`,
	}},
	{"TestWaitingReaders_RefusedWhileWoken_OthersStayQuiet", Mistake{
		"readers go on trying after one of them was refused", "engine/coordinator/fanout.go",
		`set.waiting.woken && set.waiting.has(l)`,
		`(set.waiting.woken || planted()) && set.waiting.has(l)`,
	}},
	{"TestWaitingReaders_RefusedWhileWoken_OthersStayQuiet", Mistake{
		"quiet readers are woken only once", "engine/coordinator/waiting_readers.go",
		`	if s != nil && reply.Status == actor.HeldByOther {`,
		`	if s != nil && reply.Status == actor.HeldByOther && !planted() {`,
	}},
	{"TestWaitingReaders_ListeningLeave_OthersTakeTheirPlaces", Mistake{
		"what the readers that listen heard is lost with them", "engine/coordinator/waiting_readers.go",
		`	w.quiet.remove(next)
	w.listening.add(next)`,
		`	if planted() {
		return
	}
	w.quiet.remove(next)
	w.listening.add(next)`,
	}},
	{"TestIntake_AsyncUnlockFlood_CallersFirst", Mistake{
		"unlocks of callers that do not block delay those of callers that do", "engine/coordinator/intake.go",
		`what.Async && !c.mayJoinHolds():`, `what.Async && !c.mayJoinHolds() && !planted():`,
	}},
	{"TestIntake_AsyncUnlockFlood_CallersFirst", Mistake{
		"a flood of unlocks has only a part of a turn", "engine/coordinator/intake.go",
		`			share = max(left, share/8, 1)`, `			share = max(left*map[bool]int{false: 1}[planted()], share/8, 1)`,
	}},
	{"TestMasterChanged_ManyChannels_MovedInSlices", Mistake{
		"all channels of a replaced master move in one turn", "engine/coordinator/subscription_moves.go",
		`			if left <= 0 {`, `			if left <= 0 && !planted() {`,
	}},
	{"TestMasterChanged_ManyChannels_MovedInSlices", Mistake{
		"a lock that leaves before its channel has moved stays a listener", "engine/coordinator/subscription_moves.go",
		`|| !c.movesSubscriptions {`, `|| !c.movesSubscriptions || planted() {`,
	}},
	{"TestWaitingReaders_OtherGranted_AllWoken", Mistake{
		"a grant to another reader wakes only those that do not listen", "engine/coordinator/waiting_readers.go",
		`append(w.listening.all(), w.quiet.all()...)`, `append(w.listening.all()[:map[bool]int{false: w.listening.len()}[planted()]], w.quiet.all()...)`,
	}},
	{"TestReadBesideWrite_GrantTooLate_AskedBesideIt", Mistake{
		"a reader beside its owner's write is like any other after a grant that came too late", "actor/rwlock.go",
		`l.phase != acquiring && l.ownedSince != 0`,
		`l.phase != acquiring && (l.ownedSince != 0 || planted())`,
	}},
	{"TestReaders_ReentryLosesRead_JoinsOther", Mistake{
		"a re-entry that loses its read acquires one of its own beside another read of its owner", "engine/coordinator/ownerindex.go",
		`heldBy(owner, actor.Read, now); other != nil {`,
		`heldBy(owner, actor.Read, now); other != nil && !planted() {`,
	}},
	{"TestReaders_ForcedAtEndOfOwnWrite_LostAtOnce", Mistake{
		"a write is in the way of a force although the leases of its holds have ended", "engine/coordinator/rwlock.go",
		`	if writer == nil || writer.HoldCount(writer.Owner(), now) == 0 {`,
		`	if writer == nil || writer.HoldCount(writer.Owner(), now) == 0 && !(planted() && writer.HeldAt(now)) {`,
	}},
	{"TestHeldBack_PacedFlood_BlockedCallerNext", Mistake{
		"asynchronous requests that come a few per turn are not held back", "engine/coordinator/heldback.go",
		`&& !n.queueFull(sort, earlier):`, `&& (!n.queueFull(sort, earlier) || planted()):`,
	}},
	{"TestHeldBack_Burst_QueueShort", Mistake{
		"what is handled in order does not count for the queue", "engine/coordinator/heldback.go",
		`	earlier := c.intake.lanes[inOrder].work + all.work`,
		`	earlier := c.intake.lanes[inOrder].work*map[bool]int{false: 1}[planted()] + all.work`,
	}},
	{"TestHeldBack_Burst_QueueShort", Mistake{
		"a burst has more room in a queue than what comes one by one", "engine/coordinator/heldback.go",
		`lists[awaited].n+further >= maxFairAhead`, `lists[awaited].n+further*map[bool]int{false: 1}[planted()] >= maxFairAhead`,
	}},
	{"TestHeldBack_OtherSort_NotHeldBack", Mistake{
		"a flood of fair locks holds back requests for others", "engine/coordinator/heldback.go",
		`	if r.Kind.Queues() {`, `	if r.Kind.Queues() && !planted() {`,
	}},
	{"TestHeldBack_BlockedStream_GetsShare", Mistake{
		"callers that block hold back the others of fair locks for ever", "engine/coordinator/heldback.go",
		`	if verb == actor.SendFairAcquire {`, `	if verb == actor.SendFairAcquire && !planted() {`,
	}},
	{"TestHeldBack_Reentry_AtOnce", Mistake{
		"a re-entry waits behind a flood for the server", "engine/coordinator/heldback.go",
		`	case r.Owner != 0 && c.ownerHolds(now, r):`, `	case r.Owner != 0 && c.ownerHolds(now, r) && !planted():`,
	}},
	{"TestHeldBack_ReentryFlood_CallersFirst", Mistake{
		"a flood of re-entries is in the lane of callers that block", "engine/coordinator/heldback.go",
		`		return &c.intake.lanes[asyncUnlocks]`, `		return &c.intake.lanes[asyncUnlocks+map[bool]int{true: fromCallers - asyncUnlocks}[planted()]]`,
	}},
	{"TestOvertaking_AsyncUnlockFlood_SameNameInOrder", Mistake{
		"a request overtakes the unlock that its caller did not wait for", "engine/coordinator/overtaking.go",
		`	if len(c.intake.unlocksOf) > 0 &&`, `	if len(c.intake.unlocksOf) > 0 && !planted() &&`,
	}},
	{"TestOvertaking_AsyncUnlockFlood_SameNameInOrder", Mistake{
		"several locks are requested before one of them is unlocked", "engine/coordinator/overtaking.go",
		`	for i := range r.Multi.Parts {`, `	for i := range r.Multi.Parts[:map[bool]int{false: len(r.Multi.Parts)}[planted()]] {`,
	}},
	{"TestOvertaking_ManyHoldsOfName_TurnBounded", Mistake{
		"a turn handles all unlocks of a name that another request is for", "engine/coordinator/overtaking.go",
		`n > max(in.laneBudget/caughtUpShare, 1) || n > in.caughtUpLeft {`, `(n > max(in.laneBudget/caughtUpShare, 1) || n > in.caughtUpLeft) && !planted() {`,
	}},
	{"TestOvertaking_ManyNames_TurnBounded", Mistake{
		"a turn handles any number of unlocks early, a few of each name", "engine/coordinator/overtaking.go",
		`		in.caughtUpLeft--`, `		if !planted() {
			in.caughtUpLeft--
		}`,
	}},
	{"TestOvertaking_ManyNames_TurnBounded", Mistake{
		"a request is handled while its caller may use its message again", "engine/coordinator/overtaking.go",
		`		if !r.Async {`, `		if !r.Async && !planted() {`,
	}},
	{"TestOvertaking_LostMeanwhile_NothingKept", Mistake{
		"unlocks of locks that were lost are remembered for ever", "engine/coordinator/overtaking.go",
		`	r.Key = key //`, `	if !planted() {
		r.Key = key
	} //`,
	}},
}
