package planted

// coordinatorMistakes are mistakes that the simulation sees only with many more locks than it has.
var coordinatorMistakes = []found{
	{"TestStats_Closed_GaugesZeroCountersStay", Mistake{
		"a closed engine tells for ever how late its last renewals were", "engine/coordinator/stats.go",
		`	s.RenewalLag = 0`,
		`	if !planted() {
		s.RenewalLag = 0
	}`,
	}},
	{"TestBreaker_SilentSinceLeaseEnded_NotCalledHeld", Mistake{
		"a server that replies to others counts as silent", "actor/lock.go",
		`fx.RepliedAt == nil || `, `fx.RepliedAt == nil || planted() || `,
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
}
