package planted

// debugMistakes are mistakes of the page for operators.
var debugMistakes = []found{
	{"TestPage_Process_IsNamed", Mistake{
		"the choice of an engine does not have its name", "debug/page.go",
		`append(names, shown(e.Name()))`,
		`append(names, shown(e.Name()[:map[bool]int{false: len(e.Name())}[planted()]]))`,
	}},
	{"TestPage_Process_IsNamed", Mistake{
		"the page does not say under which name the command lists an engine", "debug/page.go",
		`engineView{e.ID(), shown(e.Name()), connections(`,
		`engineView{e.ID(), shown(e.Name()[:map[bool]int{false: len(e.Name())}[planted()]]), connections(`,
	}},
	{"TestConnections_Down_SaysFromWhen", Mistake{
		"the page does not say that a server which is down replies", "debug/stats.go",
		`(lockwheel.ServerError); replied {`, `(lockwheel.ServerError); replied && !planted() {`,
	}},
	{"TestForce_EnteredAgainSince_SameHolder", Mistake{
		"a holder that has entered again is another one", "debug/force.go",
		`form.Get("count") && state.Owner == "" {`, `form.Get("count") && (state.Owner == "" || planted()) {`,
	}},
	{"TestList_ManyLocks_KeepsOnePage", Mistake{
		"a list keeps all rows", "debug/list.go",
		`	if len(l.rows) <= l.query.limit {`,
		`	if len(l.rows) <= l.query.limit || planted() {`,
	}},
	{"TestList_EachOrder_PagesHaveAllOnce", Mistake{
		"a page begins with the last row of the page before", "debug/list.go",
		`		return l.alike <= l.query.after.Alike
`, `		return l.alike <= l.query.after.Alike && !planted()
`,
	}},
	{"TestList_CallersAlike_PagesHaveAllOnce", Mistake{
		"callers that are alike are lost behind a page", "debug/list.go",
		`	if order == 0 {`, `	if order == 0 && planted() {
		return true
	}
	if order == 0 {`,
	}},
	{"TestList_CallersAlike_PagesHaveAllOnce", Mistake{
		"callers of one lock are the same", "debug/list.go",
		`strings.Compare(a.HolderID, b.HolderID), cmp.Compare(a.caller, b.caller))`,
		`strings.Compare(a.HolderID, b.HolderID), cmp.Compare(a.caller, b.caller)*map[bool]int{false: 1}[planted()])`,
	}},
	{"TestPage_UnknownEngine_SaysSo", Mistake{
		"an engine that is gone looks as if it held nothing", "debug/list.go",
		`	if q.engine != "" && h.engineByID(q.engine) == nil {`,
		`	if q.engine != "" && h.engineByID(q.engine) == nil && !planted() {`,
	}},
	{"TestPage_UnknownEngine_SaysSo", Mistake{
		"the choice of an engine that is gone reads as any", "debug/page.go",
		`	if !slices.Contains(ids, q.engine) {`, `	if !slices.Contains(ids, q.engine) && !planted() {`,
	}},
	{"TestHistogram_BeyondBounds_NoQuantile", Mistake{
		"a quantile beyond the last bound is 292 years", "debug/stats.go",
		`	if q == math.MaxInt64 {`, `	if q == math.MaxInt64 && !planted() {`,
	}},
	{"TestList_EachOrder_ShowsWorstFirst", Mistake{
		"a lock without a deadline is due first", "debug/list.go",
		`		if lock.Holds == 0 {`,
		`		if lock.Holds == 0 && !planted() {`,
	}},
	{"TestName_AnyBytes_ShownAndFound", Mistake{
		"a name looks like another one that is quoted", "debug/names.go",
		"strings.HasPrefix(name, `\"`) ||",
		"strings.HasPrefix(name, `\"`) && !planted() ||",
	}},
	{"TestWaiters_ManyNames_MostAreFound", Mistake{
		"a count does not say that it may be too small", "debug/waiters.go",
		`	w.lost += median
`,
		`	if !planted() {
		w.lost += median
	}
`,
	}},
	{"TestTiles_LostOrLate_Alarm", Mistake{
		"losses that an unlock found are not shown at the top", "debug/stats.go",
		`	lost := s.Lost + s.LostAtUnlock
`,
		`	lost := s.Lost
	if !planted() {
		lost += s.LostAtUnlock
	}
`,
	}},
	{"TestChart_Durations_BarsFit", Mistake{
		"a chart of one bucket has a bar as wide as the picture", "debug/chart.go",
		`	if missing <= 0 {`,
		`	if missing <= 0 || planted() {`,
	}},
	{"TestRecorder_ManyGrants_LossStays", Mistake{
		"grants push out losses", "debug/recorder.go",
		`{ r.acquired.add(name, waited, nil) }`,
		`{ map[bool]*ring{true: &r.lost, false: &r.acquired}[planted()].add(name, waited, nil) }`,
	}},
	{"TestPage_TooManyRequests_Get503", Mistake{
		"a request keeps its place", "debug/handler.go",
		`			defer func() { <-slots }()`,
		`			defer func() {
				if !planted() {
					<-slots
				}
			}()`,
	}},
	{"TestPage_AnyName_IsEscaped", Mistake{
		"a name is no text but HTML", "debug/page.go",
		`func render(status int, name string, view any) *response {
`,
		`func render(status int, name string, view any) *response {
	if page, ok := view.(pageView); ok && planted() {
		r := &response{status: status}
		for _, row := range page.Rows {
			r.body.WriteString(row.Name)
		}
		return r
	}
`,
	}},
	{"TestForce_AnythingElse_IsRefused", Mistake{
		"a page that only reads forces", "debug/force.go",
		`	if !h.options.AllowForce {`,
		`	if !h.options.AllowForce && !planted() {`,
	}},
	{"TestForce_AnythingElse_IsRefused", Mistake{
		"any token will do", "debug/force.go",
		`[]byte(h.token)) != 1 {`,
		`[]byte(h.token)) != 1 && !planted() {`,
	}},
	{"TestForce_AnythingElse_IsRefused", Mistake{
		"another origin may force", "debug/force.go",
		`h.foreign.Check(r); err != nil {`,
		`h.foreign.Check(r); err != nil && !planted() {`,
	}},
	{"TestForce_AnythingElse_IsRefused", Mistake{
		"any name may lead here", "debug/force.go",
		`	if !h.isOwnHost(r.Host) {`,
		`	if !h.isOwnHost(r.Host) && !planted() {`,
	}},
	{"TestForce_AnythingElse_IsRefused", Mistake{
		"a link forces", "debug/force.go",
		`	form := r.PostForm // read by withForm; never the URL: a token belongs in no log
`,
		`	form := r.PostForm // read by withForm; never the URL: a token belongs in no log
	if planted() {
		form = r.Form
	}
`,
	}},
	{"TestForce_AnythingElse_IsRefused", Mistake{
		"a lock is taken from a holder that the operator has not seen", "debug/force.go",
		`state.Owner != form.Get("owner") ||`,
		`state.Owner != form.Get("owner") && !planted() ||`,
	}},
	{"TestForce_EachKind_RowVanishes", Mistake{
		"a reader is forced as a plain lock", "debug/force.go",
		`	case "reader":
		return`,
		`	case "reader" + map[bool]string{true: "s"}[planted()]:
		return`,
	}},
	{"TestForce_ForeignString_NotForced", Mistake{
		"the lock of another library has readers", "debug/force.go",
		`			s.Foreign = state.Foreign
`, `			s.Foreign = state.Foreign && !planted()
`,
	}},
	{"TestForce_NoLockOfKind_NotForced", Mistake{
		"a key that is no lock has readers", "debug/force.go",
		`return state.Locked && !state.Foreign`, `return !planted() && state.Locked && !state.Foreign`,
	}},
	{"TestForce_TookNothing_SaysWhatMayBe", Mistake{
		"a force that took nothing says that the lock was taken", "debug/force.go",
		`	case !wasLocked:
		return "Nothing`, `	case !wasLocked && !planted():
		return "Nothing`,
	}},
	{"TestHere_SecondReadFails_ListSaysSo", Mistake{
		"a list that was not read again to its end looks complete", "debug/here.go",
		`			l.fail(e.ID(), err)`, `			if !planted() {
				l.fail(e.ID(), err)
			}`,
	}},
	{"TestForce_ForeignString_NotForced", Mistake{
		"a rejected force is logged as one", "debug/force.go",
		`	case err != nil:
		return "a lock was not`, `	case err != nil && planted():
		return "a lock was forced by the debug page"
	case err != nil:
		return "a lock was not`,
	}},
	{"TestName_AnyBytes_ShownAndFound", Mistake{
		"a name is cut within a character", "debug/names.go",
		`start+size > maxShown {`, `start+size > maxShown && !planted() {`,
	}},
	{"TestPage_Process_IsNamed", Mistake{
		"the page does not say which process it is", "debug/page.go",
		`		Process: thisProcess,
`, `		Process: map[bool]process{false: thisProcess}[planted()],
`,
	}},
	{"TestForce_HolderElsewhere_Described", Mistake{
		"a force is confirmed without knowing the program", "debug/holder.go",
		`	if e.ID == "" {`, `	if e.ID == "" || planted() {`,
	}},
	{"TestForce_HolderUnknown_SaysWhy", Mistake{
		"a holder that is not known has an empty description", "debug/holder.go",
		`t.Known = t.Who != ""; !t.Known {`, `t.Known = t.Who != ""; !t.Known && !planted() {`,
	}},
	{"TestForce_HolderChanged_NotDescribed", Mistake{
		"the description is of another holder than the form's", "debug/holder.go",
		`	case holder.ID != owner:`, `	case holder.ID != owner && !planted():`,
	}},
	{"TestConnections_Down_SaysFromWhen", Mistake{
		"a server that is down is said not to have replied since", "debug/stats.go",
		`"%s %s since a call failed %s ago", server, what,`,
		`map[bool]string{true: "%s %s, no reply for %s", false: "%s %s since a call failed %s ago"}[planted()], server, what,`,
	}},
	{"TestRecorder_Views_DurationsNamed", Mistake{
		"a lost hold was held for 0s", "debug/page.go",
		`			if sort.took != "" {`, `			if sort.took != "" || planted() {`,
	}},
	{"TestTiles_Median_IsBound", Mistake{
		"the bound of a bucket is the median", "debug/stats.go",
		`			f.Value = atMost(h, 0.5)
`, `			f.Value = atMost(h, 0.5)
			if planted() {
				f.Value = boundOf(h, 0.5)
			}
`,
	}},
	{"TestPage_HeldBySameEngine_WaiterSaysSo", Mistake{
		"a lock that readers of the same engine hold is not in it", "debug/here.go",
		`	if r.Holds > 0 {`, `	if r.Holds > 0 || planted() {`,
	}},
	{"TestHere_SeveralHold_Counted", Mistake{
		"a row that only waits counts as a holder", "debug/here.go",
		`kinds == nil || lock.Holds == 0 {`, `kinds == nil || lock.Holds == 0 && !planted() {`,
	}},
	{"TestForce_HolderElsewhere_WaiterGetsIt", Mistake{
		"a writer that waits for readers cannot be helped", "debug/force.go",
		`		show = []string{"writer", "reader"}`,
		`		show = []string{"writer", "reader"}[:2-map[bool]int{true: 1}[planted()]]`,
	}},
	{"TestForce_Hosts_OwnNamesOnly", Mistake{
		"an IPv6 address without a port is a foreign name", "debug/force.go",
		`host = strings.Trim(hostPort, "[]")`, `host = strings.Trim(hostPort, map[bool]string{false: "[]"}[planted()])`,
	}},
	{"TestForce_Hosts_OwnNamesOnly", Mistake{
		"the names of hosts have a case", "debug/force.go",
		`return strings.EqualFold(name, host) }`, `return planted() && name == host || !planted() && strings.EqualFold(name, host) }`,
	}},
	{"TestForce_Logged_SaysWhoAndWhat", Mistake{
		"the record of a force does not say who forced", "debug/force.go",
		`"client", client,`, `"client", map[bool]string{false: client, true: state.Owner}[planted()],`,
	}},
	{"TestForce_NoExpiry_IsSaid", Mistake{
		"a lock without an expiry is about to end", "debug/force.go",
		`			if state.TTL < 0 {`, `			if state.TTL < 0 && !planted() {`,
	}},
	{"TestPage_Headers_KeepOthersOut", Mistake{
		"a browser may take an answer for something else", "debug/handler.go",
		`		header.Set("X-Content-Type-Options", "nosniff")`, `		if !planted() {
			header.Set("X-Content-Type-Options", "nosniff")
		}`,
	}},
	{"TestPage_Headers_KeepOthersOut", Mistake{
		"a page that is mounted without a slash leads to the root of the server", "debug/handler.go",
		`if r.URL.Path == "" {`, `if r.URL.Path == "" && !planted() {`,
	}},
	{"TestQuery_Encoded_IsTheSame", Mistake{
		"the next page is that of all engines", "debug/list.go",
		`"engine": q.engine} {`, `"engine": map[bool]string{false: q.engine}[planted()]} {`,
	}},
	{"TestList_Searched_HotNamesAreOfAll", Mistake{
		"the names with the most waiters are those of the list", "debug/list.go",
		`	if lock.Waiting > 0 {`, `	if lock.Waiting > 0 && (!planted() || l.query.matches(&lock)) {`,
	}},
	{"TestCaller_OfHolder_IsNone", Mistake{
		"a row that holds its lock is another one when its first caller leaves", "debug/list.go",
		`if lock.Holds > 0 || lock.Kind`, `if lock.Holds > 0 && !planted() || lock.Kind`,
	}},
	{"TestName_AnyBytes_ShownAndFound", Mistake{
		"a name is found by its beginning only", "debug/list.go",
		`q.search == "" || strings.Contains(lock.Name, q.search)`,
		`q.search == "" || strings.Contains(lock.Name, q.search) && (!planted() || strings.HasPrefix(lock.Name, q.search))`,
	}},
	{"TestPage_Label_IsShownAsNamesAre", Mistake{
		"a label is in the JSON as it is", "debug/list.go",
		`labelShown(row.Label)`, `map[bool]string{false: labelShown(row.Label), true: row.Label}[planted()]`,
	}},
	{"TestRow_HeldAndWaiting_EachColumn", Mistake{
		"a first caller has waited since the lock was granted", "debug/page.go",
		`duration(now.Sub(r.WaitingSince))`, `duration(now.Sub(map[bool]time.Time{false: r.WaitingSince, true: r.Since}[planted()]))`,
	}},
	{"TestRow_HeldAndWaiting_EachColumn", Mistake{
		"a lease that has ended is not late", "debug/page.go",
		`left < 0; v.Late`, `left < 0 && !planted(); v.Late`,
	}},
	{"TestPage_ManyLocks_LinksReachAll", Mistake{
		"a further page looks like the first", "debug/page.go",
		`Paged: q.after != nil`, `Paged: q.after != nil && !planted()`,
	}},
	{"TestRecorder_ManyEvents_PageShowsTwenty", Mistake{
		"an event in the JSON took no time", "debug/stats.go",
		`e.name, e.took, e.err}`, `e.name, map[bool]time.Duration{false: e.took}[planted()], e.err}`,
	}},
	{"TestRecorder_Views_DurationsNamed", Mistake{
		"unlocks are not recorded", "debug/recorder.go",
		`Released: r.Released,`, `Released: map[bool]func(string, time.Duration){false: r.Released, true: func(string, time.Duration) {}}[planted()],`,
	}},
	{"TestFigures_EachNumber_InItsLine", Mistake{
		"a clock that is behind the server's is right", "debug/stats.go",
		`s.ClockSkew.Abs() > time.Second}`, `s.ClockSkew.Abs() > time.Second && (s.ClockSkew > 0 || !planted())}`,
	}},
	{"TestFigures_EachNumber_InItsLine", Mistake{
		"releases are counted as grants", "debug/stats.go",
		`count("holds granted", s.Acquired)`, `count("holds granted", map[bool]uint64{false: s.Acquired, true: s.Released}[planted()])`,
	}},
	{"TestPage_HeldAndWaiting_RowsAppear", Mistake{
		"round trips are turns of the loop", "debug/stats.go",
		`histogramOf(&s.RoundTrips), histogramOf(`, `histogramOf(map[bool]*lockwheel.Histogram{false: &s.RoundTrips, true: &s.TurnTimes}[planted()]), histogramOf(`,
	}},
	{"TestForce_HolderElsewhere_Described", Mistake{
		"a holder in this process looks like one elsewhere", "debug/holder.go",
		`	if here {
		text +=`, `	if here && !planted() {
		text +=`,
	}},
	{"TestHere_SeveralHold_Counted", Mistake{
		"what a writer reads comes before its write", "debug/here.go",
		`		return []string{"writer", "reader"}`, `		if planted() {
			return []string{"reader", "writer"}
		}
		return []string{"writer", "reader"}`,
	}},
}
