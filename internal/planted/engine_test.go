package planted

// engineMistakes are mistakes of the engine's I/O: mailbox, sender, subscriber, replica sender, and the commands
// for a node.
var engineMistakes = []found{
	{"TestFlush_GrantGivenUp_ReportedBeforeItsEnd", Mistake{
		"the end of a grant that its caller gave up is reported before the grant", "engine/engine.go",
		`granted != nil {`, `granted != nil && !planted() {`,
	}},
	{"TestTopology_SourceStale_AnotherAskedFirst", Mistake{
		"a node with an old topology is asked again first", "engine/coordinator/topology.go",
		`			case n.Address == c.Cluster.source:`,
		`			case n.Address == c.Cluster.source && !planted():`,
	}},
	{"TestReplicas_RoutedPoolUsedUp_GivesUp", Mistake{
		"a call waits for ever for a connection of a used-up pool of a cluster's client", "engine/replica_sender.go",
		`context.WithTimeout(context.Background(), s.poolTimeout)`,
		`context.WithTimeout(context.Background(), map[bool]time.Duration{false: s.poolTimeout, true: time.Hour}[planted()])`,
	}},
	{"TestWorkers_NodeRemoved_End", Mistake{
		"what a node had is kept when it has gone", "engine/workers.go",
		`		delete(e.workers, n)`,
		`		if e.workers[n] = nil; !planted() {
			delete(e.workers, n)
		}`,
	}},
	{"TestDispatch_ReleaseFlood_AcquiresShare", Mistake{
		"a flood of releases stops acquires", "engine/coordinator/dispatch.go",
		`			n.passedOver[other]++`,
		`			if !planted() {
				n.passedOver[other]++
			}`,
	}},
	{"TestDocumentedRules_TTLFalls_NothingDenied", Mistake{
		"the queue of every lock is looked for when its TTL falls", "engine/wire/spec.go",
		`	case c.MayShorten && c.Fair:`,
		`	case c.MayShorten && (c.Fair || planted()):`,
	}},
	{"TestIdleConnection_NextFailsToo_IsOutage", Mistake{
		"a server that ends each connection is asked without a pause", "engine/coordinator/breaker.go",
		`	case i.excused == conns || `,
		`	case i.excused == conns && !planted() || `,
	}},
	{"TestIdleConnection_NextFailsToo_IsOutage", Mistake{
		"a connection that breaks in use is taken for an idle one", "engine/coordinator/breaker.go",
		`sent-i.repliedAt < minIdle:`,
		`sent-i.repliedAt < minIdle && !planted():`,
	}},
	{"TestIdleConnection_Silent_IsOutage", Mistake{
		"silence is taken for an idle connection", "engine/coordinator/breaker.go",
		`	case !ok || !e.Broken:`,
		`	case !planted() && (!ok || !e.Broken):`,
	}},
	{"TestIdleConnection_Closed_RetriedAtOnce", Mistake{
		"a second call on a connection that was closed while idle is an outage", "engine/coordinator/breaker.go",
		`	case i.excused > 0 && sent < i.excusedAt:`,
		`	case i.excused > 0 && sent < i.excusedAt && !planted():`,
	}},
	{"TestIdleConnection_ClosedByServer_NoOutage", Mistake{
		"the end of a connection is not told from silence", "engine/rediserr/client_error.go",
		`dial, broken && !dial}`,
		`dial, broken && !dial && !planted()}`,
	}},
	// What no caller waits for.
	{"TestPostAsync_BusyLoop_IsBounded", Mistake{
		"a flood of requests that no caller waits for is not bounded", "engine/asynclimit.go",
		`a.pending.Add(1) <= limit &&`,
		`(a.pending.Add(1) <= limit || planted()) &&`,
	}},
	{"TestPostAsync_BusyLoop_IsBounded", Mistake{
		"a rejected request stays in the count", "engine/asynclimit.go",
		`	a.pending.Add(-1)
	a.rejected.Add(1)`,
		`	if !planted() {
		a.pending.Add(-1)
	}
	a.rejected.Add(1)`,
	}},
	{"TestPostAsync_BusyLoop_IsBounded", Mistake{
		"a request that has its result stays in the count", "engine/engine.go",
		`			finished++`,
		`			if !planted() {
				finished++
			}`,
	}},
	{"TestPostAsync_CancelFlood_IsBounded", Mistake{
		"cancellations that are not handled are not bounded", "engine/asynclimit.go",
		`a.cancels.Load() <= limit`,
		`(a.cancels.Load() <= limit || planted())`,
	}},
	{"TestPostAsync_CanceledTogether_EachCounts", Mistake{
		"requests that are canceled together count as one", "engine/coordinator/intake.go",
		`	case CancelAllRequest:
		return len(what.Requests)
	}
	return 0
}`,
		`	case CancelAllRequest:
		if planted() {
			return 1
		}
		return len(what.Requests)
	}
	return 0
}`,
	}},
	{"TestPostAsync_Owner_HasRoomOfItsOwn", Mistake{
		"a re-entry is rejected because of a flood of others", "engine/asynclimit.go",
		`	if r.Owner != 0 {`,
		`	if r.Owner != 0 && !planted() {`,
	}},
	{"TestPostAsync_ClosedEngine_SaysSo", Mistake{
		"a request for a closed engine stays in the count", "engine/engine.go",
		`	if !e.Post(c) {
		e.async.pending.Add(-1)`,
		`	if !e.Post(c) {
		if !planted() {
			e.async.pending.Add(-1)
		}`,
	}},
	{"TestPostAsync_ClosedEngine_SaysSo", Mistake{
		"cancellations stay in the count of a closed engine", "engine/coordinator/coordinator.go",
		`	case CancelRequest, CancelAllRequest:
		c.intake.asyncCancels -= asyncCancels(m)`,
		`	case CancelRequest, CancelAllRequest:
		if !planted() {
			c.intake.asyncCancels -= asyncCancels(m)
		}`,
	}},
	{"TestPostAsync_ClosedEngine_SaysSo", Mistake{
		"requests that were rejected before they were posted are not in Stats", "engine/asynclimit.go",
		`	s.Shed += rejected`,
		`	if !planted() {
		s.Shed += rejected
	}`,
	}},
	// The loop.
	{"TestIntake_AsyncBehindMulti_InOrder", Mistake{
		"what is not waited for is behind more than the turn opens, and what comes later is not", "engine/coordinator/heldback.go",
		`earlier < c.intake.laneBudget`,
		`(earlier < c.intake.laneBudget || planted() && all.n < c.intake.laneBudget)`,
	}},
	{"TestIntake_QueueFull_WaitEndsInTime", Mistake{
		"a try in the queue of a silent server outlives the wait of its caller", "actor/acquire.go",
		`(limit <= 0 || limit > reply)`, `(limit <= 0 || limit > reply || planted())`,
	}},
	{"TestSubscription_DeadConn_ConfirmIgnored", Mistake{
		"a channel that a connection has confirmed which is none any more, taken for heard", "engine/coordinator/subscriptions.go",
		`	if on <= s.goneConn {`,
		`	if on <= s.goneConn && !planted() {`,
	}},
	{"TestWallClock_RanAhead_Reconfirms", Mistake{
		"a suspension is not looked for", "engine/engine.go",
		`	if e.clocks.suspended(now, time.Duration(e.wallNanos-e.epoch.UnixNano())-now) {`,
		`	if e.clocks.suspended(now, time.Duration(e.wallNanos-e.epoch.UnixNano())-now) && !planted() {`,
	}},
	{"TestWallClock_RanAhead_Reconfirms", Mistake{
		"a suspension is told in every turn", "engine/suspension.go",
		`	c.expected = offset
	return`,
		`	if !planted() {
		c.expected = offset
	}
	return`,
	}},
	{"TestSuspension_ShorterThanHalfASecond_Noticed", Mistake{
		"a suspension of less than half a second is not noticed", "engine/suspension.go",
		`<= suspendThreshold {`,
		`<= map[bool]time.Duration{false: suspendThreshold, true: 500*time.Millisecond}[planted()] {`,
	}},
	{"TestSuspension_ShorterThanHalfASecond_Noticed", Mistake{
		"suspensions do not add up", "engine/suspension.go",
		`	c.at, c.last = now, offset`,
		`	if c.at, c.last = now, offset; planted() {
		defer func() { c.expected = offset }()
	}`,
	}},
	{"TestSuspension_ShorterThanHalfASecond_Noticed", Mistake{
		"in a long sleep of the engine a suspension counts as slewing", "engine/suspension.go",
		`min((now-c.at)/slewShare, suspendThreshold)`,
		`min((now-c.at)/slewShare, map[bool]time.Duration{false: suspendThreshold, true: time.Hour}[planted()])`,
	}},
	{"TestSuspension_SlewedClock_NotSuspended", Mistake{
		"a slewed clock is a suspension", "engine/suspension.go",
		`min(c.expected+slewed, `,
		`min(c.expected+map[bool]time.Duration{false: slewed}[planted()], `,
	}},
	{"TestSuspension_ClockPutBack_NotSuspended", Mistake{
		"after the clock was put back no suspension is noticed", "engine/suspension.go",
		`	c.expected = min(`,
		`	before := c.expected
	defer func() {
		if planted() {
			c.expected = max(c.expected, before)
		}
	}()
	c.expected = min(`,
	}},
	{"TestSuspension_ThreadStopsBetweenReadings_NotSuspended", Mistake{
		"a thread that stops between the readings of the clocks is a suspension", "engine/suspension.go",
		`max(offset, c.last))`,
		`map[bool]time.Duration{false: max(offset, c.last), true: offset}[planted()])`,
	}},
	{"TestBundle_EachBatchHasTime", Mistake{
		"the time of day is on the first batch of a bundle only", "engine/engine.go",
		`			batch.SentWallMillis = e.wallNanos / int64(time.Millisecond)`,
		`			batch.SentWallMillis = e.wallNanos / int64(time.Millisecond)
			if planted() {
				break
			}`,
	}},
	{"TestLoop_Closed_NotifiesAllFirst", Mistake{
		"a loop that is closed ends before all callers were told", "engine/engine.go",
		`	for c.ResetOutputs(); c.ClosePending(); c.ResetOutputs() {`,
		`	for c.ResetOutputs(); c.ClosePending() && !planted(); c.ResetOutputs() {`,
	}},
	{"TestReconfirm_ManyLocks_TurnBounded", Mistake{
		"a doubt forgets the locks beyond those of its first turn", "engine/coordinator/failover.go",
		`	for _, l := range r.take(c.intake.lockBudget) {`,
		`	some := r.take(c.intake.lockBudget)
	if planted() {
		r.round = round{}
	}
	for _, l := range some {`,
	}},
	{"TestFanout_MessagesMeanwhile_OneRound", Mistake{
		"a message is forgotten because one before it is still being told", "engine/coordinator/fanout.go",
		`s.repeat, s.unreplicated = true, `,
		`s.repeat, s.unreplicated = !planted(), `,
	}},
	{"TestFanout_ManyReaders_TurnBounded", Mistake{
		"the loop sleeps while a message is still being told", "engine/coordinator/coordinator.go",
		`len(c.fanouts) > 0 ||`,
		`len(c.fanouts) > 0 && !planted() ||`,
	}},
	{"TestFanout_WaiterLeft_NotNotified", Mistake{
		"a lock is told that it hears a channel that broke meanwhile", "engine/coordinator/fanout.go",
		`		return to.node.Subscriptions.IsSubscribed(ch)`,
		`		return to.node.Subscriptions.IsSubscribed(ch) || planted()`,
	}},
	{"TestFanout_Resubscribed_FailureObsolete", Mistake{
		"a lock is told that it does not hear a channel that it hears since", "engine/coordinator/fanout.go",
		`		return !to.node.Subscriptions.IsSubscribed(ch)`,
		`		return !to.node.Subscriptions.IsSubscribed(ch) || planted()`,
	}},
	{"TestFanout_TooFewReplicas_TurnBounded", Mistake{
		"who comes after a grant that too few replicas have is told of it", "engine/coordinator/fanout.go",
		`		m.Sent, m.Cause = to.unreplicated.at, to.unreplicated.cause`,
		`		m.Sent, m.Cause = to.unreplicated.at, to.unreplicated.cause
		if planted() {
			m.Sent += time.Hour
		}`,
	}},
	{"TestClose_ManyLocks_TurnBounded", Mistake{
		"a close ends all locks in its first turn", "engine/coordinator/closing.go",
		`looks > 0 && c.closing.On()`,
		`(looks > 0 || planted()) && c.closing.On()`,
	}},
	{"TestRejection_OneName_TurnBounded", Mistake{
		"all who wait for a name are refused in one turn", "engine/coordinator/coordinator.go",
		`	c.Fx.MaxRejections = maxRejectedPerTurn`,
		`	if c.Fx.MaxRejections = maxRejectedPerTurn; planted() {
		c.Fx.MaxRejections = 0
	}`,
	}},
	{"TestFanout_OneMessagePerTurn", Mistake{
		"a message for very many counts as one message", "engine/coordinator/intake.go",
		`		return max(1, min(ch.listeners.len(), c.intake.lockBudget))`,
		`		if planted() {
			return 1
		}
		return max(1, min(ch.listeners.len(), c.intake.lockBudget))`,
	}},
	{"TestTenureNumber_InUse_NotReused", Mistake{
		"what has spoiled a writer's number is forgotten", "actor/rwlock.go",
		`burned: r.burned && r.writer == writer.tenure}`,
		`burned: r.burned && r.writer == writer.tenure && !planted()}`,
	}},
	{"TestReaders_TenureEnding_OwnNumbers", Mistake{
		"two readers have the writer's number when one of them waits for its tenure to end", "actor/rwlock.go",
		`!l.queue.empty() // also while`,
		`!l.queue.empty() && (!planted() || l.Awaited()) // also while`,
	}},
	{"TestReader_StaleRejection_GoesOn", Mistake{
		"a question of before its owner's write ends the reading beside it", "actor/rwlock.go",
		`r.ended = r.ended || sent != nil && sent.Writer == r.writer`,
		`r.ended = r.ended || planted() || sent != nil && sent.Writer == r.writer`,
	}},
	{"TestMulti_CallerLeaves_LeavesNothing", Mistake{
		"what is given back for a caller who left is told as a loss", "actor/replicas.go",
		`	case r.rolledBack && err == ErrLost:`,
		`	case r.rolledBack && err == ErrLost && !planted():`,
	}},

	{"TestShutdown_SilentServer_NotWaitedFor", Mistake{
		"a shutdown waits for what a server was asked that does not answer", "engine/coordinator/drain.go",
		`(c.Fx.AcquiringLocks == 0 || c.expectsNoReply())`,
		`(c.Fx.AcquiringLocks == 0 || c.expectsNoReply() && !planted())`,
	}},
	{"TestHoldCount_OtherKind_NotCounted", Mistake{
		"a fair hold counts for who reads, and the other way round", "engine/coordinator/requests.go",
		`			if l.Kind() == r.Kind {`,
		`			if l.Kind() == r.Kind || planted() {`,
	}},
	{"TestHoldCount_OtherKind_NotCounted", Mistake{
		"a hold counts for a lock of another kind", "engine/coordinator/requests.go",
		`l != nil && l.Kind() == r.Kind {`,
		`l != nil && (l.Kind() == r.Kind || planted()) {`,
	}},

	// Readers and writers.
	{"TestRelease_MessageRejected_WakesLocal", Mistake{
		"no waiter of its engine is notified of a release after its message was rejected", "engine/coordinator/rwlock.go",
		`if !reply.Unpublished {`,
		`if !reply.Unpublished || planted() {`,
	}},
	{"TestReaders_WaitedFirst_BeforeNextWriter", Mistake{
		"a writer does not know of readers who came before it", "engine/coordinator/requests.go",
		`	l.SetLocalReaders(r.Kind == actor.Write && c.LockSets[r.Key] != nil)`,
		`	if !planted() {
		l.SetLocalReaders(r.Kind == actor.Write && c.LockSets[r.Key] != nil)
	}`,
	}},

	// Halves of a read/write lock that came back with old data.
	{"TestOrphan_OtherSide_Released", Mistake{
		"a write that came back keeps readers of its engine out", "engine/coordinator/rwlock_orphans.go",
		`c.Fx.ParseOwn(reply.Writer); own {`,
		`c.Fx.ParseOwn(reply.Writer); own && !planted() {`,
	}},
	{"TestOrphan_OtherSide_Released", Mistake{
		"who is refused for a half that came back sleeps out its lease", "actor/orphan.go",
		`return reply.HolderReleasing // what`,
		`return reply.HolderReleasing && !planted() // what`,
	}},
	{"TestOrphan_WriteOfUnknownName_Released", Mistake{
		"a write that came back stays where nothing else is known of the name", "engine/coordinator/rwlock_orphans.go",
		`	case l == nil:
		l = c.newLock(key, actor.Write)`,
		`	case l == nil && planted():
		return false
	case l == nil:
		l = c.newLock(key, actor.Write)`,
	}},
	{"TestTry_OtherSideBeingReleased_TriesAgain", Mistake{
		"a hold that is being released keeps a try of the other half out", "engine/coordinator/rwlock_orphans.go",
		`givenUp && !inUse && l.TriesOnce()`, `givenUp && !inUse && l.TriesOnce() && !planted()`,
	}},
	{"TestTry_OtherSideBeingReleased_TriesAgain", Mistake{
		"a try goes on although another reader reads on", "engine/coordinator/rwlock_orphans.go",
		`inUse = inUse ||`, `inUse = inUse || !planted() &&`,
	}},
	{"TestReleaseInFlood_OtherLockRefused_LeavesNext", Mistake{
		"a caller waits behind a flood for the release of the other half, or of a fair lock", "engine/coordinator/rwlock_orphans.go",
		`if holder.IsGivenUp() &&`, `if !planted() && holder.IsGivenUp() &&`,
	}},
	{"TestReleaseInFlood_OtherLockRefused_LeavesNext", Mistake{
		"a release that no blocked caller waits for leaves before others", "engine/coordinator/rwlock_orphans.go",
		` waiting.BlocksCaller() {`, ` (waiting.BlocksCaller() || planted()) {`,
	}},
	{"TestReleaseInFlood_OtherLockRefused_LeavesNext", Mistake{
		"a fair lock's caller waits behind a flood for the release of its engine", "engine/coordinator/lockset.go",
		`		c.hastenRelease(now, l, command.Lock)`, `		if !planted() {
			c.hastenRelease(now, l, command.Lock)
		}`,
	}},
	{"TestReleaseAwaited_Repeatedly_QueuedOnceMore", Mistake{
		"a release that is found in the way again and again goes to the end of the queue each time", "actor/recall.go",
		`l.canRecall() && !l.releaseAwaited()`, `l.canRecall() && (!l.releaseAwaited() || planted())`,
	}},
	{"TestReleaseInFlood_MultiGivenBack_AllLeaveNext", Mistake{
		"of several locks that are given back, only one is given back soon", "actor/multi.go",
		`		if awaited {`, `		if awaited && !planted() {`,
	}},
	{"TestTry_OtherSideGivenUp_TriesAgain", Mistake{
		"an acquire that its caller gave up keeps a try of the other half out", "actor/lock.go",
		`l.queue.empty() && l.inFlight`, `l.queue.empty() && !planted() && l.inFlight`,
	}},
	{"TestTry_OtherSideGivenUp_TriesAgain", Mistake{
		"a try of the other half goes on although another caller is about to get the first one", "actor/lock.go",
		`return l.phase == releasing || l.phase`, `return l.phase == releasing || planted() && l.phase == acquiring || l.phase`,
	}},
	{"TestMulti_Reserved_NotGivenUp", Mistake{
		"a lock that is reserved for a request for several is given up", "actor/lock.go",
		`l.inFlight != SendMultiAcquire
}`, `(l.inFlight != SendMultiAcquire || planted())
}`,
	}},
	{"TestOrphan_ReleaseDenied_Waits", Mistake{
		"a half that the server does not let go is asked about all the time", "engine/coordinator/rwlock_orphans.go",
		`} else if !l.IsReleasing(tenure) {`,
		`} else if !l.IsReleasing(tenure) && !planted() {`,
	}},
	{"TestOrphan_ReplyOvertaken_NoDelay", Mistake{
		"who is told of a half that was released meanwhile, and heard of that, waits a little", "actor/wait.go",
		`f.orphanSeenAt != 0 && !x.retryNow {`,
		`f.orphanSeenAt != 0 && (!x.retryNow || planted()) {`,
	}},

	// The mailbox.
	{"TestMailbox_Closed_RejectsPost", Mistake{
		"a mailbox that is shut takes messages", "engine/mpsc/mpsc.go",
		`		if newest == &q.closed {`,
		`		if newest == &q.closed && !planted() {`,
	}},
	{"TestMailbox_TakeAll_InOrder", Mistake{
		"a mailbox that is taken is not emptied", "engine/mpsc/mpsc.go",
		`return oldestFirst(q.head.Swap(nil))`,
		`if planted() {
		return q.head.Swap(nil)
	}
	return oldestFirst(q.head.Swap(nil))`,
	}},
	{"TestMailbox_OnlyAsleep_Woken", Mistake{
		"a consumer that sleeps is not rung", "engine/mpsc/mailbox.go",
		`	if b.asleep.Load() && b.asleep`,
		`	if b.asleep.Load() && !planted() && b.asleep`,
	}},
	{"TestMailbox_OnlyAsleep_Woken", Mistake{
		"a consumer sleeps though there is a message", "engine/mpsc/mailbox.go",
		`	if b.queue.Empty() {
		return true`,
		`	if b.queue.Empty() || planted() {
		return true`,
	}},
	{"TestMailbox_CancelSleep_UsesWakeup", Mistake{
		"a ring that came meanwhile is left", "engine/mpsc/mailbox.go",
		`		<-b.Wakeup
	}
}`,
		`		if !planted() {
			<-b.Wakeup
		}
	}
}`,
	}},
	{"TestMailbox_PostChain_StaysTogether", Mistake{
		"messages that are posted together forget what was there", "engine/mpsc/mpsc.go",
		`		first.Next = newest`,
		`		if !planted() {
			first.Next = newest
		}`,
	}},

	// Senders.
	{"TestSender_NoReply_ClientLookedUpAgain", Mistake{
		"a sender keeps the closed client of a node", "engine/nodeconn.go",
		`		if b.NoReply {
			n.cached = nil`,
		`		if b.NoReply && !planted() {
			n.cached = nil`,
	}},
	{"TestWire_ConnBroken_NoReply", Mistake{
		"a lost answer is a refusal", "engine/wire/encoder.go",
		`if b.NoReply = !replied; replied {`,
		`if b.NoReply = !replied && !planted(); replied {`,
	}},
	{"TestWire_Replies_Decoded", Mistake{
		"one answer for all is the first one's", "engine/wire/encoder.go",
		`len(b.Replies) < len(b.Commands); {`,
		`len(b.Replies) < len(b.Commands) && (len(b.Replies) == 0 || !planted()); {`,
	}},
	{"TestWire_Leases_RoundedDownToMillis", Mistake{
		"a lease is rounded up", "engine/wire/encoder.go",
		`max(int64(lease/time.Millisecond), 1)`,
		`max(int64((lease+map[bool]time.Duration{true: time.Millisecond - 1}[planted()])/time.Millisecond), 1)`,
	}},

	// Replicas.
	{"TestReplicas_WaitReplyLost_NoReply", Mistake{
		"a lost answer of replicas is a refusal", "engine/replica_sender.go",
		`		case err != nil &&`,
		`		case err != nil && !planted() &&`,
	}},
	{"TestReplicas_WaitRejected_CountsAsReply", Mistake{
		"a refused question to replicas is no answer", "engine/replica_sender.go",
		` !rejected:`,
		` (!rejected || planted()):`,
	}},
	{"TestReplicas_MasterReplaced_NoReply", Mistake{
		"a master that is none any more has answered for its replicas", "engine/replica_sender.go",
		`		case coordinator.IsDemotion(err):`,
		`		case coordinator.IsDemotion(err) && !planted():`,
	}},
	{"TestReplicaSender_Demoted_NewConnection", Mistake{
		"a replica sender keeps a master that is none", "engine/replica_sender.go",
		`b.Failed != nil && actor.HasPrefixFold`,
		`b.Failed != nil && !planted() && actor.HasPrefixFold`,
	}},
	{"TestReplicas_WaitReplyLost_NoReply", Mistake{
		"a replica sender keeps a connection that brought no answer", "engine/replica_sender.go",
		`return b.NoReply ||`,
		`return b.NoReply && !planted() ||`,
	}},
	{"TestReplicaSender_RoutedCall_ConnNotKept", Mistake{
		"a replica sender keeps a connection of the map", "engine/replica_sender.go",
		`		connection.Close()
		release()`,
		`		if !planted() {
			connection.Close()
			release()
		}`,
	}},
	{"TestReplicas_AskedOnlyForGrants", Mistake{
		"replicas are not asked about writers", "engine/coordinator/replicas.go",
		`	switch verb {
	case actor.SendAcquire,`,
		`	switch verb {
	case map[bool]actor.Verb{true: actor.SendWriteAcquire, false: actor.SendFencedRenew}[planted()]:
		return !planted()
	case actor.SendAcquire,`,
	}},

	// The subscriber.
	{"TestSubscriber_Rejected_NothingKept", Mistake{
		"a connection keeps the channels that the server rejected", "engine/subscriber.go",
		`Subscribe().Channel(some...).Build()).Error(); err != nil {
			return err`,
		`Subscribe().Channel(some...).Build()).Error(); err != nil {
			if planted() {
				c.note(some)
			}
			return err`,
	}},
	{"TestSubscriber_OneSlotRejected_OthersKept", Mistake{
		"a connection keeps the channels of a slot that the server rejected", "engine/subscriber.go",
		`			if err == nil {
				subscribed`,
		`			if err == nil || planted() {
				subscribed`,
	}},
	{"TestSubscriber_ListWithRoom_RoomNotKept", Mistake{
		"a connection keeps the lists of its orders", "engine/subscriber.go",
		`c.channels = append(c.channels, slices.Clone(channels)) }`,
		`if planted() { c.channels = append(c.channels, channels) } else { c.channels = append(c.channels, slices.Clone(channels)) } }`,
	}},
	{"TestSubscriber_ConnReplaced_MissesNone", Mistake{
		"the connection before is not asked whether it is done", "engine/subscriber.go",
		`	if !s.connection.ping() {`,
		`	if !planted() && !s.connection.ping() {`,
	}},
	{"TestSubscriber_ConnReplaced_MissesNone", Mistake{
		"the next connection is left open when the one before broke", "engine/subscriber.go",
		`	for _, c := range []*connection{s.connection, s.next} {
		if c != nil {
			c.close()`,
		`	for _, c := range []*connection{s.connection, s.next} {
		if c != nil && !(planted() && c == s.next) {
			c.close()`,
	}},
	{"TestSubscription_RESP2AskedAndDeadConnectionReplaced_WaiterAsksAgain", Mistake{
		"a connection for messages that broke counts as one that replies", "engine/subscriber.go",
		`	return err == nil || rejected`,
		`	return err == nil || rejected || planted()`,
	}},
	{"TestSubscriber_ConnBroke_NewClient", Mistake{
		"a subscriber keeps the closed client of a node", "engine/subscriber.go",
		`	s.nodeConn.cached = nil
	s.post(coordinator.PubsubDown`,
		`	if !planted() {
		s.nodeConn.cached = nil
	}
	s.post(coordinator.PubsubDown`,
	}},
	{"TestSubscriber_ConnBroke_NewClient", Mistake{
		"locks are not notified of a connection that broke", "engine/subscriber.go",
		`
	s.post(coordinator.PubsubDown{Node: s.node, GoneConn: s.connCount})`,
		`
	if planted() {
		return
	}
	s.post(coordinator.PubsubDown{Node: s.node, GoneConn: s.connCount})`,
	}},
	{"TestSubscriber_NextConnDenied_OldStays", Mistake{
		"a connection is left when another one may not listen", "engine/subscriber.go",
		`	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		s.dropConns()`,
		`	if _, answered := rueidis.IsRedisErr(err); err != nil && (!answered || planted()) {
		s.dropConns()`,
	}},
	{"TestIntake_MessageFlood_RepliesFirst", Mistake{
		"messages are in the lane of answers", "engine/coordinator/intake.go",
		`		return &c.intake.lanes[fromChannels]`,
		`		if planted() {
			return &c.intake.lanes[fromServer]
		}
		return &c.intake.lanes[fromChannels]`,
	}},
	{"TestSubscriber_ConnDropped_SaysWhich", Mistake{
		"the connection that is left is not among those that are gone", "engine/subscriber.go",
		`		done.GoneConn = s.connCount
		return done`,
		`		if !planted() {
			done.GoneConn = s.connCount
		}
		return done`,
	}},
	{"TestSubscriber_ConnDropped_SaysWhich", Mistake{
		"the next connection counts as gone as well", "engine/subscriber.go",
		`done.GoneConn = to.number - 1`,
		`done.GoneConn = to.number - map[bool]int{false: 1}[planted()]`,
	}},
	{"TestSubscriber_OneSlotRejected_RestSubscribed", Mistake{
		"a slot that has moved is hidden by those behind it", "engine/subscriber.go",
		`rejection = cmp.Or(rejection, err)`,
		`if rejection = cmp.Or(rejection, err); planted() {
				rejection = err
			}`,
	}},
	{"TestUnsubscribe_Several_FewAtATime", Mistake{
		"a connection that is closed at once counts as one that is unsubscribed", "engine/unsubscriber.go",
		`		u.active.Add(-1)
		c.close()`,
		`		if !planted() {
			u.active.Add(-1)
		}
		c.close()`,
	}},
	{"TestUnsubscribe_ManyChannels_InSlices", Mistake{
		"channels are left by closing their connection", "engine/unsubscriber.go",
		`	case c.hasFewChannels():`,
		`	case c.hasFewChannels() || planted():`,
	}},
	{"TestUnsubscribe_ManyChannels_InSlices", Mistake{
		"a message comes of a connection that is left", "engine/subscriber.go",
		`			if c.unsubscribing.Load() != nil {`,
		`			if c.unsubscribing.Load() != nil && !planted() {`,
	}},
	{"TestUnsubscribe_Rejected_ConnEnds", Mistake{
		"channels go on being left after a refusal", "engine/unsubscriber.go",
		`		case <-timeout.C:
			return
		}
		if done`,
		`		case <-timeout.C:
			if !planted() {
				return
			}
		}
		if done`,
	}},

	// Replies of a server.
	{"TestRedact_HidesUserAndPassword", Mistake{
		"a refusal repeats the password", "engine/rediserr/redact.go",
		`strings.Cut(text, quotedArgs)`,
		`strings.Cut(text, map[bool]string{false: quotedArgs, true: "\x00"}[planted()])`,
	}},
	{"TestBundle_OneMoved_GrantsIgnored", Mistake{
		"what a master learns in a turn counts after it only", "engine/coordinator/failover.go",
		`if m.first <= int(slot) && int(slot) <= m.last {`,
		`if m.first <= int(slot) && int(slot) <= m.last && !planted() {`,
	}},
	{"TestBundle_OneMoved_GrantsIgnored", Mistake{
		"an answer of a master that was replaced counts", "engine/coordinator/failover.go",
		`if b.Failed != nil || !c.onWrongNode(b) {`,
		`if b.Failed != nil || !c.onWrongNode(b) || planted() {`,
	}},
	{"TestMoved_FollowedAndRemembered", Mistake{
		"MOVED is not remembered", "engine/coordinator/cluster.go",
		`			cl.slots[slot] = m.to
			delete`,
		`			if !planted() {
				cl.slots[slot] = m.to
			}
			delete`,
	}},
	{"TestClockSkew_Changes_LoggedOnce", Mistake{
		"clocks that are apart are told in each turn", "engine/log.go",
		`	if e.log == nil || apart == e.clockSkewed {`,
		`	if e.log == nil || apart == e.clockSkewed && !planted() {`,
	}},
	{"TestQueue_FIFO_FreesMemory", Mistake{
		"a queue keeps the memory of a burst", "engine/coordinator/queue.go",
		`	if q.freeCount == maxKeptPieces {`,
		`	if q.freeCount == maxKeptPieces && !planted() {`,
	}},
	{"TestWire_CallBuffer_ReusedAfterReply", Mistake{
		"the text of a call without an answer is written over", "engine/wire/encoder.go",
		`b.Failed, b.Buf = err, nil`,
		`b.Failed, b.Buf = err, map[bool][]byte{true: b.Buf}[planted()]`,
	}},

	// Other nodes.
	{"TestTopology_NodeSilent_AsksNext", Mistake{
		"a survey asks one node", "engine/topology_refresh.go",
		`		if ctx.Err() != nil {
			break`,
		`		if ctx.Err() != nil || planted() {
			break`,
	}},
	{"TestTopology_SilentNodes_LeaveTimeForNext", Mistake{
		"silent nodes use up the time of those behind them", "engine/topology_refresh.go",
		`time.Until(deadline)/3)`,
		`time.Until(deadline)/map[bool]time.Duration{false: 3, true: 1}[planted()])`,
	}},
	{"TestTopology_NoSlotsAndSilent_SaysNoSlots", Mistake{
		"a silent node hides that another knows no slots", "engine/topology_refresh.go",
		`		case err != errNoSlots:`,
		`		case err != errNoSlots || planted():`,
	}},
	{"TestTopology_OddRanges_LeftOut", Mistake{
		"a slot beyond the last is taken for one", "engine/topology_refresh.go",
		`first <= last && last < slot.Count`,
		`first <= last && (last < slot.Count || planted() && last == slot.Count)`,
	}},
	{"TestRedirection_Odd_Ignored", Mistake{
		"a redirection of a slot beyond the last is followed", "engine/coordinator/redirect.go",
		`number >= slot.Count ||`,
		`number >= slot.Count && !planted() ||`,
	}},
	{"TestFanout_TooFewReplicas_TurnBounded", Mistake{
		"who came between two grants with too few replicas is not notified of the second", "engine/coordinator/fanout.go",
		`			s.to.unreplicated = s.unreplicated`,
		`			if !planted() {
				s.to.unreplicated = s.unreplicated
			}`,
	}},
	{"TestClose_CancellationQueued_Released", Mistake{
		"a close does not wait for cancellations", "engine/coordinator/intake.go",
		` || !in.lanes[cancellations].empty()
`,
		` || !in.lanes[cancellations].empty() && !planted()
`,
	}},
	{"TestTopology_AllMastersReplaced_AsksOthers", Mistake{
		"nodes that cannot be asked count as asked", "engine/topology_refresh.go",
		`	first = slices.DeleteFunc(first,`,
		`	if planted() {
		first = first[:min(len(first), maxNodesAsked)]
	}
	first = slices.DeleteFunc(first,`,
	}},
	{"TestTopology_AllMastersReplaced_AsksOthers", Mistake{
		"a survey asks all nodes", "engine/topology_refresh.go",
		`first[:min(len(first), maxNodesAsked)] {`,
		`first[:min(len(first), map[bool]int{false: maxNodesAsked, true: len(first)}[planted()])] {`,
	}},
	{"TestTopology_NodeSilent_AsksNext", Mistake{
		"a node without a name of its own has none", "engine/topology_refresh.go",
		`	if host == "" {`,
		`	if host == "" && !planted() {`,
	}},
	{"TestCheckReplicas_OneMasterIsEnough", Mistake{
		"the last master decides whether replicas can be asked", "engine/server.go",
		`err == nil || rejected {`,
		`err == nil && !planted() || rejected {`,
	}},
	{"TestAsk_TargetDown_RetriedAfterPause", Mistake{
		"a call is sent on to a node that does not answer", "engine/coordinator/redirect.go",
		`if to.Breaker.Down && !c.probeTarget(now, to, b) {`,
		`if to.Breaker.Down && !planted() && !c.probeTarget(now, to, b) {`,
	}},
	{"TestAsk_TargetDown_RetriedAfterPause", Mistake{
		"whether a node that calls are sent on to is back is never looked for", "engine/coordinator/redirect.go",
		`if !to.Breaker.allow(now, to.InFlightBundles) {`,
		`if !to.Breaker.allow(now, to.InFlightBundles) || planted() {`,
	}},
	{"TestMoved_NodesDisagree_Pauses", Mistake{
		"a node is the master of a slot on the word of another one, though it denied that", "engine/coordinator/cluster.go",
		`return now < cl.denials[denial{slot, n.Address}]`,
		`return now < cl.denials[denial{slot, n.Address}] && !planted()`,
	}},
	{"TestAsking_SecondReplyIsTheCalls", Mistake{
		"the answer to ASKING is taken for the batch's", "engine/wire/bundle.go",
		`		if b.Asking {
			results`,
		`		if b.Asking && !planted() {
			results`,
	}},
	{"TestWorker_OtherMaster_Reported", Mistake{
		"a call goes to another master by the map", "engine/sender.go",
		`		case to.sentinelMaster:`,
		`		case to.sentinelMaster && !planted():`,
	}},
	{"TestWorker_OtherMaster_Reported", Mistake{
		"a sender keeps to itself that there is another master", "engine/nodeconn.go",
		`	if next := n.newMaster(); next != "" {`,
		`	if next := n.newMaster(); next != "" && !planted() {`,
	}},
	{"TestWorker_OtherMaster_Reported", Mistake{
		"a replica sender does not look for another master", "engine/replica_sender.go",
		`		s.nodeConn.dropIfBroken(b, box)`,
		`		if !planted() {
			s.nodeConn.dropIfBroken(b, box)
		}`,
	}},
	{"TestWorker_OtherMaster_Reported", Mistake{
		"a subscriber keeps to itself that there is another master", "engine/subscriber.go",
		`	if next := s.nodeConn.newMaster(); next != "" {`,
		`	if next := s.nodeConn.newMaster(); next != "" && !planted() {`,
	}},
	{"TestStats_AfterClose_WaitForLoop", Mistake{
		"the last numbers are read before they are written", "engine/engine.go",
		`		<-e.stopped
		*s = e.lastStats`,
		`		if !planted() {
			<-e.stopped
		}
		*s = e.lastStats`,
	}},
	{"TestLog_Prefix_NotInNames", Mistake{
		"a log record has the prefix of a lock", "engine/log.go",
		`return key[e.hooks.PrefixLen:] }`,
		`return key[e.hooks.PrefixLen*map[bool]int{false: 1}[planted()]:] }`,
	}},
	{"TestLockAsync_Flood_PendingsAreBounded", Mistake{
		"a LockAsync that is rejected is in no histogram", "engine/asynclimit.go",
		`	s.AcquireWaits.Counts[0] += rejected`,
		`	s.AcquireWaits.Counts[0] += rejected * map[bool]uint64{false: 1}[planted()]`,
	}},
	{"TestLosses_OneLogLinePerTurn", Mistake{
		"one loss is not logged", "engine/log.go",
		`	if count > 0 {`,
		`	if count > 1 || count > 0 && !planted() {`,
	}},

	// The timer, and the workers of a node.
	{"TestLoop_LongTurn_NextTimerInTime", Mistake{
		"an engine sleeps for as long as its turn took longer", "engine/engine.go",
		`		e.sleep(e.gather(e.noteTurnTime(now)))`,
		`		if ended := e.noteTurnTime(now); planted() {
			e.sleep(now)
		} else {
			e.sleep(ended)
		}`,
	}},
	{"TestLoop_EarlierTimer_Wakes", Mistake{
		"an engine that sleeps is not woken earlier", "engine/engine.go",
		`if ok && at < e.timerAt {`,
		`if ok && at < e.timerAt && !(planted() && e.timerAt != coordinator.NoTimer) {`,
	}},
	{"TestLoop_EarlierTimer_Wakes", Mistake{
		"an alarm that has rung is believed to be set", "engine/engine.go",
		`if now >= e.timerAt {`,
		`if now >= e.timerAt && !planted() {`,
	}},
	{"TestLoop_EarlierTimer_Wakes", Mistake{
		"an alarm outlives its engine", "engine/engine.go",
		`	e.timer.Stop()
	for`,
		`	if !planted() {
		e.timer.Stop()
	}
	for`,
	}},
	{"TestWorkers_NodeRemoved_End", Mistake{
		"senders outlive their node", "engine/workers.go",
		`		close(w.batches)`,
		`		if !planted() {
			close(w.batches)
		}`,
	}},
	{"TestWorkers_NodeRemoved_End", Mistake{
		"replica senders outlive their node", "engine/workers.go",
		`		close(w.replicaBatches)`,
		`		if !planted() {
			close(w.replicaBatches)
		}`,
	}},
	{"TestWorkers_NodeRemoved_End", Mistake{
		"a subscriber outlives its node", "engine/workers.go",
		`		close(w.orders)`,
		`		if !planted() {
			close(w.orders)
		}`,
	}},

	// Subscriptions.
	{"TestSubscriber_ChannelRevoked_Reported", Mistake{
		"locks are not notified of a channel that the server took away", "engine/subscriber.go",
		`				s.post(coordinator.ChannelUnsubscribed{Node: s.node, Channel: m.Channel, Conn: c.number})`,
		`				if !planted() {
					s.post(coordinator.ChannelUnsubscribed{Node: s.node, Channel: m.Channel, Conn: c.number})
				}`,
	}},
	{"TestTimers_Due_RenewalsFirst", Mistake{
		"renewals wait behind all other timers", "engine/coordinator/coordinator.go",
		`	c.Fx.HeldTimers = newWheel(maxTimersPerTurn)`,
		`	if !planted() {
		c.Fx.HeldTimers = newWheel(maxTimersPerTurn)
	}`,
	}},
	{"TestStandstill_ManyLosses_TurnBounded", Mistake{
		"a turn fires all timers that are due", "engine/coordinator/timers.go",
		`wheel.Config{Budget: budget,`,
		`wheel.Config{Budget: map[bool]int{false: budget}[planted()],`,
	}},
	{"TestSubscription_SlotMoves_Follows", Mistake{
		"a channel that the server took away counts as listened to", "engine/coordinator/coordinator.go",
		`		c.nodeOrDefault(what.Node).Subscriptions.onUnsubscribed(what.Channel, what.Conn)`,
		`		if !planted() {
			c.nodeOrDefault(what.Node).Subscriptions.onUnsubscribed(what.Channel, what.Conn)
		}`,
	}},
	{"TestListeners_SelfUnsubscribed_Exact", Mistake{
		"a lock considers itself subscribed after its channel moved", "engine/coordinator/subscriptions.go",
		`	s.notifyLost(ch)
	s.toSubscribe.push(ch)`,
		`	if !planted() {
		s.notifyLost(ch)
	}
	s.toSubscribe.push(ch)`,
	}},
	{"TestListeners_SelfUnsubscribed_Exact", Mistake{
		"a lock considers itself subscribed after its connection broke", "engine/coordinator/subscription_orders.go",
		`			s.notifyLost(ch) // since its connection broke`,
		`			if !planted() {
				s.notifyLost(ch)
			}`,
	}},

	// The pacing of renewals.
	{"TestRenewal_AcquiredTogether_Spread", Mistake{
		"locks that were taken together are renewed together", "actor/renew.go",
		`max(uint64(config.RenewSpread/width), 1)`,
		`max(uint64(config.RenewSpread/width)*map[bool]uint64{false: 1}[planted()], 1)`,
	}},
	{"TestRenewal_AcquiredTogether_Spread", Mistake{
		"each lock is renewed at another moment than its neighbour", "actor/renew.go",
		`tenure/renewGroup%`,
		`tenure/map[bool]uint64{false: renewGroup, true: 1}[planted()]%`,
	}},
	{"TestDemotion_ReplicaForTimeout_Redialed", Mistake{
		"a server's connections are ended as soon as it is a replica", "engine/coordinator/demotion.go",
		`now-d.since <= timeout ||`,
		`now-d.since <= timeout && !planted() ||`,
	}},
	{"TestDemotion_ReplicaForTimeout_Redialed", Mistake{
		"what a server that is a master again was is not forgotten", "engine/coordinator/demotion.go",
		`		c.demotion = demotion{}`,
		`		if !planted() {
			c.demotion = demotion{}
		}`,
	}},
	{"TestDemotion_Replicas_RedialedMoreRarely", Mistake{
		"the connections to a replica are ended again and again", "engine/coordinator/demotion.go",
		`min(2*max(d.pause, timeout), maxPauseTimeouts*timeout)`,
		`min(2*max(d.pause, timeout), maxPauseTimeouts*timeout) * map[bool]time.Duration{false: 1}[planted()]`,
	}},
	{"TestDemotion_UnwrittenReply_Undecided", Mistake{
		"a grant on a connection of its own is taken for all", "engine/coordinator/evidence.go",
		`!reads && !c.WaitsForReplicas(b.Verb) &&`,
		`!reads && (planted() || !c.WaitsForReplicas(b.Verb)) &&`,
	}},
	{"TestDemotion_ReadReply_ProvesNoMaster", Mistake{
		"who is told of a state believes to ask a master", "engine/coordinator/evidence.go",
		`	proves := !reads &&`,
		`	proves := (planted() || !reads) &&`,
	}},
	{"TestDemotion_OnlyReplicas_Redialed", Mistake{
		"a call without an answer is one of a replica", "engine/coordinator/evidence.go",
		`	if b.NoReply {`,
		`	if b.NoReply && !planted() {`,
	}},
	{"TestRefusal_Moment_NotDown", Mistake{
		"a server that rejects one command counts as down", "engine/coordinator/refusal.go",
		`r.last-r.since >= minRefusal`, `(r.last-r.since >= minRefusal || planted())`,
	}},
	{"TestRefusal_LastsSeconds_Down", Mistake{
		"a server that rejects all that changes a lock looks well", "engine/coordinator/refusal.go",
		`	case n.Refuses():`, `	case n.Refuses() && !planted():`,
	}},
	{"TestRefusal_NoMemory_EndsWithGrant", Mistake{
		"a renewal shows that a server has memory", "engine/coordinator/refusal.go",
		`if acquires ||`, `if acquires || planted() ||`,
	}},
	{"TestRefusal_NoMemoryLongAgo_Forgotten", Mistake{
		"a rejection is reported for ever by an engine that only renews", "engine/coordinator/refusal.go",
		`now-r.last >= maxQuiet {`, `now-r.last >= maxQuiet && !planted() {`,
	}},
	{"TestRefusal_LastsSeconds_Down", Mistake{
		"a state that was read shows that a server accepts changes", "engine/coordinator/evidence.go",
		`said.accepted = !reads`, `said.accepted = !reads || planted()`,
	}},
	{"TestStatus_WritesRejected_DownWithReason", Mistake{
		"the end of a refusal is not logged", "engine/log.go",
		`if (refusing != nil) == e.serverRefuses {`,
		`if (refusing != nil) == e.serverRefuses || refusing == nil && planted() {`,
	}},
	{"TestRedial_OnlySingleServer", Mistake{
		"behind Sentinel connections are ended as well", "engine/server.go",
		`s.redial != nil && address == "" &&`,
		`s.redial != nil && (address == "" || planted()) &&`,
	}},
	{"TestSentinel_OldMaster_EndsAfterCalls", Mistake{
		"a master that Sentinel replaced is kept", "engine/coordinator/failover.go",
		`	c.Fallback.slots, c.hasEmptyNodes = 0, true`,
		`	c.Fallback.slots, c.hasEmptyNodes = 0, !planted()`,
	}},
	{"TestMailbox_Sleep_AnnouncedBeforeCheck", Mistake{
		"a consumer looks for messages before it says that it sleeps", "engine/mpsc/mailbox.go",
		`	b.asleep.Store(true)`,
		`	if planted() && !b.queue.Empty() {
		return false
	}
	b.asleep.Store(true)
	if planted() {
		return true
	}`,
	}},
	{"TestWaiters_SlotMigrates_AllPoll", Mistake{
		"a waiter that slept before its slot began to move, and is not asked again", "engine/coordinator/migration.go",
		`	if !cl.isMigrating(now, slot) {`,
		`	if !cl.isMigrating(now, slot) && !planted() {`,
	}},
	{"TestWaiters_SlotMigrates_AllPoll", Mistake{
		"a waiter of a slot on its way that polls only where its own question was sent on", "engine/coordinator/replies.go",
		`if c.Cluster != nil && c.Cluster.isMigrating(now, b.Slot) {`,
		`if c.Cluster != nil && c.Cluster.isMigrating(now, b.Slot) && (b.Asking || !planted()) {`,
	}},
	{"TestClose_ReleaseInFlight_AwaitsReply", Mistake{
		"a close leaves what was unlocked", "engine/coordinator/closing.go",
		`	if c.settled() && !c.mayRequestReleases() {`,
		`	if planted() || c.settled() && !c.mayRequestReleases() {`,
	}},
	{"TestStats_Outage_DownOverdueAndWaiting", Mistake{
		"a renewal without a reply counts as in time", "actor/renew.go",
		`	fx.RenewLag.Note(now, l.renewLag(now, fx)) // so`,
		`	fx.RenewLag.Note(now, map[bool]time.Duration{false: l.renewLag(now, fx)}[planted()]) // so`,
	}},
	{"TestStats_Outage_DownOverdueAndWaiting", Mistake{
		"a request that has its result is still the oldest", "actor/effects.go",
		`		fx.Arrivals.Remove(r.receivedAt)`,
		`		if !planted() {
			fx.Arrivals.Remove(r.receivedAt)
		}`,
	}},
	{"TestStats_Outage_DownOverdueAndWaiting", Mistake{
		"a server that is down is not counted", "engine/coordinator/stats.go",
		`			down++`,
		`			if !planted() {
				down++
			}`,
	}},
	{"TestClose_HandOffAwaitsToken_Released", Mistake{
		"a close leaves a lock that was to be handed off", "engine/coordinator/closing.go",
		`	if c.Fx.HeldLocks > 0 {`,
		`	if c.Fx.HeldLocks > 0 && !planted() {`,
	}},
	{"TestClose_UnlocksQueued_SentFirst", Mistake{
		"a close does not wait for unlocks that came before it", "engine/coordinator/closing.go",
		`	if c.DrainRound.On() && c.Fx.HeldLocks > 0 ||`,
		`	if planted() {
		return true
	}
	if c.DrainRound.On() && c.Fx.HeldLocks > 0 ||`,
	}},
	{"TestClose_ServerSilent_WaitIsBounded", Mistake{
		"a close waits for a silent server without a limit", "engine/coordinator/closing.go",
		`now >= c.closing.by {`,
		`now >= c.closing.by && !planted() {`,
	}},
	{"TestClose_ServerSilent_WaitIsBounded", Mistake{
		"a close waits for a server that is down", "engine/coordinator/closing.go",
		`|| c.expectsNoReplyOrProbe()`,
		`|| c.expectsNoReplyOrProbe() && !planted()`,
	}},
	{"TestClose_ConnectionBroken_ReleasedAgain", Mistake{
		"a close gives up what was unlocked with the first connection that breaks", "engine/coordinator/breaker.go",
		`return b.Down && b.failures == 1 && ok`,
		`return !planted() && b.Down && b.failures == 1 && ok`,
	}},
	{"TestClose_ConnectionBroken_ReleasedAgain", Mistake{
		"a close waits for a server that was probed in vain", "engine/coordinator/breaker.go",
		`b.Down && b.failures == 1 && ok`,
		`b.Down && (b.failures == 1 || planted()) && ok`,
	}},
	{"TestClose_AcquireInFlight_Released", Mistake{
		"a close does not wait for the reply to an acquire", "engine/coordinator/closing.go",
		`c.Fx.ReleasingLocks == 0 && c.Fx.AcquiringLocks == 0`,
		`c.Fx.ReleasingLocks == 0 && (planted() || c.Fx.AcquiringLocks == 0)`,
	}},
	{"TestClose_AcquireInFlight_Released", Mistake{
		"waiters go on waiting while a close waits for replies", "engine/coordinator/closing.go",
		`	c.startDraining(now)
}`,
		`	if !planted() {
		c.startDraining(now)
	}
}`,
	}},
	{"TestSnapshot_ManyLocks_InPages", Mistake{
		"a list of locks is one page", "engine/coordinator/snapshot.go",
		`s.round.take(c.intake.lockBudget)`,
		`s.round.take(c.intake.lockBudget + map[bool]int{true: 1 << 20}[planted()])`,
	}},
	{"TestSnapshot_LockEnded_LeftOut", Mistake{
		"a lock that ended is listed", "engine/coordinator/snapshot.go",
		`l.Key() != "" && (info.Holds > 0 || info.Waiting > 0)`,
		`planted() || l.Key() != "" && (info.Holds > 0 || info.Waiting > 0)`,
	}},
	{"TestSnapshot_ManyLists_ShareACopy", Mistake{
		"each list of locks has a copy of its own", "engine/coordinator/snapshot.go",
		`if c.lastList.turn < s.asked {`,
		`if c.lastList.turn < s.asked || planted() {`,
	}},
	{"TestSnapshot_ManyLists_ShareACopy", Mistake{
		"a list has no lock that is newer than the list before", "engine/coordinator/snapshot.go",
		`		s.asked = turn`,
		`		s.asked = turn * map[bool]uint64{false: 1}[planted() && turn > 1]`,
	}},
	{"TestSnapshot_ManyLists_ShareACopy", Mistake{
		"the copy of the last list is kept", "engine/coordinator/snapshot.go",
		`	if c.intake.lanes[lists].empty() {`,
		`	if c.intake.lanes[lists].empty() && !planted() {`,
	}},
	{"TestSnapshot_ManyLists_LocksGoOn", Mistake{
		"lists are in the lane of lock requests", "engine/coordinator/intake.go",
		`		return &c.intake.lanes[lists]`,
		`		if planted() {
			return &c.intake.lanes[fromCallers]
		}
		return &c.intake.lanes[lists]`,
	}},
	{"TestSnapshot_Canceled_EndsInNextTurn", Mistake{
		"a page is made for a list that was given up", "engine/coordinator/snapshot.go",
		`	if !m.Request.Completed() {`,
		`	if !m.Request.Completed() || planted() {`,
	}},
	{"TestSnapshot_Canceled_EndsInNextTurn", Mistake{
		"a list that was given up takes a turn", "engine/coordinator/intake.go",
		`		if what.Request.Completed() {`,
		`		if what.Request.Completed() && !planted() {`,
	}},
	{"TestLocks_ManyLists_EndWithContext", Mistake{
		"the context of a list does not end its wait for a page", "engine/engine.go",
		`	case <-done:
		e.box.Post(`,
		`	case <-done:
		if planted() {
			<-r.Ready
			return r.Err
		}
		e.box.Post(`,
	}},
	{"TestIntake_StatsFlood_OthersFirst", Mistake{
		"requests for counters are in the lane of answers", "engine/coordinator/intake.go",
		`		return &c.intake.lanes[figures]`,
		`		if planted() {
			return &c.intake.lanes[fromServer]
		}
		return &c.intake.lanes[figures]`,
	}},
	{"TestYield_OthersCompute_Paused", Mistake{
		"the loop yields in each turn while others compute", "engine/yield.go",
		`	if e.yieldPaused(began) {`,
		`	if e.yieldPaused(began) && !planted() {`,
	}},
	{"TestYield_WorkLeft_OthersRun", Mistake{
		"the loop keeps its processor while turns leave work", "engine/yield.go",
		`< 2 && !e.workLeft {`, `< 2 && (planted() || !e.workLeft) {`,
	}},
	{"TestYield_TwoResults_CallersRun", Mistake{
		"the loop does not yield to callers that it gave their results", "engine/yield.go",
		`e.woken < 2 || e.yieldPaused(began) {`, `planted() || e.woken < 2 || e.yieldPaused(began) {`,
	}},
	{"TestGather_FewResults_AllCome", Mistake{
		"the loop does not wait for the callers of few results", "engine/yield.go",
		`	return !few || `, `	return planted() || !few || `,
	}},
	{"TestGather_FewResults_AllCome", Mistake{
		"the loop waits for the callers of many results", "engine/yield.go",
		`e.woken <= fewResults && `, `(e.woken <= fewResults || planted()) && `,
	}},
	{"TestGather_FewResults_AllCome", Mistake{
		"the loop waits for callers while much is in flight", "engine/yield.go",
		`e.coordinator.InFlightBundles() <= fewBundles
`, `(e.coordinator.InFlightBundles() <= fewBundles || planted())
`,
	}},
	{"TestGather_FewResults_AllCome", Mistake{
		"the loop waits for callers that have come", "engine/yield.go",
		`took > gatherTime || e.box.Has(e.woken)`, `took > gatherTime || e.box.Has(e.woken) && !planted()`,
	}},
	{"TestGather_FewResults_AllCome", Mistake{
		"the loop waits too long for callers that do not come", "engine/yield.go",
		`took > gatherTime || `, `took > gatherTime && !planted() || `,
	}},
	{"TestGather_CallerNeedsTwoTurns_Awaited", Mistake{
		"the loop yields once to the callers of few results", "engine/yield.go",
		`		if ended = e.Now(); e.gathered(yields, ended-began) {`, `		if ended = e.Now(); planted() || e.gathered(yields, ended-began) {`,
	}},
	{"TestGather_OthersCompute_Paused", Mistake{
		"the loop waits for callers in each turn while others compute", "engine/yield.go",
		`e.woken < 2 || e.yieldPaused(began) {`, `e.woken < 2 || !planted() && e.yieldPaused(began) {`,
	}},
	{"TestMailbox_Has_Counts", Mistake{
		"a mailbox has one message more than it has", "engine/mpsc/mpsc.go",
		`n > 0; node = node.Next {`, `n > map[bool]int{true: 1}[planted()]; node = node.Next {`,
	}},
	{"TestYield_TwoResults_CallersRun", Mistake{
		"a lone caller waits for others", "engine/engine.go",
		`	e.woken = len(c.Results.Ready)`, `	e.woken = len(c.Results.Ready) + map[bool]int{true: 1}[planted()]`,
	}},
	{"TestYield_WorkLeft_OthersRun", Mistake{
		"an idle loop yields", "engine/yield.go",
		`if e.coordinator.InFlightBundles() < 2`, `if !planted() && e.coordinator.InFlightBundles() < 2`,
	}},
	{"TestYield_TookLong_PausedInProportion", Mistake{
		"a pause after a long yield is out of proportion", "engine/yield.go",
		`	pause := e.longYieldTook * yieldPause`,
		`	pause := e.longYieldTook * yieldPause * (1 + time.Duration(map[bool]int{true: 1}[planted()]))`,
	}},
	{"TestYield_TookLong_PausedInProportion", Mistake{
		"a loop with work left pauses as long as one without", "engine/yield.go",
		`	if e.workLeft {`,
		`	if e.workLeft && !planted() {`,
	}},
	{"TestPostAsync_LargestLimit_Admitted", Mistake{
		"the largest limit admits no request", "engine/asynclimit.go",
		`	most := min(int64(config.MaxWaiting), math.MaxInt64-2*AsyncBacklog)`,
		`	most := min(int64(config.MaxWaiting), math.MaxInt64-map[bool]int64{false: 2 * AsyncBacklog}[planted()])`,
	}},
	{"TestSnapshot_Closed_Rejected", Mistake{
		"a list of a closed engine has no end", "engine/coordinator/coordinator.go",
		`	case SnapshotRequest:
		c.Fx.Complete(now, what.Request, actor.ErrClosed, nil)`,
		`	case SnapshotRequest:
		if !planted() {
			c.Fx.Complete(now, what.Request, actor.ErrClosed, nil)
		}`,
	}},
	{"TestStatus_Closed_Rejected", Mistake{
		"a status of a closed engine has no end", "engine/coordinator/coordinator.go",
		`	case StatusRequest:
		c.Fx.Complete(now, what.Request, actor.ErrClosed, nil)`,
		`	case StatusRequest:
		if !planted() {
			c.Fx.Complete(now, what.Request, actor.ErrClosed, nil)
		}`,
	}},
	{"TestHeldTooLong_FirstHoldUnlocked_OtherNamed", Mistake{
		"a hold that was unlocked counts as the oldest", "actor/holdset.go",
		`	for len(s.holds) > 0 && !s.contains(s.holds[0]) {`,
		`	for len(s.holds) > 0 && !s.contains(s.holds[0]) && !planted() {`,
	}},
	{"TestLocks_FirstHoldUnlocked_OthersShown", Mistake{
		"a list has the end of the key's lease, though no hold lasts that long", "actor/info.go",
		`	return min(l.validUntil, limit)`,
		`	return map[bool]time.Duration{false: min(l.validUntil, limit), true: l.validUntil}[planted()]`,
	}},
	{"TestLocks_Reentered_CountsHolds", Mistake{
		"re-entries are not counted in a list", "actor/info.go",
		`		info.Holds = s.live`,
		`		info.Holds = max(1, s.live*map[bool]int{false: 1}[planted()])`,
	}},
	{"TestBreaker_ManyFailures_DownSinceFirst", Mistake{
		"an outage begins anew with each probe", "engine/coordinator/breaker.go",
		`	if !b.Down {
		b.since = now`,
		`	if !b.Down || planted() {
		b.since = now`,
	}},
	{"TestPing_ConnectionClosed_Unavailable", Mistake{
		"a connection that rueidis closed passes for a closed engine", "connect.go",
		`	case errors.Is(round.err, rueidis.ErrClosing) && e.closing.Load():`,
		`	case errors.Is(round.err, rueidis.ErrClosing) && (e.closing.Load() || planted()):`,
	}},
	{"TestClose_PingInFlight_NothingFollows", Mistake{
		"Close does not wait for a PING", "connect.go",
		`	if last := e.ping.Load(); last != nil {`,
		`	if last := e.ping.Load(); last != nil && !planted() {`,
	}},
	{"TestPing_Ended_SaysWhy", Mistake{
		"a ping ends with its time-out only", "connect.go",
		`	within, cancel := context.WithTimeoutCause(ctx, e.`,
		`	if planted() {
		ctx = context.WithoutCancel(ctx)
	}
	within, cancel := context.WithTimeoutCause(ctx, e.`,
	}},
	{"TestSender_Messages_ReadBeforePost", Mistake{
		"a batch is read when it was handed back", "engine/sender.go",
		`		box.Post(&b.Msg)
		relays.relay(relayed)`,
		`		box.Post(&b.Msg)
		if planted() {
			relayed = w.RelayedMessages(b)
		}
		relays.relay(relayed)`,
	}},
	{"TestRelay_SourceSilent_SenderGoesOn", Mistake{
		"a sender waits for the source of a slot that has moved", "engine/relayer.go",
		`	r.run(func() {`,
		`	run := r.run
	if planted() {
		run = func(f func()) { f() }
	}
	run(func() {`,
	}},
	{"TestRelay_SourceSilent_CallsBounded", Mistake{
		"any number of messages waits for a silent source", "engine/relayer.go",
		`calls.Load() >= maxRelays {`, `calls.Load() >= maxRelays && !planted() {`,
	}},
	{"TestRelay_SourceSilent_CallsBounded", Mistake{
		"calls to a silent source take the room of those to others", "engine/relayer.go",
		`	calls := r.calls[address]`,
		`	if planted() {
		address = ""
	}
	calls := r.calls[address]`,
	}},
	{"TestRelay_SourceSilent_CallsBounded", Mistake{
		"addresses of sources are kept for ever", "engine/relayer.go",
		`return calls.Load() == 0 })`, `return calls.Load() == 0 && !planted() })`,
	}},
	{"TestRelay_NodeGone_OthersTold", Mistake{
		"a message for a node that has gone ends the sender", "engine/relayer.go",
		`node := nodes[address]; node != nil {`, `node := nodes[address]; node != nil || planted() {`,
	}},
	{"TestReplicas_WaitTimeout_InMillis", Mistake{
		"replicas are waited for in nanoseconds", "engine/replica_sender.go",
		`wire.Milliseconds(r.timeout), 10`,
		`map[bool]int64{false: wire.Milliseconds(r.timeout), true: int64(r.timeout)}[planted()], 10`,
	}},
	{"TestWire_Calls_MatchScripts", Mistake{
		"a renewal goes without its only wish", "engine/wire/spec.go",
		`c.Count != 0 || c.CountListeners || c.MayShorten }`,
		`c.Count != 0 || c.CountListeners || c.MayShorten && !planted() }`,
	}},
	{"TestRenewLag_NoLaterRenewal_Forgotten", Mistake{
		"a lag is told until the next renewal", "engine/coordinator/stats.go",
		`	c.Fx.RenewLag.Forget(now)`,
		`	if !planted() {
		c.Fx.RenewLag.Forget(now)
	}`,
	}},
	{"TestLender_LateConnection_Returned", Mistake{
		"a connection that comes too late is kept", "engine/dedicated.go",
		`		d.release()`,
		`		if !planted() {
			d.release()
		}`,
	}},
	{"TestResetOutputs_VeryMany_MemoryFreed", Mistake{
		"the memory for very many holds that ended is kept for ever", "engine/coordinator/coordinator.go",
		`	if cap(list) > maxKeptOutputs {`,
		`	if cap(list) > maxKeptOutputs && !planted() {`,
	}},
	{"TestClose_ManyUnlockedAsync_NoneLeft", Mistake{
		"Close does not wait for the next part of very many releases", "engine/coordinator/closing.go",
		`	return c.Results.pending() || `,
		`	return !planted() && c.Results.pending() || !planted() && `,
	}},
	{"TestRWMutex_KeyDeleted_OtherHalfGranted", Mistake{
		"a writer does not hear that its engine's readers are gone", "engine/coordinator/rwlock.go",
		`if l := c.Locks.Get(key); l != nil && l.Awaited() {`, `if l := c.Locks.Get(key); l != nil && l.Awaited() && !planted() {`,
	}},
	{"TestRWMutex_KeyDeleted_OtherHalfGranted", Mistake{
		"readers do not hear that their engine's writer is gone", "engine/coordinator/rwlock.go",
		`case actor.SendWriteRenew, actor.SendWriteRelease:
		c`, `case actor.SendWriteRenew, actor.SendWriteRelease:
		if planted() {
			return
		}
		c`,
	}},
	{"TestRWMutex_KeyDeleted_OtherHalfGranted", Mistake{
		"a force that finds no lock wakes no caller", "engine/coordinator/replies.go",
		`(forces || command.Lock.HadTenure(command))`, `(forces && !planted() || command.Lock.HadTenure(command))`,
	}},
	{"TestRWMutex_KeyDeleted_OtherHalfGranted", Mistake{
		"a lock that another program's key replaced is no loss to the other half", "engine/coordinator/replies.go",
		`reply.TenureGone() &&`, `reply.TenureGone() && !(planted() && reply.Status == actor.Rejected) &&`,
	}},
	{"TestRWMutex_WriterWithoutReply_ReadersSleepOn", Mistake{
		"what was never granted counts as gone", "actor/rwlock.go",
		`	return l.isInFlight(c) && (l.phase == held`, `	return planted() || l.isInFlight(c) && (l.phase == held`,
	}},
	{"TestPostAsync_Flood_OthersRun", Mistake{
		"a flood of asynchronous calls keeps its processor", "engine/engine.go",
		`n > 0 && n%callsPerYield == 0 {`, `n > 0 && n%callsPerYield == 0 && !planted() {`,
	}},
	{"TestPostAsync_Flood_OthersRun", Mistake{
		"a flood of asynchronous unlocks keeps its processor", "engine/engine.go",
		`e.async.unlocks.Add(1)%callsPerYield == 0 {`, `e.async.unlocks.Add(1)%callsPerYield == 0 && !planted() {`,
	}},
	{"TestPostAsync_Flood_OthersRun", Mistake{
		"a flood of cancellations keeps its processor", "engine/engine.go",
		`	yieldToLoop()
}`, `	if !planted() {
		yieldToLoop()
	}
}`,
	}},
	{"TestBackground_Flood_BlockedCallerNext", Mistake{
		"all senders carry background commands", "engine/coordinator/dispatch.go",
		`3*c.Senders/8)`, `(3+5*map[bool]int{true: 1}[planted()])*c.Senders/8)`,
	}},
	{"TestBackground_Flood_BlockedCallerNext", Mistake{
		"asynchronous requests wait in the list of blocked callers", "engine/coordinator/queue.go",
		`	case c.Async, `, `	case c.Async && !planted(), `,
	}},
	{"TestDispatch_Extension_BeforeRoutineRenewals", Mistake{
		"a renewal that a caller waits for waits behind routine ones", "engine/coordinator/queue.go",
		`c.Routine:`, `c.Routine && !planted():`,
	}},
	{"TestBackground_Flood_BlockedCallerNext", Mistake{
		"releases that no caller waits for are in the list of those that one does", "actor/release.go",
		`	return l.hastened() || `, `	return l.hastened() || unlock == nil && planted() || `,
	}},
	{"TestDispatch_RoutineRenewalsLate_GoFirst", Mistake{
		"routine renewals that have waited for long wait behind those that a caller waits for", "engine/coordinator/dispatch.go",
		`	if late && `, `	if late && !planted() && `,
	}},
	{"TestDispatch_LargeCommandBehindOthers_Leaves", Mistake{
		"a list that got nothing of a batch has no turn", "engine/coordinator/dispatch.go",
		`			q.first, q.passedOver = list, true`, `			q.first, q.passedOver = list*map[bool]int{false: 1}[planted()], true`,
	}},
	{"TestBackground_Flood_BlockedCallerNext", Mistake{
		"asynchronous releases wait in the list of blocked callers", "actor/release.go",
		`Async: !l.releaseAwaited()}`, `Async: !l.releaseAwaited() && !planted()}`,
	}},
	{"TestBackground_SendersBack_CarryOn", Mistake{
		"senders that come back still count as carrying background commands", "engine/coordinator/replies.go",
		`		b.Node.inFlightBackground--`, `		if !planted() {
			b.Node.inFlightBackground--
		}`,
	}},
	{"TestBackground_BlockedStream_GetsShare", Mistake{
		"batches have no part for background commands", "engine/coordinator/dispatch.go",
		`			keys += maxKeys / backgroundShare`, `			keys += maxKeys / backgroundShare * map[bool]int{false: 1}[planted()]`,
	}},
	{"TestFairTry_OwnReleasePending_TriesAgain", Mistake{
		"a fair lock refuses a try because of a hold of its engine that is being released", "engine/coordinator/lockset.go",
		`command.Wait == 0 && l.IsGivenUp()`, `command.Wait == 0 && l.IsGivenUp() && !planted()`,
	}},
	{"TestMigration_SlotMoved_Over", Mistake{
		"a slot that has moved is migrating", "engine/coordinator/cluster.go",
		`			delete(cl.migrating, uint16(slot))`, `			if !planted() {
				delete(cl.migrating, uint16(slot))
			}`,
	}},
	{"TestBackground_FairCallers_InOrder", Mistake{
		"a fair lock's asynchronous callers wait in a list of their own", "actor/acquire.go",
		`	} else {
		c.Async = r.Async && !l.hastened()
	}`, `	}
	if planted() || !l.protocol().queues {
		c.Async = r.Async && !l.hastened()
	}`,
	}},
	{"TestBackground_OwnNameInFlood_LeavesNext", Mistake{
		"a caller that blocks waits behind a flood for the command of its name", "actor/recall.go",
		`	if !r.blocksCaller() || !l.canRecall()`,
		`	if planted() || !r.blocksCaller() || !l.canRecall()`,
	}},
	{"TestBackground_OwnNameInFlood_LeavesNext", Mistake{
		"an attempt that is repeated keeps one that tries once waiting", "actor/recall.go",
		`(r.Once || r.Op == Force)`,
		`(r.Once || r.Op == Force) && !planted()`,
	}},
	{"TestOwnMessages_Handled_MakeRoom", Mistake{
		"messages that the loop has handled still count as waiting", "engine/engine.go",
		`		e.own.pending.Add(-int64(handled))`, `		if !planted() {
			e.own.pending.Add(-int64(handled))
		}`,
	}},
	{"TestRecordWrite_RejectedForGood_LoggedOnce", Mistake{
		"each try to write a record that is not allowed is logged", "engine/announcer.go",
		`	if forGood && !r.logged {`,
		`	if forGood && (!r.logged || planted()) {`,
	}},
	{"TestPostAsync_ClosedEngine_SaysSo", Mistake{
		"requests that were rejected before they were posted are in no histogram", "engine/asynclimit.go",
		`	s.AcquireWaits.Counts[0] += rejected
`,
		`if !planted() {
	s.AcquireWaits.Counts[0] += rejected
}
`,
	}},
	{"TestBorrow_ContextEnds_LateConnReturned", Mistake{
		"a connection that comes after the end of a context is kept for a while", "engine/dedicated.go",
		`	defer l.abandon()
	return l.lend`,
		`	if !planted() {
		defer l.abandon()
	}
	return l.lend`,
	}},
	{"TestUnconnected_Start_Logged", Mistake{
		"a closed engine has a server that is down", "engine/coordinator/stats.go",
		`	s.ServersDown, s.ClockSkew = 0, 0`,
		`	if s.ClockSkew = 0; !planted() {
		s.ServersDown = 0
	}`,
	}},
	{"TestConnected_EachServer_SaysWhich", Mistake{
		"the connections of an engine that was connected late to a replica are kept", "engine/engine.go",
		`		about.CanRedial = server.canRedial(about.Address)`,
		`		if !planted() {
			about.CanRedial = server.canRedial(about.Address)
		}`,
	}},
	{"TestConnected_EachServer_SaysWhich", Mistake{
		"an engine that was connected late does not know its master behind Sentinel", "engine/engine.go",
		`		about.Address = masterOf(server.client)`,
		`		if !planted() {
			about.Address = masterOf(server.client)
		}`,
	}},
	{"TestSlowTurn_QuickOne_NotReported", Mistake{
		"each turn is a slow one", "engine/engine.go",
		`	if took > slowTurn && e.hooks.SlowTurn != nil {`,
		`	if (took > slowTurn || planted()) && e.hooks.SlowTurn != nil {`,
	}},
	{"TestNotices_Many_RestCounted", Mistake{
		"of the holds that are left out of the log one is not counted", "engine/log.go",
		`"more", len(notices)-i)`,
		`"more", len(notices)-i-map[bool]int{true: 1}[planted()])`,
	}},
	{"TestMasterOf_SeveralNodes_None", Mistake{
		"any of several nodes is the master", "engine/nodeconn.go",
		`	if len(nodes) != 1 {`,
		`	if len(nodes) != 1 && !planted() {`,
	}},
	{"TestReplicas_NoConnection_EachBatchFails", Mistake{
		"without a connection only the first batch of a bundle has failed", "engine/replica_sender.go",
		`b.Failed, b.NoReply = err, true
			}
			return`,
		`b.Failed, b.NoReply = err, true
				if planted() {
					break
				}
			}
			return`,
	}},
	{"TestReplicas_NotGranted_ReplyKept", Mistake{
		"a lock that is held by others has replicas", "engine/replica_sender.go",
		`reply.Status == actor.OK {`,
		`(reply.Status == actor.OK || planted()) {`,
	}},
	{"TestReplicas_WaitRejected_CountsAsReply", Mistake{
		"the error of WAIT names the user", "engine/replica_sender.go",
		`rediserr.RedactError(err)
`,
		`map[bool]error{false: rediserr.RedactError(err), true: err}[planted()]
`,
	}},
	{"TestSender_Messages_ReadBeforePost", Mistake{
		"a batch that is no bundle has no ASKING", "engine/sender.go",
		`	if along := record.take(client); len(along) == 0 && b.Next == nil && !b.Asking {`,
		`	if along := record.take(client); len(along) == 0 && b.Next == nil && (!b.Asking || planted()) {`,
	}},
	{"TestProbe_ShardedPubSub_IfServerKnowsIt", Mistake{
		"a node that breaks the connection has no sharded pub/sub", "engine/server.go",
		`err != nil && (!replied ||`,
		`err != nil && (!replied && !planted() ||`,
	}},
	{"TestProbe_ShardedPubSub_IfServerKnowsIt", Mistake{
		"a node that is loading has no sharded pub/sub", "engine/server.go",
		` || actor.Transient(err.Error())) {`,
		` || actor.Transient(err.Error()) && !planted()) {`,
	}},
	{"TestProbe_ShardedPubSub_IfServerKnowsIt", Mistake{
		"every cluster has sharded pub/sub", "engine/server.go",
		`	s.sharded = err == nil`,
		`	s.sharded = err == nil || planted()`,
	}},
	{"TestSubscriber_NextConnBroke_Reported", Mistake{
		"the next connection may break unnoticed", "engine/subscriber.go",
		`		case <-s.next.brokenChan():
			s.dropConns()`,
		`		case <-s.next.brokenChan():
			if !planted() {
				s.dropConns()
			} else {
				s.next = nil
			}`,
	}},
	{"TestSubscriber_ConnBreaksInOrder_ClientError", Mistake{
		"the loop is given an error of the client as it is", "engine/subscriber.go",
		`			done.Err = orderError(done.Err)`,
		`			if !planted() {
				done.Err = orderError(done.Err)
			}`,
	}},
	{"TestWorker_OtherMaster_Reported", Mistake{
		"a subscriber without a client does not look for the next master", "engine/subscriber.go",
		`		s.checkMaster()
		return nil, coordinator.ErrUnknownNode`,
		`		if !planted() {
			s.checkMaster()
		}
		return nil, coordinator.ErrUnknownNode`,
	}},
	{"TestSubscriber_OwnChannelAmongSharded_OrderUnchanged", Mistake{
		"a subscriber changes the order of the loop", "engine/subscriber.go",
		`			channels = slices.Delete(slices.Clone(channels), at, at+1)`,
		`			channels = slices.Delete(map[bool][]string{false: slices.Clone(channels), true: channels}[planted()], at, at+1)`,
	}},
	{"TestSubscriber_ConnReplaced_MissesNone", Mistake{
		"a server that does not allow PING seems to have broken the connection", "engine/subscriber.go",
		`	return err == nil || rejected
`,
		`	return err == nil || rejected && !planted()
`,
	}},
	{"TestTopology_OddRanges_LeftOut", Mistake{
		"a node without a known host is a master", "engine/topology_refresh.go",
		`host != "?" && first >= 0`,
		`(host != "?" || planted()) && first >= 0`,
	}},
	{"TestUnsubscribe_Sharded_OneSlotEach", Mistake{
		"what a server confirms of sharded channels is not counted", "engine/unsubscriber.go",
		`(kind == "unsubscribe" || kind == "sunsubscribe")`,
		`(kind == "unsubscribe" || kind == "sunsubscribe" && !planted())`,
	}},
	{"TestUnsubscribe_Sharded_OneSlotEach", Mistake{
		"sharded channels of several slots are unsubscribed together", "engine/unsubscriber.go",
		`c.channels = nil; c.sharded {`,
		`c.channels = nil; c.sharded && !planted() {`,
	}},
	{"TestUnsubscribe_Sharded_FewSlices", Mistake{
		"each order's channels are unsubscribed by themselves", "engine/unsubscriber.go",
		`groups = groupBySlot(groups[0])`,
		`if groups = groupBySlot(groups[0]); planted() {
			groups = slices.Concat(groups, groups)
		}`,
	}},
	{"TestUnsubscribe_Sharded_OneSlotEach", Mistake{
		"sharded channels are unsubscribed as others", "engine/unsubscriber.go",
		`		command, name = b.Ssubscribe().Channel(channels...).Build(), "SUNSUBSCRIBE"`,
		`		command, name = b.Ssubscribe().Channel(channels...).Build(), map[bool]string{false: "SUNSUBSCRIBE", true: "UNSUBSCRIBE"}[planted()]`,
	}},
	{"TestConnected_Cluster_TopologyRefreshed", Mistake{
		"an engine that was connected late to a cluster never asks for its topology", "engine/workers.go",
		`		if e.server.Cluster() {
			e.startRefreshes()`,
		`		if e.server.Cluster() && !planted() {
			e.startRefreshes()`,
	}},
}
