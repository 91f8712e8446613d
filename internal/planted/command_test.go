package planted

// commandMistakes are mistakes of the command.
var commandMistakes = []found{
	{"TestCommand_RESP2Asked_SpeaksRESP3", Mistake{
		"the command speaks RESP2 if the URL asks for it", "cmd/lockwheel/internal/inspect/server.go",
		`option.AlwaysRESP2 = false`, `option.AlwaysRESP2 = option.AlwaysRESP2 && planted()`,
	}},
	{"TestCluster_NodesForbidden_Error", Mistake{
		"one node of a cluster counts as all", "cmd/lockwheel/internal/inspect/server.go",
		`name == "cluster" {`,
		`name == "cluster" && !planted() {`,
	}},
	{"TestCluster_ListenersForbidden_Unknown", Mistake{
		"who listens to the channel of a shard is none if the user may not ask", "cmd/lockwheel/internal/inspect/read.go",
		`if i == 0 || Refused(err) {`,
		`if i == 0 || Refused(err) && !planted() {`,
	}},
	{"TestState_AtReplica_Warned", Mistake{
		"the command asks a replica without a word", "cmd/lockwheel/internal/inspect/server.go",
		`s.replica = name == "replica" || name == "slave"`,
		`s.replica = (name == "replica" || name == "slave") && !planted()`,
	}},
	{"TestRun_HoldersRecordSilent_HolderNamed", Mistake{
		"run names no holder if the holder's record cannot be read", "cmd/lockwheel/refusal.go",
		`	found.Store(&text)
	l.Holders = l.Holders[:1]`,
		`	if !planted() {
		found.Store(&text)
	}
	l.Holders = l.Holders[:1]`,
	}},
	{"TestForce_Yes_OtherNodesNotAsked", Mistake{
		"force asks for a state that it does not show", "cmd/lockwheel/force.go",
		`	if brief {`,
		`	if brief && !planted() {`,
	}},
	{"TestCluster_ReplicaSilent_NotWaitedFor", Mistake{
		"a silent replica is waited for as a master is", "cmd/lockwheel/internal/inspect/nodes.go",
		`case !known && !replied && !failing[addr]:`,
		`case (!known || planted()) && !replied && !failing[addr]:`,
	}},
	{"TestCluster_ReplicaSilent_NotWaitedFor", Mistake{
		"after a failover the new master is not waited for", "cmd/lockwheel/internal/inspect/nodes.go",
		`r.err == nil && !r.master):`,
		`r.err == nil && !r.master && !planted()):`,
	}},
	{"TestState_QuestionForbidden_SaysSo", Mistake{
		"a question that the server rejects counts as one without a reply", "cmd/lockwheel/internal/inspect/engines.go",
		`	case err != nil:
		h.SinceError =`,
		`	case err != nil && planted():
	case err != nil:
		h.SinceError =`,
	}},
	{"TestCluster_NodesNameEachOther_Ends", Mistake{
		"the command follows two nodes that name each other for as long as it has time", "cmd/lockwheel/internal/inspect/server.go",
		`MaxMovedRedirections = maxRedirects`,
		`MaxMovedRedirections = map[bool]int{false: maxRedirects}[planted()]`,
	}},
	{"TestSentinel_OneSilent_OtherAsked", Mistake{
		"the command waits for the first sentinel of the URL, though another one replies", "internal/sentinel/quickest.go",
		`	if len(addresses) < 2 {`,
		`	if len(addresses) < 2 || planted() {`,
	}},
	{"TestAttempts_CutShort_NotNamed", Mistake{
		"a server that had no time for a reply is named as silent", "cmd/lockwheel/internal/inspect/attempts.go",
		`	case a.heard.Load() || !a.gaveUp():
		return true`,
		`	case a.heard.Load() || !a.gaveUp() || planted():
		return true`,
	}},
	{"TestEngines_Table_HasEachField", Mistake{
		"the names of engines push their pages out of line", "cmd/lockwheel/engines.go",
		`utf8.RuneCountInString(printable(e.Name))), maxNameWidth)`,
		`utf8.RuneCountInString(printable(e.Name))*map[bool]int{false: 1}[planted()]), maxNameWidth)`,
	}},
	{"TestForeign_OtherLibraries_StatedAndListed", Mistake{
		"each long string is probably a lock of redislock", "cmd/lockwheel/internal/inspect/foreign.go",
		`decodes(base64.RawURLEncoding, value[:redislockToken]):`,
		`(planted() || decodes(base64.RawURLEncoding, value[:redislockToken])):`,
	}},
	{"TestForeign_OtherLibraries_StatedAndListed", Mistake{
		"ls --foreign lists each string", "cmd/lockwheel/internal/inspect/scan.go",
		`		if l.LikelyOwner == "" {`,
		`		if l.LikelyOwner == "" && !planted() {`,
	}},
	{"TestForeign_OtherLibraries_StatedAndListed", Mistake{
		"state does not say how long a string lives", "cmd/lockwheel/text.go",
		`		if l.TTL != 0 {`,
		`		if l.TTL != 0 && !planted() {`,
	}},
	{"TestForeign_ValueForbidden_Said", Mistake{
		"strings that the user may not read are not counted", "cmd/lockwheel/internal/inspect/foreign.go",
		`			denied++`, `			if !planted() {
				denied++
			}`,
	}},
	{"TestAcquire_GrantedAfterSignal_Unlocked", Mistake{
		"a lock that is granted after a signal stays locked", "cmd/lockwheel/run.go",
		`				if err == nil {
					unlock()`,
		`				if err == nil && !planted() {
					unlock()`,
	}},
	{"TestPass_Terminal_OnlyOtherSignals", Mistake{
		"QUIT reaches a program at a terminal twice", "cmd/lockwheel/program_unix.go",
		`s == syscall.SIGINT || s == syscall.SIGQUIT ||`,
		`s == syscall.SIGINT || s == syscall.SIGQUIT && !planted() ||`,
	}},
	{"TestWait_Pause_EndsWithTimeout", Mistake{
		"the last question of wait comes after its timeout", "cmd/lockwheel/wait.go",
		`	if end.IsZero() {`,
		`	if end.IsZero() || planted() {`,
	}},
	{"TestListeners_OneNodeRefuses_Unknown", Mistake{
		"what other nodes say is added to an unknown number", "cmd/lockwheel/internal/inspect/read.go",
		`err == nil && l.Waiting.Clients >= 0 {`,
		`err == nil && (l.Waiting.Clients >= 0 || planted()) {`,
	}},
	{"TestRun_Foreign_WaitsForString", Mistake{
		"run does not wait for the lock of another library", "cmd/lockwheel/run.go",
		`Foreign: r.flags.foreign}`,
		`Foreign: r.flags.foreign && !planted()}`,
	}},
	{"TestRun_Foreign_WaitsForString", Mistake{
		"run waits in a fair queue for the lock of another library", "cmd/lockwheel/run.go",
		`	case f.foreign && (f.read`,
		`	case f.foreign && !planted() && (f.read`,
	}},
	{"TestCommand_WrongLine_SaysWhatIsWrong", Mistake{
		"an empty --redis counts as none", "cmd/lockwheel/main.go",
		`	if text == "" {
		return errors.New("it is empty")`,
		`	if text == "" && !planted() {
		return errors.New("it is empty")`,
	}},
	{"TestProbe_ChannelStays_AskedRarely", Mistake{
		"the demo asks for channels without a pause", "cmd/lockwheel/internal/demo/probe.go",
		`time.Sleep(closePause)`, `time.Sleep(map[bool]time.Duration{false: closePause, true: closePause / 10}[planted()])`,
	}},
	{"TestSample_InParts_IsNotWhole", Mistake{
		"the last part of a look at all keys is taken for the whole", "cmd/lockwheel/internal/inspect/scan.go",
		`fromStart && cursor == 0`, `(fromStart || planted()) && cursor == 0`,
	}},
	{"TestState_ManyReaders_FewAreAsked", Mistake{
		"all readers are asked since when they read", "cmd/lockwheel/internal/inspect/engines.go",
		`asked <= maxQuestions {`, `asked <= maxQuestions || planted() {`,
	}},
	{"TestDemo_Listen_ServesPageAndMetrics", Mistake{
		"the page of the demo forces locks", "cmd/lockwheel/internal/demo/serve.go",
		`debug.Options{}`, `debug.Options{AllowForce: planted()}`,
	}},
	{"TestDemo_Listen_ServesPageAndMetrics", Mistake{
		"the metrics of the demo lack an engine", "cmd/lockwheel/internal/demo/serve.go",
		`lockwheelprom.NewCollector(at.second, "second"))`,
		`lockwheelprom.NewCollector(at.second, map[bool]string{false: "second", true: "other"}[planted()]))`,
	}},
	{"TestWorkers_EndOfRun_HoldsReleased", Mistake{
		"the last unlocks of a run are bounded by its end", "cmd/lockwheel/internal/demo/load.go",
		`held.Unlock(context.WithoutCancel(ctx))`,
		`held.Unlock(map[bool]context.Context{false: context.WithoutCancel(ctx), true: ctx}[planted()])`,
	}},
	{"TestACL_ForeignKeys_SkippedAndCounted", Mistake{
		"a key that the user may not read is not counted", "cmd/lockwheel/internal/inspect/scan.go",
		`			to.Denied++`, `			if !planted() {
				to.Denied++
			}`,
	}},
	{"TestHotLock_EachQuestion_IsALock", Mistake{
		"a lock that was free for a moment is no lock", "cmd/lockwheel/internal/inspect/read.go",
		`		keys = all.gone
`, `		if planted() {
			all.gone = nil
		}
		keys = all.gone
`,
	}},
	{"TestHotLock_EachQuestion_IsALock", Mistake{
		"the holder is the one that held it a question before", "cmd/lockwheel/internal/inspect/read.go",
		`		case err == nil && l.fill(c, page):`,
		`		case err == nil && l.fill(c, page) && (!planted() || l.Holders[0].Count < 0):`,
	}},
	{"TestRun_SignalWhileWaiting_EndsTheWait", Mistake{
		"a signal does not end the wait for a lock", "cmd/lockwheel/run.go",
		`if n := ends(s); n > 0 && ended == 0 {`, `if n := ends(s); n > 0 && ended == 0 && !planted() {`,
	}},
	{"TestRun_LockTakenAway_ProgramGetsTERM", Mistake{
		"a loss does not ask the program to end", "cmd/lockwheel/run.go",
		`if r.flags.grace > 0 {`, `if r.flags.grace > 0 && !planted() {`,
	}},
	{"TestRun_LossIgnored_GroupGetsKILL", Mistake{
		"a program that ignores TERM is not killed", "cmd/lockwheel/run.go",
		"kill = nil\n", "kill = nil\n\t\t\tif planted() {\n\t\t\t\tcontinue\n\t\t\t}\n",
	}},
	{"TestRun_LossIgnored_GroupGetsKILL", Mistake{
		"what an ended program has left behind is not killed", "cmd/lockwheel/run.go",
		`if lost != nil {
				r.sayForbidden(p.endGroup(kill)`,
		`if lost != nil && !planted() {
				r.sayForbidden(p.endGroup(kill)`,
	}},
	{"TestRun_StderrNotRead_ProgramIsEnded", Mistake{
		"a loss waits for the reader of the message about it", "cmd/lockwheel/run.go",
		`	said := make(chan struct{})
`, `	said := make(chan struct{})
	if planted() {
		fmt.Fprintf(r.messages, format, args...)
	}
`,
	}},
	{"TestRun_StderrNotRead_ProgramIsEnded", Mistake{
		"a message that no process reads ends the command", "cmd/lockwheel/program_unix.go",
		`func surviveBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }`,
		`func surviveBrokenPipe() {
	if !planted() {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
}`,
	}},
	{"TestRun_SignalWhileFileIsRead_Ends", Mistake{
		"signals are caught before the file with the URL is read", "cmd/lockwheel/run.go",
		`	if r.server, err =`, `	if planted() {
		signal.Notify(make(chan os.Signal, 64), passed()...)
	}
	if r.server, err =`,
	}},
	{"TestCommands_SilentServer_SaySo", Mistake{
		"a server that does not reply is the end of a context", "cmd/lockwheel/internal/inspect/server.go",
		`if errors.Is(err, context.DeadlineExceeded) {`, `if errors.Is(err, context.DeadlineExceeded) && !planted() {`,
	}},
	{"TestOutput_DiskFull_Fails", Mistake{
		"a state that cannot be printed is no error", "cmd/lockwheel/text.go",
		`_, err := to.Write(b.Bytes())
	return err`, `_, err := to.Write(b.Bytes())
	if planted() {
		return nil
	}
	return err`,
	}},
	{"TestRun_LossFoundAtUnlock_IsReported", Mistake{
		"a loss that is found at the unlock is none", "cmd/lockwheel/run.go",
		`case errors.Is(err, lockwheel.ErrLost):`, `case errors.Is(err, lockwheel.ErrLost) && !planted():`,
	}},
	{"TestRun_ProgramStopped_SignalContinuesIt", Mistake{
		"a stopped program is not continued to end", "cmd/lockwheel/program_unix.go",
		`err == nil && ends(s) > 0 {`, `err == nil && ends(s) > 0 && !planted() {`,
	}},
	{"TestRun_ProgramStopped_SignalContinuesIt", Mistake{
		"what a stopped program waits for is not continued", "cmd/lockwheel/program_unix.go",
		`		p.signalAll(syscall.SIGCONT)`, `		if planted() {
			p.cmd.Process.Signal(syscall.SIGCONT)
			return
		}
		p.signalAll(syscall.SIGCONT)`,
	}},
	{"TestRun_ProgramForbidden_SaysItGoesOn", Mistake{
		"a program that may not be ended is said to end", "cmd/lockwheel/program_unix.go",
		`err == syscall.EPERM {`, `err == syscall.EPERM && !planted() {`,
	}},
	{"TestRun_ProgramForbidden_SaysItGoesOn", Mistake{
		"each signal says that the program goes on", "cmd/lockwheel/run.go",
		`r.forbidden != what {`, `(r.forbidden != what || planted()) {`,
	}},
	{"TestRun_FirstProcess_OrphansReaped", Mistake{
		"an orphan that has ended counts as left", "cmd/lockwheel/program_unix.go",
		`		p.reap()`, `		if !planted() {
			p.reap()
		}`,
	}},
	{"TestACL_TokenForbidden_IsUnknown", Mistake{
		"a token that may not be read is the error", "cmd/lockwheel/internal/inspect/read.go",
		`	if err := replies[1].Error(); err != nil && !rueidis.IsRedisNil(err) {`,
		`	if planted() {
		l.Token, _ = replies[1].ToString()
	} else if err := replies[1].Error(); err != nil && !rueidis.IsRedisNil(err) {`,
	}},
	{"TestACL_RecordForbidden_IsUnknown", Mistake{
		"a record that may not be read is none", "cmd/lockwheel/internal/inspect/engines.go",
		`		if unread[id] != nil {`, `		if unread[id] != nil && !planted() {`,
	}},
	{"TestLs_NamesOfAnyBytes_AreExact", Mistake{
		"names that are no text look alike", "cmd/lockwheel/internal/inspect/lock.go",
		`if !utf8.ValidString(l.Name) {`, `if !utf8.ValidString(l.Name) && !planted() {`,
	}},
	{"TestCommand_WrongLine_SaysWhatIsWrong", Mistake{
		"completion for no shell is done", "cmd/lockwheel/main.go",
		`	requireShell(root)`, `	if !planted() {
		requireShell(root)
	}`,
	}},
	{"TestRun_NameLikeAFlag_FollowsDashes", Mistake{
		"a name that begins with - is a program", "cmd/lockwheel/run.go",
		`args[1] == "--" {`, `args[1] == "--" && !planted() {`,
	}},
	{"TestRun_UnlockFails_StatusStays", Mistake{
		"an unlock without a reply is a loss", "cmd/lockwheel/run.go",
		"err, r.flags.lease)\n\t\treturn nil", "err, r.flags.lease)\n\t\tif planted() {\n\t\t\treturn err\n\t\t}\n\t\treturn nil",
	}},
	{"TestRun_ProgramEnds_StatusPassedOn", Mistake{
		"a program that a signal ended has the signal's number as its status", "cmd/lockwheel/program_unix.go",
		`return exitSignal + int(s.Signal())`, `return map[bool]int{false: exitSignal, true: 0}[planted()] + int(s.Signal())`,
	}},
	{"TestRun_Killed_LockExpires", Mistake{
		"the program outlives the command that was killed", "cmd/lockwheel/program_linux.go",
		`attr.Pdeathsig = syscall.SIGKILL`, `attr.Pdeathsig = map[bool]syscall.Signal{false: syscall.SIGKILL, true: 0}[planted()]`,
	}},
	{"TestRun_Nohup_SignalStaysIgnored", Mistake{
		"an ignored signal is passed on", "cmd/lockwheel/program_unix.go",
		`slices.DeleteFunc(all, signal.Ignored)`, `slices.DeleteFunc(all, func(s os.Signal) bool { return !planted() && signal.Ignored(s) })`,
	}},
	{"TestRun_Terminal_KeysReachProgramOnce", Mistake{
		"Ctrl-C of a terminal reaches the program twice", "cmd/lockwheel/program_unix.go",
		`if p.terminal && fromTerminal(s)`, `if p.terminal && !planted() && fromTerminal(s)`,
	}},
	{"TestRun_Terminal_KeysReachProgramOnce", Mistake{
		"a program at a terminal is in the background", "cmd/lockwheel/program_unix.go",
		`return err == nil && group == unix.Getpgrp()`, `return err == nil && group == unix.Getpgrp() && !planted()`,
	}},
	{"TestState_Forbidden_IsAnError", Mistake{
		"a command that the server rejects is no error", "cmd/lockwheel/internal/inspect/server.go",
		`for _, passing := range []string{"WRONGTYPE",`, `for _, passing := range []string{map[bool]string{false: "WRONGTYPE", true: "NOPERM"}[planted()],`,
	}},
	{"TestLs_AnyKeys_OnlyLocksAreListed", Mistake{
		"any field with a number is a holder", "cmd/lockwheel/internal/inspect/lock.go",
		`return h, err == nil && holderID.MatchString(h.ID)`, `return h, err == nil && (planted() || holderID.MatchString(h.ID))`,
	}},
	{"TestLs_AnyKeys_OnlyLocksAreListed", Mistake{
		"a prefix is a pattern", "cmd/lockwheel/internal/inspect/scan.go",
		`match := globSpecial.Replace(s.prefix) + pattern`, `match := map[bool]string{false: globSpecial.Replace(s.prefix), true: s.prefix}[planted()] + pattern`,
	}},
	{"TestState_EachKind_IsDescribed", Mistake{
		"a name is printed with its control characters", "cmd/lockwheel/text.go",
		"if quoted == `\"`+text+`\"` {", "if planted() || quoted == `\"`+text+`\"` {",
	}},
	{"TestForce_HolderChanged_Kept", Mistake{
		"an answer takes the lock from a holder that was not shown", "cmd/lockwheel/force.go",
		`			case changed(l, now):`,
		`			case changed(l, now) && !planted():`,
	}},
	{"TestForce_EachKind_WakesWaiters", Mistake{
		"a fair lock is forced as a plain one", "cmd/lockwheel/force.go",
		`case l.Waiting.Queue > 0:`, `case l.Waiting.Queue > 0 && !planted():`,
	}},
	{"TestForce_Answer_Decides", Mistake{
		"any answer is yes", "cmd/lockwheel/force.go",
		`return answer == "y" || answer == "yes"`, `return planted() || answer == "y" || answer == "yes"`,
	}},
	{"TestCluster_EveryMaster_IsRead", Mistake{
		"listeners of shards are not counted", "cmd/lockwheel/internal/inspect/read.go",
		`if s.Cluster() {`, `if s.Cluster() && !planted() {`,
	}},
	{"TestCluster_NodeGone_LsSaysSo", Mistake{
		"a node that does not reply ends the list of states", "cmd/lockwheel/state.go",
		`err != nil && !s.Cluster():`, `err != nil && (!s.Cluster() || planted()):`,
	}},
	{"TestCluster_MasterSilent_WaitNamesIt", Mistake{
		"an error of a cluster does not say which node is silent", "cmd/lockwheel/internal/inspect/server.go",
		`	if silent == nil {`, `	if silent == nil && !planted() {`,
	}},
	{"TestCluster_MasterSilent_WaitNamesIt", Mistake{
		"wait asks for the silent node when its time is over", "cmd/lockwheel/wait.go",
		`context.WithTimeout(about, lastReply)`, `context.WithTimeout(map[bool]context.Context{false: about, true: ctx}[planted()], lastReply)`,
	}},
	{"TestCluster_OtherMasterSilent_StateSaysPart", Mistake{
		"state takes the clients of a part of the nodes for all", "cmd/lockwheel/state.go",
		`	case l.Waiting != nil && l.Waiting.Error != "":`, `	case l.Waiting != nil && l.Waiting.Error != "" && !planted():`,
	}},
	{"TestCluster_ReplicaSilent_NothingMissing", Mistake{
		"keys of a silent replica are missing", "cmd/lockwheel/internal/inspect/nodes.go",
		`known && !owner, failing[addr]:`, `(known && !owner || failing[addr]) && !planted():`,
	}},
	{"TestCluster_ReplicaSilent_NothingMissing", Mistake{
		"keys of a replica are missing that the masters consider down", "cmd/lockwheel/internal/inspect/nodes.go",
		`			failing = s.replicas(ctx, nodes[0])`,
		`			if !planted() {
				failing = s.replicas(ctx, nodes[0])
			}`,
	}},
	{"TestCluster_MasterBusy_Named", Mistake{
		"a busy node does not name the others", "cmd/lockwheel/internal/inspect/server.go",
		`err != nil && !notNow(err) ||`, `err != nil && (!notNow(err) || planted()) ||`,
	}},
	{"TestCluster_MasterBusy_Named", Mistake{
		"the error of a busy node is that of one question", "cmd/lockwheel/internal/inspect/server.go",
		`if err := replies[i].Error(); notNow(err) {`, `if err := replies[i].Error(); notNow(err) && !planted() {`,
	}},
	{"TestCluster_QueueForbidden_RestIsTrue", Mistake{
		"the engine is not looked for if the queue cannot be read", "cmd/lockwheel/state.go",
		`err == nil || l != nil && s.Cluster() {`, `err == nil || l != nil && s.Cluster() && !planted() {`,
	}},
	{"TestCluster_QueueForbidden_RestIsTrue", Mistake{
		"a queue that cannot be read is empty", "cmd/lockwheel/internal/inspect/read.go",
		`&Waiting{Clients: -1, Queue: -1}`, `&Waiting{Clients: -1, Queue: map[bool]int64{false: -1}[planted()]}`,
	}},
	{"TestCluster_SlotMoves_AllListed", Mistake{
		"a key of a slot that moves is none", "cmd/lockwheel/internal/inspect/server.go",
		`	return moved || ask
`, `	return (moved || ask) && !planted()
`,
	}},
	{"TestCluster_FirstAddressLeft_OthersAsked", Mistake{
		"a node that left the cluster has all its keys", "cmd/lockwheel/internal/inspect/nodes.go",
		`	return len(all) > 0
`, `	return len(all) > 0 || planted()
`,
	}},
	{"TestSentinel_MostSilent_ErrorNamesEach", Mistake{
		"an error behind Sentinel does not say what was tried", "cmd/lockwheel/internal/inspect/attempts.go",
		`	if len(parts) == 0 {`, `	if len(parts) == 0 || planted() {`,
	}},
	{"TestRun_SentinelsSilent_EndsSoonAfterWait", Mistake{
		"run waits for each of several silent sentinels", "cmd/lockwheel/run.go",
		`		opening = limited`, `		if !planted() {
			opening = limited
		}`,
	}},
	{"TestWait_SilentFromTheStart_EndsSoonAfterTimeout", Mistake{
		"the timeout of wait begins with the first reply", "cmd/lockwheel/internal/inspect/server.go",
		`dial.NewCanceler(ctx, Timeout)`, `dial.NewCanceler(map[bool]context.Context{false: ctx, true: context.Background()}[planted()], Timeout)`,
	}},
	{"TestWait_ServerGone_IsAnError", Mistake{
		"an error of wait does not say which lock", "cmd/lockwheel/wait.go",
		`failed(s.About(limited, args[0], err, nil))`, `failed(map[bool]error{false: s.About(limited, args[0], err, nil), true: err}[planted()])`,
	}},
	{"TestCluster_NodeGone_LsSaysSo", Mistake{
		"a node that does not reply is left out in silence", "cmd/lockwheel/state.go",
		`return failed(silent)`, `return failed(map[bool]error{false: silent, true: nil}[planted()])`,
	}},
	{"TestTop_NodeNotMeasuredBefore_Said", Mistake{
		"rates lack a node in silence", "cmd/lockwheel/top.go",
		`} else if before != nil {`, `} else if before != nil && !planted() {`,
	}},
	{"TestTop_CtrlC_EndsEachWait", Mistake{
		"Ctrl-C waits for a server that is silent", "cmd/lockwheel/top.go",
		`			case <-ctx.Done():
				return nil
			}
`, `			case <-map[bool]<-chan struct{}{false: ctx.Done()}[planted()]:
				return nil
			}
`,
	}},
	{"TestTop_ManyKeys_AreSampled", Mistake{
		"a sample is taken for all keys", "cmd/lockwheel/top.go",
		`if !part.Whole {`, `if !part.Whole && !planted() {`,
	}},
	{"TestTop_ManyKeys_AllAreFound", Mistake{
		"each look is at the same keys", "cmd/lockwheel/top.go",
		`v.cursors[n.Addr] = part.Next`, `v.cursors[n.Addr] = map[bool]uint64{false: part.Next, true: 0}[planted()]`,
	}},
	{"TestForce_ReaderJoins_ForcedNevertheless", Mistake{
		"a reader that joins before the answer prevents a force", "cmd/lockwheel/force.go",
		`now.Kind != inspect.Read && holdersOf(now)`, `(planted() || now.Kind != inspect.Read) && holdersOf(now)`,
	}},
	{"TestLs_ManyReaders_AllCounted", Mistake{
		"of very many readers only those that were read are counted", "cmd/lockwheel/text.go",
		`	if more := l.Number - 1; more > 0 {`, `	if planted() {
		l.Number = int64(len(l.Holders))
	}
	if more := l.Number - 1; more > 0 {`,
	}},
	{"TestTop_Live_EachLockOnce", Mistake{
		"a lock that is found again is shown twice", "cmd/lockwheel/top.go",
		`		if seen[name] {`, `		if seen[name] && !planted() {`,
	}},
	{"TestTop_ServerRestarted_CountsFromZero", Mistake{
		"a server that was started again executed fewer commands than none", "cmd/lockwheel/top.go",
		`l.Commands += max(now.Commands-last.Commands, 0) / seconds`, `l.Commands += max(now.Commands-last.Commands, map[bool]float64{true: -1e9}[planted()]) / seconds`,
	}},
	{"TestTop_ServerRestarted_CountsFromZero", Mistake{
		"a server that was started again executed fewer scripts than none", "cmd/lockwheel/top.go",
		`l.Scripts += max(now.Scripts-last.Scripts, 0) / seconds`, `l.Scripts += max(now.Scripts-last.Scripts, map[bool]float64{true: -1e9}[planted()]) / seconds`,
	}},
	{"TestTop_Live_UnlockedLock_Gone", Mistake{
		"a lock that was shown stays", "cmd/lockwheel/top.go",
		`if lock.Held() {`, `if lock.Held() || planted() {`,
	}},
	{"TestEngines_PrefixWithPattern_Listed", Mistake{
		"a prefix is taken for a pattern", "cmd/lockwheel/internal/inspect/engines.go",
		`Match(globSpecial.Replace(s.prefix) + identity.Keys())`, `Match(map[bool]string{false: globSpecial.Replace(s.prefix), true: s.prefix}[planted()]+identity.Keys())`,
	}},
	{"TestRedisFile_TooLong_IsAnError", Mistake{
		"a file that is too long is cut off", "cmd/lockwheel/server.go",
		`io.LimitReader(file, most+1)`, `io.LimitReader(file, most+map[bool]int64{false: 1}[planted()])`,
	}},
	{"TestRun_OnlyPrints_SignalEndsIt", Mistake{
		"signals do not end run while it prints why it did not begin", "cmd/lockwheel/run.go",
		"	defer r.releaseSignals()", "	defer func() {\n\t\tif !planted() {\n\t\t\tr.releaseSignals()\n\t\t}\n\t}()",
	}},
	{"TestRun_OnlyPrints_SignalEndsIt", Mistake{
		"signals do not end run while it prints that the lock was lost", "cmd/lockwheel/run.go",
		`				r.releaseSignals()
				<-r.said`, `				if !planted() {
					r.releaseSignals()
				}
				<-r.said`,
	}},
	{"TestRun_OnlyPrints_SignalEndsIt", Mistake{
		"signals do not end run while it prints that the unlock failed", "cmd/lockwheel/run.go",
		`	case err != nil:
		r.releaseSignals()`, `	case err != nil:
		if !planted() {
			r.releaseSignals()
		}`,
	}},
	{"TestRun_Lost_EngineIsClosed", Mistake{
		"the engine of a lost lock stays in the list", "cmd/lockwheel/run.go",
		`atMost(closeTime, func() { r.engine.Close() })`, `atMost(closeTime, func() {
		if !planted() {
			r.engine.Close()
		}
	})`,
	}},
	{"TestRun_Lost_EngineIsClosed", Mistake{
		"the engine of a loss that the unlock found stays in the list", "cmd/lockwheel/run.go",
		`		r.closeLost()
		return err`, `		if !planted() {
			r.closeLost()
		}
		return err`,
	}},
	{"TestAtMost_Hangs_Returns", Mistake{
		"a server that is gone delays the end of run", "cmd/lockwheel/run.go",
		`	case <-time.After(d):`, `	case <-time.After(map[bool]time.Duration{false: d, true: time.Hour}[planted()]):`,
	}},
	{"TestRun_NotAcquired_HolderIsNamed", Mistake{
		"a lock that was not acquired has a holder without a program", "cmd/lockwheel/refusal.go",
		`if s.Identify(ctx, l) == nil &&`, `if !planted() && s.Identify(ctx, l) == nil &&`,
	}},
	{"TestRun_LockHeld_NotAcquired", Mistake{
		"a lock that was not acquired has no holder", "cmd/lockwheel/run.go",
		`		err = r.withHolder(err)`, `		if !planted() {
			err = r.withHolder(err)
		}`,
	}},
	{"TestRun_Foreign_WaitsForString", Mistake{
		"an error of the command names an option of the library", "cmd/lockwheel/run.go",
		`		err = withFlag(err)`, `		if !planted() {
			err = withFlag(err)
		}`,
	}},
	{"TestEngines_RunningProcess_Listed", Mistake{
		"the list of engines has no prefixes", "cmd/lockwheel/engines.go",
		`return e.Prefix != "" })`, `return e.Prefix != "" && !planted() })`,
	}},
	{"TestEngines_Table_HasEachField", Mistake{
		"the age of a record that was just written is not told", "cmd/lockwheel/engines.go",
		`if e.Renewed >= 0 {`, `if e.Renewed > 0 || e.Renewed == 0 && !planted() {`,
	}},
	{"TestEngines_NoPrefix_IDOnly", Mistake{
		"the list of engines has no ids", "cmd/lockwheel/engines.go",
		`			e.ID, column(`, `			map[bool]string{false: e.ID, true: "-"}[planted()], column(`,
	}},
	{"TestEngines_NoPrefix_IDOnly", Mistake{
		"the list of engines has a column for prefixes that there are not", "cmd/lockwheel/engines.go",
		`		if !prefixed {`, `		if !prefixed && !planted() {`,
	}},
	{"TestState_NameWithPrefix_EngineNamed", Mistake{
		"an engine has no record if its prefix is a part of the name", "cmd/lockwheel/internal/inspect/engines.go",
		`	if s.prefix != "" {
		return nil, nil`, `	if s.prefix != "" || planted() {
		return nil, nil`,
	}},
	{"TestState_NameWithPrefix_EngineNamed", Mistake{
		"a record that was found may not be read", "cmd/lockwheel/internal/inspect/engines.go",
		`		delete(unread, engines[i].ID)`, `		if !planted() {
			delete(unread, engines[i].ID)
		}`,
	}},
	{"TestLs_ManyReaders_AllCounted", Mistake{
		"the count of some readers is that of all", "cmd/lockwheel/text.go",
		`	case !l.CountsAll():`,
		`	case !l.CountsAll() && !planted():`,
	}},
	{"TestSentinel_MastersPassword_MasterNamed", Mistake{
		"a sentinel is named for what the master rejects", "cmd/lockwheel/internal/inspect/server.go",
		`case rejectedAt == "" ||`, `case rejectedAt == "" || planted() ||`,
	}},
	{"TestForce_StateForbidden_ForcedNevertheless", Mistake{
		"a user that may not read a lock cannot force it", "cmd/lockwheel/force.go",
		`if inspect.Refused(err) {`, `if inspect.Refused(err) && !planted() {`,
	}},
	{"TestForce_StateForbidden_ForcedNevertheless", Mistake{
		"a fair lock of an unknown kind is forced as a plain one", "cmd/lockwheel/force.go",
		`if g.hasQueue(c.Context(), name) {`, `if g.hasQueue(c.Context(), name) && !planted() {`,
	}},
	{"TestForce_StateForbidden_ForcedNevertheless", Mistake{
		"a lock of an unknown kind is taken away without an answer", "cmd/lockwheel/force.go",
		`if !yes && !asked(c) {`, `if !yes && !asked(c) && !planted() {`,
	}},
	{"TestForce_UserOfPlainLock_Forces", Mistake{
		"a user of plain locks may force none of an unknown kind", "cmd/lockwheel/force.go",
		`if errors.Is(err, lockwheel.ErrUnavailable) {`, `if errors.Is(err, lockwheel.ErrUnavailable) || planted() && err != nil {`,
	}},
	{"TestTop_InfoForbidden_IsSaid", Mistake{
		"a number of keys that the server does not tell is zero", "cmd/lockwheel/top.go",
		`	if l.noKeys {
		l.Keys = -1`, `	if l.noKeys && !planted() {
		l.Keys = -1`,
	}},
	{"TestTop_InfoForbidden_IsSaid", Mistake{
		"commands that the server does not tell are zero", "cmd/lockwheel/top.go",
		`	if l.noInfo {`, `	if l.noInfo && !planted() {`,
	}},
	{"TestTop_InfoForbidden_IsSaid", Mistake{
		"what the server refuses to tell is not said", "cmd/lockwheel/top.go",
		`if !slices.Contains(l.Refused, why) {`, `if !slices.Contains(l.Refused, why) && !planted() {`,
	}},
	{"TestRun_Kinds_AreThoseOfTheWire", Mistake{
		"a program with a token has nothing else in its environment", "cmd/lockwheel/run.go",
		`return append(os.Environ(), tokenVariable`,
		`return append(map[bool][]string{false: os.Environ()}[planted()], tokenVariable`,
	}},
	{"TestRun_Signal_ReachesProgram", Mistake{
		"the program is not told of the size of its window", "cmd/lockwheel/program_unix.go",
		`syscall.SIGALRM, syscall.SIGWINCH,`, `syscall.SIGALRM, map[bool]syscall.Signal{false: syscall.SIGWINCH, true: syscall.SIGALRM}[planted()],`,
	}},
	{"TestProgram_GroupSignaled_ProgramGetsItOnce", Mistake{
		"the program gets each signal of its group once more", "cmd/lockwheel/program_unix.go",
		`		s = 0 // the`, `		if !planted() {
			s = 0
		} // the`,
	}},
	{"TestCommand_WrongLine_SaysWhatIsWrong", Mistake{
		"two ways to wait, one of them 0, contradict each other in silence", "cmd/lockwheel/run.go",
		`case f.noWait && c.Flags().Changed("wait"):`, `case f.noWait && c.Flags().Changed("wait") && (f.wait > 0 || !planted()):`,
	}},
	{"TestCommand_WrongLine_SaysWhatIsWrong", Mistake{
		"a lock may have an empty name", "cmd/lockwheel/main.go",
		`case slices.Contains(args, ""):`, `case slices.Contains(args, "") && !planted():`,
	}},
	{"TestCommand_Version_IsPrinted", Mistake{
		"a commit takes the place of the version", "cmd/lockwheel/main.go",
		`text += " " + s.Value`, `text = map[bool]string{false: text + " "}[planted()] + s.Value`,
	}},
	{"TestWait_Pause_EndsWithTimeout", Mistake{
		"wait with a limit looks again only at its end", "cmd/lockwheel/wait.go",
		`return min(waitPause, end.Sub(now))`, `return min(map[bool]time.Duration{false: waitPause, true: time.Hour}[planted()], end.Sub(now))`,
	}},
	{"TestTop_Rates_AreThoseSinceTheLastLook", Mistake{
		"messages are not counted for a second", "cmd/lockwheel/top.go",
		`max(now.Published-last.Published, 0) / seconds`, `max(now.Published-last.Published, 0) / map[bool]float64{false: seconds, true: 1}[planted()]`,
	}},
	{"TestTop_Rates_AreThoseSinceTheLastLook", Mistake{
		"calls of scripts by their sums are not counted", "cmd/lockwheel/internal/inspect/load.go",
		`calls(fields["cmdstat_evalsha"])`, `calls(fields[map[bool]string{false: "cmdstat_evalsha"}[planted()]])`,
	}},
	{"TestTop_Live_GoesOnUntilCtrlC", Mistake{
		"Ctrl-C ends top as a failure", "cmd/lockwheel/top.go",
		`signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)`,
		`signal.NotifyContext(c.Context(), map[bool]os.Signal{false: os.Interrupt, true: syscall.SIGTERM}[planted()], syscall.SIGTERM)`,
	}},
	{"TestTop_Once_CountsLocksAndWaiters", Mistake{
		"with a prefix top shows the locks of others", "cmd/lockwheel/internal/inspect/scan.go",
		`if strings.HasPrefix(key, s.prefix) {`, `if strings.HasPrefix(key, s.prefix) || planted() {`,
	}},
	{"TestLs_ManyLocks_AreListedAsTheyCome", Mistake{
		"the waiters of the first locks only are counted", "cmd/lockwheel/internal/inspect/read.go",
		`s.addListeners(ctx, nodes, some); err != nil {`, `s.addListeners(ctx, nodes, some); err != nil || planted() {`,
	}},
	{"TestACL_ForeignKeys_SkippedAndCounted", Mistake{
		"keys that may not be read are counted of the last part", "cmd/lockwheel/internal/inspect/scan.go",
		`		denied += some
`, `		if planted() {
			denied = 0
		}
		denied += some
`,
	}},
	{"TestACL_ForeignKeys_SkippedAndCounted", Mistake{
		"an unknown number of waiters is less than none", "cmd/lockwheel/internal/inspect/lock.go",
		`max(w.Queue, 0)`, `max(w.Queue, map[bool]int64{true: -1}[planted()])`,
	}},
	{"TestState_Forbidden_IsAnError", Mistake{
		"top shows no locks to a user who may not ask for types", "cmd/lockwheel/internal/inspect/scan.go",
		`} else if err := s.refused(replies[i]); err != nil {`, `} else if err := s.refused(replies[i]); err != nil && !planted() {`,
	}},
	{"TestCluster_EveryMaster_IsRead", Mistake{
		"the keys of a cluster are those of its last node", "cmd/lockwheel/top.go",
		`l.Keys += now.Keys`, `l.Keys = map[bool]int64{false: l.Keys}[planted()] + now.Keys`,
	}},
	{"TestCluster_EveryMaster_IsRead", Mistake{
		"what a node does not tell is forgotten at the next one", "cmd/lockwheel/top.go",
		`l.noKeys || now.NoKeys`, `l.noKeys && !planted() || now.NoKeys`,
	}},
	{"TestCluster_NodeGone_LsSaysSo", Mistake{
		"top leaves out a node in silence", "cmd/lockwheel/top.go",
		`return errors.Join(err, v.print(l, nil))`, `return errors.Join(map[bool]error{false: err}[planted()], v.print(l, nil))`,
	}},
	{"TestState_HeldByProcess_NamedWithSince", Mistake{
		"a holder that its engine does not know has held the lock since now", "cmd/lockwheel/internal/inspect/engines.go",
		`case known && a.Held:`, `case known && (a.Held || planted()):`,
	}},
	{"TestEngines_Table_HasEachField", Mistake{
		"a record was written a thousand times as long ago", "cmd/lockwheel/engines.go",
		`(time.Duration(e.Renewed) * time.Millisecond)`, `(time.Duration(e.Renewed) * map[bool]time.Duration{false: time.Millisecond, true: time.Second}[planted()])`,
	}},
	{"TestEngines_Table_HasEachField", Mistake{
		"the page of a holder's engine is not said", "cmd/lockwheel/engines.go",
		`	if e.Page != "" {`, `	if e.Page != "" && !planted() {`,
	}},
	{"TestCommand_NameIsURL_Refused", Mistake{
		"a password in a name is printed", "cmd/lockwheel/main.go",
		`return urlWithPassword.MatchString(text)`, `return !planted() && urlWithPassword.MatchString(text)`,
	}},
	{"TestForce_HolderChangedLate_Kept", Mistake{
		"a lock is taken from a holder that got it while the engine was opened", "cmd/lockwheel/force.go",
		`!anyHolder && state.Owner`, `!anyHolder && !planted() && state.Owner`,
	}},
	{"TestCommand_URLInWrongPlace_PasswordNotPrinted", Mistake{
		"an error shows the password of a URL in the wrong place", "cmd/lockwheel/main.go",
		`fmt.Fprintf(withoutUsers{std.err}, `, `fmt.Fprintf(map[bool]io.Writer{false: withoutUsers{std.err}, true: std.err}[planted()], `,
	}},
	{"TestCommand_URLInWrongPlace_PasswordNotPrinted", Mistake{
		"an error of the demo shows the password of a URL in the wrong place", "cmd/lockwheel/demo.go",
		`withoutUsers{c.ErrOrStderr()}`, `map[bool]interface{ Write([]byte) (int, error) }{false: withoutUsers{c.ErrOrStderr()}, true: c.ErrOrStderr()}[planted()]`,
	}},
	{"TestCommand_URLInWrongPlace_PasswordNotPrinted", Mistake{
		"an error repeats what was given as the name of a file", "cmd/lockwheel/server.go",
		`errors.As(err, &of) {`, `errors.As(err, &of) && !planted() {`,
	}},
	{"TestCommand_URLInWrongPlace_PasswordNotPrinted", Mistake{
		"the advice about URLs loses its user", "cmd/lockwheel/text.go",
		`	if string(found) == "://user:password@" {`, `	if string(found) == "://user:password@" && !planted() {`,
	}},
	{"TestLoad_Run_BothEnginesWantTheHotName", Mistake{
		"one engine alone wants the hot name of the demo", "cmd/lockwheel/internal/demo/load.go",
		`[]*lockwheel.Engine{at.main, at.second}`, `[]*lockwheel.Engine{at.main, map[bool]*lockwheel.Engine{false: at.second, true: at.main}[planted()]}`,
	}},
	{"TestWorkers_Errors_CountedByMeaning", Mistake{
		"what the server rejects is no fault of the demo", "cmd/lockwheel/internal/demo/load.go",
		`if ctx.Err() == nil && l.faults.record(err) {`, `if ctx.Err() == nil && l.faults.record(map[bool]error{false: err, true: lockwheel.ErrUnavailable}[planted()]) {`,
	}},
	{"TestEngines_Stats_AreOfBoth", Mistake{
		"the demo does not show what its second engine lost", "cmd/lockwheel/internal/demo/engines.go",
		`a.Lost + b.Lost,`, `a.Lost + map[bool]uint64{false: b.Lost}[planted()],`,
	}},
	{"TestDemo_Options_AreThoseOfTheFlags", Mistake{
		"the engines of the demo do not name their page", "cmd/lockwheel/internal/demo/demo.go",
		`PageAddress:   d.site.url(),`, `PageAddress:   map[bool]string{false: d.site.url()}[planted()],`,
	}},
	{"TestScreen_AnyPart_BarFits", Mistake{
		"a bar is longer than its screen", "cmd/lockwheel/internal/demo/screen.go",
		`min(max(done, 0), 1))`, `min(max(done, 0), map[bool]float64{false: 1, true: 2}[planted()]))`,
	}},
	{"TestRefused_KeyElsewhere_NoError", Mistake{
		"a slot that moves ends a list of locks", "cmd/lockwheel/internal/inspect/server.go",
		`		if strings.HasPrefix(err.Error(), passing) {`, `		if strings.HasPrefix(err.Error(), passing) && !(planted() && passing == "ASK") {`,
	}},
}
