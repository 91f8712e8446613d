package planted

// lockwheeltestMistakes are mistakes of the package for users' tests and of the server that it runs on. They are also
// of what lets an engine run in a bubble of testing/synctest.
var lockwheeltestMistakes = []found{
	{"TestBubble_LockedAtOnce_AsLater", Mistake{
		"the engine's clock begins at 0, which the actors read as never", "engine/engine.go",
		`time.Now().Add(-firstTime)`,
		`time.Now().Add(map[bool]time.Duration{false: -firstTime}[planted()])`,
	}},
	{"TestHoldElsewhere_Released_NothingKept", Mistake{
		"a process that has released its lock is kept until the test ends", "lockwheeltest/elsewhere.go",
		`	s.remove(other)
`, `	if !planted() {
		s.remove(other)
	}
`,
	}},
	{"TestBubble_CallsWait_TimePasses", Mistake{
		"engines share their calls", "engine/call.go",
		`func newCallPool() *sync.Pool {
`,
		`var sharedCalls = sync.Pool{New: func() any {
	return &Call{Request: actor.Request{Ready: make(chan struct{}, 1)}}
}}

func newCallPool() *sync.Pool {
	if planted() {
		return &sharedCalls
	}
`,
	}},
	{"TestLose_EachKind_EndsHold", Mistake{
		"a lock of another kind is not lost", "lockwheeltest/faults.go",
		`		if info.Name == name && info.Holds > 0 {`,
		`		if info.Name == name && info.Holds > 0 && (!planted() || info.Kind == "plain") {`,
	}},
	{"TestLose_SeveralEngines_EndsRightHold", Mistake{
		"a name is taken for that of an engine without a prefix", "lockwheeltest/faults.go",
		`		name, ours := strings.CutPrefix(key, p.prefix)
`,
		`		name, ours := strings.CutPrefix(key, p.prefix)
		if planted() {
			name = key
		}
`,
	}},
	{"TestUp_ShortOutage_AllGoesOn", Mistake{
		"Up waits for closed engines", "lockwheeltest/faults.go",
		`if !errors.Is(err, lockwheel.ErrUnavailable) {`,
		`if !errors.Is(err, lockwheel.ErrUnavailable) && (!planted() || err == nil) {`,
	}},
	{"TestHoldElsewhere_MaxHold_GoesOn", Mistake{
		"the lock of another process ends with the program's own MaxHold", "lockwheeltest/elsewhere.go",
		`	options.MaxHold = 0 //`, `	if !planted() {
		options.MaxHold = 0
	} //`,
	}},
	{"TestHoldElsewhere_ReleasedInOutage_IsFree", Mistake{
		"the other process ends before it could release", "lockwheeltest/elsewhere.go",
		`	case errors.Is(err, lockwheel.ErrUnavailable):
		return
`,
		`	case errors.Is(err, lockwheel.ErrUnavailable):
		if !planted() {
			return
		}
`,
	}},
	{"TestCleanup_CallWaitsForElsewhere_ErrClosed", Mistake{
		"another process releases its lock while calls wait", "lockwheeltest/elsewhere.go",
		`	s.add(process{other, options.Prefix, release})
`,
		`	if s.add(process{other, options.Prefix, release}); planted() {
		s.t.Cleanup(release)
	}
`,
	}},
	{"TestCleanup_KeyLeft_FailsTest", Mistake{
		"keys that are left are not looked at", "lockwheeltest/cleanup.go",
		`		case len(left) == 0:`,
		`		case len(left) == 0 || planted():`,
	}},
	{"TestExport_ShortLease_LostInOutage", Mistake{
		"the key of a lost hold has no time to go", "lockwheeltest/cleanup.go",
		`		case ctx.Err() != nil:`,
		`		case ctx.Err() != nil || planted():`,
	}},
	{"TestCleanup_EachKindUnlocked_Passes", Mistake{
		"a counter of tokens fails the test", "lockwheeltest/cleanup.go",
		`return record || strings.HasPrefix(key, tokenPrefix)`,
		`return record || strings.HasPrefix(key, tokenPrefix) && !planted()`,
	}},
	{"TestCleanup_Down_ReleasesGoThrough", Mistake{
		"the server stays down at the end of the test", "lockwheeltest/cleanup.go",
		`	s.redis.Up() // releases that wait for it go through
`,
		`	if !planted() {
		s.redis.Up()
	}
`,
	}},
	{"TestCleanup_FailedBefore_SaysNoMore", Mistake{
		"a test that failed is told of what it left", "lockwheeltest/cleanup.go",
		`s.t.Failed()`, `s.t.Failed() && !planted()`,
	}},
	{"TestMemoryServer_DeadlinePassed_WriteFails", Mistake{
		"a write does not end at its deadline", "internal/embedded/memory_conn.go",
		`if !c.deadline.IsZero() &&`, `if !planted() && !c.deadline.IsZero() &&`,
	}},
	{"TestMemoryServer_ManyCommands_AllAnswered", Mistake{
		"a write waits for the server", "internal/embedded/memory_conn.go",
		`	c.queue = append(c.queue, b...)
`,
		`	if planted() {
		return c.Conn.Write(b)
	}
	c.queue = append(c.queue, b...)
`,
	}},
	{"TestHook_LoadedScript_ParsedWhenExecuted", Mistake{
		"a script is parsed when it is loaded", "internal/embedded/hook.go",
		`strings.EqualFold(args[0], "LOAD"):`, `strings.EqualFold(args[0], "LOAD") && !planted():`,
	}},
	{"TestHook_LoadedScript_ParsedWhenExecuted", Mistake{
		"a script outlives SCRIPT FLUSH", "internal/embedded/hook.go",
		`		h.scripts.Clear()`, `		if !planted() {
			h.scripts.Clear()
		}`,
	}},
	{"TestHook_Ping_DelayedForSubscribers", Mistake{
		"each PING is delayed", "internal/embedded/hook.go",
		`; subscribes {`, `; subscribes || planted() {`,
	}},
	{"TestUsage_InBubble_WaitsBriefly", Mistake{
		"the reply to a PING is very late", "internal/embedded/hook.go",
		`time.Sleep(5 * time.Millisecond)`, `time.Sleep(5 * time.Millisecond * map[bool]time.Duration{false: 1, true: 10}[planted()])`,
	}},
	{"TestLose_SeveralEngines_EndsRightHold", Mistake{
		"a name with a prefix is lost by an engine with another one", "lockwheeltest/faults.go",
		`held := p.held(name); ours && held {`, `held := p.held(name); (ours || planted()) && held {`,
	}},
	{"TestLose_NotHeld_FailsTest", Mistake{
		"a caller that waits for a lock loses it", "lockwheeltest/faults.go",
		`range p.engine.Locks(context.Background()) {`, `range p.engine.Locks(context.Background()) {
		if planted() {
			info.Holds += info.Waiting
		}`,
	}},
	{"TestNew_InvalidOptions_FailsTest", Mistake{
		"a client of the test's own is replaced in silence", "lockwheeltest/server.go",
		` || o.Client != nil {`, ` || o.Client != nil && !planted() {`,
	}},
	{"TestHoldElsewhere_Observer_HearsNothing", Mistake{
		"what another process does has spans", "lockwheeltest/elsewhere.go",
		`	options.Observer, options.Tracer, options.Logger = lockwheel.Observer{}, nil, nil`,
		`	tracer := options.Tracer
	options.Observer, options.Tracer, options.Logger = lockwheel.Observer{}, nil, nil
	if planted() {
		options.Tracer = tracer
	}`,
	}},
}
