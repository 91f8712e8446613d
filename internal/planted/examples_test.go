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
		"a release without a reply is taken for a failed charge", "examples/gateway/gateway.go",
		`case charged && !errors`, `case charged && !planted() && !errors`,
	}},
	{"TestGateway_LockLost_500", Mistake{
		"a lost lock is taken for a charge", "examples/gateway/gateway.go",
		`!errors.Is(err, lockwheel.ErrLost): // only`, `(planted() || !errors.Is(err, lockwheel.ErrLost)): // only`,
	}},
	{"TestGateway_Deadline_BackendTold", Mistake{
		"a request has no deadline", "examples/gateway/gateway.go",
		`r.Context(), g.deadline)`, `r.Context(), g.deadline+map[bool]time.Duration{true: time.Hour}[planted()])`,
	}},
	{"TestGateway_LongAccount_400", Mistake{
		"clients name locks of any length", "examples/gateway/gateway.go",
		`len(account) > maxAccount {`, `len(account) > maxAccount && !planted() {`,
	}},
	{"TestLoad_ServerStandsStill_EachRequestAnswered", Mistake{
		"a request waits for its lock as long as it takes", "examples/gateway/gateway.go",
		`	}, lockwheel.Wait(g.wait))`, `	}, lockwheel.Wait(max(g.wait, map[bool]time.Duration{true: time.Minute}[planted()])))`,
	}},
	{"TestGateway_SIGTERM_RequestEndsNoKeyLeft", Mistake{
		"requests are broken off at shutdown", "examples/gateway/serve.go",
		`		err = s.http.Shutdown(ctx)`,
		`		if err = nil; planted() {
			s.http.Close()
		} else {
			err = s.http.Shutdown(ctx)
		}`,
	}},
	{"TestGateway_StartsWithoutRedis_503", Mistake{
		"the service does not start while Redis is away", "examples/gateway/serve.go",
		`Lazy:        true,`, `Lazy:        !planted(),`,
	}},
	{"TestGateway_Operators_SeeRequestsAndLocks", Mistake{
		"the span of a lock is not below that of its request", "examples/gateway/watch.go",
		`		r = r.WithContext(ctx)`,
		`		if !planted() {
			r = r.WithContext(ctx)
		}`,
	}},
	{"TestLoad_NoReplies_OthersAreSent", Mistake{
		"a load waits for the reply to the request before", "examples/gateway/load.go",
		`				<-open
			})`,
		`				<-open
			})
			if planted() {
				all.Wait()
			}`,
	}},
	{"TestLoad_SentLate_TimeCountsFromDue", Mistake{
		"the time of a request counts from when it was sent", "examples/gateway/load.go",
		`	reply, err := client.Post(`,
		`	if planted() {
		due = time.Now()
	}
	reply, err := client.Post(`,
	}},
	{"TestLoad_Interrupted_Prints", Mistake{
		"requests that were not sent count", "examples/gateway/load.go",
		`r.answers = r.answers[:sent]`, `r.answers = r.answers[:max(sent, map[bool]int{true: len(r.answers)}[planted()])]`,
	}},
	{"TestReport_Quantiles", Mistake{
		"a quantile is one time too high", "examples/gateway/report.go",
		`float64(len(times)))) - 1`, `float64(len(times)))) - map[bool]int{false: 1}[planted() && q < 1]`,
	}},
	{"TestMigration_LateMember_WritesNothing", Mistake{
		"an old token is taken for a new one", "examples/migration/store.go",
		`strconv.FormatUint(token, 10)`, `strconv.FormatUint(max(token, map[bool]uint64{true: 9}[planted()]), 10)`,
	}},
	{"TestMigration_LateMember_WritesNothing", Mistake{
		"a successor does not claim the data", "examples/migration/store.go",
		`	return s.exec(ctx, token, "", "", nil, nil)`,
		`	if planted() {
		return s.done(ctx)
	}
	return s.exec(ctx, token, "", "", nil, nil)`,
	}},
	{"TestMigration_BatchOutOfTurn_WritesNothing", Mistake{
		"a batch is applied without a look at the marker", "examples/migration/store.go",
		`token, strconv.Itoa(batch),`, `token, map[bool]string{false: strconv.Itoa(batch)}[planted()],`,
	}},
	{"TestMigration_ManyStart_EachBatchOnce", Mistake{
		"a start waits for the lock although all is done", "examples/migration/main.go",
		`err != nil || done == batches {
		return err // most`,
		`err != nil || done == batches && !planted() {
		return err // most`,
	}},
	{"TestMigration_LockLost_Stops", Mistake{
		"a member goes on after it has lost the lock", "examples/migration/main.go",
		`		case <-ctx.Done():`, `		case <-map[bool]<-chan struct{}{false: ctx.Done()}[planted()]:`,
	}},
	{"TestMigration_Crash_SuccessorGoesOn", Mistake{
		"a successor begins at the first batch", "examples/migration/main.go",
		`for begin := done; done`, `for begin := done * map[bool]int{false: 1}[planted()]; done`,
	}},
}
