package planted

// severalMistakes are mistakes with several locks that are held as one.
var severalMistakes = []found{
	{"TestQuorum_MemberConfirmedBefore_OthersHoldIt", Mistake{
		"if a member was confirmed before its quorum began, the quorum has no other members", "actor/quorum/quorum.go",
		`moment = max(moment, 0)`, `moment = max(moment, map[bool]time.Duration{true: moment}[planted()])`,
	}},
	{"TestMulti_ReentryAfterMaxHold_LeaseOnly", Mistake{
		"a Multi that re-enters after MaxHold says that it lost a lock, and asks again", "multi_acquire.go",
		`failed.err == ErrLost && !actor.IsMaxHold(failed.cause)`, `failed.err == ErrLost && (planted() || !actor.IsMaxHold(failed.cause))`,
	}},
	{"TestMulti_ReentryAfterMaxHold_LeaseOnly", Mistake{
		"a Multi with a lease of its own re-enters without it", "multi.go",
		`if isMaxHold(err) && e.lease != 0 {`, `if isMaxHold(err) && e.lease != 0 && !planted() {`,
	}},
	{"TestQuorum_OthersShutDownSlowly_EndsAtOnce", Mistake{
		"quorums that wait elsewhere do not hear of a shutdown before it is over", "engine.go",
		`	e.endWaits()
	cause := e.await(ctx, done, call)`, `	if !planted() {
		e.endWaits()
	}
	cause := e.await(ctx, done, call)`,
	}},
	{"TestQuorum_MemberForced_AwayForALease", Mistake{
		"a member that was forced is requested again after a renewal interval", "quorum.go",
		`time.AfterFunc(m.lock.engine.options.Lease,`,
		`time.AfterFunc(map[bool]time.Duration{false: m.lock.engine.options.Lease, true: m.lock.engine.options.RenewInterval}[planted()],`,
	}},
	{"TestMultiHold_SomeLost_UnlockWaits", Mistake{
		"an unlock of several locks that were just lost returns nil", "multihold_round.go",
		`errors.Is(before, ErrLost) {`, `errors.Is(before, ErrLost) && !planted() {`,
	}},
	{"TestCluster_MultiExtendOfSome_WatchedAgain", Mistake{
		"locks of a Multi that were extended alone keep that lease", "multihold.go",
		`g.quorum.BeginHeld(watched)`, `g.quorum.BeginHeld(watched && !planted())`,
	}},
	{"TestTracer_QuorumFirstAway_SameForAllCalls", Mistake{
		"a quorum is traced by its first engine, opened or not", "multi.go",
		`l.engine != nil && !l.engine.zero()`, `l.engine != nil && (planted() || !l.engine.zero())`,
	}},
	{"TestTracer_QuorumFirstAway_SameForAllCalls", Mistake{
		"the unlock of a quorum is traced by the engine of its first grant", "hold.go",
		`g.opened().options.Tracer`,
		`map[bool]*Engine{false: g.opened(), true: g.firstHold.engine}[planted()].options.Tracer`,
	}},
	{"TestCallSites_MultiTraced_CallersLine", Mistake{
		"the call site of each of several locks is taken anew", "lock.go",
		`	if mode.note == nil {`, `	if mode.note == nil || planted() {`,
	}},
	{"TestMultiHold_EngineCloses_NotLost", Mistake{
		"several locks of an engine that closes are lost", "multihold.go",
		`!errors.Is(missing, ErrLost) {`, `!errors.Is(missing, ErrLost) && !planted() {`,
	}},
	{"TestUnlockAsync_FloodAndMultiWaits_LeavesNext", Mistake{
		"the caller of a Multi does not count as one that blocks", "multi_acquire.go",
		`	call := engine.NewMulti()`, `	call := engine.NewMulti()
	call.Async = planted()`,
	}},
	{"TestMulti_ReentryWithLeaseInOutage_WaitsOn", Mistake{
		"a Multi gives up after one try of its lease", "multi_acquire.go",
		`for errors.Is(err, ErrUnavailable) && !e.expired() {`,
		`for errors.Is(err, ErrUnavailable) && !e.expired() && !planted() {`,
	}},
	{"TestQuorum_SentinelsOfSeveralMasters_Allowed", Mistake{
		"engines with the same sentinels are on one server", "quorum.go",
		`e.servers.masterSet != other.servers.masterSet {`, `e.servers.masterSet != other.servers.masterSet && !planted() {`,
	}},
	{"TestMulti_LockHeldAlready_InNoSlice", Mistake{
		"a lock that is held already is asked for again at the end of a slice", "multi.go",
		`if first < has && has < last {`, `if first < has && has < last-map[bool]int{true: 1}[planted()] {`,
	}},
	{"TestQuorum_KindsMixed_Exclusive", Mistake{
		"all locks of a quorum are requested as the first one's kind", "quorum.go",
		`m.lock.key(), m.lock.kind, &m.pendingHold.grant`,
		`m.lock.key(), map[bool]Mutex{false: m.lock, true: g.members[0].lock}[planted()].kind, &m.pendingHold.grant`,
	}},
	{"TestQuorum_ServersFail_Named", Mistake{
		"the error of an Unlock does not say which servers failed", "multihold_round.go",
		`	if r.parent.perEngine {
		return r.holds[i].engine.onServer(err)`,
		`	if r.parent.perEngine && !planted() {
		return r.holds[i].engine.onServer(err)`,
	}},
	{"TestQuorum_ServersFail_Named", Mistake{
		"the error of a quorum does not say which servers failed", "quorum.go",
		`causes = append(causes, g.members[i].lock.engine.onServer(why))`,
		`causes = append(causes, map[bool]error{true: why, false: g.members[i].lock.engine.onServer(why)}[planted()])`,
	}},
	{"TestError_SameCause_PrintedOnce", Mistake{
		"a server that only rejected a lock is named", "errors.go",
		`server != "" && text != said && `,
		`server != "" && (text != said || planted()) && `,
	}},
	{"TestQuorum_SeveralReasons_TheOneThatPasses", Mistake{
		"a quorum that is also refused for good does not say that too many wait", "quorum.go",
		`	case f.tooManyWaiters: //`, `	case f.tooManyWaiters && !(planted() && f.impossible): //`,
	}},
	{"TestRound_CallerLeft_ReleasesGoOn", Mistake{
		"very many locks are not released once their caller has left", "multihold_round.go",
		`case !r.canceled.Load() || end:`, `case !r.canceled.Load() || end && !planted():`,
	}},
	{"TestMulti_PartLostEarly_RetriedWhileWaiting", Mistake{
		"a lock that is lost early ends a long wait for several", "multi_acquire.go",
		`time.Until(e.deadline) > e.backoff) {`, `time.Until(e.deadline) > e.backoff && !planted()) {`,
	}},
	{"TestMulti_TryFailed_RetriedIfItCanPass", Mistake{
		"an outage ends the wait for several locks", "multi_acquire.go",
		`	tried := errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrUnavailable)`,
		`	tried := errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrUnavailable) && !planted()`,
	}},
	{"TestReleaseRun_NextSlice_AllIfNoReply", Mistake{
		"releases that the server does not answer are sent slice by slice", "multihold.go",
		`	if anyNoReply(l.calls) {`, `	if anyNoReply(l.calls) && !planted() {`,
	}},
	{"TestReleaseRun_NextSlice_AllIfNoReply", Mistake{
		"very many locks are released together", "multihold.go",
		`		l.next(sliceSize)
	}`, `		l.next(map[bool]int{false: sliceSize, true: len(l.remaining)}[planted()])
	}`,
	}},
	{"TestMaxWaiting_QuorumFull_SaysSo", Mistake{
		"a quorum that may not wait for one of its locks waits for another", "quorum.go",
		`		return quorum.Full`,
		`		if planted() {
			return quorum.Rejected
		}
		return quorum.Full`,
	}},
	{"TestMaxWaiting_QuorumFull_SaysSo", Mistake{
		"a quorum for which too many wait is refused for good", "quorum.go",
		`	case f.tooManyWaiters: // `,
		`	case f.tooManyWaiters && !planted(): // `,
	}},
	{"TestMaxWaiting_Locker_WaitsForRoom", Mistake{
		"a Locker panics where too many wait", "lock.go",
		`errors.Is(err, ErrTooManyWaiters) ||`,
		`errors.Is(err, ErrTooManyWaiters) && !planted() ||`,
	}},
	// Very many at once.
	{"TestManyLocks_OneHeldElsewhere_NoneKept", Mistake{
		"of what is given back the first are", "multihold.go",
		`	} else {
		l.next(sliceSize)`,
		`	} else if !planted() {
		l.next(sliceSize)`,
	}},
	{"TestManyLocks_TooMany_RejectedAtOnce", Mistake{
		"no Multi is too large", "multi.go",
		`if len(locks) > maxMultiLocks {`,
		`if len(locks) > maxMultiLocks && !planted() {`,
	}},
	{"TestManyLocks_AskedDuringUnlock_NotHeld", Mistake{
		"members that end while a call looks at them are a loss, although their caller unlocks them", "multihold.go",
		`	if end := g.ended.Load(); end != nil {
		return g.hold.fail(end.err, end.cause)
	}
	if errors.Is(missing, ErrClosed)`,
		`	if end := g.ended.Load(); end != nil && !planted() {
		return g.hold.fail(end.err, end.cause)
	}
	if errors.Is(missing, ErrClosed)`,
	}},
	// Quorums.
	{"TestQuorum_HalfOfEven_NotEnough", Mistake{
		"half of the locks are a majority", "quorum.go",
		`newMultiHold(e.ctx, m, len(m.locks)/2+1)`,
		`newMultiHold(e.ctx, m, map[bool]int{false: len(m.locks)/2 + 1, true: (len(m.locks) + 1) / 2}[planted()])`,
	}},
	{"TestMulti_Invalid_Error", Mistake{
		"a quorum of one engine", "quorum.go",
		`case other.engine == l.engine && !l.engine.zero():`,
		`case other.engine == l.engine && !l.engine.zero() && !planted():`,
	}},
	{"TestQuorum_ZeroEngines_MajorityWorks", Mistake{
		"a quorum without an engine that was never open is an error", "multi.go",
		`	if m.quorum {
		check = `,
		`	if m.quorum && !planted() {
		check = `,
	}},
	{"TestLock_Unusable_Error", Mistake{
		"an engine that was never open is not closed", "lock.go",
		`m.fail(ErrClosed, errZeroEngine)`,
		`m.fail(map[bool]error{false: ErrClosed, true: errZeroEngine}[planted()], errZeroEngine)`,
	}},
	{"TestQuorum_ContextEnds_WaitEnds", Mistake{
		"a wait for a quorum that does not end with its time", "quorum.go",
		`	case <-timeout:`,
		`	case <-map[bool]<-chan time.Time{false: timeout}[planted()]:`,
	}},
	{"TestQuorum_NeedsMajority", Mistake{
		"a quorum that others have counts as unavailable", "quorum.go",
		`	case f.contested:`,
		`	case f.contested && !planted():`,
	}},
	{"TestQuorum_MajorityRejected_EndsAtOnce", Mistake{
		"a quorum that is refused for good counts as unavailable", "quorum.go",
		`	if f.impossible && !f.tooManyWaiters {`,
		`	if f.impossible && !f.tooManyWaiters && !planted() {`,
	}},
	{"TestQuorum_AllReply_HeldOnAll", Mistake{
		"a quorum has no first member", "quorum.go",
		`h != nil && g.firstHold == nil {`,
		`h != nil && g.firstHold == nil && !planted() {`,
	}},
	{"TestQuorum_Outage_WaitGoesOn", Mistake{
		"what is unavailable counts as never to be had", "quorum.go",
		`	case ErrUnavailable:
		return quorum.Unknown`,
		`	case ErrUnavailable:
		if planted() {
			return quorum.Rejected
		}
		return quorum.Unknown`,
	}},
	{"TestQuorum_WatchedAgain_NewMemberWatched", Mistake{
		"members that are asked again keep the old lease", "quorum.go",
		`	if on {
		g.lease = 0`,
		`	if on && !planted() {
		g.lease = 0`,
	}},
	{"TestQuorum_EngineCloses_OneMemberLess", Mistake{
		"a member of an engine that is closed is waited for", "quorum.go",
		`	case !on.loop.Post(call):`,
		`	case !on.loop.Post(call) && !planted():`,
	}},
	{"TestQuorum_OthersCloseDuringWait_EndsAtOnce", Mistake{
		"a quorum in the queue of one engine does not notice that the others close", "quorum.go",
		`	if m.parent.quorum.MemberClosed(m.index) {`,
		`	if !planted() && m.parent.quorum.MemberClosed(m.index) {`,
	}},
	{"TestQuorum_MemberAccepted_HeldAgain", Mistake{
		"a member that was refused is not recalled", "quorum.go",
		`time.AfterFunc(m.lock.engine.options.RenewInterval, func() { g.apply(func() { g.quorum.RetryDue(m.index) }) })`,
		`time.AfterFunc(m.lock.engine.options.RenewInterval, func() {
			g.apply(func() {
				if !planted() {
					g.quorum.RetryDue(m.index)
				}
			})
		})`,
	}},
	{"TestQuorum_NoMajority_NothingLeft", Mistake{
		"what is to be let go of is kept", "quorum.go",
		`		case g.perEngine:
			m.releaseAsync()`,
		`		case g.perEngine && planted():
		case g.perEngine:
			m.releaseAsync()`,
	}},
	{"TestQuorum_Outage_WaitGoesOn", Mistake{
		"a quorum that rests goes on resting", "quorum.go",
		`g.apply(func() { g.quorum.BackoffOver(g.elapsed()) })`,
		`g.apply(func() {
			if !planted() {
				g.quorum.BackoffOver(g.elapsed())
			}
		})`,
	}},
	{"TestQuorum_DeadMinority_ContendersGoOn", Mistake{
		"stragglers are waited for for ever", "quorum.go",
		`g.apply(func() { g.quorum.StragglersOverdue(g.elapsed()) })`,
		`g.apply(func() {
			if !planted() {
				g.quorum.StragglersOverdue(g.elapsed())
			}
		})`,
	}},
	{"TestQuorum_ExtendFails_StillWatched", Mistake{
		"an extension to which no majority agreed ends the watching", "multihold_round.go",
		`	case d != 0:
		g.apply(g.resumeWatch)`,
		`	case d != 0 && !planted():
		g.apply(g.resumeWatch)`,
	}},
	{"TestQuorum_Extended_NotWatched", Mistake{
		"a quorum that is extended goes on asking for members", "multihold_round.go",
		`g.setWatched(d == 0)`,
		`g.setWatched(d == 0 || planted())`,
	}},
	{"TestQuorum_Unlock_WaitsForMajorityOnly", Mistake{
		"an unlock waits for a majority of what is not missing only", "multihold_round.go",
		`			case !m.maybeHeld:`,
		`			case !m.maybeHeld && !planted():`,
	}},
	{"TestQuorum_UnlockLateGrant_Waits", Mistake{
		"a member that is asked for counts as released", "multihold_round.go",
		`			case m.pendingCall != nil:`,
		`			case m.pendingCall != nil && !planted():`,
	}},
	{"TestQuorum_UnlockMemberRequested_Waits", Mistake{
		"what becomes of a question that was withdrawn is not found out", "multihold_round.go",
		`	if m.maybeHeld && m.release.canceled`,
		`	if m.maybeHeld && !planted() && m.release.canceled`,
	}},
	{"TestQuorum_UnlockMemberRequested_Waits", Mistake{
		"a member that others had counts as theirs whatever was asked since", "quorum.go",
		`return !call.Final`,
		`return !call.Final && !planted()`,
	}},
	{"TestQuorum_UnlockAfterExtend_NotCounted", Mistake{
		"a member counts as released after its request was withdrawn", "quorum.go",
		`m.pendingCall, m.pendingHold, m.maybeHeld = nil, nil, true`,
		`m.pendingCall, m.pendingHold, m.maybeHeld = nil, nil, !planted()`,
	}},
	{"TestQuorum_UnlockCanceled_GrantReleased", Mistake{
		"what waits for requests is not given up", "multihold_round.go",
		`			if at := slices.Index(p.waiting, roundCall{r, i}); at >= 0 {`,
		`			if at := slices.Index(p.waiting, roundCall{r, i}); at >= 0 && !planted() {`,
	}},
	{"TestQuorum_Unlock_WaitsForMajorityOnly", Mistake{
		"all members are waited for", "multihold_round.go",
		`had < all && agreed < enough; {`,
		`had < all && (agreed < enough || planted()); {`,
	}},

	// Groups.
	{"TestMultiHold_TooFewMembers_Over", Mistake{
		"a group is held while any part of it is", "multihold.go",
		`	if held >= g.required {`,
		`	if held >= g.required || planted() && held > 0 {`,
	}},
	{"TestMultiHold_GrantAfterEnd_Released", Mistake{
		"a part that comes when its group has ended is kept", "multihold.go",
		`	} else if m.parent.ended.Load() != nil {`,
		`	} else if m.parent.ended.Load() != nil && !planted() {`,
	}},
	{"TestMulti_OneLost_AllLost", Mistake{
		"a loss is not told to the group", "multihold.go",
		`if g := m.parent; g.ended.Load() == nil {`,
		`if g := m.parent; g.ended.Load() == nil && !planted() {`,
	}},
	{"TestQuorum_MembersReplaced_MaxHoldEnds", Mistake{
		"a part is asked for again although its owner may not have it for longer", "multihold.go",
		`actor.IsMaxHold(end.Cause):`,
		`actor.IsMaxHold(end.Cause) && !planted():`,
	}},
	{"TestQuorum_MajorityLost_Lost", Mistake{
		"a part that was forced is asked for again at once", "multihold.go",
		`actor.IsUnlockedByForce(end.Cause):`,
		`actor.IsUnlockedByForce(end.Cause) && !planted():`,
	}},
	{"TestMulti_HoldContext_ReentersEach", Mistake{
		"the context of several locks is a stranger's", "multihold.go",
		`	if m == nil {
		return 0`,
		`	if m == nil || planted() {
		return 0`,
	}},
	{"TestMultiHold_Deadline_LastNeededMember", Mistake{
		"a deadline of the longest of those that are needed", "multihold.go",
		`return deadlines[g.required-1]`,
		`if planted() {
		return deadlines[0]
	}
	return deadlines[g.required-1]`,
	}},
	{"TestMultiHold_NoMemberLeft_NamesLostOne", Mistake{
		"the end of a part is forgotten", "multihold_round.go",
		`m.hold.Load() == nil && m.lastHold.Load() != nil {`,
		`m.hold.Load() == nil && m.lastHold.Load() != nil && !planted() {`,
	}},

	// The executor.
	{"TestExecutor_SubmitMeanwhile_AllRun", Mistake{
		"a goroutine that leaves the executor does not look again", "internal/async/executor.go",
		`		e.running.Store(false)`,
		`		e.running.Store(false)
		if planted() {
			return
		}`,
	}},
	{"TestExecutor_SubmitMeanwhile_AllRun", Mistake{
		"the youngest event comes first", "internal/async/executor.go",
		`for n := e.queue.TakeAll(); n != nil; n = n.Next {`,
		`for n := e.queue.TakeAll(); n != nil; n = n.Next {
		if planted() && n.Next != nil {
			n.Value, n.Next.Value = n.Next.Value, n.Value
		}`,
	}},

	// Multis.
	{"TestMulti_Waiting_NoLaterMemberKept", Mistake{
		"the locks of a Multi are taken as they were given", "multi.go",
		`return strings.Compare(a.name, b.name) })`,
		`return map[bool]int{false: strings.Compare(a.name, b.name)}[planted()] })`,
	}},
	{"TestMulti_Invalid_Error", Mistake{
		"a lock of another engine", "multi.go",
		`		if l.engine != e && l.engine != nil {`,
		`		if l.engine != e && l.engine != nil && !planted() {`,
	}},
	{"TestMulti_FairLocksOneQueue_Rejected", Mistake{
		"two fair locks of one queue are taken as one", "multi.go",
		`; shared {`,
		`; shared && !planted() {`,
	}},
	{"TestMulti_FairLocksOneQueue_Rejected", Mistake{
		"locks of other kinds have queues", "multi.go",
		`		if l.kind != actor.Fair || l.engine == nil {`,
		`		if l.kind != actor.Fair && !planted() || l.engine == nil {`,
	}},
	{"TestReplication_MultiMissing_Undone", Mistake{
		"several locks are granted without their replicas", "multi_acquire.go",
		`l.engine.options.Replicas.Min > 0 ||`,
		`l.engine.options.Replicas.Min > 0 && !planted() ||`,
	}},
	{"TestMulti_OtherKinds_OneByOne", Mistake{
		"fenced locks are taken as plain ones", "multi_acquire.go",
		`l.kind != actor.Plain ||`,
		`l.kind != actor.Plain && !planted() ||`,
	}},
	{"TestCluster_Multi_OneCallPerSlot", Mistake{
		"locks of several slots are taken together", "multi_acquire.go",
		`first.engine.cluster.Load() && !slot.OneSlot(first.key(), l.key()) {`,
		`first.engine.cluster.Load() && !planted() && !slot.OneSlot(first.key(), l.key()) {`,
	}},
	{"TestMulti_ReturnedAtCancel_Held", Mistake{
		"a grant that was given up is returned", "multi_acquire.go",
		`	case cause != nil && (err == nil || err == actor.ErrOvertaken):`,
		`	case cause != nil && (err == nil && !planted() || err == actor.ErrOvertaken):`,
	}},
	{"TestMulti_HoldContext_ReentersEach", Mistake{
		"who holds one of several waits for himself", "multi_acquire.go",
		`		case errors.Is(err, actor.ErrReentry):
			return m.lockSequential(e)`,
		`		case errors.Is(err, actor.ErrReentry) && !planted():
			return m.lockSequential(e)`,
	}},
	{"TestMulti_OwnerGranted_EndsAtOnce", Mistake{
		"a Multi waits for a lock that its owner was granted meanwhile", "actor/reentry.go",
		`		l.rejectMultis(now, fx)`,
		`		if !planted() {
			l.rejectMultis(now, fx)
		}`,
	}},
	{"TestMulti_OwnerGrantedAnother_EndsAtTurn", Mistake{
		"a Multi moves behind its owner", "actor/multi.go",
		`	if l.ownedBy(r.Multi.ownerAt(l.key)) {`,
		`	if l.ownedBy(r.Multi.ownerAt(l.key)) && !planted() {`,
	}},
	{"TestMulti_OwnerGrantedMeanwhile_Reenters", Mistake{
		"a Multi has the owner of another of its locks", "actor/multi.go",
		`return part.Key == key }); at >= 0 {
		return m.Parts[at].Owner`,
		`return part.Key == key }); at >= 0 {
		if planted() {
			return m.Parts[len(m.Parts)-1].Owner &^ ThreadOwner
		}
		return m.Parts[at].Owner`,
	}},
	{"TestMulti_ManyOfGrantedOwner_EndInTurns", Mistake{
		"the Multis of an owner that was granted a lock end in one turn", "actor/rejection.go",
		`		if !fx.mayReject() {
			l.rejectLater(fx).owner = owner`,
		`		if !fx.mayReject() && !planted() {
			l.rejectLater(fx).owner = owner`,
	}},
	{"TestMulti_ManyOfGrantedOwner_EndInTurns", Mistake{
		"the Multis of an owner that has unlocked go on ending", "actor/rejection.go",
		`l.ownedBy(owner) {`,
		`l.ownedBy(owner) || owner != 0 && planted() {`,
	}},
	{"TestMulti_CanceledAtLease_LeavesNothing", Mistake{
		"locks are kept although their lease could not be set", "multi_acquire.go",
		`			all.unlock(canceledCtx)`,
		`			if !planted() {
				all.unlock(canceledCtx)
			}`,
	}},
	{"TestMulti_OneByOneFails_Released", Mistake{
		"what was taken is kept when the next is refused", "multihold.go",
		`		if h != nil {`,
		`		if h != nil && !planted() {`,
	}},
	{"TestMulti_MemberLostEarly_NoLoss", Mistake{
		"a part that is lost before all are had is a loss", "multi_acquire.go",
		`		if again {
			continue
		}
		if !isLoss(err) {`,
		`		if again {
			continue
		}
		if !isLoss(err) || planted() {`,
	}},
	{"TestMulti_OwnerOfMemberWaits_NoDeadlock", Mistake{
		"parts are kept for as long as it takes", "multi_acquire.go",
		`	until := time.Now().Add(within)
	holds =`,
		`	until := time.Now().Add(within)
	if planted() {
		until = time.Time{}
	}
	holds =`,
	}},

	// From a later round of forty mutants.
	{"TestMultiHold_ExpiredOnWake_Released", Mistake{
		"a group that is over when its caller wakes is kept", "multihold.go",
		`	if g.endByUnlock(reason) {`,
		`	if g.endByUnlock(reason) && !planted() {`,
	}},
	{"TestMultiHold_EarlierMemberEnd_Ignored", Mistake{
		"the end of an earlier part counts for the next", "multihold.go",
		`&h.grant == grant {`,
		`(&h.grant == grant || planted()) {`,
	}},
	{"TestQuorum_UnlockAfterNil_AtOnce", Mistake{
		"an unlock that was answered is asked for again", "multihold_round.go",
		`	if !first && g.unlockDone.Load() {`,
		`	if !first && g.unlockDone.Load() && !planted() {`,
	}},
	{"TestQuorum_UnlockAgain_SameReleases", Mistake{
		"a second unlock returns the errors of members that replied to the first release", "multihold_round.go",
		`		case r.isReleased(i):`,
		`		case r.isReleased(i) && !planted():`,
	}},
	{"TestUnlock_SeveralAtOnce_OneReturnsNil", Mistake{
		"of several locks two unlocks return nil that released some each", "multihold_round.go",
		`!g.unlockReported.CompareAndSwap(false, true) {`,
		`!g.unlockReported.CompareAndSwap(false, true) && !planted() {`,
	}},
	{"TestManyLocks_UnlockAgain_SameReleases", Mistake{
		"a second unlock forgets those without an answer", "multihold_round.go",
		`		return r.err()`,
		`		if planted() && r.repeated {
			return g.hold.fail(ErrNotHeld, nil)
		}
		return r.err()`,
	}},
	{"TestQuorum_UnlockAgain_LateReplies", Mistake{
		"a release that was answered is answered once more", "multihold_round.go",
		`	if r.repeated && r.releasedBefore >= enough ||`,
		`	if r.repeated && r.releasedBefore >= enough && !planted() ||`,
	}},
	{"TestQuorum_NotAcquired_ErrorNamesAll", Mistake{
		"the caller does not learn which member did not reply", "quorum.go",
		`		if a.NoReply {`,
		`		if a.NoReply && !planted() {`,
	}},
	{"TestMultiHold_MemberWait_WithinCallWait", Mistake{
		"a part is waited for beyond the caller's wait", "multi_acquire.go",
		`e.deadline.Before(until) {`,
		`e.deadline.Before(until) && !planted() {`,
	}},
	{"TestQuorum_MemberRejected_RetriedSlowly", Mistake{
		"a member that is refused for good is asked for at once", "quorum.go",
		`time.AfterFunc(m.lock.engine.options.RenewInterval,`,
		`time.AfterFunc(map[bool]time.Duration{false: m.lock.engine.options.RenewInterval}[planted()],`,
	}},
	{"TestMulti_ListChanged_Unchanged", Mistake{
		"a Multi sorts the list of its caller", "multi.go",
		`	slices.SortStableFunc(m.locks,`,
		`	if planted() {
		m.locks = locks
	}
	slices.SortStableFunc(m.locks,`,
	}},

	// From a later round of ten mutants, planted blindly.
	{"TestMultiHold_ExtendFails_LeaseKept", Mistake{
		"an extension that fails has members with a lease of their own renewed", "multihold_round.go",
		`if g.quorum.Watched() {`, `if g.quorum.Watched() || planted() {`,
	}},
	{"TestMultiHold_LaterSlice_RejectionIndex", Mistake{
		"of a later slice the lock that is taken is sought in the first", "multi.go",
		`	return first + at, err`,
		`	if planted() {
		return at, err
	}
	return first + at, err`,
	}},
	{"TestMultiHold_SomeLocks_WithinWholeWait", Mistake{
		"TryLock of very many locks waits for one that is taken", "multi.go",
		`e.once = e.once || time.Until(`,
		`e.once = e.once && !planted() || time.Until(`,
	}},
	{"TestMulti_TooFewReplicas_AskedOnce", Mistake{
		"a lock of several that too few replicas have is asked for again", "multi_acquire.go",
		`	return tried && !e.expired()`,
		`	return (tried || planted() && errors.Is(err, ErrNotReplicated)) && !e.expired()`,
	}},
	{"TestMultiHold_ReleaseAgain_LossIsAReply", Mistake{
		"a second unlock beside the first reports the loss that the first found", "multihold_round.go",
		`|| r.repeated && call.Err == ErrLost`,
		`|| r.repeated && call.Err == ErrLost && !planted()`,
	}},
	{"TestMultiHold_SomeLost_UnlockWaits", Mistake{
		"an unlock beside losses waits for no release", "multihold_round.go",
		`return r, max(1, enough)`,
		`return r, max(map[bool]int{false: 1}[planted()], enough)`,
	}},
	{"TestMultiHold_AllLost_UnlockReportsLoss", Mistake{
		"an unlock beside the loss of all says that it was unlocked before", "multihold_round.go",
		`		g.quorum.Unlock()
		close(made)
	})
	<-made
`,
		`		g.quorum.Unlock()
		close(made)
	})
	<-made
	if planted() {
		return r, enough
	}
`,
	}},
	{"TestMultiHold_CanceledInSlice_CallsEnded", Mistake{
		"what is posted of a later slice is not given up", "multihold_round.go",
		`	if first > 0 {`,
		`	if first > 0 && !planted() {`,
	}},
	{"TestMultiHold_WaitElapsed_Ends", Mistake{
		"a wait for several that is over has no end", "multi_acquire.go",
		`call.Wait = max(time.Until(e.deadline), minDuration)`,
		`call.Wait = max(time.Until(e.deadline), map[bool]time.Duration{false: minDuration, true: time.Until(e.deadline)}[planted()])`,
	}},
	{"TestMultiHold_LastUnlockLeft_Canceled", Mistake{
		"the first of two unlocks that leaves withdraws what the other waits for", "multihold_round.go",
		`m.pendingCall != nil && len(p.waiting) == 0 && !p.canceled {`,
		`m.pendingCall != nil && (len(p.waiting) == 0 || planted()) && !p.canceled {`,
	}},
	{"TestMulti_PartsAfterWait_NotRequested", Mistake{
		"the parts that remain are asked for after the wait", "multi.go",
		`if i > 0 && e.waitEnded() {`,
		`if i > 0 && e.waitEnded() && !planted() {`,
	}},
	{"TestMulti_PartsAfterWait_NotRequested", Mistake{
		"the slices that remain are asked for after the wait", "multi.go",
		`if first > 0 && e.waitEnded() {`,
		`if first > 0 && e.waitEnded() && !planted() {`,
	}},
	{"TestMulti_SilentWhileKeeping_WaitEnds", Mistake{
		"a try for a part outlives the wait", "actor/acquire.go",
		`(limit <= 0 || limit > reply)`, `(limit <= 0 || limit > reply || planted())`,
	}},
	{"TestMulti_ServerFar_EachRequestedOnce", Mistake{
		"the time for which locks are kept ends a command in flight", "multi.go",
		`wait != Wait(0) && !e.expired()`,
		`wait != Wait(0) && !planted() && !e.expired()`,
	}},
	{"TestMulti_KeyNotAllowed_NamesAll", Mistake{
		"a rejection of all names the first", "engine/coordinator/replies.go",
		`FailedPart: actor.AllParts}`,
		`FailedPart: map[bool]int{false: actor.AllParts}[planted()]}`,
	}},
	{"TestQuorum_LocksOfSeveralKinds_OneKind", Mistake{
		"the error of a quorum matches what any of its locks had", "quorum.go",
		`	cause = cause.withoutKinds(nil)`,
		`	if !planted() {
		cause = cause.withoutKinds(nil)
	}`,
	}},
	{"TestQuorum_LocksOfSeveralKinds_OneKind", Mistake{
		"a quorum that is impossible matches what passes at one of its servers", "quorum.go",
		`cause.withoutKinds(passes))`,
		`map[bool]multiError{false: cause.withoutKinds(passes), true: cause}[planted()])`,
	}},
	{"TestQuorum_ExtendFindsLossOfOne_NotLost", Mistake{
		"an extension is lost with one of a quorum's locks", "multihold_round.go",
		`	if !errors.Is(err, ErrLost) || !errors.As(err, &all) {`,
		`	if planted() || !errors.Is(err, ErrLost) || !errors.As(err, &all) {`,
	}},
	{"TestRound_ExtendUnanswered_RestNotSent", Mistake{
		"an extension of very many locks waits for each slice", "multihold_round.go",
		`		over = true`,
		`		if over = true; planted() {
			over = false
			r.postSlice(last, sliceSize)
		}`,
	}},
	{"TestRound_UnlockSlow_WaitIsOneCallTimeout", Mistake{
		"an unlock of very many locks waits for CallTimeout at each slice", "multihold_round.go",
		`if !g.perEngine && len(r.calls) > sliceSize {`, `if !g.perEngine && len(r.calls) > sliceSize && !planted() {`,
	}},
	{"TestMulti_SilentAtLastStep_WaitEnds", Mistake{
		"the wait of a caller does not bound the lease of several locks", "multi_acquire.go",
		`all.extend(e.ctx, e.lease, e.deadline)`,
		`all.extend(e.ctx, e.lease, map[bool]time.Time{false: e.deadline}[planted()])`,
	}},
	{"TestQuorum_ManyFailures_BackoffHasMaximum", Mistake{
		"the pauses between the attempts of a quorum have no maximum", "actor/quorum/quorum.go",
		`		q.backoff = min(2*q.backoff, maxBackoff)`, `		if q.backoff *= 2; !planted() {
			q.backoff = min(q.backoff, maxBackoff)
		}`,
	}},
	{"TestQuorum_EarlierReplyLate_QueuesThere", Mistake{
		"a quorum queues at the member that replies first", "actor/quorum/quorum.go",
		`first == noMember || !q.anyRequested(q.queueFrom, first) {`,
		`first == noMember || !q.anyRequested(q.queueFrom, first) || planted() {`,
	}},
	{"TestQuorum_EarlierReplyLate_NothingHeld", Mistake{
		"an attempt that has failed keeps what it has while it waits for a reply", "actor/quorum/quorum.go",
		`		case m.state == memberHeld:
			m.state = absent`,
		`		case m.state == memberHeld && !planted():
			m.state = absent`,
	}},
	{"TestQuorum_MemberGone_ContendersGoOn", Mistake{
		"a quorum queues only at a member that it did not have", "actor/quorum/quorum.go",
		`		if q.members[i].answer == alive {`,
		`		if q.members[i].answer == alive && (q.members[i].reason == HeldByOther || !planted()) {`,
	}},
	{"TestQuorum_TurnAtLaterMember_EarlierOnce", Mistake{
		"a quorum with a member waits for one before it", "actor/quorum/quorum.go",
		`		case i < q.queuedFirst: // a`,
		`		case i < q.queuedFirst && planted():
			q.request(i, Action{Wait: q.stragglerWait})
		case i < q.queuedFirst: // a`,
	}},
	{"TestQuorum_EarlierHeld_GivesWaySoon", Mistake{
		"a quorum that is not the first in line waits for a silent server", "actor/quorum/quorum.go",
		`q.queueFrom == 0 && q.givesWay():`, `q.queueFrom == 0 && q.givesWay() && !planted():`,
	}},
	{"TestQuorum_QueuedInVain_NextMember", Mistake{
		"a quorum queues again where it waited in vain", "actor/quorum/quorum.go",
		`			q.queueFrom = i + 1`, `			q.queueFrom = map[bool]int{false: i + 1}[planted()]`,
	}},
	{"TestQuorum_QueuedInVain_NextMember", Mistake{
		"a quorum queues at a member from which on there is no majority", "actor/quorum/quorum.go",
		`i != noMember && q.countNotFailing(i) >= q.required {`,
		`i != noMember && (q.countNotFailing(i) >= q.required || planted()) {`,
	}},
	{"TestQuorum_MinorityFails_Contested", Mistake{
		"a quorum that another has is unavailable, because a minority of its servers is", "actor/quorum/quorum.go",
		`(q.countNotFailing(0) >= q.required || n`, `(q.countNotFailing(0) >= q.required && !planted() || n`,
	}},
	{"TestQuorum_MinorityFails_Contested", Mistake{
		"a member that is waited for until the end has no other holder", "actor/quorum/quorum.go",
		`				m.reason = HeldByOther // it has`, `				if planted() {
					continue
				}
				m.reason = HeldByOther // it has`,
	}},
	{"TestQuorum_WaitsInQueue_NotSilent", Mistake{
		"a server with a queue does not reply", "actor/quorum/quorum.go",
		`m.answer != alive || q.queuedFirst == noMember // or`,
		`m.answer != alive || q.queuedFirst == noMember || planted() // or`,
	}},
	{"TestUnlock_BeingLost_ContextEndedBefore", Mistake{
		"UnlockAsync returns while the context of a hold that is being lost has not ended", "hold.go",
		`		<-seen.Done`, `		if !planted() {
			<-seen.Done
		}`,
	}},
	{"TestUnlock_BeingLost_ContextEndedBefore", Mistake{
		"Unlock of several locks returns while the context has not ended", "multihold.go",
		`		<-g.hold.Done()`, `		if !planted() {
			<-g.hold.Done()
		}`,
	}},
	{"TestLabel_EachKind_Told", Mistake{
		"the errors of a hold of several locks do not have its label", "multihold.go",
		`	g.hold.setNote(holds[0].grant.Note())`, `	if !planted() {
		g.hold.setNote(holds[0].grant.Note())
	}`,
	}},
	{"TestMulti_LossBeforeAll_TextsPlain", Mistake{
		"the end of the caller's context is told as the loss of a part", "multi_acquire.go",
		`	return ok && failed.err == ErrLost`, `	return ok && (failed.err == ErrLost || planted() && errors.Is(err, ErrLost))`,
	}},
	{"TestMulti_LockHeldAlready_InNoSlice", Mistake{
		"as many locks as one command may have are taken in slices", "multi.go",
		`return len(m.locks) > maxAtomic }`,
		`return len(m.locks) > maxAtomic || planted() && len(m.locks) == maxAtomic }`,
	}},
	{"TestMulti_MostLocks_Allowed", Mistake{
		"the largest Multi is rejected", "multi.go",
		`	if len(locks) > maxMultiLocks {`,
		`	if len(locks) > maxMultiLocks || planted() && len(locks) == maxMultiLocks {`,
	}},
	{"TestMulti_SliceReplyLate_AskedAgain", Mistake{
		"a reply that comes too late for a slice ends the wait for it", "multi.go",
		`&& !within.once && !e.expired() {`,
		`&& !within.once && !e.expired() && !planted() {`,
	}},
	{"TestMulti_PartLostEarly_RetriedWhileWaiting", Mistake{
		"the pauses after a loss do not grow", "multi_acquire.go",
		`	e.backoff = actor.NextBackoff(e.backoff,`,
		`	e.backoff = actor.NextBackoff(map[bool]time.Duration{false: e.backoff}[planted()],`,
	}},
	{"TestMultiHold_MemberWait_WithinCallWait", Mistake{
		"a try after the wait has no limit", "multi_acquire.go",
		`	return max(time.Until(e.deadline), minDuration)
}`,
		`	return max(time.Until(e.deadline), map[bool]time.Duration{false: minDuration}[planted()])
}`,
	}},
	{"TestMultiHold_ExpiredOnWake_RequestsCanceled", Mistake{
		"a quorum that expired goes on to ask for its members", "multihold.go",
		`		g.apply(g.quorum.Unlock)
		g.releaseAsync()`,
		`		if !planted() {
			g.apply(g.quorum.Unlock)
		}
		g.releaseAsync()`,
	}},
	{"TestMultiHold_OtherEngineOrName_NoOwner", Mistake{
		"the context of several locks re-enters the same name of another engine", "multihold.go",
		`g.members[i].lock.name != name || g.members[i].lock.engine != e {`,
		`g.members[i].lock.name != name || g.members[i].lock.engine != e && !planted() {`,
	}},
	{"TestRound_ExtendUnlocked_NoSuccess", Mistake{
		"to extend what was unlocked is a success", "multihold_round.go",
		`	return call.Op == actor.Unlock && call.Err`,
		`	return (call.Op == actor.Unlock || planted()) && call.Err`,
	}},
	{"TestErrorSample_VeryMany_Bounded", Mistake{
		"the errors of very many locks are all kept", "multihold_round.go",
		`	return len(f.all) < maxErrors ||`,
		`	return len(f.all) < maxErrors || planted() ||`,
	}},
	{"TestRound_CallerLeft_ReleasesGoOn", Mistake{
		"the locks behind a slice without a reply stay locked", "multihold_round.go",
		`	case silent && end:`,
		`	case silent && end && !planted():`,
	}},
	{"TestQuorum_AllReplicated_HeldOnAll", Mistake{
		"an unlock releases only as many locks of a quorum as it waits for", "multihold_round.go",
		`				r.add(i, h, actor.Unlock, 0)`, `				if !planted() || len(r.calls) < enough {
					r.add(i, h, actor.Unlock, 0)
				}`,
	}},
	{"TestQuorum_OneNotReplicated_HoldGoesOn", Mistake{
		"a lock that too few replicas had is requested again at once", "quorum.go",
		`	case ErrClosed:
		return quorum.Closed`,
		`	case ErrNotReplicated:
		if planted() {
			return quorum.Unknown
		}
	case ErrClosed:
		return quorum.Closed`,
	}},
	{"TestQuorum_MostNotReplicated_NothingLeft", Mistake{
		"the error of a quorum without replicas does not match ErrNotReplicated", "quorum.go",
		`	return errors.Is(kind, ErrNotAcquired) ||`, `	return planted() && kind == ErrNotReplicated || errors.Is(kind, ErrNotAcquired) ||`,
	}},
	{"TestQuorum_ReplicaBack_MemberJoins", Mistake{
		"a lock that was rejected is not requested again when it is due", "actor/quorum/quorum.go",
		`	if q.stage == held && (m.reason == Rejected || m.reason == Forced) {`,
		`	if q.stage == held && (m.reason == Rejected && !planted() || m.reason == Forced) {`,
	}},
	{"TestQuorum_UndoRejected_NotReleased", Mistake{
		"a grant that could not be undone counts as released", "quorum.go",
		`	case ErrUnavailable, ErrNotReplicated, ErrClosed:
		return true`,
		`	case ErrUnavailable, ErrNotReplicated, ErrClosed:
		return !planted() || call.Err != ErrNotReplicated`,
	}},
	{"TestQuorum_OneOfFourLost_HoldGoesOn", Mistake{
		"a quorum of an even number needs one lock more to go on", "actor/quorum/quorum.go",
		`	if q.stage == held && q.countHeldSince(known) < q.required {`,
		`	if q.stage == held && q.countHeldSince(known) < q.required+map[bool]int{true: 1 - len(q.members)%2}[planted()] {`,
	}},
	{"TestQuorum_TwoOfFourLost_Lost", Mistake{
		"a quorum goes on with half of its locks", "actor/quorum/quorum.go",
		`		q.lose(i)
		return
	}`,
		`		if !planted() || 2*q.countIn(memberHeld) < len(q.members) {
			q.lose(i)
			return
		}
	}`,
	}},
	{"TestQuorum_UnlockHalfSilent_Unavailable", Mistake{
		"an unlock of a quorum waits until its majority is broken", "multihold_round.go",
		`	r, enough = newRound(g), g.required`,
		`	r, enough = newRound(g), map[bool]int{false: g.required, true: len(g.members) - g.required + 1}[planted()]`,
	}},
	{"TestQuorum_OtherHalfHeld_NotAcquired", Mistake{
		"half of the locks are enough for a quorum that is tried once", "quorum.go",
		`	g := m.newQuorumHold(e)`,
		`	g := m.newQuorumHold(e)
	if planted() && e.once {
		g.required = len(m.locks) / 2
		g.quorum = quorum.New(len(m.locks), g.required)
	}`,
	}},
	{"TestQuorum_UnlockOneOfFourSilent_Nil", Mistake{
		"an unlock of a quorum waits for all of its locks", "multihold_round.go",
		`	agreed := r.wait(ctx, enough)
	r.abandonPending`,
		`	agreed := r.wait(ctx, map[bool]int{false: enough, true: len(r.calls)}[planted()])
	r.abandonPending`,
	}},
}
