package debug

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// manyLocks are n locks in a mixed order, held since the epoch and their number in seconds, with few equal deadlines.
func manyLocks(n int) iter.Seq2[lockwheel.LockInfo, error] {
	return func(yield func(lockwheel.LockInfo, error) bool) {
		for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
			at := epoch.Add(time.Duration(i) * time.Second)
			info := lockwheel.LockInfo{
				Name: fmt.Sprintf("lock/%06d", i), Kind: kinds[i%len(kinds)], Holds: 1, HolderID: "e:1",
				Since: at, Deadline: epoch.Add(time.Duration(i%7) * time.Second), Waiting: i % 3,
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func queryOf(t *testing.T, parameters string) query {
	t.Helper()
	q, err := parseQuery(httptest.NewRequest("GET", "/?"+parameters, nil))
	require.NoError(t, err)
	return q
}

// However many locks there are, a list never keeps more than a page of rows and the one behind it.
func TestList_ManyLocks_KeepsOnePage(t *testing.T) {
	l := newList(queryOf(t, ""))
	for lock := range manyLocks(100_000) {
		l.add(0, lock)
		require.LessOrEqual(t, len(l.rows), maxRows+1)
	}
	require.LessOrEqual(t, cap(l.rows), 2*maxRows)
	require.LessOrEqual(t, len(l.waiters.counts), maxCounted)
	l.finish()
	assert.Equal(t, 100_000, l.matched)
	require.Len(t, l.rows, maxRows)
	assert.Equal(t, "lock/000000", l.rows[0].Name)
	assert.Equal(t, "lock/000099", l.rows[99].Name)
}

// The pages of each order have every lock once, also where rows are equal in what they are sorted by.
func TestList_EachOrder_PagesHaveAllOnce(t *testing.T) {
	const locks = 1050
	for _, order := range orders {
		seen, pages := []string{}, 0
		var previous *row
		for q := queryOf(t, "sort="+order); ; pages++ {
			l := newList(q)
			l.read(0, "e", manyLocks(locks))
			l.finish()
			for _, r := range l.rows {
				if previous != nil {
					require.LessOrEqual(t, previous.value, r.value, order)
				}
				previous = &r
				seen = append(seen, r.Name)
			}
			next := l.next()
			if next == nil {
				break
			}
			q = queryOf(t, strings.TrimPrefix(query{sort: order, limit: maxRows, after: next}.encode(), "?"))
		}
		assert.Equal(t, 10, pages, order)
		assert.Len(t, seen, locks, order)
		slices.Sort(seen)
		assert.Len(t, slices.Compact(seen), locks, order)
	}
}

// Rows of several engines that are equal otherwise are all on the pages, each once.
func TestList_EqualInEngines_EachIsShown(t *testing.T) {
	seen := []int{}
	for q := queryOf(t, "limit=1"); ; {
		l := newList(q)
		for engine := range 3 {
			l.add(engine, lockwheel.LockInfo{Name: "n", Kind: "plain", Waiting: 1, WaitingSince: epoch})
		}
		l.finish()
		require.Len(t, l.rows, 1)
		seen = append(seen, l.rows[0].engine)
		if q.after = l.next(); q.after == nil {
			break
		}
	}
	assert.Equal(t, []int{0, 1, 2}, seen)
}

// Callers that wait for one fair lock are rows that can be alike. All are on the pages, each once, however the engine
// lists them.
func TestList_CallersAlike_PagesHaveAllOnce(t *testing.T) {
	var locks []lockwheel.LockInfo
	for i := range 50 {
		waits := epoch.Add(time.Duration(i%3) * time.Second)
		for _, kind := range []string{"fair", "reader"} {
			locks = append(locks, lockwheel.LockInfo{Name: "n", Kind: kind, Waiting: 1, WaitingSince: waits, Label: fmt.Sprint(i % 2)})
		}
	}
	want := make(map[string]int)
	for _, lock := range locks {
		want[fmt.Sprint(lock.Kind, lock.WaitingSince, lock.Label)]++
	}
	for _, order := range orders {
		seen := make(map[string]int)
		for q := queryOf(t, "limit=3&sort="+order); ; {
			l := newList(q)
			rand.Shuffle(len(locks), func(i, j int) { locks[i], locks[j] = locks[j], locks[i] })
			for _, lock := range locks {
				l.add(0, lock)
			}
			l.finish()
			for _, r := range l.rows {
				seen[fmt.Sprint(r.Kind, r.WaitingSince, r.Label)]++
			}
			next := l.next()
			if next == nil {
				break
			}
			q = queryOf(t, "limit=3&sort="+order+"&after="+next.encode())
		}
		assert.Equal(t, want, seen, order)
	}
}

// The first rows of each order are those that an operator looks for.
func TestList_EachOrder_ShowsWorstFirst(t *testing.T) {
	locks := []lockwheel.LockInfo{
		{Name: "young", Kind: "plain", Holds: 1, Since: epoch.Add(time.Hour), Deadline: epoch.Add(2 * time.Hour)},
		{Name: "wanted", Kind: "writer", Waiting: 9, WaitingSince: epoch.Add(time.Minute)},
		{Name: "old", Kind: "fair", Holds: 1, Since: epoch, Deadline: epoch.Add(3 * time.Hour), Waiting: 1},
	}
	for order, want := range map[string][]string{
		"age":      {"old", "wanted", "young"},
		"deadline": {"young", "old", "wanted"},
		"waiting":  {"wanted", "old", "young"},
		"kind":     {"young", "old", "wanted"},
		"name":     {"old", "wanted", "young"},
	} {
		l := newList(queryOf(t, "sort="+order))
		for _, lock := range locks {
			l.add(0, lock)
		}
		l.finish()
		names := []string{}
		for _, r := range l.rows {
			names = append(names, r.Name)
		}
		assert.Equal(t, want, names, order)
	}
}

// Parameters that mean nothing are rejected, so that no list looks like another one.
func TestQuery_Invalid_IsRejected(t *testing.T) {
	for _, parameters := range []string{"sort=size", "kind=mutex", "limit=0", "limit=101", "limit=x", "after=%21", "after=bnVsbA", "q=%zz"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.RawQuery = parameters
		_, err := parseQuery(r)
		assert.Error(t, err, parameters)
	}
}

// The waiters of a name are added up over its rows, and a name with many of them is found among very many names.
func TestWaiters_ManyNames_MostAreFound(t *testing.T) {
	var w waiterCounts
	for i := range 100_000 {
		w.add(fmt.Sprintf("name/%d", i), 1)
		if i%10 == 0 {
			w.add("hot", 1) // a row for each caller, as with a fair lock
		}
		require.LessOrEqual(t, len(w.counts), maxCounted)
	}
	most := w.most()
	require.Len(t, most, maxHot)
	assert.Equal(t, "hot", most[0].Name)
	assert.LessOrEqual(t, most[0].Waiting, 10_000)
	assert.GreaterOrEqual(t, most[0].AtMost, 10_000)
}

func TestWaiters_FewNames_CountsAreExact(t *testing.T) {
	var w waiterCounts
	w.add("a", 1)
	w.add("b", 2)
	w.add("a", 3)
	assert.Equal(t, []nameCount{
		{Name: "a", Name64: "YQ", Waiting: 4, AtMost: 4, search: "a"}, {Name: "b", Name64: "Yg", Waiting: 2, AtMost: 2, search: "b"},
	}, w.most())
}

// What is shown of a name has nothing invisible, is never that of another name, and finds the name.
func TestName_AnyBytes_ShownAndFound(t *testing.T) {
	for name, want := range map[string]string{
		"orders/7":                     "orders/7",
		"größe 7":                      "größe 7",
		"a\xffb":                       `"a\xffb"`,
		`"a\xffb"`:                     `"\"a\\xffb\""`,
		"a\x00\n":                      `"a\x00\n"`,
		"a\u202eb":                     `"a\u202eb"`,
		strings.Repeat("x", 1000):      strings.Repeat("x", 300) + "… (1000 bytes)",
		strings.Repeat("\xff", 400):    `"` + strings.Repeat(`\xff`, 300) + `"… (400 bytes)`,
		strings.Repeat("ä", 200) + "!": strings.Repeat("ä", 150) + "… (401 bytes)",
		strings.Repeat("x", 295) + "😀\x80\x80\x80\x80": `"` + strings.Repeat("x", 295) + `😀\x80"… (303 bytes)`,
		strings.Repeat("x", 297) + "😀":                 strings.Repeat("x", 297) + "… (301 bytes)",
	} {
		assert.Equal(t, want, shown(name))
		back, err := decoded(encoded(name))
		require.NoError(t, err)
		assert.Equal(t, name, back)
		q := query{search: searchFor(name)}
		assert.True(t, q.matches(&lockwheel.LockInfo{Name: name}), "%q", name)
		assert.False(t, q.matches(&lockwheel.LockInfo{Name: "elsewhere"}), "%q", name)
	}
	for part, want := range map[string]bool{"rders/": true, "7": true, "s7": false} {
		q := query{search: part}
		assert.Equal(t, want, q.matches(&lockwheel.LockInfo{Name: "orders/7"}), part)
	}
}

// The link to the next page asks for what this page was asked for: all of a query is in the parameters.
func TestQuery_Encoded_IsTheSame(t *testing.T) {
	for _, q := range []query{
		{sort: "age", limit: maxRows},
		{search: "a&b=\"c", sort: "waiting", kind: "fair", engine: "e", limit: 7, after: &position{Value: 1, Name: []byte("n\xff"), Kind: "fair", Engine: 2, Holder: "h", Caller: 3, Alike: 4}},
	} {
		assert.Equal(t, q, queryOf(t, strings.TrimPrefix(q.encode(), "?")))
	}
}

// The names with the most waiters are those of all locks, whatever the list is asked for.
func TestList_Searched_HotNamesAreOfAll(t *testing.T) {
	l := newList(queryOf(t, "q=nothing&kind=fair"))
	l.add(0, lockwheel.LockInfo{Name: "hot", Kind: "plain", Waiting: 3})
	l.finish()
	assert.Empty(t, l.rows)
	assert.Equal(t, 1, l.locks)
	require.Len(t, l.waiters.most(), 1)
	assert.Equal(t, 3, l.waiters.most()[0].Waiting)
}

// A row that holds its lock is the same one whichever caller waits: the first one may leave between two pages.
func TestCaller_OfHolder_IsNone(t *testing.T) {
	for _, kind := range kinds {
		waits := kind == "fair" || kind == "reader"
		info := lockwheel.LockInfo{Name: "n", Kind: kind, Waiting: 1, WaitingSince: epoch}
		assert.Equal(t, waits, callerOf(&info) != 0, kind)
		info.Holds = 1
		assert.Zero(t, callerOf(&info), kind)
	}
}

// The columns of a row say what the engine does: for how long it holds the lock, when the lease ends or ended, who
// renews it, and for how long the first caller has waited.
func TestRow_HeldAndWaiting_EachColumn(t *testing.T) {
	h := &handler{engines: []*lockwheel.Engine{new(lockwheel.Engine)}}
	now := epoch.Add(time.Hour)
	held := lockwheel.LockInfo{Name: "n", Kind: "plain", Holds: 2, HolderID: "e:1", Since: now.Add(-time.Minute), Deadline: now.Add(20 * time.Second), Watched: true, Waiting: 3, WaitingSince: now.Add(-5 * time.Second), Label: "a\xff"}
	own := lockwheel.LockInfo{Name: "n", Kind: "plain", Holds: 1, HolderID: "e:1", Since: now.Add(-time.Minute), Deadline: now.Add(-2 * time.Second)}
	waits := lockwheel.LockInfo{Name: "n", Kind: "plain", Waiting: 1, WaitingSince: now.Add(-5 * time.Second)}
	for _, c := range []struct {
		lock lockwheel.LockInfo
		want rowView
	}{
		{held, rowView{Name: "n", Kind: "plain", Holder: "e:1", Holds: 2, Waiting: 3, Held: "1m0s", Deadline: "in 20s", Wait: "5s", Renewal: "renewed", Label: `"a\xff"`}},
		{own, rowView{Name: "n", Kind: "plain", Holder: "e:1", Holds: 1, Held: "1m0s", Deadline: "2s ago", Late: true, Renewal: "own lease"}},
		{waits, rowView{Name: "n", Kind: "plain", Holder: "not in this engine", Waiting: 1, Wait: "5s"}},
	} {
		assert.Equal(t, c.want, h.rowView(&row{LockInfo: c.lock}, nil, now))
	}
}

// A chart has a bar for each bucket that is not empty, all inside the picture.
func TestChart_Durations_BarsFit(t *testing.T) {
	var s lockwheel.Stats
	for range 1_000_000 {
		s.TurnTimes.Add(10 * time.Microsecond)
	}
	s.TurnTimes.Add(20 * time.Millisecond)
	s.HoldTimes.Add(2 * time.Hour) // beyond all bounds
	all := charts(&s)
	require.Len(t, all, 2)
	for _, c := range all {
		for _, b := range c.Bars {
			assert.GreaterOrEqual(t, b.Y, 0)
			assert.GreaterOrEqual(t, b.Height, 2)
			assert.Equal(t, c.Height, b.Y+b.Height)
			assert.LessOrEqual(t, b.X+b.Width, c.Width)
		}
		assert.GreaterOrEqual(t, c.Width, minBuckets*barWidth, "no bar is as wide as the picture")
	}
	assert.Len(t, all[0].Bars, 2)
	assert.Contains(t, all[0].Summary, "1000001; half at most 10.8µs")
	assert.Len(t, all[1].Bars, 1)
	bounds := s.HoldTimes
	last := len(bounds.Counts) - 1
	assert.Equal(t, "more than "+duration(bounds.Bound(last-1)), all[1].Last)
	first := all[0]
	assert.Equal(t, "up to 10.8µs: 1000000", first.Bars[0].Title)
	assert.Contains(t, first.First, "up to ")
	assert.Equal(t, "up to "+first.Last+": 1", first.Bars[1].Title, "the last bar is that of the longest turn")
}

// The numbers at the top say what is held, and are red for what was lost and for renewals that are late.
func TestTiles_LostOrLate_Alarm(t *testing.T) {
	well := lockwheel.Stats{Held: 7, Waiting: 3, RenewalLag: lateRenewal}
	require.Equal(t, []figure{
		{"holds now", "7", false}, {"wait now", "3", false}, {"lost", "0", false}, {"renewed late by", "1s", false},
		{"median wait", "\u2013", false}, {"median round trip", "\u2013", false},
	}, tiles(&well))
	unwell := lockwheel.Stats{Lost: 1, LostAtUnlock: 2, RenewalLag: 2 * lateRenewal}
	unwell.AcquireWaits.Add(10 * time.Microsecond)
	all := tiles(&unwell)
	require.Equal(t, figure{"lost", "3", true}, all[2])
	require.Equal(t, figure{"renewed late by", "2s", true}, all[3])
	require.Equal(t, figure{"median wait", "\u2264 10.8µs", false}, all[4])
}

// A median is the bound of a bucket, which can be longer than the longest duration: it says that it is a bound.
func TestTiles_Median_IsBound(t *testing.T) {
	var s lockwheel.Stats
	s.AcquireWaits.Add(293 * time.Second)
	s.RoundTrips.Add(2 * time.Hour)
	all := tiles(&s)
	assert.Equal(t, "\u2264 6m2s", all[4].Value)
	assert.Equal(t, "> 1h8m", all[5].Value)
}

// A quantile in the bucket without a bound is no number of seconds: the JSON leaves it out. Of no durations it is 0.
func TestHistogram_BeyondBounds_NoQuantile(t *testing.T) {
	var h lockwheel.Histogram
	seconds := func() (p50, p99 any) {
		text, err := json.Marshal(histogramOf(&h))
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(text, &fields))
		return fields["p50Seconds"], fields["p99Seconds"]
	}
	p50, p99 := seconds()
	assert.Equal(t, []any{0.0, 0.0}, []any{p50, p99})
	for range 10 {
		h.Add(time.Second)
	}
	h.Add(2 * time.Hour)
	p50, p99 = seconds()
	assert.Equal(t, h.Quantile(0.5).Seconds(), p50)
	assert.Nil(t, p99)
	buckets := histogramOf(&h).Buckets
	assert.Equal(t, []bucketJSON{{UpToSeconds: h.Quantile(0.5).Seconds(), Count: 10}, {Count: 1}}, buckets, "the last bucket has no bound")
	assert.InDelta(t, 10+2*time.Hour.Seconds(), histogramOf(&h).SumSeconds, 0.001)
}

// Each number of an engine is in its line. Those that an operator has to look at are red, but only if there are any.
func TestFigures_EachNumber_InItsLine(t *testing.T) {
	var s lockwheel.Stats
	fields := reflect.ValueOf(&s).Elem()
	n := 0
	for i := range fields.NumField() {
		if f := fields.Field(i); f.CanInt() && f.Type() != reflect.TypeFor[time.Duration]() {
			n++
			f.SetInt(int64(1000 + i))
		} else if f.CanUint() {
			n++
			f.SetUint(uint64(1000 + i))
		}
	}
	lines := make(map[string]string)
	for _, f := range figures(&s) {
		lines[f.What] = f.Value
	}
	for what, want := range map[string]any{
		"holds now": s.Held, "callers that wait now": s.Waiting, "commands in flight now": s.InFlight, "channels subscribed to": s.Subscriptions,
		"locks that are polled for": s.Polling, "timers": s.Timers, "holds lost": s.Lost, "holds that their unlock found lost": s.LostAtUnlock,
		"locks held for longer than HeldTooLong": s.HeldTooLong, "holds that no caller could unlock any more": s.Leaked, "holds granted": s.Acquired,
		"of these handed off inside the engine": s.HandedOff, "requests that ended without a hold": s.Failed,
		"of these beyond MaxWaiting or MaxWaitingPerLock": s.Shed, "holds unlocked": s.Released, "renewals and confirmations": s.Renewed,
		"commands sent": s.Commands, "batches that carried them": s.Batches, "commands without a reply or rejected, and batches sent again": s.Retries,
		"turns of the loop": s.LoopTurns, "releases that the server did not publish": s.UnpublishedReleases,
		"failed writes of the engine's record": s.UnwrittenRecords, "events and log records dropped": s.DroppedEvents,
		"panics in functions of the program": s.Panics,
	} {
		assert.Equal(t, fmt.Sprint(want), lines[what], what)
		n--
	}
	assert.Equal(t, 1, n, "the servers that are down have lines of their own")

	alarms := func(s lockwheel.Stats) (all []string) {
		for _, f := range figures(&s) {
			if f.Alarm {
				all = append(all, f.What)
			}
		}
		return all
	}
	assert.Empty(t, alarms(lockwheel.Stats{Held: 1, Waiting: 1, Acquired: 1, Failed: 1, Retries: 1, UnwrittenRecords: 1, RenewalLag: lateRenewal, ClockSkew: time.Second}))
	assert.Equal(t, []string{
		"locks that are polled for", "latest renewal of the last minute, past its due time", "this machine's clock ahead of the server's", "holds lost",
		"holds that their unlock found lost", "locks held for longer than HeldTooLong", "holds that no caller could unlock any more",
		"of these beyond MaxWaiting or MaxWaitingPerLock", "releases that the server did not publish", "events and log records dropped",
		"panics in functions of the program",
	}, alarms(lockwheel.Stats{
		Polling: 1, RenewalLag: 2 * lateRenewal, ClockSkew: -2 * time.Second, Lost: 1, LostAtUnlock: 1, HeldTooLong: 1, Leaked: 1, Shed: 1,
		UnpublishedReleases: 1, DroppedEvents: 1, Panics: 1,
	}))
}

// A server that is down counts from the call that failed. The words say so, because the last reply was earlier.
func TestConnections_Down_SaysFromWhen(t *testing.T) {
	all := connections([]lockwheel.NodeStatus{{Address: "h:1", Down: true, Since: epoch, Err: errors.New("why")}}, epoch.Add(46*time.Second))
	assert.Equal(t, []connection{{"The server h:1 is considered down since a call failed 46s ago: why", true}}, all)
	all = connections([]lockwheel.NodeStatus{{Down: true, Since: epoch, Err: lockwheel.ServerError("READONLY x")}}, epoch.Add(time.Second))
	assert.Equal(t, []connection{{"The server replies, but rejects calls: it is considered down since a call failed 1s ago: READONLY x", true}}, all)
}

// A duration is as long as an operator can take in.
func TestDuration_AnySize_FewDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 1381100: "1.38ms", 29_688_123_456: "29.7s", -1_234_567_890: "-1.23s", 59_999_999_999: "1m0s",
		61*time.Second + 400*time.Millisecond: "1m1s", 3*time.Hour + 29*time.Second: "3h0m", 1000 * time.Hour: "1000h0m",
	} {
		assert.Equal(t, want, duration(d))
	}
}
