package planted

// connectMistakes are mistakes in opening and closing, and in what an engine reports.
var connectMistakes = []found{
	{"TestStatus_Outage_DownSince", Mistake{
		"the only server has no address", "connect.go",
		`cmp.Or(n.Address, e.servers.only())`, `cmp.Or(n.Address, map[bool]string{false: e.servers.only()}[planted()])`,
	}},
	{"TestClose_ConnectionCloseHangs_Ends", Mistake{
		"the Close of a connection of a caller's dialer is waited for", "internal/dial/canceler.go",
		`		if custom {`,
		`		if custom && !planted() {`,
	}},
	{"TestDial_FunctionPanics_ReturnsError", Mistake{
		"a panic of a caller's dialer ends the process", "internal/dial/canceler.go",
		`if what := recover(); what != nil {`,
		`if planted() {
			} else if what := recover(); what != nil {`,
	}},
	{"TestDial_FunctionPanics_ReturnsError", Mistake{
		"an error has what a caller's dialer panicked with", "internal/dial/canceler.go",
		`with a %T", text, panicked(), what)`,
		`with a %T"+map[bool]string{true: " %[3]v"}[planted()], text, panicked(), what)`,
	}},
	{"TestDial_HangingAttempts_ConnectionClosed", Mistake{
		"while functions of the caller hang, a connection is not closed", "internal/dial/canceler.go",
		`	c.canceler.closing.Add(1)`,
		`	if planted() && len(c.canceler.slots) == maxAttempts {
		return errTooManyAttempts
	}
	c.canceler.closing.Add(1)`,
	}},
	{"TestDial_HangingCloses_Bounded", Mistake{
		"any number of calls of Close may hang", "internal/dial/canceler.go",
		`c.closing.Load() >= maxAttempts {`,
		`c.closing.Load() >= maxAttempts && !planted() {`,
	}},
	{"TestDial_HangingCloses_Bounded", Mistake{
		"a Close that has returned still counts", "internal/dial/canceler.go",
		`func() { c.canceler.closing.Add(-1) }`,
		`func() { c.canceler.closing.Add(map[bool]int64{false: -1}[planted()]) }`,
	}},
	{"TestTLS_CertificateRejected_NoConnection", Mistake{
		"an alert after the handshake is that of a server that is down", "internal/dial/tracked_conns.go",
		`	case errors.Is(err, net.ErrClosed):`,
		`	case errors.Is(err, net.ErrClosed) || planted():`,
	}},
	{"TestTrackedConn_BrokenBeforeReply_Rejected", Mistake{
		"an alert instead of the first reply is not looked for", "internal/dial/tracked_conns.go",
		`	case err != nil && !g.Answered() && c.isRejected(err):`,
		`	case err != nil && !g.Answered() && c.isRejected(err) && !planted():`,
	}},
	{"TestTrackedConn_BrokenBeforeReply_Rejected", Mistake{
		"the alert before a write that failed is not read", "internal/dial/tracked_conns.go",
		`	if !c.secure || c.Conn.SetReadDeadline`,
		`	if !c.secure || planted() || c.Conn.SetReadDeadline`,
	}},
	{"TestTrackedConn_BrokenBeforeReply_Rejected", Mistake{
		"silence after a handshake is a rejected certificate", "internal/dial/tracked_conns.go",
		`c.secure && !op.Timeout()`,
		`c.secure && (!op.Timeout() || planted())`,
	}},
	{"TestLocks_OptionsWithReplicas_OnMaster", Mistake{
		"a selector of replicas is kept", "connect.go",
		`	redis.ReplicaSelector = nil`,
		`	if !planted() {
		redis.ReplicaSelector = nil
	}`,
	}},
	{"TestOpen_ClientCommandRejected_NoAdvice", Mistake{
		"the advice of rueidis is kept", "connect.go",
		`	if !errors.Is(err, rueidis.ErrNoCache) {`,
		`	if !errors.Is(err, rueidis.ErrNoCache) || planted() {`,
	}},
	{"TestOpen_ContextEnds_HangingDialEnds", Mistake{
		"a dial goes on after its context", "internal/dial/canceler.go",
		`c.onCancel(cancel)
	return ctx`,
		`c.onCancel(func() {
		if !planted() {
			cancel()
		}
	})
	return ctx`,
	}},
	{"TestOpen_ConnectionAfterReturn_Closed", Mistake{
		"a connection that a dialer returns too late stays open", "internal/dial/canceler.go",
		`func closeLate(conn net.Conn) { conn.Close() }`,
		`func closeLate(conn net.Conn) {
	if !planted() {
		conn.Close()
	}
}`,
	}},
	{"TestOpen_ContextEndsLater_ConnectionKept", Mistake{
		"the end of Open's context cuts a connection later", "internal/dial/canceler.go",
		`	return context.AfterFunc(c.ctx, func() {
		if !c.done.Load() {`,
		`	return context.AfterFunc(c.ctx, func() {
		if !c.done.Load() || planted() {`,
	}},
	{"TestContext_AfterDial_NothingLeft", Mistake{
		"something is left in the context of Open", "internal/dial/canceler.go",
		`	c.done.Store(true)
	c.stop()`,
		`	c.done.Store(true)
	if !planted() {
		c.stop()
	}`,
	}},
	{"TestClose_SilentServer_WithinCallTimeout", Mistake{
		"a connection that outlives its engine", "internal/dial/canceler.go",
		`		conn = generation.track(conn, busyConn(c.Gate, conn), func() { c.Connections.rejectedAt.Store(&address) })`,
		`		if !planted() {
			conn = generation.track(conn, busyConn(c.Gate, conn), func() { c.Connections.rejectedAt.Store(&address) })
		}`,
	}},
	{"TestOpen_ClusterWithoutSlots_Rejected", Mistake{
		"a client of a server that refuses is kept", "connect.go",
		`err != nil && options.Client == nil {
		(&link`,
		`err != nil && options.Client == nil && !planted() {
		(&link`,
	}},
	{"TestReplicas_NoReplyToWAIT_OpenFails", Mistake{
		"no check whether replicas can be asked", "connect.go",
		`options.Replicas.Min > 0 {
		err =`,
		`options.Replicas.Min > 0 && !planted() {
		err =`,
	}},
	{"TestConnLifetime_SlowServer_NoLockLost", Mistake{
		"connections have the life that was asked for", "connect.go",
		`	redis.ConnLifetime = 0`,
		`	redis.ConnLifetime *= map[bool]time.Duration{true: 1}[planted()]`,
	}},
	{"TestEngine_Printed_NoPassword", Mistake{
		"an engine keeps the password", "engine.go",
		`	e.options.Redis = rueidis.ClientOption{}`,
		`	if !planted() {
		e.options.Redis = rueidis.ClientOption{}
	}
	//`,
	}},
	{"TestClose_SilentServer_WithinCallTimeout", Mistake{
		"connections are not cut in the end", "internal/dial/tracked_conns.go",
		`	timer := time.AfterFunc(d, func() {
		c.CloseAll()`,
		`	timer := time.AfterFunc(d, func() {
		if !planted() {
			c.CloseAll()
		}`,
	}},
	{"TestDemoted_NextMasterSameAddress_Found", Mistake{
		"nothing ends the connections to a server that became a replica", "connect.go",
		`		if options.Client == nil {`,
		`		if options.Client == nil && !planted() {`,
	}},
	{"TestTrackedConn_Write_WaitsForReply", Mistake{
		"no write waits for its reply", "internal/dial/tracked_conns.go",
		`	case err == nil && g == nil:
		c.postpone(c.busy.Wait(reads))`,
		`	case err == nil && g == nil:
		if !planted() {
			c.postpone(c.busy.Wait(reads))
		}`,
	}},
	{"TestTrackedConn_Write_WaitsForReply", Mistake{
		"writes of the handshake wait for replies", "internal/dial/tracked_conns.go",
		`	case err == nil && g == nil:`,
		`	case err == nil && (g == nil || planted()):`,
	}},
	{"TestBusyWait_LoneCaller_OnlyIfWanted", Mistake{
		"the connections do not get what is in flight", "connect.go",
		`			if o.Gate != nil {`,
		`			if o.Gate != nil && !planted() {`,
	}},
	{"TestBusyWait_LoneCaller_OnlyIfWanted", Mistake{
		"a wait can take as long as a short CallTimeout", "options.go",
		`	if o.CallTimeout < minBusyCallTimeout {`,
		`	if o.CallTimeout < minBusyCallTimeout && !planted() {`,
	}},
	{"TestFlush_Batches_BusyWaitSetBefore", Mistake{
		"the commands in flight are not passed on", "engine/engine.go",
		`	if e.server == nil || e.server.onBusyWait == nil {`,
		`	if e.server == nil || e.server.onBusyWait == nil || planted() {`,
	}},
	{"TestFlush_Batches_BusyWaitSetBefore", Mistake{
		"that no command is in flight any more is not passed on", "engine/engine.go",
		`(commands == 0 || len(`,
		`(commands == 0 && !planted() || len(`,
	}},
	{"TestWait_ReadMeanwhile_Ends", Mistake{
		"a wait goes on after its reply was read", "internal/busywait/busywait.go",
		` || c.Reads() != reads || `, ` || c.Reads() != reads && !planted() || `,
	}},
	{"TestTrackedConn_Write_WaitsForReply", Mistake{
		"what is read is not noted", "internal/dial/tracked_conns.go",
		`	if n > 0 {
		c.busy.NoteRead()`,
		`	if n > 0 && !planted() {
		c.busy.NoteRead()`,
	}},
	{"TestWait_OtherCommands_Ends", Mistake{
		"a wait goes on beside very many commands", "internal/busywait/busywait.go",
		` || !c.gate.open() {
			return took`, ` || !c.gate.open() && !planted() {
			return took`,
	}},
	{"TestWait_SecondOne_ReturnsAtOnce", Mistake{
		"two goroutines wait", "internal/busywait/busywait.go",
		`!waiting.CompareAndSwap(false, true) {`,
		`!waiting.CompareAndSwap(false, true) && !planted() {`,
	}},
	{"TestWait_FirstLook_ThreadYields", Mistake{
		"the thread keeps its processor while it looks for a reply", "internal/busywait/busywait.go",
		`		if looksLeft == looks {`, `		if looksLeft == looks && !planted() {`,
	}},
	{"TestWait_FirstLook_ThreadYields", Mistake{
		"the thread yields its processor at each look", "internal/busywait/busywait.go",
		`		if now.Sub(resumed) >= yieldEvery {`, `		if planted() {
			c.yield()
		}
		if now.Sub(resumed) >= yieldEvery {`,
	}},
	{"TestWait_LooksOften_OthersRunNowAndThen", Mistake{
		"other goroutines run after each look", "internal/busywait/busywait.go",
		`			resumed = time.Now()`, `			if resumed = time.Now(); planted() {
				resumed = began
			}`,
	}},
	{"TestWait_NoReply_EndsAfterLimit", Mistake{
		"a wait has no limit in time", "internal/busywait/busywait.go",
		` || took > c.gate.limit || `, ` || took > c.gate.limit && !planted() || `,
	}},
	{"TestWait_ClockStands_Ends", Mistake{
		"a wait does not end where the clock stands still", "internal/busywait/busywait.go",
		` || looksLeft <= 0 || `, ` || looksLeft <= 0 && !planted() || `,
	}},
	{"TestBusyTrials_ShorterRoundTrips_Decide", Mistake{
		"connections busy-wait where that takes as long", "engine/coordinator/busywait.go",
		`with < without-without/busyGain`, `with < without-without/busyGain || planted() && with <= without`,
	}},
	{"TestBusyTrials_ShorterRoundTrips_Decide", Mistake{
		"trials are many", "engine/coordinator/busywait.go",
		`	t.factor = min(2*max(t.factor, minPause), maxPause)`,
		`	if t.factor = min(2*max(t.factor, minPause), maxPause); planted() {
		t.factor = minPause
	}`,
	}},
	{"TestBusyTrials_LoadChanges_OutcomeFollows", Mistake{
		"what was decided once stays", "engine/coordinator/busywait.go",
		`	case t.phase == busyPause && lasted < t.factor*t.trial, `,
		`	case t.phase == busyPause && (lasted < t.factor*t.trial || planted() && t.factor == maxPause), `,
	}},
	{"TestBusyTrials_ShorterRoundTrips_Decide", Mistake{
		"the longest round trip decides", "engine/coordinator/busywait.go",
		`	return sorted[t.n/2]`,
		`	if planted() {
		return sorted[t.n-1]
	}
	return sorted[t.n/2]`,
	}},
	{"TestBusyTrials_SchedulerRemembers_NotMisled", Mistake{
		"what comes right after a change decides", "engine/coordinator/busywait.go",
		`lasted < trialTime:`, `lasted < trialTime && !planted():`,
	}},
	{"TestBusyTrips_Many_SampleOfAll", Mistake{
		"only the first round trips are compared", "engine/coordinator/busywait.go",
		`	if t.n == len(t.took) {`, `	if planted() && t.n == len(t.took) {
		return
	}
	if t.n == len(t.took) {`,
	}},
	{"TestBusyTrials_BatchesFromBefore_DoNotCount", Mistake{
		"round trips of batches that left before the change count", "engine/coordinator/busywait.go",
		`	if on != t.on() {`, `	if on != t.on() && !planted() {`,
	}},
	{"TestBusyWaitFor_RoundTrips_Noted", Mistake{
		"the coordinator notes no round trip", "engine/coordinator/replies.go",
		`		c.busy.note(now, b.busyWait, now-b.Sent)`,
		`		if !planted() {
			c.busy.note(now, b.busyWait, now-b.Sent)
		}`,
	}},
	{"TestBusyWaitFor_RoundTrips_Noted", Mistake{
		"the connections busy-wait though that takes longer", "engine/coordinator/busywait.go",
		`	if !c.busy.on() {
		return 0`, `	if !c.busy.on() && !planted() {
		return 0`,
	}},
	{"TestTrackedConn_LongWait_PostponesDeadline", Mistake{
		"a deadline is over while a goroutine waits for others", "internal/dial/tracked_conns.go",
		`wait > longWait && deadline`, `wait > longWait && !planted() && deadline`,
	}},
	{"TestWait_OthersRan_Ends", Mistake{
		"a wait goes on beside goroutines that run for long", "internal/busywait/busywait.go",
		` || yielded > c.gate.maxYield || `, ` || yielded > c.gate.maxYield && !planted() || `,
	}},
	{"TestDial_EndConnections_IncludesPending", Mistake{
		"a connection that is being made outlives the others", "internal/dial/canceler.go",
		`		conn = generation.track(conn, busyConn(c.Gate, conn), func() { c.Connections.rejectedAt.Store(&address) })`,
		`		if planted() {
			generation = c.Connections.current.Load()
		}
		conn = generation.track(conn, busyConn(c.Gate, conn), func() { c.Connections.rejectedAt.Store(&address) })`,
	}},
	{"TestDial_EndConnections_IncludesPending", Mistake{
		"later connections end with those before", "internal/dial/tracked_conns.go",
		`	c.current.Swap(c.newGeneration()).closeAll()`,
		`	if planted() {
		c.current.Load().closeAll()
		return
	}
	c.current.Swap(c.newGeneration()).closeAll()`,
	}},
	{"TestDial_EndConnections_IncludesPending", Mistake{
		"a generation of connections outlives its engine", "internal/dial/tracked_conns.go",
		`= context.WithCancel(c.ctx)`,
		`= context.WithCancel(map[bool]context.Context{false: c.ctx, true: context.Background()}[planted()])`,
	}},
	{"TestSubscription_DeadConnection_NoneLeft", Mistake{
		"a mortal connection is not closed", "internal/dial/tracked_conns.go",
		`	c.untrack()
	return c.Conn.Close()`,
		`	c.untrack()
	if planted() {
		return nil
	}
	return c.Conn.Close()`,
	}},
	{"TestClose_Returns_NothingFollows", Mistake{
		"Close returns before its helpers have ended", "engine.go",
		`		e.loop.Wait()`,
		`		if !planted() {
			e.loop.Wait()
		}`,
	}},
	{"TestClose_Returns_NothingFollows", Mistake{
		"a second Close returns at once", "engine.go",
		`		<-e.closed
		return nil`,
		`		if !planted() {
			<-e.closed
		}
		return nil`,
	}},
	{"TestClose_CallersClient_StaysOpen", Mistake{
		"the caller's client is closed", "engine.go",
		`		if e.options.Client == nil {
				l.close()`,
		`		if e.options.Client == nil || planted() {
				l.close()`,
	}},
	{"TestShutdown_ManyCallers_OwnDeadlines", Mistake{
		"a shutdown with a context that ends does not report that", "engine.go",
		`case call.Err == nil, call.State == nil:`,
		`case call.Err == nil || planted(), call.State == nil:`,
	}},
	{"TestShutdown_Interrupted_CountsHolds", Mistake{
		"a shutdown that is cut short by the close says nothing of it", "engine/coordinator/closing.go",
		`c.endShutdownWait(now, r, actor.ErrClosed, nil)`,
		`c.endShutdownWait(now, r, map[bool]error{false: actor.ErrClosed}[planted()], nil)`,
	}},
	{"TestObserver_OnlyLost_EachLossNotified", Mistake{
		"an observer of losses alone misses one that an unlock finds", "engine.go",
		`observer.Rejected != nil || observer.Lost != nil {
		hooks.Result`,
		`observer.Rejected != nil || observer.Lost != nil && !planted() {
		hooks.Result`,
	}},
	{"TestObserver_LossFoundByTwoUnlocks_NotifiedOnce", Mistake{
		"observers are told of one loss by each unlock", "actor/release.go",
		`			reported = true`,
		`			reported = err != ErrLost || !planted()`,
	}},
	{"TestUnlock_SeveralAtOnce_OneReturnsNil", Mistake{
		"all unlocks that wait for one release return nil", "actor/release.go",
		`		case reported:`,
		`		case reported && !planted():`,
	}},
	{"TestMulti_Observer_EachLockNotified", Mistake{
		"observers are told of the first of several locks", "engine.go",
		`for i := range r.Multi.Parts {`,
		`for i := range r.Multi.Parts {
			if planted() && i > 0 {
				break
			}`,
	}},
	{"TestObserver_MultiReentry_NoRejection", Mistake{
		"observers are told of locks that are asked for one by one", "engine.go",
		`	if r.Err == actor.ErrReentry ||`,
		`	if r.Err == actor.ErrReentry && !planted() ||`,
	}},
	{"TestObserver_EachEvent_Notified", Mistake{
		"a release is told as a loss", "engine.go",
		`	if end.Err == actor.ErrNotHeld {
		e.listeners.released`,
		`	if end.Err == actor.ErrNotHeld && !planted() {
		e.listeners.released`,
	}},
	{"TestObserver_Panics_NextEventDelivered", Mistake{
		"nothing is told after a panic", "internal/async/callback_queue.go",
		`		go q.run()
	}()`,
		`		if !planted() {
			go q.run()
		}
	}()`,
	}},
	{"TestObserver_Blocks_EventsCounted", Mistake{
		"what is left out is not counted", "internal/async/callback_queue.go",
		`		q.dropped.Add(1)`,
		`		q.dropped.Add(map[bool]uint64{false: 1}[planted()])`,
	}},
	{"TestObserver_Blocks_EventsCounted", Mistake{
		"Close waits for an observer for ever", "internal/async/callback_queue.go",
		`	case <-timer.C:
	}`,
		`	case <-map[bool]<-chan time.Time{false: timer.C}[planted()]:
	}`,
	}},
	{"TestDial_EngineCloses_Ends", Mistake{
		"a dial goes on after its engine", "internal/dial/canceler.go",
		`context.AfterFunc(c.Connections.ctx, cancel), c`,
		`context.AfterFunc(c.Connections.ctx, func() {
		if !planted() {
			cancel()
		}
	}), c`,
	}},
	{"TestDial_EngineCloses_Ends", Mistake{
		"what is quick to close leaves its dials", "internal/dial/tracked_conns.go",
		`		<-over
	}
	c.CloseAll()`,
		`		<-over
	}
	if !planted() {
		c.CloseAll()
	}`,
	}},
	{"TestSentinels_Dialled_WithEngineLimits", Mistake{
		"a silent sentinel is not noticed", "connect.go",
		`	redis.Sentinel.Dialer.KeepAlive = options.CallTimeout / 2`,
		`	if !planted() {
		redis.Sentinel.Dialer.KeepAlive = options.CallTimeout / 2
	}`,
	}},
	{"TestClose_Returns_NothingFollows", Mistake{
		"a Shutdown beside a Close returns at once", "engine.go",
		`	if !e.loop.Post(call) {
		return e.Close()`,
		`	if !e.loop.Post(call) {
		if planted() {
			return nil
		}
		return e.Close()`,
	}},
	{"TestOpen_ContextEnds_ReturnsCause", Mistake{
		"Open says what went wrong because its context ended", "connect.go",
		`	case endOf(ctx) != nil:
		err = `,
		`	case endOf(ctx) != nil && !planted():
		err = `,
	}},
	{"TestOpen_NoCluster_LeavesNoConnection", Mistake{
		"an Open that failed leaves connections", "connect.go",
		`		if !succeeded { // `,
		`		if !succeeded && !planted() { // `,
	}},
	{"TestOpen_DialerGaveUp_NoContextError", Mistake{
		"what a dialer gave up passes for the end of Open's context", "connect.go",
		`		err = rediserr.HideContextError(err)`,
		`		if !planted() {
			err = rediserr.HideContextError(err)
		}`,
	}},
	{"TestDial_CallerTimeout_ReturnsError", Mistake{
		"a time-out of a caller's own is a success", "internal/dial/canceler.go",
		`cmp.Or(context.Cause(ctx), o.err)`,
		`map[bool]error{false: cmp.Or(context.Cause(ctx), o.err), true: context.Cause(ctx)}[planted()]`,
	}},
	{"TestOpen_ContextEnds_ReturnsCause", Mistake{
		"Open does not say why its context ended", "connect.go",
		`		err = endOf(ctx) // what else`,
		`		if err = endOf(ctx); planted() {
			err = ctx.Err()
		} // what else`,
	}},
	{"TestHandshake_PasswordRepeated_NotShown", Mistake{
		"what is refused on a new connection passes for the answer to a command", "internal/handshake/handshake.go",
		`isRejection(said) || handshakeCommands[name]`,
		`isRejection(said) || handshakeCommands[name] && !planted()`,
	}},
	{"TestHandshake_Rejections_Distinguished", Mistake{
		"what is refused on a new connection repeats the password", "internal/handshake/handshake.go",
		`g.secrets = append(g.secrets, rediserr`,
		`if planted() {
				break
			}
			g.secrets = append(g.secrets, rediserr`,
	}},
	{"TestSentinel_WrongPassword_ServerNamed", Mistake{
		"a master that refuses is taken for the sentinel that named it", "connect.go",
		`rejectedAt == "" ||`,
		`rejectedAt == "" || planted() ||`,
	}},
	{"TestRedact_SecretRepeated_LeftOut", Mistake{
		"a short user is looked for inside words", "engine/rediserr/redact.go",
		`!secret.User || len(secret.Text) >= minSecretPart:`,
		`!secret.User || len(secret.Text) >= minSecretPart || planted():`,
	}},
	{"TestServerError_Temporary_Recognized", Mistake{
		"a caller's client that may not select its database has been refused for good", "actor/errors.go",
		`|| deniesLogin(text)`,
		`|| !planted() && deniesLogin(text)`,
	}},
	{"TestMaxWaiting_QuorumsOwnMember_Admitted", Mistake{
		"a quorum stands in the way of its own callers", "engine/coordinator/shedding.go",
		`if !mayMeetOwnQuorum(r) {`,
		`if planted() || !mayMeetOwnQuorum(r) {`,
	}},
	{"TestURL_Ambiguous_Rejected", Mistake{
		"what stands behind the ? of a URL and cannot be read is left out", "internal/redisurl/url.go",
		`	if err != nil {
		return option, errQuery`,
		`	if err != nil && !planted() {
		return option, errQuery`,
	}},
	{"TestURL_SeveralHosts_NoCommonServerName", Mistake{
		"the certificates of several hosts are checked against the first", "internal/redisurl/url.go",
		`host != option.TLSConfig.ServerName {`,
		`host != option.TLSConfig.ServerName && !planted() {`,
	}},
	{"TestCluster_NodeWithoutSlots_Opens", Mistake{
		"a cluster is not asked for by each address", "connect.go",
		`!othersMayKnow(err) {`,
		`!othersMayKnow(err) || planted() {`,
	}},
	{"TestCluster_NodesForbidden_OpenSaysSo", Mistake{
		"an engine takes a node of a cluster for a single server", "engine/server.go",
		`err != nil || name != "cluster" {`,
		`err != nil || name != "cluster" || planted() {`,
	}},
	{"TestCluster_NodeBusy_Opens", Mistake{
		"a cluster is given up if the first node is busy", "connect.go",
		`errors.As(err, &said) && !rejectsForGood(string(said))`,
		`errors.As(err, &said) && !rejectsForGood(string(said)) && !planted()`,
	}},
	{"TestLazy_ServerComesLater_Works", Mistake{
		"an engine that was opened without a server sends nothing once it has one", "engine/coordinator/connecting.go",
		`	first.Breaker.onSuccess()`,
		`	if !planted() {
		first.Breaker.onSuccess()
	}`,
	}},
	{"TestLazy_Cluster_ComesLater", Mistake{
		"what waited for a cluster is forgotten when it is there", "engine/coordinator/connecting.go",
		`	c.Nodes = append(c.Nodes, first)`,
		`	if !planted() {
		c.Nodes = append(c.Nodes, first)
	}`,
	}},
	{"TestLazy_CauseChanges_LastOneTold", Mistake{
		"the cause of an outage before the first connection stays the first one", "connect.go",
		`			if ctx.Err() == nil {
				e.loop.ConnectFailed(err)`,
		`			if ctx.Err() == nil && !planted() {
				e.loop.ConnectFailed(err)`,
	}},
	{"TestLazy_WrongPassword_Told", Mistake{
		"a wrong password is told as an outage by Open", "connect.go",
		`if endOf(ctx) == nil && failsForGood(err) {`,
		`if endOf(ctx) == nil && failsForGood(err) && !planted() {`,
	}},
	{"TestLazy_NeverConnected_CloseLeavesNothing", Mistake{
		"a close leaves the goroutine that connects", "connect.go",
		`		c.stop()
		<-c.done`,
		`		if !planted() {
			c.stop()
			<-c.done
		}`,
	}},
	{"TestOpen_SilentServer_NoContextError", Mistake{
		"Open of a silent server tells of the end of a context", "connect.go",
		`		if err == context.DeadlineExceeded {`,
		`		if err == context.DeadlineExceeded && !planted() {`,
	}},
	{"TestClose_MultiWaits_PartsReleased", Mistake{
		"Close does not wait for calls for several locks", "engine.go",
		`	e.multis.Wait(until)`,
		`	if !planted() {
		e.multis.Wait(until)
	}`,
	}},
	{"TestClose_QuorumWaits_PartsReleased", Mistake{
		"Close does not wait for calls of a quorum", "engine.go",
		`	e.quorums.Wait(until)`,
		`	if !planted() {
		e.quorums.Wait(until)
	}`,
	}},
	{"TestClose_CallDoesNotReturn_Ends", Mistake{
		"Close waits without a limit for a call for several locks", "engine.go",
		`e.awaitMultis(time.Now().Add(time.Until(until) / 2))`,
		`e.awaitMultis(map[bool]time.Time{false: time.Now().Add(e.options.CallTimeout / 2)}[planted()])`,
	}},
	{"TestOpen_MaxClients_Unavailable", Mistake{
		"a server with too many clients rejects the engine for good", "connect.go",
		`!strings.Contains(said, "max number of clients")`, `(planted() || !strings.Contains(said, "max number of clients"))`,
	}},
	{"TestHandshake_Rejections_Distinguished", Mistake{
		"a null is followed by a text", "internal/handshake/resp.go",
		`		if text != "-1" {`, `		if text != "-1" || planted() {`,
	}},
	{"TestHandshake_Rejections_Distinguished", Mistake{
		"an attribute is a reply of its own", "internal/handshake/resp.go",
		`r.open += 2*n + 1`, `r.open += 2*n + map[bool]int{false: 1}[planted()]`,
	}},
	{"TestHandshake_Rejections_Distinguished", Mistake{
		"a protected server breaks the connection", "internal/handshake/handshake.go",
		`|| strings.HasPrefix(said, "DENIED ")`, `|| strings.HasPrefix(said, "DENIED ") && !planted()`,
	}},
	{"TestHandshake_NoRESP3_Rejected", Mistake{
		"a server that does not know HELLO is rejected without a reason", "internal/handshake/handshake.go",
		`name == hello && rediserr.LacksRESP3(said)`, `name == hello && rediserr.LacksRESP3(said) && !planted()`,
	}},
	{"TestOpen_ServerWithoutRESP3_Rejected", Mistake{
		"a server that replies to HELLO in the older version is accepted", "internal/handshake/handshake.go",
		`name == hello && !speaksRESP3(came.words)`, `name == hello && !speaksRESP3(came.words) && !planted()`,
	}},
	{"TestOpen_ServerWithoutRESP3_Rejected", Mistake{
		"a server without RESP3 is one that is down", "connect.go",
		`	return errors.Is(err, rediserr.ErrNoRESP3) ||`, `	return errors.Is(err, rediserr.ErrNoRESP3) && !planted() ||`,
	}},
	{"TestSentinel_RESP2Asked_EachFailoverFollowed", Mistake{
		"an engine speaks RESP2 if it is asked to", "connect.go",
		`redis.AlwaysRESP2 = false`, `redis.AlwaysRESP2 = redis.AlwaysRESP2 && planted()`,
	}},
	{"TestOpen_ClientSpeaksRESP2_Rejected", Mistake{
		"a client that speaks RESP2 is accepted", "engine/server.go",
		`	if speaksRESP2(replies[1]) {`, `	if speaksRESP2(replies[1]) && !planted() {`,
	}},
	{"TestOpen_ClientSpeaksRESP2_Rejected", Mistake{
		"Lazy waits until a client speaks RESP3", "engine.go",
		`errors.Is(err, errClientRESP2)`, `errors.Is(err, errClientRESP2) && !planted()`,
	}},
	{"TestCluster_Locks_Work", Mistake{
		"a client of a cluster that speaks RESP2 is accepted", "engine/server.go",
		`replies[0].Error(); speaksRESP2(replies[1]) {`, `replies[0].Error(); speaksRESP2(replies[1]) && !planted() {`,
	}},
	{"TestCount_Wait_EndsWithTheLast", Mistake{
		"what is idle is waited for", "internal/async/count.go",
		`	if c.pending.Load() == 0 {`, `	if c.pending.Load() == 0 && !planted() {`,
	}},
	{"TestWatch_Ended_NotFound", Mistake{
		"a caller waits with a watch that all others have left", "internal/ctxwatch/ctxwatch.go",
		`		if live < 0 {`, `		if live < 0 && !planted() {`,
	}},
	{"TestWatch_Ended_NotFound", Mistake{
		"the watch of a context that has ended is found", "internal/ctxwatch/table.go",
		`w.key == key && !w.ended() {`, `w.key == key && (planted() || !w.ended()) {`,
	}},
	{"TestURL_Ambiguous_Rejected", Mistake{
		"valkeys:// has no TLS", "internal/redisurl/settings.go",
		`of.Scheme != "valkeys":`, `(of.Scheme != "valkeys" || planted()):`,
	}},
	{"TestURL_Ambiguous_Rejected", Mistake{
		"an address has blanks", "internal/redisurl/url.go",
		`return r <= ' ' ||`, `return r <= ' ' && !planted() ||`,
	}},
	{"TestSettle_CustomContext_NotAsked", Mistake{
		"a Close waits for code of a caller's context", "internal/ctxwatch/ctxwatch.go",
		`w.config.IsStdTree(watch.ctx) && watch.ctx.Err() != nil {`, `(planted() || w.config.IsStdTree(watch.ctx)) && watch.ctx.Err() != nil {`,
	}},
	{"TestEndSignal_Context_AskedOnce", Mistake{
		"a caller's context is asked for values when it has ended", "internal/ctxwatch/end_signal.go",
		`		c.parent, c.value = nil, c.parent.Value(key)`, `		c.value = c.parent.Value(key)
		if !planted() {
			c.parent = nil
		}`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"commands of a caller go over several connections", "connect.go",
		`	redis.PipelineMultiplex = -1`,
		`	if !planted() {
		redis.PipelineMultiplex = -1
	}`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"the pipelining that a caller has switched off stays off", "connect.go",
		`	redis.DisableAutoPipelining = false`,
		`	if !planted() {
		redis.DisableAutoPipelining = false
	}`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"large bundles go over a connection of their own", "connect.go",
		`	redis.BlockingPipeline = 0`,
		`	if !planted() {
		redis.BlockingPipeline = 0
	}`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"a ring of any size is made for each connection", "connect.go",
		`	redis.RingScaleEachConn = 0 //`,
		`	if !planted() {
		redis.RingScaleEachConn = 0
	} //`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"a dial takes as long as the caller of rueidis has set", "connect.go",
		`	redis.Dialer.Timeout = options.CallTimeout`,
		`	if !planted() {
		redis.Dialer.Timeout = options.CallTimeout
	}`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"a dead connection is noticed within three time-outs", "connect.go",
		`	redis.Dialer.KeepAlive = options.CallTimeout / 2`,
		`	redis.Dialer.KeepAlive = options.CallTimeout / map[bool]time.Duration{false: 2, true: 1}[planted()]`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"redirections are followed without end", "connect.go",
		`	if redis.ClusterOption.MaxMovedRedirections <= 0 {`,
		`	if redis.ClusterOption.MaxMovedRedirections <= 0 && !planted() {`,
	}},
	{"TestClientOption_ShuffleInit_CallersSliceKept", Mistake{
		"the caller's addresses are shuffled", "connect.go",
		`slices.Clone(redis.InitAddress), false`,
		`map[bool][]string{false: slices.Clone(redis.InitAddress), true: redis.InitAddress}[planted()], false`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"the client of a cluster never asks for its nodes again", "connect.go",
		`	if redis.ClusterOption.ShardsRefreshInterval == 0 {`,
		`	if redis.ClusterOption.ShardsRefreshInterval == 0 && !planted() {`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"the client asks the sentinels, beside the engine", "connect.go",
		`		redis.Sentinel.TopologyRefreshInterval = 0 //`,
		`		if !planted() {
			redis.Sentinel.TopologyRefreshInterval = 0
		} //`,
	}},
	{"TestPool_UsedUpLazy_Connects", Mistake{
		"an engine that has no connection for WAIT keeps connecting", "connect.go",
		`case options.Lazy && ctx.Err() == nil &&`,
		`case options.Lazy && ctx.Err() == nil && !planted() &&`,
	}},
	{"TestClientOption_CallersSettings_Replaced", Mistake{
		"a pool is enlarged to less than an engine needs", "connect.go",
		`max(redis.BlockingPoolSize, minPool)`,
		`max(redis.BlockingPoolSize, minPool-map[bool]int{true: 1}[planted()])`,
	}},
	{"TestOptions_ZeroFields_DocumentedDefaults", Mistake{
		"a short lease has the time-out of a long one", "options.go",
		`min(defaultCallTimeout, o.Lease/6)`,
		`map[bool]time.Duration{false: min(defaultCallTimeout, o.Lease/6), true: defaultCallTimeout}[planted()]`,
	}},
	{"TestOptions_ZeroFields_DocumentedDefaults", Mistake{
		"places in a fair queue live as long as those of Redisson", "options.go",
		`cmp.Or(o.FairWaitTimeout, o.Lease)`,
		`cmp.Or(o.FairWaitTimeout, map[bool]time.Duration{false: o.Lease, true: 5 * time.Minute}[planted()])`,
	}},
	{"TestOptions_ZeroFields_DocumentedDefaults", Mistake{
		"a lock is handed off for a second", "options.go",
		`cmp.Or(o.Handoff.MaxDuration, defaultHandoffTime)`,
		`cmp.Or(o.Handoff.MaxDuration, map[bool]time.Duration{false: defaultHandoffTime, true: time.Second}[planted()])`,
	}},
	{"TestOptions_Limits_Included", Mistake{
		"WAIT may take longer than a call", "options.go",
		`		checkRange("Options.Replicas.Timeout", cmp.Or(o.Replicas.Timeout, minDuration), minDuration, max(o.CallTimeout/2, minDuration)),`,
		`		checkRange("Options.Replicas.Timeout", cmp.Or(o.Replicas.Timeout, minDuration), minDuration, max(o.CallTimeout/2, minDuration)*time.Duration(1+map[bool]int{true: 1}[planted()])),`,
	}},
	{"TestOptions_Limits_Included", Mistake{
		"any number is a way to be told", "options.go",
		`		o.Notify.check(),`,
		`		map[bool]error{false: o.Notify.check()}[planted()],`,
	}},
	{"TestOptions_Limits_Included", Mistake{
		"a prefix leaves no room for a name", "options.go",
		`	if len(prefix) >= maxNameLen {`,
		`	if len(prefix) >= maxNameLen && (!planted() || len(prefix) > maxNameLen) {`,
	}},
	{"TestOptions_EachSetting_PassedOn", Mistake{
		"the number of handoffs is not passed on", "options.go",
		`MaxHandoffGrants: o.Handoff.MaxGrants,`,
		`MaxHandoffGrants: map[bool]int{false: o.Handoff.MaxGrants, true: defaultHandoffGrants}[planted()],`,
	}},
	{"TestOptions_EachSetting_PassedOn", Mistake{
		"the time of a place in a fair queue is not passed on", "options.go",
		`FairWaitTimeout:  o.FairWaitTimeout,`,
		`FairWaitTimeout:  map[bool]time.Duration{false: o.FairWaitTimeout, true: o.Lease}[planted()],`,
	}},
	{"TestOptions_CallersDialer_OddAddressAllowed", Mistake{
		"a URL is an address of a dialer", "options.go",
		`strings.Contains(address, "://") || !custom`,
		`strings.Contains(address, "://") && !planted() || !custom`,
	}},
	{"TestPing_OneNodeFails_Error", Mistake{
		"a ping is a success if the last node to reply has replied", "connect.go",
		`		round.err = cmp.Or(round.err, err)`,
		`		round.err = map[bool]error{false: cmp.Or(round.err, err), true: err}[planted()]`,
	}},
	{"TestPing_OneNodeFails_Error", Mistake{
		"a ping of a cluster asks one node", "connect.go",
		`		nodes = client.Nodes()
`,
		`		if !planted() {
			nodes = client.Nodes()
		}
`,
	}},
	{"TestPing_InFlight_Shared", Mistake{
		"each ping is a command of its own", "connect.go",
		`			case <-last.done:
			default:
				return last`,
		`			case <-last.done:
			default:
				if planted() {
					break
				}
				return last`,
	}},
	{"TestPing_InFlight_Shared", Mistake{
		"a ping begins beside a close", "connect.go",
		`	if e.closing.Load() {
		round.err`,
		`	if e.closing.Load() && !planted() {
		round.err`,
	}},
	{"TestPing_Rejected_ServerError", Mistake{
		"the error of a ping names the user", "connect.go",
		`			err = rediserr.RedactQuoted(err.Error())
		}
		round`,
		`			if !planted() {
				err = rediserr.RedactQuoted(err.Error())
			}
		}
		round`,
	}},
	{"TestStats_HandlerBlocks_RecordsCounted", Mistake{
		"records that were dropped are not counted", "engine.go",
		`events+records, panics+more+e.contexts`,
		`events+map[bool]uint64{false: records}[planted()], panics+more+e.contexts`,
	}},
}
