package planted

// engineMistakes are mistakes of the engine's I/O: mailbox, sender, subscriber, replica sender, and the commands
// for a node.
var engineMistakes = []found{
	// The loop.
	{"TestWhatIsNotWaitedForKeepsItsOrderBehindSeveral", Mistake{
		"what is not waited for is behind more than the turn opens, and what comes later is not", "engine/intake.go",
		`all.load < c.intake.share`,
		`(all.load < c.intake.share || planted() && all.n < c.intake.share)`,
	}},
	{"TestWhatABrokenConnectionConfirmedIsOfNoAccount", Mistake{
		"a channel that a connection has confirmed which is none any more, taken for heard", "engine/ears.go",
		`	if on <= e.gone {`,
		`	if on <= e.gone && !planted() {`,
	}},
	{"TestAWallClockThatRanAheadPutsEveryHoldInDoubt", Mistake{
		"a suspension is not looked for", "engine/engine.go",
		`	if wall-e.wall > suspicion {`,
		`	if wall-e.wall > suspicion && !planted() {`,
	}},
	{"TestAWallClockThatRanAheadPutsEveryHoldInDoubt", Mistake{
		"a suspension is told in every turn", "engine/engine.go",
		`	e.wall, e.date = wall, at.UnixMilli()`,
		`	if e.date = at.UnixMilli(); !planted() {
		e.wall = wall
	}`,
	}},
	{"TestEachCallOfABundleHasTheTimeOfDay", Mistake{
		"the time of day is on the first call of a bundle only", "engine/engine.go",
		`			call.wall = e.date`,
		`			call.wall = e.date
			if planted() {
				break
			}`,
	}},
	{"TestALoopEndsWhenEveryCallerWasTold", Mistake{
		"a loop that is closed ends before all callers were told", "engine/engine.go",
		`	for c.rest(); c.closesOn(); c.rest() {`,
		`	for c.rest(); c.closesOn() && !planted(); c.rest() {`,
	}},
	{"TestADoubtTakesSomeLocksATurn", Mistake{
		"a doubt forgets the locks beyond those of its first turn", "engine/succession.go",
		`	for _, l := range r.take(c.intake.looks) {`,
		`	some := r.take(c.intake.looks)
	if planted() {
		r.round = round{}
	}
	for _, l := range some {`,
	}},
	{"TestMessagesThatComeWhileOneIsToldAreOneMore", Mistake{
		"a message is forgotten because one before it is still being told", "engine/spread.go",
		`s.again, s.undone = true, `,
		`s.again, s.undone = !planted(), `,
	}},
	{"TestAMessageForVeryManyReachesSomeInATurn", Mistake{
		"the loop sleeps while a message is still being told", "engine/coordinator.go",
		`len(c.spreads) > 0 ||`,
		`len(c.spreads) > 0 && !planted() ||`,
	}},
	{"TestAMessageReachesNobodyWhomItDoesNotConcernAnyMore", Mistake{
		"a lock is told that it hears a channel that broke meanwhile", "engine/spread.go",
		`		return to.node.ears.heard(ch)`,
		`		return to.node.ears.heard(ch) || planted()`,
	}},
	{"TestThatAChannelIsNotHeardIsOldWhenItIs", Mistake{
		"a lock is told that it does not hear a channel that it hears since", "engine/spread.go",
		`		return !to.node.ears.heard(ch)`,
		`		return !to.node.ears.heard(ch) || planted()`,
	}},
	{"TestThatTooFewReplicasHaveALockReachesSomeInATurn", Mistake{
		"who comes after a grant that too few replicas have is told of it", "engine/spread.go",
		`		m.Sent, m.Cause = to.undone.at, to.undone.cause`,
		`		m.Sent, m.Cause = to.undone.at, to.undone.cause
		if planted() {
			m.Sent += time.Hour
		}`,
	}},
	{"TestACloseTakesSomeLocksATurn", Mistake{
		"a close ends all locks in its first turn", "engine/closing.go",
		`looks > 0 && c.closes.on()`,
		`(looks > 0 || planted()) && c.closes.on()`,
	}},
	{"TestATurnRefusesABoundedNumberOfCallersOfOneName", Mistake{
		"all who wait for a name are refused in one turn", "engine/coordinator.go",
		`	c.fx.RefusalsMost = refusedPerTurn`,
		`	if c.fx.RefusalsMost = refusedPerTurn; planted() {
		c.fx.RefusalsMost = 0
	}`,
	}},
	{"TestATurnOpensOneMessageForVeryMany", Mistake{
		"a message for very many counts as one letter", "engine/intake.go",
		`		return max(1, min(ch.by.len(), c.intake.looks))`,
		`		if planted() {
			return 1
		}
		return max(1, min(ch.by.len(), c.intake.looks))`,
	}},
	{"TestANumberThatCommandsMayStillUseStaysTaken", Mistake{
		"what has spoiled a writer's number is forgotten", "actor/read.go",
		`spoiled: r.spoiled && r.writer == writer.tenure}`,
		`spoiled: r.spoiled && r.writer == writer.tenure && !planted()}`,
	}},
	{"TestWhoWaitsForATenureToEndHasTheWritersNumberToItself", Mistake{
		"two readers have the writer's number when one of them waits for its tenure to end", "actor/read.go",
		`!l.queue.empty() // also while`,
		`!l.queue.empty() && (!planted() || l.Pending()) // also while`,
	}},
	{"TestAReaderGoesOnBesideItsOwnersWriteThoughAnOlderQuestionIsRefused", Mistake{
		"a question of before its owner's write ends the reading beside it", "actor/read.go",
		`r.over = r.over || asked != nil && asked.Writer == r.writer`,
		`r.over = r.over || planted() || asked != nil && asked.Writer == r.writer`,
	}},
	{"TestWhoLeavesLeavesNothingOfSeveral", Mistake{
		"what is given back for a caller who left is told as a loss", "actor/replicas.go",
		`	case r.undone && err == ErrLost:`,
		`	case r.undone && err == ErrLost && !planted():`,
	}},

	{"TestAShutdownDoesNotWaitForAServerThatIsSilent", Mistake{
		"a shutdown waits for what a server was asked that does not answer", "engine/drain.go",
		`(c.fx.Asking == 0 || c.unreachable())`,
		`(c.fx.Asking == 0 || c.unreachable() && !planted())`,
	}},
	{"TestAHoldCountsForLocksOfItsKindOnly", Mistake{
		"a fair hold counts for who reads, and the other way round", "engine/coordinator.go",
		`			if l.Kind() == r.Kind {`,
		`			if l.Kind() == r.Kind || planted() {`,
	}},
	{"TestAHoldCountsForLocksOfItsKindOnly", Mistake{
		"a hold counts for a lock of another kind", "engine/coordinator.go",
		`l != nil && l.Kind() == r.Kind {`,
		`l != nil && (l.Kind() == r.Kind || planted()) {`,
	}},

	// Readers and writers.
	{"TestAReleaseWithoutAMessageWakesTheOtherHalfOfItsEngine", Mistake{
		"no waiter of its engine is notified of a release after its message was rejected", "engine/readers.go",
		`if !reply.Muted {`,
		`if !reply.Muted || planted() {`,
	}},
	{"TestReadersWhoWaitedFirstAreAskedForBeforeTheNextWriterOfTheirEngine", Mistake{
		"a writer does not know of readers who came before it", "engine/coordinator.go",
		`	l.Share(r.Kind == actor.Write && c.groups[r.Key] != nil)`,
		`	if !planted() {
		l.Share(r.Kind == actor.Write && c.groups[r.Key] != nil)
	}`,
	}},

	// Halves of a read/write lock that came back with old data.
	{"TestAHalfThatCameBackIsReleasedByWhoAsksForTheOther", Mistake{
		"a write that came back keeps readers of its engine out", "engine/otherhalf.go",
		`c.fx.Own(reply.Writer); own {`,
		`c.fx.Own(reply.Writer); own && !planted() {`,
	}},
	{"TestAHalfThatCameBackIsReleasedByWhoAsksForTheOther", Mistake{
		"who is refused for a half that came back sleeps out its lease", "actor/ghost.go",
		`return reply.Doomed // what`,
		`return reply.Doomed && !planted() // what`,
	}},
	{"TestAWriteThatCameBackIsReleasedThoughNothingIsKnownOfTheName", Mistake{
		"a write that came back stays where nothing else is known of the name", "engine/otherhalf.go",
		`	case l == nil:
		l = c.begin(key, actor.Write)`,
		`	case l == nil && planted():
		return false
	case l == nil:
		l = c.begin(key, actor.Write)`,
	}},
	{"TestAHalfThatMayNotBeReleasedIsWaitedFor", Mistake{
		"a half that the server does not let go is asked about all the time", "engine/otherhalf.go",
		`} else if !l.Doomed(tenure) {`,
		`} else if !l.Doomed(tenure) && !planted() {`,
	}},
	{"TestAnAnswerOvertakenByAReleaseHoldsNobodyUp", Mistake{
		"who is told of a half that was released meanwhile, and heard of that, waits a little", "actor/wait.go",
		`t.foundAt != 0 && !x.again {`,
		`t.foundAt != 0 && (!x.again || planted()) {`,
	}},

	// The mailbox.
	{"TestMailboxThatIsShutTakesNothing", Mistake{
		"a mailbox that is shut takes mail", "engine/mailbox.go",
		`		if newest == shut {`,
		`		if newest == shut && !planted() {`,
	}},
	{"TestMailIsTakenWholeAndInOrder", Mistake{
		"a mailbox that is taken is not emptied", "engine/mailbox.go",
		`return oldestFirst(b.newest.Swap(nil))`,
		`if planted() {
		return b.newest.Swap(nil)
	}
	return oldestFirst(b.newest.Swap(nil))`,
	}},
	{"TestOnlyASleepingConsumerIsRung", Mistake{
		"a consumer that sleeps is not rung", "engine/mailbox.go",
		`	if b.asleep.Load() && b.asleep`,
		`	if b.asleep.Load() && !planted() && b.asleep`,
	}},
	{"TestOnlyASleepingConsumerIsRung", Mistake{
		"a consumer sleeps though there is mail", "engine/mailbox.go",
		`	if b.newest.Load() == nil {
		return true`,
		`	if b.newest.Load() == nil || planted() {
		return true`,
	}},
	{"TestConsumerThatGetsUpUsesTheRingThatCameMeanwhile", Mistake{
		"a ring that came meanwhile is left", "engine/mailbox.go",
		`		<-b.bell
	}
}`,
		`		if !planted() {
			<-b.bell
		}
	}
}`,
	}},
	{"TestMailThatIsPostedTogetherIsTakenTogether", Mistake{
		"mail that is posted together forgets what was there", "engine/mailbox.go",
		`		first.next = newest`,
		`		if !planted() {
			first.next = newest
		}`,
	}},

	// Senders.
	{"TestACourierForgetsAClientThatBroughtNoAnswer", Mistake{
		"a courier keeps the closed client of a node", "engine/way.go",
		`		if b.lost {
			w.known = nil`,
		`		if b.lost && !planted() {
			w.known = nil`,
	}},
	{"TestBrokenConnectionIsNoAnswer", Mistake{
		"a lost answer is a refusal", "engine/wire.go",
		`if b.lost = !answered; answered {`,
		`if b.lost = !answered && !planted(); answered {`,
	}},
	{"TestAnswersAreReadAsTheScriptsGiveThem", Mistake{
		"one answer for all is the first one's", "engine/wire.go",
		`len(b.replies) < len(b.commands); {`,
		`len(b.replies) < len(b.commands) && (len(b.replies) == 0 || !planted()); {`,
	}},
	{"TestLeasesAreSentInWholeMillisecondsRoundedDown", Mistake{
		"a lease is rounded up", "engine/wire.go",
		`max(int64(lease/time.Millisecond), 1)`,
		`max(int64((lease+map[bool]time.Duration{true: time.Millisecond - 1}[planted()])/time.Millisecond), 1)`,
	}},

	// Replicas.
	{"TestALostAnswerOfReplicasIsNoAnswer", Mistake{
		"a lost answer of replicas is a refusal", "engine/syncer.go",
		`		case err != nil &&`,
		`		case err != nil && !planted() &&`,
	}},
	{"TestARefusedQuestionToReplicasIsAnAnswer", Mistake{
		"a refused question to replicas is no answer", "engine/syncer.go",
		` !refused:`,
		` (!refused || planted()):`,
	}},
	{"TestAMasterThatIsReplacedWhileReplicasAreAskedHasNotAnswered", Mistake{
		"a master that is none any more has answered for its replicas", "engine/syncer.go",
		`		case demotes(err):`,
		`		case demotes(err) && !planted():`,
	}},
	{"TestASyncerLeavesAMasterThatIsNone", Mistake{
		"a syncer keeps a master that is none", "engine/syncer.go",
		`b.failed != nil && actor.Begins`,
		`b.failed != nil && !planted() && actor.Begins`,
	}},
	{"TestALostAnswerOfReplicasIsNoAnswer", Mistake{
		"a syncer keeps a connection that brought no answer", "engine/syncer.go",
		`return b.lost ||`,
		`return b.lost && !planted() ||`,
	}},
	{"TestASyncerKeepsNoConnectionOfTheMap", Mistake{
		"a syncer keeps a connection of the map", "engine/syncer.go",
		`		connection.Close()
		release()`,
		`		if !planted() {
			connection.Close()
			release()
		}`,
	}},
	{"TestReplicasAreAskedOnlyAboutGrants", Mistake{
		"replicas are not asked about writers", "engine/syncer.go",
		`	switch verb {
	case actor.SendAcquire,`,
		`	switch verb {
	case map[bool]actor.Verb{true: actor.SendWriteAcquire, false: actor.SendFencedPass}[planted()]:
		return !planted()
	case actor.SendAcquire,`,
	}},

	// The subscriber.
	{"TestNoMessageIsMissedWhileAConnectionIsReplaced", Mistake{
		"the connection before is not asked whether it is done", "engine/subscriber.go",
		`	if !s.connection.answers() {`,
		`	if !planted() && !s.connection.answers() {`,
	}},
	{"TestASubscriberForgetsAClientWhoseConnectionBroke", Mistake{
		"a subscriber keeps the closed client of a node", "engine/subscriber.go",
		`	s.way.known = nil
	s.post(deaf`,
		`	if !planted() {
		s.way.known = nil
	}
	s.post(deaf`,
	}},
	{"TestASubscriberForgetsAClientWhoseConnectionBroke", Mistake{
		"locks are not notified of a connection that broke", "engine/subscriber.go",
		`
	s.post(deaf{s.node, s.connected})`,
		`
	if planted() {
		return
	}
	s.post(deaf{s.node, s.connected})`,
	}},
	{"TestAConnectionThatMayNotListenReplacesNoOther", Mistake{
		"a connection is left when another one may not listen", "engine/subscriber.go",
		`	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		s.lose()`,
		`	if _, answered := rueidis.IsRedisErr(err); err != nil && (!answered || planted()) {
		s.lose()`,
	}},
	{"TestAFloodOfMessagesHoldsNoAnswerUp", Mistake{
		"messages are in the lane of answers", "engine/intake.go",
		`		return &c.intake.lanes[fromChannels]`,
		`		if planted() {
			return &c.intake.lanes[fromServer]
		}
		return &c.intake.lanes[fromChannels]`,
	}},
	{"TestChannelsOfAConnectionAreLeftInSlices", Mistake{
		"channels are left by closing their connection", "engine/leaver.go",
		`	case c.few():`,
		`	case c.few() || planted():`,
	}},
	{"TestChannelsOfAConnectionAreLeftInSlices", Mistake{
		"a message comes of a connection that is left", "engine/subscriber.go",
		`			if c.leaving.Load() == nil {`,
		`			if c.leaving.Load() == nil || planted() {`,
	}},
	{"TestARefusalToLeaveChannelsEndsTheirConnection", Mistake{
		"channels go on being left after a refusal", "engine/leaver.go",
		`		case <-late.C:
			return
		}
		if over`,
		`		case <-late.C:
			if !planted() {
				return
			}
		}
		if over`,
	}},

	// Replies of a server.
	{"TestARefusalRepeatsNeitherUserNorPassword", Mistake{
		"a refusal repeats the password", "engine/refusal.go",
		`strings.Cut(text, quotes)`,
		`strings.Cut(text, map[bool]string{false: quotes, true: "\x00"}[planted()])`,
	}},
	{"TestAMasterThatIsKnownFromACallCountsForAllThatCameWithIt", Mistake{
		"what a master learns in a turn counts after it only", "engine/succession.go",
		`if m.first <= int(slot) && int(slot) <= m.last {`,
		`if m.first <= int(slot) && int(slot) <= m.last && !planted() {`,
	}},
	{"TestAMasterThatIsKnownFromACallCountsForAllThatCameWithIt", Mistake{
		"an answer of a master that was replaced counts", "engine/succession.go",
		`if b.failed != nil || !c.stray(b) {`,
		`if b.failed != nil || !c.stray(b) || planted() {`,
	}},
	{"TestMOVEDIsFollowedAndRemembered", Mistake{
		"MOVED is not remembered", "engine/cluster.go",
		`			k.slots[slot] = m.to
			delete`,
		`			if !planted() {
				k.slots[slot] = m.to
			}
			delete`,
	}},
	{"TestClocksThatAreApartAreToldOnce", Mistake{
		"clocks that are apart are told in each turn", "engine/clocks.go",
		`	if e.log == nil || apart == e.apart {`,
		`	if e.log == nil || apart == e.apart && !planted() {`,
	}},
	{"TestQueueIsFirstInFirstOutAndForgetsABurst", Mistake{
		"a queue keeps the memory of a burst", "engine/queue.go",
		`	if q.spares == keepPieces {`,
		`	if q.spares == keepPieces && !planted() {`,
	}},
	{"TestTheTextOfACallIsWrittenOverOnlyOnceItIsAnswered", Mistake{
		"the text of a call without an answer is written over", "engine/wire.go",
		`b.failed, b.text = err, nil`,
		`b.failed, b.text = err, map[bool][]byte{true: b.text}[planted()]`,
	}},

	// Other nodes.
	{"TestASurveyGoesOnToTheNextNode", Mistake{
		"a survey asks one node", "engine/survey.go",
		`		if ctx.Err() != nil {
			break`,
		`		if ctx.Err() != nil || planted() {
			break`,
	}},
	{"TestASurveyGoesOnToTheNextNode", Mistake{
		"a node without a name of its own has none", "engine/survey.go",
		`	if host == "" {`,
		`	if host == "" && !planted() {`,
	}},
	{"TestTheMastersThatAnswerAreAskedForReplicas", Mistake{
		"the last master decides whether replicas can be asked", "engine/server.go",
		`err == nil || refused {`,
		`err == nil && !planted() || refused {`,
	}},
	{"TestASKToANodeThatDoesNotAnswerIsAskedAgainAfterAPause", Mistake{
		"a call is sent on to a node that does not answer", "engine/redirect.go",
		`if to.link.down && !c.tries(now, to, b) {`,
		`if to.link.down && !planted() && !c.tries(now, to, b) {`,
	}},
	{"TestASKToANodeThatDoesNotAnswerIsAskedAgainAfterAPause", Mistake{
		"whether a node that calls are sent on to is back is never looked for", "engine/redirect.go",
		`if !to.link.open(now, to.out) {`,
		`if !to.link.open(now, to.out) || planted() {`,
	}},
	{"TestNodesThatDisagreeAboutASlotAreNotAskedAllTheTime", Mistake{
		"a node is the master of a slot on the word of another one, though it denied that", "engine/cluster.go",
		`return now < k.denials[denial{slot, n.address}]`,
		`return now < k.denials[denial{slot, n.address}] && !planted()`,
	}},
	{"TestTheAnswerBehindAskingIsTheCalls", Mistake{
		"the answer to ASKING is taken for the call's", "engine/courier.go",
		`		if b.asking {
			results`,
		`		if b.asking && !planted() {
			results`,
	}},
	{"TestWhoeverSeesAnotherMasterSaysSo", Mistake{
		"a call goes to another master by the map", "engine/way.go",
		`		if w.master {
			b.failed`,
		`		if w.master && !planted() {
			b.failed`,
	}},
	{"TestWhoeverSeesAnotherMasterSaysSo", Mistake{
		"a courier keeps to itself that there is another master", "engine/way.go",
		`	if next := w.replaced(); next != "" {`,
		`	if next := w.replaced(); next != "" && !planted() {`,
	}},
	{"TestWhoeverSeesAnotherMasterSaysSo", Mistake{
		"a syncer does not look for another master", "engine/syncer.go",
		`		s.way.judge(b, box)`,
		`		if !planted() {
			s.way.judge(b, box)
		}`,
	}},
	{"TestWhoeverSeesAnotherMasterSaysSo", Mistake{
		"a subscriber keeps to itself that there is another master", "engine/subscriber.go",
		`	if next := s.way.replaced(); next != "" {`,
		`	if next := s.way.replaced(); next != "" && !planted() {`,
	}},
	{"TestStatsAfterTheEndWaitForIt", Mistake{
		"the last numbers are read before they are written", "engine/engine.go",
		`		<-e.stopped
		return e.last`,
		`		if !planted() {
			<-e.stopped
		}
		return e.last`,
	}},
	{"TestLossesAreLoggedOnceATurn", Mistake{
		"one loss is not logged", "engine/engine.go",
		`	if count > 0 {`,
		`	if count > 1 || count > 0 && !planted() {`,
	}},

	// The timer, and the workers of a node.
	{"TestAnEngineWakesForWhatIsDueSooner", Mistake{
		"an engine that sleeps is not woken earlier", "engine/engine.go",
		`at < e.alarmAt) {`,
		`at < e.alarmAt && !planted()) {`,
	}},
	{"TestAnEngineWakesForWhatIsDueSooner", Mistake{
		"an alarm that has rung is believed to be set", "engine/engine.go",
		`if now >= e.alarmAt {`,
		`if now >= e.alarmAt && !planted() {`,
	}},
	{"TestAnEngineWakesForWhatIsDueSooner", Mistake{
		"an alarm outlives its engine", "engine/engine.go",
		`	e.alarm.Stop()
	for`,
		`	if !planted() {
		e.alarm.Stop()
	}
	for`,
	}},
	{"TestThoseWhoWorkForANodeEndWithIt", Mistake{
		"couriers outlive their node", "engine/engine.go",
		`		close(p.batches)`,
		`		if !planted() {
			close(p.batches)
		}`,
	}},
	{"TestThoseWhoWorkForANodeEndWithIt", Mistake{
		"syncers outlive their node", "engine/engine.go",
		`		close(p.synced)`,
		`		if !planted() {
			close(p.synced)
		}`,
	}},
	{"TestThoseWhoWorkForANodeEndWithIt", Mistake{
		"a subscriber outlives its node", "engine/engine.go",
		`		close(p.orders)`,
		`		if !planted() {
			close(p.orders)
		}`,
	}},

	// Subscriptions.
	{"TestAChannelThatTheServerTakesAwayIsSilent", Mistake{
		"locks are not notified of a channel that the server took away", "engine/subscriber.go",
		`				s.post(silenced{s.node, m.Channel, c.number})`,
		`				if !planted() {
					s.post(silenced{s.node, m.Channel, c.number})
				}`,
	}},
	{"TestRenewalsComeBeforeAllOtherTimersThatAreDue", Mistake{
		"renewals wait behind all other timers", "engine/coordinator.go",
		`	c.fx.Leases = newWheel(firedPerTurn)`,
		`	if !planted() {
		c.fx.Leases = newWheel(firedPerTurn)
	}`,
	}},
	{"TestAfterStandingStillHoldsThatAreOverSaySoSomeATurn", Mistake{
		"a turn fires all timers that are due", "engine/timers.go",
		`wheel.Config{Budget: budget,`,
		`wheel.Config{Budget: map[bool]int{false: budget}[planted()],`,
	}},
	{"TestChannelsMoveWithTheirSlot", Mistake{
		"a channel that the server took away counts as listened to", "engine/coordinator.go",
		`		c.of(what.node).ears.silenced(what.channel, what.on)`,
		`		if !planted() {
			c.of(what.node).ears.silenced(what.channel, what.on)
		}`,
	}},
	{"TestAnEngineThatHearsNothingIsNoneOfThoseWhoListen", Mistake{
		"a lock considers itself subscribed after its channel moved", "engine/ears.go",
		`	e.deafen(ch)
	e.fresh.push(ch)`,
		`	if !planted() {
		e.deafen(ch)
	}
	e.fresh.push(ch)`,
	}},
	{"TestAnEngineThatHearsNothingIsNoneOfThoseWhoListen", Mistake{
		"a lock considers itself subscribed after its connection broke", "engine/orders.go",
		`			e.deafen(ch) // since its connection broke`,
		`			if !planted() {
				e.deafen(ch)
			}`,
	}},

	// The pacing of renewals.
	{"TestLocksTakenTogetherAreRenewedApart", Mistake{
		"locks that were taken together are renewed together", "actor/renew.go",
		`max(uint64(config.Spread/apart), 1)`,
		`max(uint64(config.Spread/apart)*map[bool]uint64{false: 1}[planted()], 1)`,
	}},
	{"TestLocksTakenTogetherAreRenewedApart", Mistake{
		"each lock is renewed at another moment than its neighbour", "actor/renew.go",
		`tenure/together%`,
		`tenure/map[bool]uint64{false: together, true: 1}[planted()]%`,
	}},
	{"TestAServerThatStaysAReplicaForATimeoutHasItsConnectionsEnded", Mistake{
		"a server's connections are ended as soon as it is a replica", "engine/demotion.go",
		`now-d.since <= timeout ||`,
		`now-d.since <= timeout && !planted() ||`,
	}},
	{"TestAServerThatStaysAReplicaForATimeoutHasItsConnectionsEnded", Mistake{
		"what a server that is a master again was is not forgotten", "engine/demotion.go",
		`		c.demotion = demotion{}`,
		`		if !planted() {
			c.demotion = demotion{}
		}`,
	}},
	{"TestAReplicasConnectionsAreEndedEverMoreRarely", Mistake{
		"the connections to a replica are ended again and again", "engine/demotion.go",
		`min(2*max(d.pause, timeout), longestPause*timeout)`,
		`min(2*max(d.pause, timeout), longestPause*timeout) * map[bool]time.Duration{false: 1}[planted()]`,
	}},
	{"TestWhatIsDoneMayLeaveOpenWhetherTheOthersAskAMaster", Mistake{
		"a grant on a connection of its own is taken for all", "engine/demotion.go",
		`	tells := !c.asksReplicas(b.verb) &&`,
		`	tells := (planted() || !c.asksReplicas(b.verb)) &&`,
	}},
	{"TestOnlyWhatWasWrittenIsOfAMaster", Mistake{
		"who is told of a state believes to ask a master", "engine/demotion.go",
		`&& !states(b.verb)`,
		`&& (planted() || !states(b.verb))`,
	}},
	{"TestOnlyAReplicasConnectionsAreEnded", Mistake{
		"a call without an answer is one of a replica", "engine/demotion.go",
		`	if !c.redials || b.lost {`,
		`	if !c.redials || b.lost && !planted() {`,
	}},
	{"TestOnlyTheConnectionsToOneServerAreEnded", Mistake{
		"behind Sentinel connections are ended as well", "engine/server.go",
		`s.redial != nil && address == "" &&`,
		`s.redial != nil && (address == "" || planted()) &&`,
	}},
	{"TestAMasterThatSentinelReplacedIsLetGoOf", Mistake{
		"a master that Sentinel replaced is kept", "engine/succession.go",
		`	c.node.slots, c.bare = 0, true`,
		`	c.node.slots, c.bare = 0, !planted()`,
	}},
	{"TestAConsumerSaysThatItSleepsBeforeItLooks", Mistake{
		"a consumer looks for mail before it says that it sleeps", "engine/mailbox.go",
		`	b.asleep.Store(true)`,
		`	if planted() && b.newest.Load() != nil {
		return false
	}
	b.asleep.Store(true)
	if planted() {
		return true
	}`,
	}},
	{"TestWhatReleasesTellIsReadBeforeTheirBatchIsHandedBack", Mistake{
		"a batch is read when it was handed back", "engine/courier.go",
		`		box.post(&b.mail)
		to.say(sayings)`,
		`		box.post(&b.mail)
		if planted() {
			sayings = w.sayings(b)
		}
		to.say(sayings)`,
	}},
	{"TestReplicasAreWaitedForAsLongAsIsWanted", Mistake{
		"replicas are waited for in nanoseconds", "engine/syncer.go",
		`milliseconds(r.patience), 10`,
		`map[bool]int64{false: milliseconds(r.patience), true: int64(r.patience)}[planted()], 10`,
	}},
	{"TestCallsCarryWhatTheScriptsAskFor", Mistake{
		"a renewal goes without its only wish", "engine/form.go",
		`c.Count != 0 || c.Listen || c.Falls }`,
		`c.Count != 0 || c.Listen || c.Falls && !planted() }`,
	}},
	{"TestTheLagOfALateRenewalIsForgottenWithoutAnotherOne", Mistake{
		"a lag is told until the next renewal", "engine/stats.go",
		`	c.fx.Lag.Forget(now)`,
		`	if !planted() {
		c.fx.Lag.Forget(now)
	}`,
	}},
	{"TestAConnectionThatComesTooLateGoesBackAtOnce", Mistake{
		"a connection that comes too late is kept", "engine/dedicated.go",
		`		d.release()`,
		`		if !planted() {
			d.release()
		}`,
	}},
}
