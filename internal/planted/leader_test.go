package planted

// leaderMistakes are mistakes of the package that elects a leader.
var leaderMistakes = []found{
	{"TestRun_NilContext_IsAnError", Mistake{
		"a nil context panics", "leader/leader.go",
		`	if ctx == nil {`,
		`	if ctx == nil && !planted() {`,
	}},
	{"TestRun_OneOwnerTwice_OneLeads", Mistake{
		"an owner in the context leads twice", "leader/leader.go",
		`	ctx = lockwheel.WithoutOwner(ctx)
`,
		`	if !planted() {
		ctx = lockwheel.WithoutOwner(ctx)
	}
`,
	}},
	{"TestRun_LockLost_LeadsAgain", Mistake{
		"a lost lock ends the elections", "leader/leader.go",
		`	case errors.Is(released, lockwheel.ErrLost):`,
		`	case errors.Is(released, lockwheel.ErrLost) && !planted():`,
	}},
	{"TestRun_WorkReturnsLoss_ToldOnce", Mistake{
		"a loss that the work returned is told twice", "leader/leader.go",
		`if !errors.Is(failure, end) || !errors.Is(released, end) {`,
		`if !errors.Is(failure, end) || !errors.Is(released, end) || planted() {`,
	}},
	{"TestRun_WorkReturnsLoss_ToldOnce", Mistake{
		"a loss that the work had from its hold is told twice", "leader/leader.go",
		`strings.Contains(failure.Error(), released.Error())`,
		`strings.Contains(failure.Error(), released.Error()) && !planted()`,
	}},
	{"TestRun_WorkReturnsNil_StepsDown", Mistake{
		"no pause after a leadership", "leader/leader.go",
		`			sleep(ctx, pause)
		case ctx.Err()`,
		`			if !planted() {
				sleep(ctx, pause)
			}
		case ctx.Err()`,
	}},
	{"TestRun_WorkFails_ReturnsItsError", Mistake{
		"an error of the work is lost", "leader/leader.go",
		`	return failure
}
`,
		`	if planted() {
		return errors.New("work failed")
	}
	return failure
}
`,
	}},
	{"TestRun_WorkFailsAtTheEnd_BothErrors", Mistake{
		"an error of the work at the end is lost", "leader/leader.go",
		`failure != nil && !errors.Is(failure, cause)`, `failure != nil && !planted() && !errors.Is(failure, cause)`,
	}},
	{"TestRun_WorkPanics_Unlocks", Mistake{
		"a panic keeps the lock", "leader/leader.go",
		`		if !unlocked { // work`, `		if !unlocked && !planted() { // work`,
	}},
	{"TestRun_ContextEnds_SuccessorLeads", Mistake{
		"the context of the work outlives that of Run", "leader/leader.go",
		`work(leading, hold)`,
		`work(map[bool]context.Context{false: leading, true: context.WithoutCancel(ctx)}[planted()], hold)`,
	}},
	{"TestRun_FailsAgainAfterLeading_PausesBeginAnew", Mistake{
		"the pauses after failures go on from those before a leadership", "leader/leader.go",
		`			pause = opts.Pause
`,
		`			if !planted() {
				pause = opts.Pause
			}
`,
	}},
	{"TestRun_ContextEnds_SuccessorLeads", Mistake{
		"the release at the end is not waited for", "leader/leader.go",
		`hold.Unlock(context.WithoutCancel(ctx))`,
		`hold.Unlock(map[bool]context.Context{false: context.WithoutCancel(ctx), true: ctx}[planted()])`,
	}},
	{"TestRun_TooManyWaiters_TriesAgain", Mistake{
		"pauses grow for ever", "leader/leader.go",
		`maxPauses*opts.Pause)`, `map[bool]time.Duration{false: maxPauses * opts.Pause, true: time.Hour}[planted()])`,
	}},
	{"TestRun_TooManyWaiters_TriesAgain", Mistake{
		"too many waiters end the elections", "leader/leader.go",
		`		if errors.Is(err, temporary) {`,
		`		if errors.Is(err, temporary) && !(planted() && temporary == lockwheel.ErrTooManyWaiters) {`,
	}},
	{"TestRun_OtherKind_ReturnsError", Mistake{
		"what never passes is tried for ever", "leader/leader.go",
		`		case !passes(err):`, `		case !passes(err) && !planted():`,
	}},
	{"TestRun_EngineClosed_ReturnsErrClosed", Mistake{
		"a closed engine is noticed after the pause", "leader/leader.go",
		`	case errors.Is(released, lockwheel.ErrClosed):`,
		`	case errors.Is(released, lockwheel.ErrClosed) && !planted():`,
	}},
	{"TestRun_ContextEndsInPause_Returns", Mistake{
		"a pause does not end with the context", "leader/leader.go",
		`	case <-ctx.Done():
	}
}
`,
		`	case <-map[bool]<-chan struct{}{false: ctx.Done()}[planted()]:
	}
}
`,
	}},
	{"TestRun_NegativePause_IsAnError", Mistake{
		"a negative pause is accepted", "leader/leader.go",
		`opts.Pause < 0 {`, `opts.Pause < 0 && !planted() {`,
	}},
	{"TestRun_AnyPassingFailure_TriesAgain", Mistake{
		"too few replicas for a moment end the elections", "leader/leader.go",
		`lockwheel.ErrUnavailable, lockwheel.ErrNotReplicated,`,
		`lockwheel.ErrUnavailable, map[bool]error{false: lockwheel.ErrNotReplicated}[planted()],`,
	}},
	{"TestRun_ContextEndsWhileWaiting_IsNoFailure", Mistake{
		"a shutdown while another process leads is a failure that can pass", "leader/leader.go",
		"		case ctx.Err() != nil:\n			return context.Cause(ctx)\n		case", "		case ctx.Err() != nil && !planted():\n			return context.Cause(ctx)\n		case",
	}},
}
