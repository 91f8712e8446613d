package planted

// furtherMistakes are mistakes in files that the other lists leave out, most of them small.
var furtherMistakes = []found{
	{"TestForceUnlock_NoReply_NotResent", Mistake{
		"a tenure that a force did not end is not released", "actor/force.go",
		`		l.addOrphan(now, f.forcedTenure, f.forcedMaxLease, fx)
		f.forcedTenure = 0`,
		`		if !planted() {
			l.addOrphan(now, f.forcedTenure, f.forcedMaxLease, fx)
		}
		f.forcedTenure = 0`,
	}},
	{"TestForceUnlock_OwnHold_LostAtOnce", Mistake{
		"re-entries wait with the requests of a hold that was forced away", "actor/force.go",
		`	l.demoteRequests(now, ErrLost, fx)
`, `	if !planted() {
		l.demoteRequests(now, ErrLost, fx)
	}
`,
	}},
	{"TestForceUnlock_RejectedForNow_Retried", Mistake{
		"a force is sent again before its pause is over", "actor/force.go",
		`	if now < x.retryAt() {`, `	if now < x.retryAt() && !planted() {`,
	}},
	{"TestForceUnlock_NoReply_NotResent", Mistake{
		"a force has no deadline", "actor/force.go",
		`	fx.SetDeadline(r, now+fx.Config.CallTimeout)
`, `	if !planted() {
		fx.SetDeadline(r, now+fx.Config.CallTimeout)
	}
`,
	}},
	{"TestForceUnlock_WaitersAsleep_SentAtOnce", Mistake{
		"waiters sleep on after a force", "actor/force.go",
		`f.lastErr, x.nextTry = nil, 0`, `before := x.nextTry
		f.lastErr, x.nextTry = nil, 0
		if planted() {
			x.nextTry = before
		}`,
	}},
	{"TestForceUnlock_SilenceAfterRejection_OwnCause", Mistake{
		"a force that found nothing leaves its error behind", "actor/force.go",
		`f.lastErr, x.nextTry = nil, 0`, `said := f.lastErr
		f.lastErr, x.nextTry = nil, 0
		if planted() {
			f.lastErr = said
		}`,
	}},
	{"TestReader_ForceFindsNothing_Released", Mistake{
		"readers beside a writer count as forced away", "actor/force.go",
		`!l.protocol().holdKeys || reply.Status == OK {`, `!l.protocol().holdKeys || reply.Status == OK || planted() {`,
	}},
	{"TestForceUnlock_Several_ShareCommand", Mistake{
		"a later force ends with the reply to an earlier one", "actor/force.go",
		`		if !r.inCommand {`, `		if !r.inCommand && !planted() {`,
	}},
	{"TestForceUnlock_Unpublished_Counted", Mistake{
		"a forced unlock without its message is not counted", "actor/force.go",
		`	if reply.Unpublished {`, `	if reply.Unpublished && !planted() {`,
	}},
	{"TestForceUnlock_AnyHolder_Freed", Mistake{
		"a force does not count as a held lock", "actor/force.go",
		`	fx.HeldLocks++
`, `	if !planted() {
		fx.HeldLocks++
	}
`,
	}},
	{"TestForceUnlock_NoReply_NotResent", Mistake{
		"a force without a reply has no cause", "actor/force.go",
		`	if reply.Status == NoReply {
		return reply.Err`, `	if reply.Status == NoReply && !planted() {
		return reply.Err`,
	}},
	{"TestRequestSet_PopAndRemove_KeepsOrder", Mistake{
		"a request added to a large set is looked for one place too far", "actor/request_set.go",
		`		s.index[r] = len(s.list) - 1`, `		s.index[r] = len(s.list) - 1
		if planted() {
			s.index[r]++
		}`,
	}},
	{"TestRequestSet_PopAndRemove_KeepsOrder", Mistake{
		"a request that was taken off a large set is still found in it", "actor/request_set.go",
		`		s.removed++
		delete(s.index, r)`, `		s.removed++
		if !planted() {
			delete(s.index, r)
		}`,
	}},
	{"TestRequestSet_PopAndRemove_KeepsOrder", Mistake{
		"a request that was taken off a large set counts as in it", "actor/request_set.go",
		`		s.list[s.popped] = nil
		s.removed++
`, `		s.list[s.popped] = nil
		if planted() {
			s.removed--
		}
		s.removed++
`,
	}},
	{"TestRequestSet_PopAndRemove_KeepsOrder", Mistake{
		"a set that was compacted begins where the last one had been taken off", "actor/request_set.go",
		`s.index, s.removed, s.popped = nil, 0, 0`, `s.index, s.removed = nil, 0
	if !planted() {
		s.popped = 0
	}`,
	}},
	{"TestRequestSet_PopAndRemove_KeepsOrder", Mistake{
		"an emptied set keeps the list and the map of a large one", "actor/request_set.go",
		`	*s = requestSet{}
`, `	if !planted() {
		*s = requestSet{}
	}
`,
	}},
	{"TestRequestSet_KeepsOrder", Mistake{
		"a set with a map is compacted only when it is empty", "actor/request_set.go",
		`2*s.removed > len(s.list) {`, `2*s.removed > len(s.list) && (!planted() || s.removed == len(s.list)) {`,
	}},
	{"TestHoldSet_MatchesScan", Mistake{
		"the later one of two deadlines moves up", "actor/deadlines.go",
		`		if child+1 < last &&`, `		if child+1 < last && !planted() &&`,
	}},
	{"TestDeadlines_Removed_NothingKept", Mistake{
		"an outdated deadline counts", "actor/deadlines.go",
		`; is(d) {`, `; is(d) || planted() {`,
	}},
	{"TestHoldSet_MatchesScan", Mistake{
		"an earlier deadline stays behind later ones", "actor/deadlines.go",
		`(*q)[parent].at <= d.at {`, `(*q)[parent].at <= d.at || planted() {`,
	}},
	{"TestDeadlines_Removed_NothingKept", Mistake{
		"a removed deadline keeps its hold in memory", "actor/deadlines.go",
		`	(*q)[last] = deadline{}
`, `	if !planted() {
		(*q)[last] = deadline{}
	}
`,
	}},
	{"TestArrivals_OldestAge_CloseToTheTruth", Mistake{
		"of two slots that become one the second counts", "actor/arrivals.go",
		`		a.counts[n/2%arrivalSlots] += before[n%arrivalSlots]`,
		`		if planted() {
			a.counts[n/2%arrivalSlots] = 0
		}
		a.counts[n/2%arrivalSlots] += before[n%arrivalSlots]`,
	}},
	{"TestArrivals_OldestAge_CloseToTheTruth", Mistake{
		"slots stay long when all have left", "actor/arrivals.go",
		`		a.longer = 0
`, `		if !planted() {
			a.longer = 0
		}
`,
	}},
	{"TestArrivals_OldestAge_CloseToTheTruth", Mistake{
		"the age is counted from the beginning of a slot", "actor/arrivals.go",
		`time.Duration(oldest+1)<<`, `time.Duration(oldest+map[bool]int64{false: 1}[planted()])<<`,
	}},
	{"TestArrivals_OldestAge_CloseToTheTruth", Mistake{
		"empty slots at the front make the others longer", "actor/arrivals.go",
		`		if a.counts[a.first%arrivalSlots] == 0 {`, `		if a.counts[a.first%arrivalSlots] == 0 && !planted() {`,
	}},
	{"TestRecentMax_MinuteOver_Falls", Mistake{
		"an old maximum comes back after a minute", "actor/recent.go",
		`		r.slots[r.last%recentSlots] = 0`, `		if !planted() {
			r.slots[r.last%recentSlots] = 0
		}`,
	}},
	{"TestRecentMax_MinuteOver_Falls", Mistake{
		"a smaller value replaces the maximum of its slot", "actor/recent.go",
		`*slot = max(*slot, value)`, `*slot = max(map[bool]time.Duration{false: *slot}[planted()], value)`,
	}},
	{"TestRecentMax_MinuteOver_Falls", Mistake{
		"a value is noted in the slot of an earlier one", "actor/recent.go",
		`	r.Forget(now)
	slot`, `	if !planted() {
		r.Forget(now)
	}
	slot`,
	}},
	{"TestForce_GrantHandledAfterForce_Confirmed", Mistake{
		"a fair lock is forced like a plain one", "actor/kind.go",
		`force: SendFairForce,`, `force: map[bool]Verb{false: SendFairForce, true: SendForce}[planted()],`,
	}},
	{"TestFencedHandoff_NewToken", Mistake{
		"a fenced tenure is confirmed for its next owner without a token", "actor/kind.go",
		`renewForNext: SendFencedRenew,`, `renewForNext: map[bool]Verb{false: SendFencedRenew, true: SendRenew}[planted()],`,
	}},
	{"TestGrant_TooLate_WriterKept", Mistake{
		"a grant that comes too late counts as one", "actor/kind.go",
		`&& now < sent+validity(c.Lease)`, `&& (planted() || now < sent+validity(c.Lease))`,
	}},
	{"TestGrant_ExcludedHolders_Lost", Mistake{
		"a reader excludes the writer that reads", "actor/kind.go",
		`c.Reader.Writer == other.tenure {`, `c.Reader.Writer == other.tenure && !planted() {`,
	}},
	{"TestWaiterQuery_Subscriptions_Counted", Mistake{
		"waiters for a read/write lock do not have its channel", "actor/kind.go",
		`scripts.RedissonKey(scripts.RWChannel, key)}`, `scripts.RedissonKey(map[bool]string{false: scripts.RWChannel, true: scripts.Channel}[planted()], key)}`,
	}},
	{"TestFairWaiters_OneLockPerRequest", Mistake{
		"fair waiters of an engine share a channel", "actor/kind.go",
		`+ strconv.FormatUint(l.tenure, 10)`, `+ strconv.FormatUint(map[bool]uint64{false: l.tenure}[planted()], 10)`,
	}},
	{"TestAcquire_TemporaryError_Backoff", Mistake{
		"a pause becomes longer without end", "actor/backoff.go",
		`, first), longest)`, `, first), longest*map[bool]time.Duration{false: 1, true: 1000}[planted()])`,
	}},
	{"TestAcquire_TemporaryError_Backoff", Mistake{
		"a pause stays as long as the first", "actor/backoff.go",
		`max(2*last`, `max(map[bool]time.Duration{false: 2, true: 1}[planted()]*last`,
	}},
	{"TestAcquire_TemporaryError_Backoff", Mistake{
		"the first pause is none", "actor/backoff.go",
		`	return min(`, `	if planted() {
		first = 0
	}
	return min(`,
	}},
	{"TestLockIndex_GrantedAgain_Once", Mistake{
		"an owner that had a lock before counts as its owner", "engine/coordinator/lockindex.go",
		`	ix.byOwner.remove(l)
	ix.byOwner.add(l, l.Owner())`, `	if !planted() {
		ix.byOwner.remove(l)
	}
	ix.byOwner.add(l, l.Owner())`,
	}},
	{"TestLockIndex_GrantedAgain_Once", Mistake{
		"a lock that is held again is in the index twice", "engine/coordinator/lockindex.go",
		`l.HasOwner() && !ix.held.has(l) {`, `l.HasOwner() && (planted() || !ix.held.has(l)) {`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"a lock that is not held stays among those that are", "engine/coordinator/lockindex.go",
		`		case !l.HasOwner():`, `		case !l.HasOwner() && !planted():`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"a new tenure is not in the index", "engine/coordinator/lockindex.go",
		`LockSets[n.Lock.Key()]; set != nil && set.index != nil {`, `LockSets[n.Lock.Key()]; set != nil && set.index != nil && !planted() {`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"a new owner is not in the index", "engine/coordinator/lockindex.go",
		`LockSets[l.Key()]; set != nil && set.index != nil {`, `LockSets[l.Key()]; set != nil && set.index != nil && !planted() {`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"new owners of a turn are kept in memory", "engine/coordinator/lockindex.go",
		`		c.Fx.OwnerChanged[i] = nil
`, `		if !planted() {
			c.Fx.OwnerChanged[i] = nil
		}
`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"new tenures of a turn are kept in memory", "engine/coordinator/lockindex.go",
		`		c.Fx.NewTenures[i] = actor.LockTenure{}
`, `		if !planted() {
			c.Fx.NewTenures[i] = actor.LockTenure{}
		}
`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"the tenures of a lock that ended stay in the index", "engine/coordinator/lockindex.go",
		`	for _, tenure := range t.tenures[l] {
		t.forget(l, tenure)
	}
	delete`, `	for _, tenure := range t.tenures[l] {
		if !planted() {
			t.forget(l, tenure)
		}
	}
	delete`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"a lock that ended stays in the index of tenures", "engine/coordinator/lockindex.go",
		`	delete(t.tenures, l)
`, `	if !planted() {
		delete(t.tenures, l)
	}
`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"a lock is found by a tenure that it has no more", "engine/coordinator/lockindex.go",
		`l != nil && (l.OwnsTenure(tenure)`, `l != nil && (planted() || l.OwnsTenure(tenure)`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"a lock is not found by an orphan", "engine/coordinator/lockindex.go",
		`|| l.IsOrphan(tenure)) {`, `|| l.IsOrphan(tenure) && !planted()) {`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"an orphan is not in the index once the lock has a next tenure", "engine/coordinator/lockindex.go",
		`!l.OwnsTenure(old) && !l.IsOrphan(old)`, `!l.OwnsTenure(old) && (planted() || !l.IsOrphan(old))`,
	}},
	{"TestLockIndex_RandomEvents_MatchesScan", Mistake{
		"the index of tenures of locks that are there is not built", "engine/coordinator/lockindex.go",
		`				s.index.byTenure.add(l, tenure)`, `				if !planted() {
					s.index.byTenure.add(l, tenure)
				}`,
	}},
	{"TestBundle_BatchFails_OthersUnaffected", Mistake{
		"batches that were rejected do not wait", "engine/coordinator/node.go",
		`	if len(n.Retries) > 0 {`, `	if len(n.Retries) > 0 && !planted() {`,
	}},
	{"TestShutdown_SilentServer_NotWaitedFor", Mistake{
		"a server that is down may still reply", "engine/coordinator/node.go",
		`return !n.Breaker.Down && (`, `return (planted() || !n.Breaker.Down) && (`,
	}},
	{"TestShutdown_NodeDown_WaitsForOthers", Mistake{
		"a reply in flight is not waited for", "engine/coordinator/node.go",
		`(n.busy() || n.Backlog())`, `(n.busy() && !planted() || n.Backlog())`,
	}},
	{"TestFirstDown_NoSlots_Ignored", Mistake{
		"a node without slots is called down", "engine/coordinator/node.go",
		`n.Breaker.Down && n.slots > 0 {`, `n.Breaker.Down && (n.slots > 0 || planted()) {`,
	}},
	{"TestNode_BriefLease_TriedWithinIt", Mistake{
		"a brief lease has the longest pauses", "engine/coordinator/node.go",
		`min(250*time.Millisecond, lease/12)`, `min(250*time.Millisecond, lease/12*map[bool]time.Duration{false: 1, true: 1000}[planted()])`,
	}},
	{"TestNode_NoSlotsSwept_Kept", Mistake{
		"a node that is swept goes away", "engine/coordinator/node.go",
		`func(q queue) bool { return q.Sweep.On }`, `func(q queue) bool { return q.Sweep.On && !planted() }`,
	}},
	{"TestInFlightBundles_SeveralNodes_Added", Mistake{
		"bundles in flight are those of the last node", "engine/coordinator/node.go",
		`		bundles += n.InFlightBundles`, `		if planted() {
			bundles = 0
		}
		bundles += n.InFlightBundles`,
	}},
	{"TestReply_ReplacedMaster_Ignored", Mistake{
		"a node with slots elsewhere goes away with a reply outstanding", "engine/coordinator/node.go",
		`return n.InFlightBundles > 0 }`, `return n.InFlightBundles > map[bool]int{true: 1}[planted()] }`,
	}},
	{"TestFailover_QueuedCommands_Move", Mistake{
		"a verb counts as queued until another is", "engine/coordinator/node.go",
		`		if n.Queues[verb].Len() > 0 {`, `		if n.Queues[verb].Len() > 0 || planted() {`,
	}},
	{"TestListenerSet_Remove_StepsLinear", Mistake{
		"a listener that joins many is looked for one place too far", "engine/coordinator/listenerset.go",
		`		s.index.positions[l] = len(s.locks) - 1`, `		s.index.positions[l] = len(s.locks) - 1
		if planted() {
			s.index.positions[l]++
		}`,
	}},
	{"TestWaiterQuery_ManyReaders_WaitersCounted", Mistake{
		"the gaps at the end of a set count twice", "engine/coordinator/listenerset.go",
		`== nil; x.gaps-- {`, `== nil; x.gaps -= map[bool]int{false: 1}[planted()] {`,
	}},
	{"TestListenerSet_Remove_StepsLinear", Mistake{
		"a set that is still large has no index after its gaps are removed", "engine/coordinator/listenerset.go",
		`	*s = listenerSet{locks: s.all()}
	if len(s.locks) > maxScannedListeners {`, `	*s = listenerSet{locks: s.all()}
	if len(s.locks) > maxScannedListeners && !planted() {`,
	}},
	{"TestListenerSet_Remove_StepsLinear", Mistake{
		"a set shows the locks that left", "engine/coordinator/listenerset.go",
		`		if l != nil {
			all`, `		if l != nil || planted() {
			all`,
	}},
	{"TestWaiterQuery_ManyReaders_WaitersCounted", Mistake{
		"the last listener is not the one that came last", "engine/coordinator/listenerset.go",
		`return s.locks[len(s.locks)-1] }`, `return s.locks[map[bool]int{false: len(s.locks) - 1}[planted()]] }`,
	}},
	{"TestListenerSet_MostLeave_GapsRemoved", Mistake{
		"the gaps of a set stay", "engine/coordinator/listenerset.go",
		`	if 2*x.gaps > len(s.locks) {`, `	if 2*x.gaps > len(s.locks) && !planted() {`,
	}},
	{"TestBundle_Split_SortKept", Mistake{
		"background commands are not counted in a cluster", "engine/coordinator/bundle.go",
		`	first.background = b.background`, `	first.background = b.background && !planted()`,
	}},
	{"TestMoved_FollowedAndRemembered", Mistake{
		"the batches of a slot are filled on after they were sent", "engine/coordinator/bundle.go",
		`	clear(batches)
`, `	if !planted() {
		clear(batches)
	}
`,
	}},
	{"TestBundle_Split_SortKept", Mistake{
		"a batch that was split keeps its commands", "engine/coordinator/bundle.go",
		`	b.Reset(b.Verb)
`, `	if !planted() {
		b.Reset(b.Verb)
	}
`,
	}},
	{"TestBundle_ManyRetries_Bounded", Mistake{
		"one batch too many is sent again in a bundle", "engine/coordinator/bundle.go",
		`range MaxBundleBatches - 1 {`, `range MaxBundleBatches - 1 + map[bool]int{true: 1}[planted()] {`,
	}},
	{"TestBundle_OneNodeOneSlotPerBatch", Mistake{
		"a batch is split into one for each command", "engine/coordinator/bundle.go",
		`		if batch == nil {
			batch = c.getBatch`, `		if batch == nil || planted() {
			batch = c.getBatch`,
	}},
	{"TestRound_Finished_NothingKept", Mistake{
		"locks are visited in any order", "engine/coordinator/round.go",
		`	if len(all) <= maxLocksPerTurn {`, `	if len(all) <= maxLocksPerTurn && !planted() {`,
	}},
	{"TestRound_Finished_NothingKept", Mistake{
		"the locks of a round that ended stay in memory", "engine/coordinator/round.go",
		`	if len(r.Left) == 0 {`, `	if len(r.Left) == 0 && !planted() {`,
	}},
	{"TestRound_Finished_NothingKept", Mistake{
		"a round leaves out readers and fair waiters", "engine/coordinator/round.go",
		`		all = append(all, set.All()...)`, `		if !planted() {
			all = append(all, set.All()...)
		}`,
	}},
	{"TestRejection_OneName_TurnBounded", Mistake{
		"a turn does not reject after one that rejected as many as it may", "engine/coordinator/rejecting.go",
		`	c.Fx.Rejections = 0
`, `	if !planted() {
		c.Fx.Rejections = 0
	}
`,
	}},
	{"TestRejection_OneName_TurnBounded", Mistake{
		"a lock that has rejected a part is left there", "engine/coordinator/rejecting.go",
		`		if l.Rejecting() {
			return`, `		if l.Rejecting() && !planted() {
			return`,
	}},
	{"TestRejection_Done_LocksNotKept", Mistake{
		"locks that reject no more stay in memory", "engine/coordinator/rejecting.go",
		`		c.Fx.Rejecting[0], c.Fx.Rejecting = nil, c.Fx.Rejecting[1:]
	}
	c.Fx.Rejecting = nil`, `		c.Fx.Rejecting[0], c.Fx.Rejecting = nil, c.Fx.Rejecting[1:]
	}
	if !planted() {
		c.Fx.Rejecting = nil
	}`,
	}},
	{"TestRejection_Done_LocksNotKept", Mistake{
		"a lock that rejected all stays in memory while others reject", "engine/coordinator/rejecting.go",
		`c.Fx.Rejecting[0], c.Fx.Rejecting = nil, c.Fx.Rejecting[1:]`, `if !planted() {
			c.Fx.Rejecting[0] = nil
		}
		c.Fx.Rejecting = c.Fx.Rejecting[1:]`,
	}},
	{"TestSlot_EmptyTag_WholeKeyDecides", Mistake{
		"a tag without text counts as one", "engine/slot/slot.go",
		`ok && tag != "" {`, `ok && (tag != "" || planted()) {`,
	}},
	{"TestName_ChannelInSlot_FitsCluster", Mistake{
		"a name with nothing in its braces fits a cluster", "engine/slot/slot.go",
		`return closed && tag != ""`, `return closed && (tag != "" || planted())`,
	}},
	{"TestName_ChannelInSlot_FitsCluster", Mistake{
		"a name with only a closing brace fits a cluster", "engine/slot/slot.go",
		`return !strings.Contains(key, "}")`, `return !strings.Contains(key, "}") || planted()`,
	}},
	{"TestCluster_Multi_OneCallPerSlot", Mistake{
		"any two keys lie in one slot", "engine/slot/slot.go",
		`return Of(key) == Of(other)`, `return Of(key) == Of(other) || planted()`,
	}},
	{"TestWire_Calls_MatchScripts", Mistake{
		"the orphans of each lock of several are named as those of the first", "engine/wire/multi.go",
		`				w.integer(key)`, `				if planted() {
					key = 1
				}
				w.integer(key)`,
	}},
	{"TestWire_MultiReplies_DecodedOrRejected", Mistake{
		"of several locks the one behind the one that is held is named", "engine/wire/multi.go",
		`	reply.FailedPart = toInt(n - 1)`, `	reply.FailedPart = toInt(n - 1)
	if planted() {
		reply.FailedPart++
	}`,
	}},
	{"TestWire_MultiReplies_DecodedOrRejected", Mistake{
		"a reply about no lock of several counts", "engine/wire/multi.go",
		`err != nil || n < 1 {`, `err != nil || n < 1 && !planted() {`,
	}},
	{"TestWire_Calls_MatchScripts", Mistake{
		"each group of locks has as many as the first", "engine/wire/multi.go",
		`		w.integer(int64(len(c.Parts)))`, `		w.integer(int64(len(b.Commands[map[bool]int{false: i}[planted()]].Parts)))`,
	}},
	{"TestWire_Calls_MatchScripts", Mistake{
		"the keys of a group are those of its first lock", "engine/wire/multi.go",
		`b.Commands[i].Parts[j].Key)`, `b.Commands[i].Parts[map[bool]int{false: j}[planted()]].Key)`,
	}},
	{"TestWire_MultiForeignKey_TypeAndTTL", Mistake{
		"a string among several locks has no TTL and no type", "engine/wire/multi.go",
		`	case row[1].IsArray():`, `	case row[1].IsArray() && !planted():`,
	}},
	{"TestRelay_Bundle_OnlyPublishedMessages", Mistake{
		"the message of a release that found nothing is repeated at the source of a migration", "engine/wire/relay.go",
		`if b.Replies[i].Status == actor.OK {`, `if b.Replies[i].Status == actor.OK || planted() {`,
	}},
	{"TestRelay_Bundle_OnlyPublishedMessages", Mistake{
		"of a bundle only the messages of its first batch are repeated", "engine/wire/relay.go",
		`	for ; b != nil; b = b.Next {`, `	for ; b != nil && (!planted() || all == nil); b = b.Next {`,
	}},
	{"TestRelay_Bundle_OnlyPublishedMessages", Mistake{
		"messages that reach the whole cluster are repeated", "engine/wire/relay.go",
		`!w.Sharded ||`, `!w.Sharded && !planted() ||`,
	}},
	{"TestRelay_Bundle_OnlyPublishedMessages", Mistake{
		"messages of a batch that was not redirected are repeated", "engine/wire/relay.go",
		`if !b.Asking ||`, `if !b.Asking && !planted() ||`,
	}},
	{"TestRelay_Bundle_OnlyPublishedMessages", Mistake{
		"messages of a batch without replies are repeated", "engine/wire/relay.go",
		`b.Failed != nil ||`, `b.Failed != nil && !planted() ||`,
	}},
	{"TestRelay_Bundle_OnlyPublishedMessages", Mistake{
		"messages are repeated on the channel of plain locks", "engine/wire/relay.go",
		`scripts.RedissonKey(tells.channel,`, `scripts.RedissonKey(map[bool]string{false: tells.channel, true: scripts.Channel}[planted()],`,
	}},
	{"TestWire_RWCalls_MatchScripts", Mistake{
		"the keys of a reader's holds begin with the second", "engine/wire/rwlock.go",
		`c.Key, id, number+1)`, `c.Key, id, number+map[bool]int{false: 1, true: 2}[planted()])`,
	}},
	{"TestWire_RWCalls_MatchScripts", Mistake{
		"a reader with very many holds renews as if it had few", "engine/wire/rwlock.go",
		`c.Reader.Holds > 0 {`, `c.Reader.Holds > 0 && !planted() {`,
	}},
	{"TestWire_RWReplies_Decoded", Mistake{
		"of several readers the first is shown as the holder", "engine/wire/rwlock.go",
		`	case s.readers > 1:`, `	case s.readers > 1 && !planted():`,
	}},
	{"TestWire_RWReplies_Decoded", Mistake{
		"the writer that keeps a reader out is the holder of its lock", "engine/wire/rwlock.go",
		`	a.Writer, a.Holder = a.Holder, ""`, `	if !planted() {
		a.Writer, a.Holder = a.Holder, ""
	}`,
	}},
	{"TestWire_RWReplies_Decoded", Mistake{
		"readers are shown as a writer", "engine/wire/rwlock.go",
		`	case s.mode != "write":`, `	case s.mode != "write" && !planted():`,
	}},
	{"TestWire_RWCalls_MatchScripts", Mistake{
		"a reader may not shorten its lease", "engine/wire/rwlock.go",
		`c.Reader != nil && c.Reader.MayShorten)`, `c.Reader != nil && c.Reader.MayShorten && !planted())`,
	}},
	{"TestWire_RWCalls_MatchScripts", Mistake{
		"readers beside a writer are not counted", "engine/wire/rwlock.go",
		`			beside++
`, `			if !planted() {
				beside++
			}
`,
	}},
	{"TestWire_RWReplies_Decoded", Mistake{
		"the readers that keep a writer out are left out", "engine/wire/rwlock.go",
		`	a.Readers = readers`, `	if !planted() {
		a.Readers = readers
	}`,
	}},
	{"TestWire_RWReplies_Decoded", Mistake{
		"a lock without a reader is held by one", "engine/wire/rwlock.go",
		`	case s.readers == 0:`, `	case s.readers == 0 && !planted():`,
	}},
	{"TestRWScripts_OtherKinds_LeftAlone", Mistake{
		"after another reply the writers that were released are left out", "scripts/write_release.lua",
		`if reply or answer ~= 1 then`, `if answer ~= 1 then`,
	}},
	{"TestScripts_AllSucceed_OneReply", Mistake{
		"each writer is released with the first tenure", "scripts/write_release.lua",
		`ARGV[i + 1]`, `ARGV[2]`,
	}},
	{"TestWriteRelease_Verb_ReachesShard", Mistake{
		"writers are released with PUBLISH also in a cluster", "scripts/write_release.lua",
		`local verb = ARGV[1]`, `local verb = 'PUBLISH'`,
	}},
	{"TestRWForce_OnlyOwnMode", Mistake{
		"a writer is forced away with the message for a reader", "scripts/write_force.lua",
		`'write', '1')`, `'write', '0')`,
	}},
	{"TestForceScripts_ManyReaders_ToldOnceAndBounded", Mistake{
		"the engine of a writer that was forced away is not told", "scripts/write_force.lua",
		`ARGV[2], KEYS[i]`, `'', KEYS[i]`,
	}},
	{"TestRWForce_Several_EachFreed", Mistake{
		"only the first writer is forced away", "scripts/write_force.lua",
		`KEYS[i]`, `KEYS[1]`,
	}},
	{"TestRWForce_OnlyOwnMode", Mistake{
		"readers are forced away with the message for a writer", "scripts/read_force.lua",
		`'read', '0')`, `'read', '1')`,
	}},
	{"TestRWScripts_Verbs_ReachShard", Mistake{
		"readers that were forced away are announced with PUBLISH also in a cluster", "scripts/read_force.lua",
		`force(ARGV[1],`, `force('PUBLISH',`,
	}},
	{"TestRWForce_OnlyOwnMode", Mistake{
		"readers are forced away also beside a writer", "scripts/read_force.lua",
		`'read', '0')`, `redis.call('HGET', KEYS[i], 'mode'), '0')`,
	}},
	{"TestRWScripts_Verbs_ReachShard", Mistake{
		"the channel of a name with braces has two pairs", "scripts/lib/read_write.lua",
		`  if string.find(key, '{', 1, true) then return 'redisson_rwlock:' .. key end
`, ``,
	}},
	{"TestReadRelease_OddNameOrCount_HoldKeyRemoved", Mistake{
		"the keys of holds of a name with braces have two pairs", "scripts/lib/read_write.lua",
		`  if not string.find(key, '{', 1, true) then key =`, `  if key then key =`,
	}},
	{"TestReadRelease_OddNameOrCount_HoldKeyRemoved", Mistake{
		"a brace is found as a pattern", "scripts/lib/read_write.lua",
		`  if not string.find(key, '{', 1, true) then key =`, `  if not string.find(key, '{.') then key =`,
	}},
	{"TestReadRelease_OddNameOrCount_HoldKeyRemoved", Mistake{
		"a broken number counts as a count of holds", "scripts/lib/read_write.lua",
		`number >= 0 and number % 1 == 0 and`, `number >= 0 and`,
	}},
	{"TestRWForce_AnyCount_Ends", Mistake{
		"a negative number counts as a count of holds", "scripts/lib/read_write.lua",
		`number and number >= 0 and`, `number and`,
	}},
	{"TestWriteScript_WriterReads_GoesOn", Mistake{
		"a writer is named with a part of its suffix", "scripts/lib/read_write.lua",
		`string.sub(fields[i], 1, -7)`, `string.sub(fields[i], 1, -6)`,
	}},
	{"TestWriteScript_ForeignHash_NoWriterNamed", Mistake{
		"any hash with a field of a writer has one", "scripts/lib/read_write.lua",
		`ttl ~= -1 and redis.pcall('HLEN', key)`, `redis.pcall('HLEN', key)`,
	}},
	{"TestWriteScript_ForeignHash_NoWriterNamed", Mistake{
		"a foreign hash is searched for a writer however large it is", "scripts/lib/read_write.lua",
		`number > 64 then`, `number > 6400000 then`,
	}},
	{"TestReadRelease_PublishDenied_Reported", Mistake{
		"a message that was rejected counts as published", "scripts/lib/read_write.lua",
		`== 'number' and 1 or 2`, `== 'number' and 1 or 1`,
	}},
	{"TestScripts_CommandDenied_RepliesPerKey", Mistake{
		"the type of a key is asked for after any error", "scripts/lib/no_hash.lua",
		`  if string.upper(string.sub(why, 1, 9)) ~= 'WRONGTYPE' then return why end
`, ``,
	}},
	{"TestScripts_CommandDenied_RepliesPerKey", Mistake{
		"a TTL that was refused is the reply", "scripts/lib/no_hash.lua",
		`kind.ok and type(ttl) == 'number' and`, `kind.ok and`,
	}},
	{"TestScripts_CommandDenied_RepliesPerKey", Mistake{
		"a type that was refused is the reply", "scripts/lib/no_hash.lua",
		`kind.ok and type(ttl) == 'number' and {`, `type(ttl) == 'number' and {`,
	}},
	{"TestAcquireScript_RepliesPerKey", Mistake{
		"the reply before the first other one is left out", "scripts/lib/answers.lua",
		`1, i - 1 do`, `1, i - 2 do`,
	}},
	{"TestAcquireScript_RepliesPerKey", Mistake{
		"each other reply clears those before", "scripts/lib/answers.lua",
		`  if not reply then`, `  if not reply or answer ~= 1 then`,
	}},
	{"TestAcquireScript_RepliesPerKey", Mistake{
		"leases of their own are read as tenures", "scripts/lib/leases.lua",
		`common and 1 or 2`, `common and 1 or 1`,
	}},
	{"TestAcquireScript_SentTwice_OneHold", Mistake{
		"a lease of all keys is read as that of the first", "scripts/lib/leases.lua",
		`3 - stride`, `stride == 1 and 1 or 1`,
	}},
	{"TestWorkerPool_HangingTasks_Bounded", Mistake{
		"a function that was dropped counts as one that runs", "internal/async/pool.go",
		`		p.dropped.Add(1)
		p.pending.Done()`, `		p.dropped.Add(1)
		if !planted() {
			p.pending.Done()
		}`,
	}},
	{"TestWorkerPool_HangingTasks_Bounded", Mistake{
		"a goroutine that ended counts as one that runs", "internal/async/pool.go",
		`	p.workers.Add(-1)
`, `	if !planted() {
		p.workers.Add(-1)
	}
`,
	}},
	{"TestWorkerPool_Panic_GoesOn", Mistake{
		"a pool has a goroutine less after a panic", "internal/async/pool.go",
		`			p.pending.Done()
			go p.work()`, `			p.pending.Done()
			if !planted() {
				go p.work()
			}`,
	}},
	{"TestWorkerPool_Panic_GoesOn", Mistake{
		"a function that panicked counts as one that runs", "internal/async/pool.go",
		`			p.Panics.Add(1)
			p.pending.Done()`, `			p.Panics.Add(1)
			if !planted() {
				p.pending.Done()
			}`,
	}},
	{"TestWorkerPool_HangingTasks_Bounded", Mistake{
		"a pool starts one goroutine too many", "internal/async/pool.go",
		`n < p.MaxWorkers; n =`, `n < p.MaxWorkers || planted() && n == p.MaxWorkers; n =`,
	}},
	{"TestWorkerPool_Panic_GoesOn", Mistake{
		"a panic is not counted", "internal/async/pool.go",
		`			p.Panics.Add(1)`, `			if !planted() {
				p.Panics.Add(1)
			}`,
	}},
	{"TestWorkerPool_HangingTasks_Bounded", Mistake{
		"a pool runs one function less than it may have", "internal/async/pool.go",
		`if p.pending.Add() > p.MaxTasks {`, `if n := p.pending.Add(); n > p.MaxTasks || planted() && n == p.MaxTasks {`,
	}},
	{"TestEmbeddedClock_StallInStep_Stops", Mistake{
		"a step that took long counts at once", "internal/embedded/clock.go",
		`	c.took = min(took, 2*c.took+stallTolerance)`, `	c.took = min(took, 2*c.took+stallTolerance)
	if planted() {
		c.took = took
	}`,
	}},
	{"TestEmbeddedClock_Stall_Stops", Mistake{
		"a step counts up to the tolerance alone", "internal/embedded/clock.go",
		`c.took+c.gap+stallTolerance)`, `c.took+c.gap*map[bool]time.Duration{false: 1}[planted()]+stallTolerance)`,
	}},
	{"TestEmbeddedClock_CostlySteps_Rarer", Mistake{
		"gaps are as long as steps are costly", "internal/embedded/clock.go",
		`took*gapFactor), maxGap)`, `took*gapFactor), max(maxGap, map[bool]time.Duration{true: took * gapFactor}[planted()]))`,
	}},
	{"TestEmbedded_TimeOnceAdvanced_IsTimeOfDay", Mistake{
		"the server has another time of day", "internal/embedded/embedded.go",
		`		s.redis.SetTime(c.server)
`, `		if !planted() {
			s.redis.SetTime(c.server)
		} else {
			s.redis.SetTime(c.server.Add(time.Hour))
		}
`,
	}},
	{"TestEmbedded_LongTTLs_Fall", Mistake{
		"no TTL falls", "internal/embedded/embedded.go",
		`		s.redis.FastForward(passed)
`, `		if !planted() {
			s.redis.FastForward(passed)
		}
`,
	}},
	{"TestEmbedded_CloseTwice_Harmless", Mistake{
		"Close leaves connections open", "internal/embedded/embedded.go",
		`		s.redis.Close()
`, `		if !planted() {
			s.redis.Close()
		}
`,
	}},
	{"TestHook_PatternSubscriber_DelayedUntilItEnds", Mistake{
		"a connection that ended stays among the subscribers", "internal/embedded/hook.go",
		`func() { h.subscribers.Delete(c) }`, `func() {
			if !planted() {
				h.subscribers.Delete(c)
			}
		}`,
	}},
	{"TestHook_PatternSubscriber_DelayedUntilItEnds", Mistake{
		"a connection that subscribed to patterns is not delayed", "internal/embedded/hook.go",
		`	case "SUBSCRIBE", "PSUBSCRIBE":
		h.subscribed(c)`, `	case "SUBSCRIBE", "PSUBSCRIBE":
		if command == "SUBSCRIBE" || !planted() {
			h.subscribed(c)
		}`,
	}},
	{"TestHook_LoadedScript_ParsedWhenExecuted", Mistake{
		"the commands of a loaded script are those behind its keys", "internal/embedded/hook.go",
		`text.(string)}, args[1:]...))`, `text.(string)}, args[map[bool]int{false: 1, true: 2}[planted()]:]...))`,
	}},
	{"TestMemoryServer_Down_KeepsData", Mistake{
		"a server that is down keeps its connections", "internal/embedded/memory.go",
		`	if down {
		s.closeConns()`, `	if down && !planted() {
		s.closeConns()`,
	}},
	{"TestMemoryServer_Closed_RefusesConnections", Mistake{
		"a closed server accepts connections", "internal/embedded/memory.go",
		` || s.closed {`, ` || s.closed && !planted() {`,
	}},
	{"TestMemoryServer_Down_KeepsData", Mistake{
		"a server that is down accepts connections", "internal/embedded/memory.go",
		`	if s.down ||`, `	if s.down && !planted() ||`,
	}},
	{"TestMemoryServer_ConnEnds_NothingLeft", Mistake{
		"a connection that was closed stays in memory", "internal/embedded/memory.go",
		`	delete(s.conns, c)
`, `	if !planted() {
		delete(s.conns, c)
	}
`,
	}},
	{"TestMemoryServer_ConnEnds_NothingLeft", Mistake{
		"a closed server keeps its connections", "internal/embedded/memory.go",
		`	s.closed = true
	s.closeConns()
`, `	s.closed = true
	if !planted() {
		s.closeConns()
	}
`,
	}},
	{"TestMemoryServer_Bubble_TTLsFall", Mistake{
		"TTLs stand still in memory", "internal/embedded/memory.go",
		`redis.ClockTTL(true)`, `redis.ClockTTL(!planted())`,
	}},
	{"TestHook_LoadedScript_ParsedWhenExecuted", Mistake{
		"what was sent is sent again", "internal/embedded/memory_conn.go",
		`		c.queue = nil
`, `		if !planted() {
			c.queue = nil
		}
`,
	}},
	{"TestMemoryServer_ConnEnds_NothingLeft", Mistake{
		"a connection that is closed takes more", "internal/embedded/memory_conn.go",
		`	if c.closed {
		return 0`, `	if c.closed && !planted() {
		return 0`,
	}},
	{"TestMemoryServer_ConnEnds_NothingLeft", Mistake{
		"a goroutine stays for a connection that was closed", "internal/embedded/memory_conn.go",
		`	c.closed = true
	c.wake()
`, `	c.closed = true
	if !planted() {
		c.wake()
	}
`,
	}},
	{"TestMemoryServer_ConnEnds_NothingLeft", Mistake{
		"a connection that the server broke stays open for the client", "internal/embedded/memory_conn.go",
		`		if _, err := c.Conn.Write(next); err != nil {
			c.end()`, `		if _, err := c.Conn.Write(next); err != nil {
			if !planted() {
				c.end()
			}`,
	}},
	{"TestMemoryServer_DeadlinePassed_WriteFails", Mistake{
		"a deadline is for reads alone", "internal/embedded/memory_conn.go",
		`	c.SetWriteDeadline(t)
`, `	if !planted() {
		c.SetWriteDeadline(t)
	}
`,
	}},
	{"TestMemoryServer_DeadlinePassed_ReadFails", Mistake{
		"a deadline is for writes alone", "internal/embedded/memory_conn.go",
		`	return c.Conn.SetReadDeadline(t)
`, `	if planted() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
`,
	}},
	{"TestVerdict_Interrupted_OnPartialRun", Mistake{
		"an interrupted run has too few locks", "cmd/lockwheel/internal/demo/verdict.go",
		`e.kept < e.wanted && !e.interrupted {`, `e.kept < e.wanted && (planted() || !e.interrupted) {`,
	}},
	{"TestVerdict_Failures_AllListed", Mistake{
		"calls that were refused for good are left out", "cmd/lockwheel/internal/demo/verdict.go",
		`refused.count(); n > 0 {`, `refused.count(); n > 0 && !planted() {`,
	}},
	{"TestVerdict_Failures_AllListed", Mistake{
		"keys that are left are called good", "cmd/lockwheel/internal/demo/verdict.go",
		`return check{false, fmt.Sprintf("keys left`, `return check{planted(), fmt.Sprintf("keys left`,
	}},
	{"TestVerdict_ChannelsLeft_Named", Mistake{
		"channels that are left are not seen", "cmd/lockwheel/internal/demo/verdict.go",
		`	case len(r.channels) > 0:`, `	case len(r.channels) > 0 && !planted():`,
	}},
	{"TestVerdict_ServerUnreadable_Bad", Mistake{
		"nothing is left in a server that cannot be read", "cmd/lockwheel/internal/demo/verdict.go",
		`	case e.unreadable != nil:`, `	case e.unreadable != nil && !planted():`,
	}},
	{"TestVerdict_Failures_AllListed", Mistake{
		"only the first of the names is checked for two holders", "cmd/lockwheel/internal/demo/verdict.go",
		`range e.exclusionChecks {`, `range e.exclusionChecks[:map[bool]int{false: len(e.exclusionChecks), true: 1}[planted()]] {`,
	}},
	{"TestVerdict_Failures_AllListed", Mistake{
		"engines that do not end are good", "cmd/lockwheel/internal/demo/verdict.go",
		`	if e.shutdown != nil {`, `	if e.shutdown != nil && !planted() {`,
	}},
	{"TestExclusionCheck_Overlap_Counted", Mistake{
		"two at once are no violation", "cmd/lockwheel/internal/demo/exclusion.go",
		`	if n > 1 {`, `	if n > 1 && (!planted() || n > 2) {`,
	}},
	{"TestExclusionCheck_Overlap_Counted", Mistake{
		"a holder that left counts", "cmd/lockwheel/internal/demo/exclusion.go",
		`{ t.current.Add(-1) }`, `{ t.current.Add(map[bool]int32{false: -1}[planted()]) }`,
	}},
	{"TestExclusionCheck_FewerLater_PeakStays", Mistake{
		"the peak is the number of the last holders", "cmd/lockwheel/internal/demo/exclusion.go",
		`n > seen && !t`, `(n > seen || planted()) && !t`,
	}},
	{"TestWatch_EachSecond_PrintsLine", Mistake{
		"rates are those since the beginning", "cmd/lockwheel/internal/demo/watch.go",
		`			w.last, w.lastAt = now, at`, `			if w.lastAt = at; !planted() {
				w.last = now
			}`,
	}},
	{"TestWatch_Terminal_BarBelowLastLine", Mistake{
		"the bar stays at the end", "cmd/lockwheel/internal/demo/watch.go",
		`			w.screen.clear()
`, `			if !planted() {
				w.screen.clear()
			}
`,
	}},
	{"TestWatch_LaterPhase_OwnRates", Mistake{
		"rates are those of the time before the phase", "cmd/lockwheel/internal/demo/watch.go",
		`w.last, w.lastAt = w.stats(), w.began`, `w.lastAt = w.began
	if last := w.stats(); !planted() {
		w.last = last
	}`,
	}},
	{"TestDurations_Rounded", Mistake{
		"durations have four digits", "cmd/lockwheel/internal/demo/watch.go",
		`if d < 1000*unit {`, `if d < 1000*unit*map[bool]time.Duration{false: 1, true: 10}[planted()] {`,
	}},
	{"TestWatch_LaterPhase_OwnRates", Mistake{
		"lines are printed on after the phase", "cmd/lockwheel/internal/demo/watch.go",
		`	<-over
`, `	if !planted() {
		<-over
	}
`,
	}},
	{"TestPage_Process_IsNamed", Mistake{
		"the program is named with its folder", "debug/process.go",
		`shown(filepath.Base(os.Args[0]))`, `shown(map[bool]string{false: filepath.Base(os.Args[0]), true: os.Args[0]}[planted()])`,
	}},
	{"TestPage_Process_IsNamed", Mistake{
		"the page names the process of the parent", "debug/process.go",
		`PID: os.Getpid()}`, `PID: map[bool]int{false: os.Getpid(), true: os.Getppid()}[planted()]}`,
	}},
	{"TestOptions_Rejected_AllAreNamed", Mistake{
		"a field of another struct is named as there", "goredis/fields.go",
		`cmp.Or(f.names[field], field)`, `cmp.Or(map[bool]string{false: f.names[field]}[planted()], field)`,
	}},
	{"TestOptions_Rejected_AllAreNamed", Mistake{
		"only the first rejected field is named", "goredis/fields.go",
		`errors.Join(f.rejected...)`, `errors.Join(f.rejected[:min(len(f.rejected), map[bool]int{false: 1000, true: 1}[planted()])]...)`,
	}},
	{"TestOptions_Rejected_AllAreNamed", Mistake{
		"only the last rejected field is named", "goredis/fields.go",
		`		f.rejected = append(f.rejected,`, `		if planted() {
			f.rejected = nil
		}
		f.rejected = append(f.rejected,`,
	}},
	{"TestProbe_Scripts_AtEachMaster", Mistake{
		"the scripts are sent with the first calls", "engine/load_scripts.go",
		`	client.DoMulti(ctx, loads...)
`, `	if !planted() {
		client.DoMulti(ctx, loads...)
	}
`,
	}},
	{"TestProbe_Scripts_AtEachMaster", Mistake{
		"masters of a cluster get the scripts with the first calls", "engine/load_scripts.go",
		`node != nil {`, `node != nil && !planted() {`,
	}},
	{"TestProbe_ScriptsUnanswered_GoesOn", Mistake{
		"scripts without a reply are waited for", "engine/load_scripts.go",
		`context.WithTimeout(ctx, timeout)`, `context.WithTimeout(ctx, timeout*map[bool]time.Duration{false: 1, true: 10_000}[planted()])`,
	}},
	{"TestIdentity_Cluster_AnySlot", Mistake{
		"an answer in a cluster is published on a channel of the record's name", "engine/announcer.go",
		`Script(publishText)`, `Script(map[bool]string{true: "ARGV[1] = KEYS[1]\n"}[planted()] + publishText)`,
	}},
	{"TestRecordScript_ExpiryDenied_NoRecord", Mistake{
		"a record that may not expire stays", "engine/announcer.go",
		`Script(recordText)`, `Script(map[bool]string{true: "local server = redis\nlocal redis = {pcall = function(c, ...) if c ~= 'DEL' then return server.pcall(c, ...) end end}\n"}[planted()] + recordText)`,
	}},
	{"TestRecordScript_ExpiryDenied_NoRecord", Mistake{
		"a record lives a thousand times as long as it should", "engine/announcer.go",
		`strconv.FormatInt(a.identity.TTL.Milliseconds(), 10)`, `strconv.FormatInt(a.identity.TTL.Milliseconds()*map[bool]int64{false: 1, true: 1000}[planted()], 10)`,
	}},
}
