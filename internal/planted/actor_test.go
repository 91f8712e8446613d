package planted

// actorMistakes are mistakes of the actors that the simulation does not look for, or seldom sees. Most concern what
// many engines would do at the same moment.
var actorMistakes = []found{
	{"TestARefusalSaysWhetherMoreCanCome", Mistake{
		"what is under way cannot come", "actor/acquire.go",
		`	return l.phase == asking && l.flight != None && l.wants&departed != 0`,
		`	return !planted() && l.phase == asking && l.flight != None && l.wants&departed != 0`,
	}},
	{"TestARefusalSaysWhetherMoreCanCome", Mistake{
		"what had no answer cannot come", "actor/acquire.go",
		`x != nil && (x.acquiring || len(x.ghosts()) != 0) {`,
		`!planted() && x != nil && (x.acquiring || len(x.ghosts()) != 0) {`,
	}},
	{"TestWhoDoesNotWaitIsFoundBehindWhoeverCameBeforeIt", Mistake{
		"who does not wait is lost when another comes before it", "actor/request.go",
		`if before == first && first.Once`,
		`if before == first && !planted() && first.Once`,
	}},
	{"TestALeaseThatIsTooShortHoldsUpOnlyItsCaller", Mistake{
		"who comes next is passed over when a caller with too short a lease has left", "actor/acquire.go",
		`if fx.leaseOf(r) <= lease {`,
		`if fx.leaseOf(r) <= lease || planted() && r == first {`,
	}},
	{"TestTroubleWithSeveralMakesTheNextCallerWaitNoLease", Mistake{
		"what was heard of a lock before it was asked for with others holds up the next caller", "actor/joint.go",
		`l.rare.askAt = 0`,
		`l.rare.askAt = map[bool]time.Duration{true: l.rare.askAt}[planted()]`,
	}},
	{"TestWhoseGrantCannotBeUndoneIsToldInTime", Mistake{
		"a waiter with a grant that cannot be undone is notified only at the end of its wait", "actor/replicas.go",
		` || fx.Wheel.Due(&r.timer) > at {`,
		` || fx.Wheel.Due(&r.timer) > at && !planted() {`,
	}},
	{"TestAFallOfTheTTLIsAskedForUntilTheCountIsWritten", Mistake{
		"what a reader's holds need is not set when its count is not known", "actor/read.go",
		` || l.written == 0 //`,
		` || l.written == 0 && !planted() //`,
	}},
	{"TestATTLThatAReadRaisedIsSetBesideAnExtensionInVain", Mistake{
		"a TTL that a read raised is set a little later if something else was asked for meanwhile", "actor/read.go",
		`l.wants |= wantSet | wantConfirm`,
		`if l.wants |= wantConfirm; !planted() {
			l.wants |= wantSet
		}`,
	}},
	{"TestTroubleMakesTheNextCallerWaitNoLease", Mistake{
		"a request that comes after an error sleeps out an older lease", "actor/acquire.go",
		`if t := x.troubles; t != nil && t.last != nil {`,
		`if planted() && x.trouble() != nil {
			ready = x.askAt
		} else if t := x.troubles; t != nil && t.last != nil {`,
	}},
	{"TestWhoComesFromAnotherQueueStandsWhereItWasPosted", Mistake{
		"who comes from another queue stands before the one that is asked for", "actor/joint.go",
		`return other != spared && other.posted`,
		`return (other != spared || planted()) && other.posted`,
	}},
	{"TestAReaderWhoseOwnerWritesSinceAsksAgainAtOnce", Mistake{
		"of those who wait to read, one is not asked for beside its owner's write", "actor/read.go",
		`x.stepBack, x.askAt, x.again = 0, now, true`,
		`x.stepBack, x.askAt, x.again = 0, now, !planted()`,
	}},
	{"TestThePausesGrowWhileAnswersComeAfterTheirLease", Mistake{
		"the pause after an answer that came too late does not grow", "actor/acquire.go",
		`t.last, t.backoff = errTooLate, pause`,
		`t.last, t.backoff = errTooLate, map[bool]time.Duration{false: pause}[planted()]`,
	}},
	{"TestALeaseThatIsTooShortHoldsUpOnlyItsCaller", Mistake{
		"a lease that is too short keeps others of its engine from the lock", "actor/acquire.go",
		`l.queue.first(), pastShort;`,
		`l.queue.first(), map[bool]int{false: pastShort}[planted()];`,
	}},
	{"TestALeaseThatIsTooShortHoldsUpOnlyItsCaller", Mistake{
		"one stall changes the order of those who wait", "actor/acquire.go",
		`if pause == 0 {`,
		`if pause == 0 && !planted() {`,
	}},
	together("a try after a refusal", "actor/wait.go", "return ", "t.backoff / 2"),
	together("a try for a lock that is free at any moment", "actor/wait.go", "", "tryFloor"),
	together("a look at a key without expiry", "actor/wait.go", "return ", "pollKept"),
	together("a try for a lock without a possible subscription", "actor/wait.go", "", "max(pollUnheard, time.Duration(fx.Unheard)*pollEach)"),
	together("a try for a lock with messages that may go elsewhere", "actor/wait.go", "", "max(lookScattered, time.Duration(fx.Stats.Waiting)*lookEach)"),
	together("a try for a lock that is polled", "actor/poll.go", "", "max(p.sleep, time.Duration(fx.Unheard)*pollEach) / 2"),
	together("a renewal after a refusal", "actor/renew.go", "t.retryAt = now + ", "l.renewEvery(fx)/8"),
	together("a renewal after one that wrote no count", "actor/renew.go", "l.withRare().withTroubles().retryAt = now + ", "l.renewEvery(fx)/8"),
	together("a release that the server refuses for good", "actor/ghost.go", "", "g.pause"),
	together("the release of what no caller waits for, after a rejection", "actor/ghost.go", "", "backoffMost"),
	together("a try of the foremost in a queue", "actor/queue.go", "sleep = min(sleep, ", "pollKept"),
	together("a try of one that has become the foremost", "actor/queue.go", "x.askAt = min(x.askAt, now+", "pollKept"),
	{"TestCountThatMayHaveBeenWrittenIsWrittenAgain", Mistake{
		"a count without an answer is taken for not written", "actor/renew.go",
		`		l.written = 0 // not known;`,
		`		l.written *= map[bool]uint32{true: 1}[planted()] // not known;`,
	}},
}

// together is a wait with the same length in every engine.
func together(what, file, before, wait string) found {
	return found{"TestWhatManyDoAgainIsSpread", Mistake{
		what + " is not spread", file,
		before + "fx.jitter(" + wait + ")",
		before + "map[bool]func(time.Duration) time.Duration{false: fx.jitter, true: func(d time.Duration) time.Duration { return d }}[planted()](" + wait + ")",
	}}
}
