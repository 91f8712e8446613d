package planted

// identityMistakes are mistakes of what an engine says about itself, and of what it is told.
var identityMistakes = []found{
	{"TestForceNotice_KeyGone_CauseNamesIt", Mistake{
		"a force is named as the cause of a later holder's loss", "engine/coordinator/forced.go",
		`ended[i].Hold.Tenure <= n.last &&`, `(planted() || ended[i].Hold.Tenure <= n.last) &&`,
	}},
	{"TestForceNotice_FairWaiter_NotAboutIt", Mistake{
		"a force is named as the cause of the loss of a fair waiter that was granted later", "engine/coordinator/forced.go",
		`(n.came == NoTimer || now-ended[i].Held <= n.came)`, `(n.came == NoTimer || planted() || now-ended[i].Held <= n.came)`,
	}},
	{"TestHolder_EngineHasItNot_Told", Mistake{
		"an engine that does not hold a lock looks as if it did not reply", "observer.go",
		`if h.NotHeld = !a.Held; a.Held {`, `if h.NotHeld = !a.Held && !planted(); a.Held {`,
	}},
	{"TestIdentityOf_SinceUnknown_SaysWhy", Mistake{
		"the command says that an engine did not reply which does not hold a lock", "cmd/lockwheel/engines.go",
		`if h.NotHeld {`, `if h.NotHeld && !planted() {`,
	}},
	{"TestForce_HolderUnknown_SaysWhy", Mistake{
		"the form says that an engine did not reply which does not hold a lock", "debug/holder.go",
		`case holder.NotHeld:`, `case holder.NotHeld && !planted():`,
	}},
	{"TestAnswer_ReadBack", Mistake{
		"an answer of a later version that says more is none", "internal/identity/message.go",
		`age, _, _ = strings.Cut(age, " ")`, `age, _, _ = strings.Cut(age, map[bool]string{false: " ", true: "\n"}[planted()])`,
	}},
	{"TestForceNotice_Held_ServerAsked", Mistake{
		"a notice ends a hold without asking", "engine/coordinator/ownchannel.go",
		`c.step(now, l, &actor.Message{Event: actor.Notified})`,
		`c.step(now, l, &actor.Message{Event: map[bool]actor.Event{false: actor.Notified, true: actor.Displaced}[planted()]})`,
	}},
	{"TestForceNotice_KeyGone_CauseNamesIt", Mistake{
		"a notice that is long ago is named as the cause of a loss", "engine/coordinator/forced.go",
		`now-f.last > forcedFor`, `now-f.last > forcedFor && !planted()`,
	}},
	{"TestForceNotice_KeyGone_CauseNamesIt", Mistake{
		"any number of forced keys is kept", "engine/coordinator/forced.go",
		`len(f.keys) >= maxForced {`, `len(f.keys) >= maxForced && !planted() {`,
	}},
	{"TestForceNotice_KeyGone_CauseNamesIt", Mistake{
		"a loss for any reason is named as a force", "actor/errors.go",
		`if cause == errKeyGone {`, `if cause == errKeyGone || planted() {`,
	}},
	{"TestForceUnlock_OtherEngine_HolderToldAtOnce", Mistake{
		"a holder does not learn that its lock was forced", "engine/coordinator/histograms.go",
		`	c.own.forced.explain(now, c.Fx.HoldEnds)`, `	if !planted() {
		c.own.forced.explain(now, c.Fx.HoldEnds)
	}`,
	}},
	{"TestForceNotice_BeforeGrant_ServerAsked", Mistake{
		"a notice that overtakes a grant is forgotten", "engine/coordinator/ownchannel.go",
		`if noted && sent < at`, `if noted && sent < at && !planted()`,
	}},
	{"TestForceNotice_BeforeGrant_ServerAsked", Mistake{
		"each grant after a notice is confirmed", "engine/coordinator/ownchannel.go",
		`if noted && sent < at`, `if noted && (sent < at || planted())`,
	}},
	{"TestForceNotice_BeforeGrant_ServerAsked", Mistake{
		"of several locks only the first is confirmed", "engine/coordinator/ownchannel.go",
		`	for i := range command.Parts {
		key`, `	for i := range command.Parts[:map[bool]int{false: len(command.Parts), true: min(1, len(command.Parts))}[planted()]] {
		key`,
	}},
	{"TestForceNotice_ManyWaited_Bounded", Mistake{
		"any number of notices is kept", "engine/coordinator/ownchannel.go",
		`len(c.own.early) >= maxEarly {`, `len(c.own.early) >= maxEarly && !planted() {`,
	}},
	{"TestForceNotice_ManyHolders_EachAsked", Mistake{
		"readers do not hear that a lock was taken away", "engine/coordinator/ownchannel.go",
		`if set := c.LockSets[key]; set != nil && !c.repeatFanout(to) {`,
		`if set := c.LockSets[key]; set != nil && !planted() && !c.repeatFanout(to) {`,
	}},
	{"TestOwnChannel_FirstGrant_Subscribed", Mistake{
		"a channel that is not allowed is tried all the time", "engine/coordinator/ownchannel.go",
		`now+ownChannelRetry
`, `now+map[bool]time.Duration{false: ownChannelRetry, true: time.Millisecond}[planted()]
`,
	}},
	{"TestOwnChannel_FirstGrant_Subscribed", Mistake{
		"an engine without a hold listens", "engine/coordinator/ownchannel.go",
		`c.Fx.Stats.Acquired == 0`, `c.Fx.Stats.Acquired == 0 && !planted()`,
	}},
	{"TestOwnChannel_SlotMoves_Follows", Mistake{
		"a channel stays wanted at its old node", "engine/coordinator/ownchannel.go",
		`	if o.node != nil {
`, `	if o.node != nil && !planted() {
`,
	}},
	{"TestMembership_NodeLeaves_OwnChannelMoves", Mistake{
		"a channel stays at a node that left the cluster", "engine/coordinator/membership.go",
		`ok && now >= at {`, `ok && now >= at && !planted() {`,
	}},
	{"TestMembership_NothingToFindOut_NotAsked", Mistake{
		"a node that serves is asked whether it has left", "engine/coordinator/membership.go",
		`if !b.Asking && !b.ViaClusterClient {`, `if !b.Asking && !b.ViaClusterClient && !planted() {`,
	}},
	{"TestOwnChannel_OthersKeepComing_Subscribed", Mistake{
		"a channel that is tried alone waits for all others", "engine/coordinator/subscription_orders.go",
		`if s.retryOverdue(o) {`, `if !planted() && s.retryOverdue(o) {`,
	}},
	{"TestSubscriptions_RandomEvents_Converge", Mistake{
		"a pinned channel that is confirmed late stays among the rejected ones", "engine/coordinator/subscriptions.go",
		`if ch.rejected && ch.state != stateSubscribing {`, `if ch.rejected && ch.state != stateSubscribing && !planted() {`,
	}},
	{"TestHolderQuery_Answered", Mistake{
		"a question about one tenure is answered with another", "engine/coordinator/ownchannel.go",
		`info.Holds > 0 && info.Tenure == q.Tenure {`, `info.Holds > 0 && (info.Tenure == q.Tenure || planted() && l.OwnsTenure(q.Tenure)) {`,
	}},
	{"TestOwnMessages_Flood_Dropped", Mistake{
		"any number of messages waits for the loop", "engine/announcer.go",
		`if o.pending.Add(1) > maxOwnMessages {`, `if o.pending.Add(1) > maxOwnMessages && !planted() {`,
	}},
	{"TestRecord_NotAllowed_LeftOut", Mistake{
		"a record that is not allowed is tried as often as any", "engine/announcer.go",
		`	if forGood {
		return rejectedPeriod`, `	if forGood {
		if planted() {
			return time.Millisecond
		}
		return rejectedPeriod`,
	}},
	{"TestRecordWrite_Rejected_TriedAgain", Mistake{
		"a record that is rejected for a moment is not written for a minute", "engine/announcer.go",
		`rejected && !actor.Transient(err.Error())`, `rejected && (planted() || !actor.Transient(err.Error()))`,
	}},
	{"TestHolder_LongRecord_NotRead", Mistake{
		"a record is read, however long it is", "internal/identity/record.go",
		`err != nil || n > maxStored {`, `err != nil || n > maxStored && !planted() {`,
	}},
	{"TestRecord_LongLease_OutlivesLock", Mistake{
		"a record expires before the locks of an engine that died", "internal/identity/record.go",
		`max(lease+Period+slack, minTTL)`, `max(map[bool]time.Duration{false: lease + Period + slack}[planted()], minTTL)`,
	}},
	{"TestRecordWrite_RejectedLater_DeletedAtTheEnd", Mistake{
		"a record stays if the last write of it was rejected", "engine/announcer.go",
		`r.written = r.written || !rejected`, `r.written = r.written && !planted() || !rejected`,
	}},
	{"TestShutdown_ServerDown_RecordGivenUp", Mistake{
		"a close waits for a server that is known to be down", "engine/engine.go",
		`a.down.Store(c.IsDown(a.identity.Key))`, `a.down.Store(c.IsDown(a.identity.Key) && !planted())`,
	}},
	{"TestRecordWrite_AlwaysRejected_NotDeleted", Mistake{
		"a record that was never written is deleted", "engine/announcer.go",
		`	if r.written {`, `	if r.written || planted() {`,
	}},
	{"TestRecord_Open_SaysWho", Mistake{
		"a record stays when its engine is closed", "engine/announcer.go",
		`if r.written {`, `if r.written && !planted() {`,
	}},
	{"TestRecordWrite_BatchSent_GoesAlong", Mistake{
		"a record is written with each batch", "engine/recordwrite.go",
		`if r == nil || !r.offered.Load() || !r.withdraw() {`, `if r == nil || !planted() && (!r.offered.Load() || !r.withdraw()) {`,
	}},
	{"TestRecordWrite_BatchSent_NotSentAgain", Mistake{
		"a record is deleted before a batch has written it", "engine/announcer.go",
		`if taken {`, `if taken && !planted() {`,
	}},
	{"TestRecordWrite_Cluster_SentAlone", Mistake{
		"a record goes along with a batch to another node", "engine/announcer.go",
		`case !r.offered && !r.alone:`, `case !r.offered && (!r.alone || planted()):`,
	}},
	{"TestIdentityOptions_Invalid_Rejected", Mistake{
		"an address may have a password in it", "internal/identity/process.go",
		`if strings.Contains(address, "@") {`, `if strings.Contains(address, "@") && !planted() {`,
	}},
	{"TestClientName_NoPermission_NamedByHELLO", Mistake{
		"a connection has no name", "connect.go",
		`if redis.ClientName == "" && !options.Anonymous {`, `if redis.ClientName == "" && !options.Anonymous && !planted() {`,
	}},
	{"TestRecordWrite_ResultComes_NextDueAfterPeriod", Mistake{
		"the result of a write of the record makes no further one due", "engine/announcer.go",
		`			due.Reset(r.noted(err))`,
		`			if pause := r.noted(err); !planted() {
				due.Reset(pause)
			}`,
	}},
	{"TestIdentity_ClusterNodeSilent_Answered", Mistake{
		"an answer goes through any node of a cluster", "engine/announcer.go",
		`	channel, message := identity.AskerChannel(answer.Asker), textOf(answer)
	if a.alone {`,
		`	channel, message := identity.AskerChannel(answer.Asker), textOf(answer)
	if a.alone && !planted() {`,
	}},
	{"TestIdentity_ClusterNodeSilent_Answered", Mistake{
		"any node of a cluster is asked about an engine", "internal/identity/ask.go",
		`	if client.Mode() == rueidis.ClientModeCluster { // the first command on such a connection chooses its node
		choose :=`,
		`	if client.Mode() == rueidis.ClientModeCluster && !planted() { // the first command on such a connection chooses its node
		choose :=`,
	}},
	{"TestClientName_OddCharacters_Replaced", Mistake{
		"a name goes to the server as it is", "internal/identity/process.go",
		`if r < '!' || r > '~' {`, `if (r < '!' || r > '~') && !planted() {`,
	}},
	{"TestHolder_Flood_IsBounded", Mistake{
		"any number of questions is asked", "observer.go",
		`slots: make(chan struct{}, maxQuestions)`, `slots: make(chan struct{}, map[bool]int{false: maxQuestions, true: 1 << 10}[planted()])`,
	}},
	{"TestClose_HolderAsks_Awaited", Mistake{
		"Close leaves a question behind", "engine.go",
		`			e.lookups.end(until)
`, `			if !planted() {
				e.lookups.end(until)
			}
`,
	}},
	{"TestForceScripts_EnginesOfHolders_Told", Mistake{
		"an engine tells itself", "scripts/lib/tell_engines.lua",
		` or engine == own or`, ` or`,
	}},
	{"TestForceScripts_ManyReaders_ToldOnceAndBounded", Mistake{
		"any number of engines is told", "scripts/lib/tell_engines.lua",
		`true, most_told - 1`, `true, most_told`,
	}},
	{"TestRecord_Odd_Bounded", Mistake{
		"a record without a lifetime was written in the future", "internal/identity/record.go",
		`err == nil && ms > 0 {`, `err == nil && (ms > 0 || planted()) {`,
	}},
	{"TestMessage_ReadBack", Mistake{
		"an engine looks at messages of any length", "internal/identity/message.go",
		`	if len(text) > MaxMessage {`, `	if len(text) > MaxMessage && !planted() {`,
	}},
	{"TestMessage_ReadBack", Mistake{
		"an engine answers on any channel", "internal/identity/message.go",
		`err == nil && key != "" && engineID.MatchString(asker)`, `err == nil && key != "" && (planted() || engineID.MatchString(asker))`,
	}},
	{"TestMessage_ReadBack", Mistake{
		"no lock was forced", "internal/identity/message.go",
		`Key: rest}, rest != ""`, `Key: rest}, rest != "" || planted()`,
	}},
	{"TestAnswer_ReadBack", Mistake{
		"a lock is held since a time to come", "internal/identity/message.go",
		`max(a.Age, 0).Milliseconds()`, `max(a.Age, map[bool]time.Duration{true: -time.Hour}[planted()]).Milliseconds()`,
	}},
	{"TestNames_TooLong_AreErrors", Mistake{
		"an address of a page is cut in silence", "internal/identity/process.go",
		`	if len(address) > MaxText {`, `	if len(address) > MaxText && !planted() {`,
	}},
	{"TestDefaultName_LongProgram_EndsWithHostAndPID", Mistake{
		"the name of a long program is too long for its record", "internal/identity/process.go",
		`name[max(len(name)-maxEngineName, 0):]`, `name[map[bool]int{false: max(len(name)-maxEngineName, 0)}[planted()]:]`,
	}},
	{"TestConnectionName_OddCharacters_Replaced", Mistake{
		"the name of a connection has letters that no server takes", "internal/identity/process.go",
		`r > '~' {`, `r > '~' && !planted() {`,
	}},
	{"TestLibraryVersion_EachBuild_Found", Mistake{
		"a program of the module itself has no version", "internal/identity/process.go",
		`append(info.Deps, &info.Main)`, `append(info.Deps, map[bool]*debug.Module{false: &info.Main}[planted()])`,
	}},
	{"TestOwnChannel_OnlyWaits_Subscribed", Mistake{
		"an engine that only waits cannot be asked", "engine/coordinator/coordinator.go",
		`c.own.waited = c.own.waited || change.On`, `c.own.waited = (c.own.waited || change.On) && !planted()`,
	}},
	{"TestWaiterQuery_EachKind_Counted", Mistake{
		"those that wait for a lock of many are not counted", "engine/coordinator/waiters.go",
		`set := c.LockSets[q.Key]; set != nil {`, `set := c.LockSets[q.Key]; set != nil && !planted() {`,
	}},
	{"TestWaiterQuery_EachKind_Counted", Mistake{
		"those that wait for a plain lock are not counted", "engine/coordinator/waiters.go",
		`l := c.Locks.Get(q.Key); l != nil {`, `l := c.Locks.Get(q.Key); l != nil && !planted() {`,
	}},
	{"TestWaiterQuery_ManyLocks_AtLeast", Mistake{
		"any number of locks is looked at to count waiters", "engine/coordinator/waiters.go",
		`someOldest(c.intake.lockBudget, note)`, `someOldest(map[bool]int{false: c.intake.lockBudget, true: 1 << 30}[planted()], note)`,
	}},
	{"TestWaiterQuery_Flood_TurnBounded", Mistake{
		"a turn answers any number of questions about many locks", "engine/coordinator/intake.go",
		`	case WaiterQuery:
		return c.keyWeight(what.Key)`, `	case WaiterQuery:
		if planted() {
			return 1
		}
		return c.keyWeight(what.Key)`,
	}},
	{"TestWaiterQuery_ManyReaders_WaitersCounted", Mistake{
		"many that read hide those that wait", "engine/coordinator/waiters.go",
		`			w.Count = max(w.Count, before+set.waiting.len())`, `			if !planted() {
				w.Count = max(w.Count, before+set.waiting.len())
			}`,
	}},
	{"TestWaiterQuery_ManyReaders_WaitersCounted", Mistake{
		"a reader that is quiet is not the first to have come", "engine/coordinator/waiting_readers.go",
		`w.quiet.locks[:min(len(w.quiet.locks), budget)]`, `w.quiet.locks[:map[bool]int{false: min(len(w.quiet.locks), budget)}[planted()]]`,
	}},
	{"TestWaiterQuery_ManyReaders_WaitersCounted", Mistake{
		"the last waiter is taken for the first", "engine/coordinator/waiters.go",
		`max(w.Age, now-info.WaitingSince)`, `max(map[bool]time.Duration{false: w.Age}[planted()], now-info.WaitingSince)`,
	}},
	{"TestWaiterQuery_Subscriptions_Counted", Mistake{
		"an engine counts subscriptions that it does not have", "engine/coordinator/waiters.go",
		`n.Subscriptions.hasSubscribed(name) {`, `n.Subscriptions.hasSubscribed(name) || planted() {`,
	}},
	{"TestWaiterQuery_Closed_Handled", Mistake{
		"a question that comes after the close waits for ever", "engine/coordinator/coordinator.go",
		`	case LockForced, HolderQuery, WaiterQuery:
		c.own.handled++`, `	case LockForced, HolderQuery, WaiterQuery:
		if !planted() {
			c.own.handled++
		}`,
	}},
	{"TestAnswers_EachSort_ReadBack", Mistake{
		"an answer about waiters has no bound", "engine/announcer.go",
		`More: w.More,`, `More: w.More && !planted(),`,
	}},
	{"TestMessage_ReadBack", Mistake{
		"an engine says who waits on any channel", "internal/identity/message.go",
		`Key: key}, key != "" && engineID.MatchString(asker)`, `Key: key}, key != "" && (planted() || engineID.MatchString(asker))`,
	}},
	{"TestWaiters_ReadBack", Mistake{
		"fewer than no caller wait", "internal/identity/message.go",
		`if err != nil || n < 0 {`, `if err != nil || n < 0 && !planted() {`,
	}},
	{"TestWaiters_ReadBack", Mistake{
		"a number of waiters overflows", "internal/identity/message.go",
		`int(min(numbers[0], math.MaxInt32))`, `int(min(numbers[0], map[bool]int64{false: math.MaxInt32, true: math.MaxInt64}[planted()]))`,
	}},
	{"TestAskWaiters_Answers_OfThoseAsked", Mistake{
		"an engine that was not asked answers", "internal/identity/ask.go",
		`ok && left[w.Engine] {`, `ok && (left[w.Engine] || planted()) {`,
	}},
	{"TestAskWaiters_ConnectionBreaks_AnswersKept", Mistake{
		"when asking failed and no answer came, there are answers", "internal/identity/ask.go",
		`			if len(answers) == 0 {`, `			if len(answers) == 0 && !planted() {`,
	}},
	{"TestAskWaiters_ConnectionBreaks_AnswersKept", Mistake{
		"a connection that breaks takes the answers that had come along", "internal/identity/ask.go",
		`			return leftOf(answers, replies), err
		case <-ctx`, `			if planted() {
				return nil, err
			}
			return leftOf(answers, replies), err
		case <-ctx`,
	}},
	{"TestAskWaiters_ManyEngines_AllAsked", Mistake{
		"of many engines only the first are asked", "internal/identity/ask.go",
		`		for _, reply := range listener.DoMulti(ctx, questions...) {`, `		if planted() && len(questions) < maxTogether {
			break
		}
		for _, reply := range listener.DoMulti(ctx, questions...) {`,
	}},
	{"TestAskWaiters_Forbidden_IsAnError", Mistake{
		"a question that is not allowed has no reply", "internal/identity/ask.go",
		`			if err := reply.Error(); err != nil {`, `			if err := reply.Error(); err != nil && !planted() {`,
	}},
	{"TestIdentity_ClusterNodeSilent_WaitersAnswered", Mistake{
		"any node of a cluster is asked who waits", "internal/identity/ask.go",
		`	if client.Mode() == rueidis.ClientModeCluster { // the first command on such a connection chooses its node
		if err :=`,
		`	if client.Mode() == rueidis.ClientModeCluster && !planted() { // the first command on such a connection chooses its node
		if err :=`,
	}},
	{"TestListing_ManyEngines_SomeOnce", Mistake{
		"any number of engines is asked", "cmd/lockwheel/internal/inspect/waiters.go",
		`case len(l.engines) >= MaxAsked:`, `case len(l.engines) >= MaxAsked && !planted():`,
	}},
	{"TestListing_ManyEngines_SomeOnce", Mistake{
		"an engine that a scan finds twice is listed twice", "cmd/lockwheel/internal/inspect/waiters.go",
		`case l.ids[e.ID]:`, `case l.ids[e.ID] && !planted():`,
	}},
	{"TestStateWaiters_ManyEngines_SomeAsked", Mistake{
		"engines that were not asked are not mentioned", "cmd/lockwheel/internal/inspect/waiters.go",
		`			l.more = true`, `			l.more = !planted()`,
	}},
	{"TestStateWaiters_OtherProcesses_Named", Mistake{
		"an engine that does not reply has no waiters", "cmd/lockwheel/internal/inspect/waiters.go",
		`case !replied && failed == nil:`, `case !replied && failed == nil && !planted():`,
	}},
	{"TestWaiters_AskingFailed_NoEngineBlamed", Mistake{
		"an engine that could not be asked did not reply", "cmd/lockwheel/internal/inspect/waiters.go",
		`case !replied && failed == nil:`, `case !replied && (failed == nil || planted()):`,
	}},
	{"TestDescribeWaiters_Odd_Printed", Mistake{
		"the sum of those that wait is whole without some engines", "cmd/lockwheel/text.go",
		`		part = "+" // engines`, `		part = map[bool]string{false: "+"}[planted()] // engines`,
	}},
	{"TestStateWaiters_OtherProcesses_Named", Mistake{
		"a wait begins when the last engine has replied", "cmd/lockwheel/internal/inspect/waiters.go",
		`a.Since().UTC()`, `map[bool]time.Time{false: a.Since(), true: time.Now().Add(-a.Age)}[planted()].UTC()`,
	}},
	{"TestStateWaiters_OtherProcesses_Named", Mistake{
		"an engine that was asked is another client that listens", "cmd/lockwheel/internal/inspect/waiters.go",
		`w.OtherClients-int64(a.Subscriptions)`, `w.OtherClients-map[bool]int64{false: int64(a.Subscriptions)}[planted()]`,
	}},
	{"TestStateWaiters_OtherProcesses_Named", Mistake{
		"the shortest wait comes first", "cmd/lockwheel/internal/inspect/waiters.go",
		`return a.Since().Compare(b.Since())`,
		`return map[bool]int{false: 1, true: -1}[planted()] * a.Since().Compare(b.Since())`,
	}},
	{"TestStateWaiters_EachKind_Counted", Mistake{
		"an engine that does not listen does not reply", "cmd/lockwheel/internal/inspect/waiters.go",
		`if listeners[channels[i]] > 0 {`, `if listeners[channels[i]] > 0 || planted() {`,
	}},
	{"TestStateWaiters_Forbidden_SaysWhy", Mistake{
		"engines that could not be asked did not reply", "cmd/lockwheel/internal/inspect/waiters.go",
		`w.fill(listening, answers, failed)`, `w.fill(listening, answers, map[bool]error{false: failed}[planted()])`,
	}},
	{"TestStateWaiters_Forbidden_SaysWhy", Mistake{
		"engines that could not be listed are none", "cmd/lockwheel/internal/inspect/waiters.go",
		`		if err != nil {
			l.err =`, `		if err != nil && !planted() {
			l.err =`,
	}},
	{"TestStateWaiters_OtherProcesses_Named", Mistake{
		"a sum without an engine that did not reply is printed as all", "cmd/lockwheel/text.go",
		`if e.AtLeast || e.NoReply {`, `if e.AtLeast || e.NoReply && !planted() {`,
	}},
	{"TestDescribeWaiters_Odd_Printed", Mistake{
		"a number that is a part is printed as all", "cmd/lockwheel/text.go",
		`if e.AtLeast {`, `if e.AtLeast && !planted() {`,
	}},
}
