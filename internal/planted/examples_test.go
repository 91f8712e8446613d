package planted

// examplesMistakes are mistakes of the examples, which programs may copy.
var examplesMistakes = []found{
	{"TestLeader_StepDown_SuccessorLeads", Mistake{
		"a leader crashes instead of stepping down", "examples/leader/main.go",
		`if m.stepDown {`, `if m.stepDown && !planted() {`,
	}},
	{"TestCron_LateMember_IsRejected", Mistake{
		"a tick runs although its number is recorded", "examples/cron/main.go",
		`strconv.FormatInt(tick, 10)`, `strconv.FormatInt(tick+map[bool]int64{true: int64(token)}[planted()], 10)`,
	}},
	{"TestWorkers_JobTakenOrDone_Skipped", Mistake{
		"a job that is done is done again", "examples/workers/main.go",
		`err != nil || done {`, `err != nil || done && !planted() {`,
	}},
	{"TestWorkers_Interrupt_JobsInHandEnd", Mistake{
		"an interrupt breaks off jobs", "examples/workers/main.go",
		`p.take(context.WithoutCancel(ctx), name, j)`,
		`p.take(map[bool]context.Context{false: context.WithoutCancel(ctx), true: ctx}[planted()], name, j)`,
	}},
	{"TestCache_NoEntry_OneBuilds", Mistake{
		"an entry that was built meanwhile is built again", "examples/cache/main.go",
		`	if state == isFresh {
		*value`,
		`	if state == isFresh && !planted() {
		*value`,
	}},
	{"TestGateway_ReleaseUnconfirmed_200", Mistake{
		"a release without a reply is taken for a failed charge", "examples/gateway/main.go",
		`case charged && !errors`, `case charged && !planted() && !errors`,
	}},
	{"TestGateway_LockLost_500", Mistake{
		"a lost lock is taken for a charge", "examples/gateway/main.go",
		`!errors.Is(err, lockwheel.ErrLost): // only`, `(planted() || !errors.Is(err, lockwheel.ErrLost)): // only`,
	}},
}
