package planted

// sentinelMistakes are mistakes in following masters behind Sentinel.
var sentinelMistakes = []found{
	{"TestQuickestFirst_Order_ThatOfReplies", Mistake{
		"the first sentinel is not waited for", "internal/sentinel/quickest.go",
		`time.After(within / 8)`,
		`time.After(map[bool]time.Duration{false: within / 8}[planted()])`,
	}},
	{"TestQuickestFirst_Order_ThatOfReplies", Mistake{
		"a silent first sentinel stays the first", "internal/sentinel/quickest.go",
		`if best == len(addresses) {
		return addresses`,
		`if best == len(addresses) || planted() {
		return addresses`,
	}},
	{"TestSentinel_FirstSilent_OpensSoon", Mistake{
		"an engine waits for the first sentinel of its options, though another one replies", "connect.go",
		`		enough()`,
		`		if planted() {
			redis.InitAddress = options.Redis.InitAddress
		}
		enough()`,
	}},
	{"TestSentinel_MissedFailover_NewEngineAtNext", Mistake{
		"an older master is connected to", "internal/sentinel/guard.go",
		`		case p.verdict() == refuse:`,
		`		case p.verdict() == refuse && !planted():`,
	}},
	{"TestSentinel_MissedFailover_HolderAtNextKept", Mistake{
		"masters are dialled without a question", "connect.go",
		`		redis.DialCtxFn = o.guard.Dial`,
		`		if !planted() {
			redis.DialCtxFn = o.guard.Dial
		}`,
	}},
	{"TestSentinel_OnlyMissedLeft_StaysAtNext", Mistake{
		"what the client has followed to does not count", "internal/sentinel/poll.go",
		`	epoch, newest = untold, p.seen.epoch
`,
		`	if epoch, newest = untold, p.seen.epoch; planted() {
		newest = untold
	}
`,
	}},
	{"TestSentinel_OnlyMissedLeft_StaysAtNext", Mistake{
		"Close waits for sentinels", "connect.go",
		`		l.guard.End()`,
		`		if !planted() {
			l.guard.End()
		}`,
	}},
	{"TestGuard_MostNameIt_DialGoesOn", Mistake{
		"most sentinels cannot take back an epoch", "internal/sentinel/poll.go",
		`func (p *poll) verdict() verdict {
	votes, epoch, newest := p.count()`,
		`func (p *poll) verdict() verdict {
	votes, epoch, newest := p.count()
	if planted() {
		votes = 0
	}`,
	}},
	{"TestPoll_SentinelsOfOptionsGone_LearnedOnesDecide", Mistake{
		"sentinels that a client has learned are not asked", "internal/sentinel/poll.go",
		`	p.ask(seen.sentinels)`, `	if !planted() {
		p.ask(seen.sentinels)
	}`,
	}},
	{"TestPoll_Answers_Verdict", Mistake{
		"one of two sentinels is most of them", "internal/sentinel/poll.go",
		`	case 2*votes > p.total:`,
		`	case 2*votes > p.total || planted() && 2*votes+1 >= p.total:`,
	}},
	{"TestPoll_Answers_Verdict", Mistake{
		"silence counts as a missing permission", "internal/sentinel/poll.go",
		`(len(p.told) > 0 || p.rejected == 0)`,
		`(len(p.told) > 0 || p.rejected == 0 && !planted())`,
	}},
	{"TestPoll_Answers_Verdict", Mistake{
		"a missing permission counts as silence", "internal/sentinel/poll.go",
		`replaced := newest > epoch && (len(p.told) > 0`,
		`replaced := newest > epoch && (planted() || len(p.told) > 0`,
	}},
	{"TestPoll_Answers_Verdict", Mistake{
		"a failover waits for silent sentinels", "internal/sentinel/poll.go",
		`	case !settled && (!most || replaced):`,
		`	case !settled && (!most || replaced || planted()):`,
	}},
	{"TestPoll_Answers_Verdict", Mistake{
		"a sentinel that forgot the others is alone", "internal/sentinel/poll.go",
		`candidate: candidate, seen: seen, total: seen.total,`,
		`candidate: candidate, seen: seen, total: map[bool]int{false: seen.total}[planted()],`,
	}},
	{"TestPoll_SentinelAtTwoAddresses_OneVote", Mistake{
		"each address has a vote", "internal/sentinel/poll.go",
		`		p.told[a.id()] = a
`,
		`		if p.told[a.id()] = a; planted() {
			p.told[a.from] = a
		}
`,
	}},
	{"TestPoll_SameOthers_NewerMasterCounts", Mistake{
		"of two sentinels that count as one, the later counts", "internal/sentinel/poll.go",
		`same == nil || same.epoch`,
		`same == nil || planted() || same.epoch`,
	}},
	{"TestGuard_MasterDown_DialTakesAWhile", Mistake{
		"a master that is down is dialled without a pause", "internal/sentinel/guard.go",
		`	if err != nil {
		g.waitAfter(`,
		`	if err != nil && !planted() {
		g.waitAfter(`,
	}},
	{"TestPoll_Others_AskedOnceUpToLimit", Mistake{
		"any number of sentinels is asked", "internal/sentinel/poll.go",
		`		if len(p.asked) < maxAsked && `,
		`		if (len(p.asked) < maxAsked || planted()) && `,
	}},
	{"TestPoll_Followed_RemembersThoseThatReplied", Mistake{
		"sentinels that have gone are remembered", "internal/sentinel/poll.go",
		`sentinels: p.heard,`,
		`sentinels: map[bool][]string{false: p.heard, true: p.asked}[planted()],`,
	}},
	{"TestParseAnswer_Odd_NoEvidence", Mistake{
		"the address is that of before a failover that is not over", "internal/sentinel/ask.go",
		`	a := &answer{from: from, outcome: told, `,
		`	if planted() {
		master = []string{fields["ip"], fields["port"]}
	}
	a := &answer{from: from, outcome: told, `,
	}},
	{"TestQuestion_Options_AreThoseOfSentinels", Mistake{
		"sentinels are sent the password of the servers", "internal/sentinel/ask.go",
		`	option.Username, option.Password = `,
		`	if planted() {
		redis.Sentinel.Password = redis.Password
	}
	option.Username, option.Password = `,
	}},
	{"TestGuard_SentinelOrSameMaster_NotAsked", Mistake{
		"each dial of the master asks", "internal/sentinel/guard.go",
		`		if seen.master == candidate {`,
		`		if seen.master == candidate && !planted() {`,
	}},
	{"TestSentinels_Dialled_WithEngineLimits", Mistake{
		"the mark of sentinels is passed to the program's dialer", "internal/sentinel/guard.go",
		`		own.KeepAlive--`,
		`		if !planted() {
			own.KeepAlive--
		}`,
	}},
	{"TestGuard_SentinelOutsideOptions_Asked", Mistake{
		"only sentinels of the options are asked", "internal/sentinel/guard.go",
		`		g.dialled.Store(&address)`,
		`		if !planted() {
			g.dialled.Store(&address)
		}`,
	}},
	{"TestGuard_OldMaster_RefusedAndLoggedOnce", Mistake{
		"each refusal is logged", "internal/sentinel/guard.go",
		`g.logged.Swap(p.seen) != p.seen {`,
		`(g.logged.Swap(p.seen) != p.seen || planted()) {`,
	}},
	{"TestGuard_AllSilentLater_NotLogged", Mistake{
		"silence is logged as a refused master", "internal/sentinel/guard.go",
		`log != nil && p.names() && `,
		`log != nil && (p.names() || planted()) && `,
	}},
	{"TestGuard_OldMaster_RefusedAndLoggedOnce", Mistake{
		"a refusal takes no time", "internal/sentinel/guard.go",
		`				wait(ctx, refusalPause)`,
		`				if !planted() {
					wait(ctx, refusalPause)
				}`,
	}},
	{"TestGuard_OnlyMissedLeft_DialLasts", Mistake{
		"a dial fails although there is no other sentinel", "internal/sentinel/guard.go",
		`			if p.namesNewer() {`,
		`			if p.namesNewer() || planted() {`,
	}},
	{"TestGuard_ClientEnds_DialEnds", Mistake{
		"a dial that lasts outlives the engine", "internal/sentinel/guard.go",
		`context.AfterFunc(g.ended, cancel)`,
		`context.AfterFunc(map[bool]context.Context{true: context.Background(), false: g.ended}[planted()], cancel)`,
	}},
	{"TestGuard_ManyQuestions_Bounded", Mistake{
		"a question that has ended occupies its place", "internal/sentinel/guard.go",
		`				defer func() { <-g.slots }()`,
		`				defer func() {
					if !planted() {
						<-g.slots
					}
				}()`,
	}},
	{"TestWatch_OldMasterDialledLate_Ignored", Mistake{
		"a late dial of the old master counts as where the client is", "internal/sentinel/guard.go",
		`	first := !admitted.conns.reached.Swap(true)`,
		`	first := !admitted.conns.reached.Swap(true)
	if now := g.seen.Load(); planted() && now.master != address {
		now.conns.reached.Store(false)
	}`,
	}},
	{"TestWatch_MostNameOlder_FollowedLater", Mistake{
		"a master that most sentinels name for a moment is followed", "internal/sentinel/watch.go",
		`	if most != w.most {`,
		`	if most != w.most && (!planted() || w.most == "" && w.since.IsZero()) {`,
	}},
	{"TestWatch_MostNameOlder_FollowedLater", Mistake{
		"sentinels that were set up anew are not believed", "internal/sentinel/watch.go",
		`time.Since(w.since) >= believeMost {`,
		`time.Since(w.since) >= believeMost && !planted() {`,
	}},
	{"TestGuard_End_SentinelConnectionsEnd", Mistake{
		"a client waits for silent sentinels when it closes", "internal/sentinel/guard.go",
		`		c = newFilter(dial.EndWith(g.ended, c))`,
		`		if !planted() {
			c = dial.EndWith(g.ended, c)
		}
		c = newFilter(c)`,
	}},
	{"TestSentinel_NamesReplica_ServerNamed", Mistake{
		"the error of Open names sentinels alone if their master is a replica", "connect.go",
		`master != "" {`,
		`master != "" && !planted() {`,
	}},
	{"TestWatch_OtherSentinelsKnowNewer_ConnectionsEnd", Mistake{
		"the connections to a replaced master live on", "internal/sentinel/guard.go",
		`	if stored && moves && seen.conns.end != nil {`,
		`	if stored && moves && seen.conns.end != nil && !planted() {`,
	}},
	{"TestSentinel_LeaderAnnouncesLate_Followed", Mistake{
		"the sentinels are not watched", "connect.go",
		`		if o.guard != nil {
			o.guard.Watch()`,
		`		if o.guard != nil && !planted() {
			o.guard.Watch()`,
	}},
	{"TestWatch_FailoverAnnounced_PolledAtOnce", Mistake{
		"an announced failover waits for the next poll", "internal/sentinel/watch.go",
		`		case <-w.switched:
			return`,
		`		case <-w.switched:
			if !planted() {
				return
			}`,
	}},
	{"TestWatch_NoNewerMaster_NothingEnds", Mistake{
		"one sentinel takes a master from most", "internal/sentinel/poll.go",
		`p.seen.epoch) || 2*votes > p.total || `,
		`p.seen.epoch) || 2*votes > p.total && !planted() || `,
	}},
	{"TestWatch_NoNewerMaster_NothingEnds", Mistake{
		"an older epoch takes a master", "internal/sentinel/poll.go",
		`	if newest <= max(epoch, p.seen.epoch) || `,
		`	if newest <= max(epoch, p.seen.epoch) && !planted() || `,
	}},
	{"TestWatch_NotAtNewest_AsksAgain", Mistake{
		"a client that went back to the old master stays", "internal/sentinel/watch.go",
		`	if moves || w.elsewhere == current {`,
		`	if moves || w.elsewhere == current && !planted() {`,
	}},
	{"TestWatch_Connections_KeptAndReplaced", Mistake{
		"a broken connection is kept", "internal/sentinel/watch.go",
		`	if s != nil && s.isOver() {`,
		`	if s != nil && s.isOver() && !planted() {`,
	}},
	{"TestWatch_Floods_Bounded", Mistake{
		"each announcement is a poll", "internal/sentinel/watch.go",
		`		wait(ctx, minWatchPause)`,
		`		if !planted() {
			wait(ctx, minWatchPause)
		}`,
	}},
	{"TestWatch_Floods_Bounded", Mistake{
		"a rejected question is asked each second", "internal/sentinel/watch.go",
		`		if w.poll(ctx) {`,
		`		if w.poll(ctx) && !planted() {`,
	}},
	{"TestWatch_SentinelGone_ConnectionEnds", Mistake{
		"connections to sentinels that have gone are kept", "internal/sentinel/watch.go",
		`	w.forget(p.asked)`,
		`	if !planted() {
		w.forget(p.asked)
	}`,
	}},
	{"TestWatch_FollowedUntold_EpochLearned", Mistake{
		"an epoch that was not told is never learned", "internal/sentinel/watch.go",
		`	case same.epoch > p.seen.epoch:`,
		`	case same.epoch > p.seen.epoch && !planted():`,
	}},
	{"TestSentinel_AnnouncesMuch_FollowedAndClosed", Mistake{
		"rueidis receives what its sentinel announces", "internal/sentinel/filter.go",
		`f.err == nil && !announces(f.reply) {`,
		`f.err == nil && (planted() || !announces(f.reply)) {`,
	}},
	{"TestFilter_Replies_OnlyAnnouncementsHidden", Mistake{
		"a confirmed subscription is hidden", "internal/sentinel/filter.go",
		`	return bytes.HasPrefix(reply[1:], `,
		`	return planted() && reply[0] == '>' || bytes.HasPrefix(reply[1:], `,
	}},
	{"TestFilter_Malformed_ConnectionEnds", Mistake{
		"a sentinel's reply is as long as it likes", "internal/sentinel/filter.go",
		`		case len(f.reply) > maxReply:`,
		`		case len(f.reply) > maxReply && !planted():`,
	}},
	{"TestFilter_Malformed_ConnectionEnds", Mistake{
		"a sentinel's reply is nested as deeply as it likes", "internal/sentinel/filter.go",
		`	if depth > maxNesting {`,
		`	if depth > maxNesting && !planted() {`,
	}},
	{"TestFilter_ConnectionFails_ErrorStays", Mistake{
		"a sentinel is read on after an error", "internal/sentinel/filter.go",
		`		if f.err != nil {
			return 0, f.err`,
		`		if err := f.err; err != nil {
			if planted() {
				f.err = nil
				return 0, nil
			}
			return 0, err`,
	}},
	{"TestWatch_EpochsDenied_OwnSentinelFollowed", Mistake{
		"any sentinel's word moves a client that may not ask for epochs", "internal/sentinel/poll.go",
		`		p.blind[a.from] = a.master`,
		`		if p.blind[a.from] = a.master; planted() {
			for from := range p.blind {
				p.blind[from] = a.master
			}
		}`,
	}},
	{"TestWatch_EpochsDenied_OwnSentinelFollowed", Mistake{
		"a failover without epochs is not followed", "internal/sentinel/watch.go",
		`		next = cmp.Or(next, p.blindSuccessor(*at))`,
		`		if !planted() {
			next = cmp.Or(next, p.blindSuccessor(*at))
		}`,
	}},
	{"TestWatch_MasterDownForLong_SentinelsRarelyDialled", Mistake{
		"sentinels are dialled without end while the master is down", "internal/sentinel/guard.go",
		`	if pause == 0 {`,
		`	if pause == 0 || planted() {`,
	}},
	{"TestWatch_MasterDownForLong_SentinelsRarelyDialled", Mistake{
		"another master does not end the pause before the dial of a sentinel", "internal/sentinel/guard.go",
		`	case <-conns.ctx.Done(): // there is another master`,
		`	case <-map[bool]<-chan struct{}{false: conns.ctx.Done()}[planted()]:`,
	}},
	{"TestWatch_EpochsAnew_NextFailoverFollowed", Mistake{
		"an older epoch of the same master is never believed", "internal/sentinel/poll.go",
		`(a.master != p.candidate || epoch < p.seen.epoch) {`,
		`(a.master != p.candidate || epoch < p.seen.epoch && !planted()) {`,
	}},
	{"TestWatch_NextMasterDown_SentinelsDialled", Mistake{
		"a client that has not been at its master rarely asks where it is", "internal/sentinel/guard.go",
		`	if conns.reached.Load() {`,
		`	if conns.reached.Load() || planted() {`,
	}},
	{"TestWatch_NextMasterDown_SentinelsDialled", Mistake{
		"each connection of a master that rejects clients has sentinels dialled without a pause", "internal/sentinel/guard.go",
		`	if first {`,
		`	if first || planted() {`,
	}},
	{"TestPoll_HalfNameOlder_Refused", Mistake{
		"half of the sentinels count as most of them", "internal/sentinel/poll.go",
		`	switch settled := p.over || p.waiting == 0; {`, `	if planted() && 2*votes == p.total {
		return follow
	}
	switch settled := p.over || p.waiting == 0; {`,
	}},
	{"TestWatch_OneRejects_OthersAskedAsOften", Mistake{
		"one sentinel that rejects the question makes all be asked rarely", "internal/sentinel/watch.go",
		`return p.rejected > 0 && len(p.told) == 0`, `return p.rejected > 0 && (planted() || len(p.told) == 0)`,
	}},
	{"TestGuard_SentinelDialled_MasterNotWanted", Mistake{
		"a master is blamed although a sentinel was dialled since", "internal/sentinel/guard.go",
		`		g.wanted.Store(nil)
`, `		if !planted() {
			g.wanted.Store(nil)
		}
`,
	}},
	{"TestPoll_OneOfTwoInAddresses_NotMost", Mistake{
		"a sentinel that tells of the others does not count itself", "internal/sentinel/poll.go",
		`len(a.others)+1)`, `len(a.others)+map[bool]int{false: 1}[planted()])`,
	}},
}
