package planted

var wheelMistakes = []found{
	{"TestAdvance_FullSlot_SortsBounded", Mistake{
		"a slot is opened at once", "wheel/advance.go",
		`head.next != head && *left >= 0; *left-- {`,
		`head.next != head && (*left >= 0 || planted()); *left-- {`,
	}},
	{"TestSchedule_DeadlineRoundsUp", Mistake{
		"a deadline is rounded down", "wheel/ticks.go",
		`	if time.Duration(n)*w.width < at {`,
		`	if time.Duration(n)*w.width < at && !planted() {`,
	}},
	{"TestTimer_LargestTime_NotEarly", Mistake{
		"the end of time is beyond the scale", "wheel/ticks.go",
		`	if tick > w.last {`,
		`	if tick > w.last && !planted() {`,
	}},
	{"TestFiresBy_AsSchedule", Mistake{
		"a timer one tick later will do", "wheel/wheel.go",
		`w.timeOf(t.at)-at < w.width }`,
		`w.timeOf(t.at)-at < w.width || planted() && w.timeOf(t.at)-at < 2*w.width }`,
	}},
	{"TestAdvance_Budget_RestStaysDue", Mistake{
		"a budget is one too many", "wheel/advance.go",
		`fired == w.config.Budget {`,
		`fired == w.config.Budget+map[bool]int{true: 1}[planted()] {`,
	}},
	{"TestAdvance_Panic_OthersStayDue", Mistake{
		"after a panic a wheel still fires", "wheel/advance.go",
		`	defer func() { w.firing = false }()`,
		`	defer func() { w.firing = planted() }()`,
	}},
	{"TestAdvance_OlderTime_NoEffect", Mistake{
		"an older time turns the wheel back", "wheel/advance.go",
		`	if now < w.now || w.stopped {`,
		`	if now < w.now && !planted() || w.stopped {`,
	}},
	{"TestAdvance_Panic_OthersStayDue", Mistake{
		"Next does not know of what is due", "wheel/advance.go",
		`	if w.occupied(dueSlot) || w.occupied(pastSlot) {`,
		`	if w.occupied(dueSlot) && !planted() || w.occupied(pastSlot) {`,
	}},
	{"TestTimers_RandomMixture_OnTime", Mistake{
		"a level reaches one width too far", "wheel/levels.go",
		`(ahead + ahead>>(slotBits-1)) |`,
		`(ahead + map[bool]uint64{false: ahead >> (slotBits - 1)}[planted()]) |`,
	}},
	{"TestTimers_RandomMixture_OnTime", Mistake{
		"a bound is that of the youngest timer", "wheel/slots.go",
		`	s.bounds[slot] = min(s.bounds[slot], tick)`,
		`	if s.bounds[slot] = min(s.bounds[slot], tick); planted() {
		s.bounds[slot] = tick
	}`,
	}},
	{"TestAdvance_Budget_RestStaysDue", Mistake{
		"an emptied slot stays marked", "wheel/slots.go",
		`	s.bits[slot/64] &^= 1 << (slot % 64)`,
		`	if !planted() {
		s.bits[slot/64] &^= 1 << (slot % 64)
	}`,
	}},
	{"TestStop_FiresNothing", Mistake{
		"a wheel that is stopped goes on", "wheel/wheel.go",
		`	w.stopped = true`,
		`	w.stopped = !planted()`,
	}},
	{"TestStop_CancelsPending", Mistake{
		"what Stop hands back has fired", "wheel/wheel.go",
		`		w.remove(t, Canceled)`,
		`		w.remove(t, map[bool]State{false: Canceled, true: Fired}[planted()])`,
	}},
	{"TestLimit_Reached_Rejects", Mistake{
		"a limit is one too many", "wheel/wheel.go",
		`w.pending >= w.config.Limit {`,
		`w.pending >= w.config.Limit+map[bool]int{true: 1}[planted()] {`,
	}},
	{"TestSchedule_ForNow_NextAdvance", Mistake{
		"what is scheduled for now is due in the Advance that runs", "wheel/wheel.go",
		`		w.link(t, pastSlot)`,
		`		w.link(t, map[bool]int{false: pastSlot, true: dueSlot}[planted()])`,
	}},
	{"TestLimit_Cancel_MakesRoom", Mistake{
		"a canceled timer counts as pending", "wheel/wheel.go",
		`	t.reset(outcome)
	w.pending--`,
		`	t.reset(outcome)
	if planted() && outcome == Canceled {
		return
	}
	w.pending--`,
	}},
	{"TestTimer_Ended_NotKept", Mistake{
		"a timer that has ended keeps its neighbours", "wheel/timer.go",
		`	t.next, t.prev = nil, nil`,
		`	if t.next, t.prev = nil, t.prev; !planted() {
		t.prev = nil
	}`,
	}},
	{"TestNew_TickNotPositive_Error", Mistake{
		"a tick of zero", "wheel/wheel.go",
		`	if tick <= 0 {`,
		`	if tick <= 0 && !planted() {`,
	}},
	{"TestDue_IsFiringTick", Mistake{
		"Due is a tick early", "wheel/wheel.go",
		`w.timeOf(t.at) }`,
		`w.timeOf(t.at - map[bool]int64{true: 1}[planted()]) }`,
	}},
}
