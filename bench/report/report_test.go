package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/link"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

var tiny = bench.Plan{
	Rounds: 1, Round: 10 * time.Millisecond, ContendedRound: 10 * time.Millisecond, Goroutines: []int{1, 2}, Contenders: []int{2},
	Holds:             []bench.HoldPlan{{Locks: 10, Lease: time.Second, Peers: true}},
	Scales:            []bench.HoldPlan{{Locks: 10, Lease: time.Second}},
	Sizes:             []bench.HoldPlan{{Locks: 10, Lease: time.Second}},
	ThroughputWorkers: 8,
	Calls:             10, OpenLoop: 20 * time.Millisecond, Gateway: 20 * time.Millisecond, WithHeld: bench.HoldPlan{Locks: 10, Lease: time.Second}, Handovers: 2,
	Floods: []bench.FloodPlan{{Async: []int{100}, Blocked: []int{20}}, {Own: true, Async: []int{100}, Peers: []int{10}}, {Readers: []int{50}, Granted: []int{50}, Parts: []int{20}}}, FloodFor: 20 * time.Millisecond,
	FloodPhaseTimeout: 10 * time.Second, FloodLeaveTimeout: time.Second, PlantedMost: 100,
}

func TestMain(m *testing.M) {
	link.RunIfAsked()
	os.Exit(m.Run())
}

func needsServer(t *testing.T) {
	if _, err := redistest.Find(); errors.Is(err, exec.ErrNotFound) && os.Getenv(redistest.EnvRequire) != "1" {
		t.Skipf("needs a real server: %v", err)
	}
}

// A report writes its tables and charts; a run of one section leaves the other sections as they were.
func TestReport_OneSection_OthersKept(t *testing.T) {
	needsServer(t)
	dir := t.TempDir()
	readme := filepath.Join(dir, "README.md")
	require.NoError(t, os.WriteFile(readme, []byte("# Before\n<!-- measured -->\nold\n<!-- /measured -->\nafter\n"), 0o644))
	var log strings.Builder
	o := options{plan: tiny, set: "tiny", out: dir, readme: readme, log: &log}
	require.NoError(t, o.run())
	text := read(t, dir, "RESULTS.md")
	for _, part := range []string{"Goals", "Setting", "Pair", "Ceiling", "Kinds", "Hot", "Wake", "Latency", "Latency under a steady load", "Gateway", "Hold", "Scale", "Sizing", "Flood", "Planted"} {
		require.Contains(t, text, "\n## "+part+"\n")
	}
	requireCharts(t, dir)
	require.NotContains(t, read(t, dir, "README.md"), "\nold\n")
	require.Contains(t, log.String(), "set tiny: 17 comparisons, about ")
	require.Contains(t, log.String(), "11/17 Hold: 10 locks with a lease of 1s, renewed every 333.333333ms")
	require.Contains(t, log.String(), "lockwheel: has 10 locks")

	pair, ceiling := read(t, dir, "figures/pair.json"), read(t, dir, "figures/ceiling.json")
	again := options{plan: tiny, set: "other", only: []string{"ceiling"}, out: dir, log: io.Discard}
	require.NoError(t, again.run())
	require.Equal(t, pair, read(t, dir, "figures/pair.json"), "not measured, and left as it was")
	require.NotEqual(t, ceiling, read(t, dir, "figures/ceiling.json"))
	text = read(t, dir, "RESULTS.md")
	require.Equal(t, 1, strings.Count(text, "-set other -only ceiling`"), "each section says where it is from")
	require.Equal(t, 12, strings.Count(text, "-set tiny -only "))
}

// requireCharts has every chart drawn that has something to show, and shown.
func requireCharts(t *testing.T, dir string) {
	r := newResults()
	require.NoError(t, r.load(filepath.Join(dir, "figures")))
	for name, g := range r.drawings() {
		if len(g.names) == 0 {
			continue
		}
		require.FileExists(t, filepath.Join(dir, "charts", name+".svg"))
		require.Contains(t, read(t, dir, "RESULTS.md"), "(charts/"+name+".svg)")
	}
}

func read(t *testing.T, dir, file string) string {
	text, err := os.ReadFile(filepath.Join(dir, file))
	require.NoError(t, err)
	return string(text)
}

// A section that is only printed changes no file.
func TestReport_Print_WritesNoFile(t *testing.T) {
	needsServer(t)
	var log strings.Builder
	o := options{plan: tiny, set: "tiny", only: []string{"WAKE"}, print: true, out: t.TempDir(), readme: "no such file", log: &log}
	require.NoError(t, o.run())
	require.Contains(t, log.String(), "\n## Wake\n")
	require.NotContains(t, log.String(), "\n## Pair\n")
	written, err := os.ReadDir(o.out)
	require.NoError(t, err)
	require.Empty(t, written)
}

// An unknown section is an error before anything is measured.
func TestReport_UnknownSection_Error(t *testing.T) {
	o := options{plan: tiny, only: []string{"hold", "cieling"}, out: t.TempDir(), log: io.Discard}
	require.EqualError(t, o.run(), "-only hold,cieling: the sections are Pair, Ceiling, Kinds, Hot, Wake, Latency, Gateway, Hold, Scale, Sizing, Flood, Planted, Before")
}

// A section that fails keeps its earlier figures.
func TestReport_SectionFails_Kept(t *testing.T) {
	needsServer(t)
	dir := t.TempDir()
	r := fixture()
	require.NoError(t, r.wake.store(dir))
	r.wake.steps = func(*[]*bench.HandoverLatency, *bench.Server, bench.Plan) []step {
		return []step{{"no chance", 0, func() error { return errors.New("broken") }}}
	}
	o := options{plan: tiny, out: dir, log: io.Discard}
	require.NoError(t, os.Rename(filepath.Join(dir, "wake.json"), filepath.Join(dir, "kept.json")))
	require.NoError(t, os.MkdirAll(o.figures(), 0o755))
	require.NoError(t, os.Rename(filepath.Join(dir, "kept.json"), filepath.Join(o.figures(), "wake.json")))
	require.EqualError(t, o.measure([]section{&r.wake}), "Wake: no chance: broken")
	require.NotNil(t, r.wake.When)
	require.Equal(t, "lockwheel", r.wake.Figures[0].Name)
}

// A report over a link has the sections that can be measured over one, and says so. It leaves out the goals, which are
// set without one.
func TestReport_Link_SectionsAndDelay(t *testing.T) {
	needsServer(t)
	o := options{plan: tiny, set: "tiny", link: 300 * time.Microsecond, out: t.TempDir(), log: io.Discard}
	require.NoError(t, o.run())
	text := read(t, o.out, "RESULTS.md")
	for _, part := range []string{"Pair", "Kinds", "Hot", "Wake", "Latency", "Gateway"} {
		require.Contains(t, text, "\n## "+part+"\n")
	}
	for _, part := range []string{"Goals", "Ceiling", "Hold", "Scale", "Sizing", "Flood", "Planted", "Latency under a steady load"} {
		require.NotContains(t, text, "\n## "+part+"\n")
	}
	require.Contains(t, text, "-set tiny -only wake -link 300µs`")
	r := newResults()
	require.NoError(t, r.load(o.figures()))
	for _, a := range r.latency.Figures.Alone {
		require.Empty(t, a.Failure, a.Name)
		require.Greater(t, a.Lock.Quantile(0), 600*time.Microsecond, "%s: the link was not in between", a.Name)
	}
	o.only = []string{"hold"}
	require.EqualError(t, o.run(), "-only hold: the sections are Pair, Kinds, Hot, Wake, Latency, Gateway")
}

// The spread of a figure is that of its rounds or runs, and a dash if there was only one.
func TestReport_Spread_SmallestToLargest(t *testing.T) {
	r := fixture()
	one := r.markdown()
	require.Contains(t, one, "| lockwheel | 200 000 | – |")
	require.Contains(t, one, "| pairs/s | min..max |")
	ours := &r.pair.Figures[1].Standings[0]
	for _, speed := range []int{150_000, 210_000} {
		again := fixtureResult("lockwheel", speed)
		ours.Add(again.Samples[0])
	}
	w := r.wake.Figures[0]
	w.Turns = []measure.Quantiles{{P50: 390 * time.Microsecond, P99: 2 * time.Millisecond}, {P50: 310 * time.Microsecond, P99: time.Millisecond}}
	k := &r.hold.Figures[3]
	k.Runs = []bench.HoldResult{fixtureHold("lockwheel", 1_000_000, 279), fixtureHold("lockwheel", 1_000_000, 291)}
	text := r.markdown()
	require.Contains(t, text, "| pairs/s | min..max of 3 |")
	require.Contains(t, text, "| lockwheel | 200 000 | 150 000..210 000 |")
	require.Contains(t, text, "| p50 µs | min..max of 2 |")
	require.Contains(t, text, "| 310..390 |")
	require.Contains(t, text, "| 1 000..2 000 |")
	require.Contains(t, text, "| 280 (279..291) |")
}

// A report without figures is an error and writes no file.
func TestReport_NoFigures_WritesNothing(t *testing.T) {
	dir := t.TempDir()
	o := options{render: true, out: dir, log: io.Discard}
	require.EqualError(t, o.run(), "nothing has been measured yet")
	require.NoFileExists(t, filepath.Join(dir, "RESULTS.md"))
}

// A report that is only rendered has the stored figures and all charts.
func TestReport_Render_WritesStoredFigures(t *testing.T) {
	o := options{render: true, out: t.TempDir(), log: io.Discard}
	r := fixture()
	for _, s := range r.sections() {
		require.NoError(t, s.store(o.figures()))
	}
	require.NoError(t, o.run())
	require.Equal(t, r.markdown(), read(t, o.out, "RESULTS.md"))
	for name, g := range r.drawings() {
		require.NotEmpty(t, g.names, name)
	}
	requireCharts(t, o.out)
}

// RESULTS.md and README have what this code writes of the figures that are kept.
func TestResults_Kept_AreOfTheFigures(t *testing.T) {
	r := newResults()
	require.NoError(t, r.load("../figures"))
	require.Equal(t, r.markdown(), read(t, "..", "RESULTS.md"), "go run ./report -render writes it anew")
	text := read(t, "../..", "README.md")
	again, err := replaceMeasured(text, r.measuredPart())
	require.NoError(t, err)
	require.Equal(t, again, text, "go run ./report -render writes it anew")
}

// Figures that are stored and loaded give the same report; a broken file is an error.
func TestFigures_StoreAndLoad_Same(t *testing.T) {
	dir := t.TempDir()
	r, again := fixture(), newResults()
	for _, s := range r.sections() {
		require.NoError(t, s.store(dir))
	}
	require.NoError(t, again.load(dir))
	require.Equal(t, r.markdown(), again.markdown())
	require.Equal(t, r.measuredPart(), again.measuredPart())
	require.Equal(t, r.drawings(), again.drawings())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hot.json"), []byte("{"), 0o644))
	require.ErrorContains(t, again.load(dir), "hot.json")
}

func outcomes(r *results) (met, not, without []string) {
	for _, g := range r.goals() {
		switch g.outcome() {
		case "met":
			met = append(met, g.what)
		case "not measured":
			without = append(without, g.what)
		default:
			not = append(not, g.what)
		}
	}
	return met, not, without
}

// Each goal is met by good figures, and not met as soon as its figure is worse.
func TestGoal_WorseFigure_NotMet(t *testing.T) {
	r := fixture()
	_, not, without := outcomes(r)
	require.Equal(t, []string{"p50 of a hand-over, in bare round trips"}, not)
	require.Empty(t, without)

	for what, worsen := range map[string]func(r *results){
		"256 goroutines and more: pairs/s to direct":                          func(r *results) { r.pair.Figures[2].Standings[1] = fixtureResult("direct", 111_112) },
		"256 goroutines and more: pairs/s to redsync":                         func(r *results) { r.pair.Figures[2].Standings[4] = fixtureResult("redsync", 33_334) },
		"256 goroutines and more: pairs/s to redisson":                        func(r *results) { r.pair.Figures[2].Standings[5] = fixtureResult("redisson", 22_223) },
		"1 goroutine: pairs/s to the best of the others":                      func(r *results) { r.pair.Figures[0].Standings[0] = fixtureResult("lockwheel", 79_999) },
		"16 goroutines: pairs/s to the best of the others":                    func(r *results) { r.pair.Figures[1].Standings[2] = fixtureResult("rueidislock", 200_001) },
		"2 048 goroutines: client CPU of a pair, to direct's":                 func(r *results) { r.pair.Figures[2].Standings[0].Samples[0].Client.CPU *= 2 },
		"2 048 goroutines: pairs/s to the server alone":                       func(r *results) { r.ceiling.Figures.Standings[3] = fixtureResult(bench.CeilingReplayed, 266_667) },
		"p50 of a hand-over, to rueidislock's":                                func(r *results) { r.wake.Figures[2] = fixtureHandover("rueidislock", 350*time.Microsecond) },
		"p50 of a hand-over, to one over plain TCP":                           func(r *results) { r.wake.Figures[3] = fixtureHandover(bench.HandoverPlain, 300*time.Microsecond) },
		"steady load: p50 to direct's":                                        func(r *results) { r.latency.Figures.Loads[2] = fixtureLoad("direct", 0, 180*time.Microsecond) },
		"100 000 held: client CPU of a renewal, to redisson's":                func(r *results) { r.hold.Figures[4].Client = 0.11 },
		"100 000 held: server CPU of a renewal, to redisson's":                func(r *results) { r.hold.Figures[5].Server = 0.19 },
		"1 000 000 held: client CPU of a renewal":                             func(r *results) { r.hold.Figures[3].Client = 0.21 },
		"1 000 000 held: server CPU of a renewal, to the server alone":        func(r *results) { r.hold.Figures[3].Server = 0.15 },
		"10 000 000 held: live heap of a lock":                                func(r *results) { r.scale.Figures[1].Runs[0].Heap = 301 },
		"10 000 000 held: lost":                                               func(r *results) { r.scale.Figures[1].Runs[1].Lost = 1 },
		"10 000 000 held: part of its slack that the latest renewal has used": func(r *results) { r.scale.Figures[1].Runs[1].Latest = 11 * time.Second },
		"the cost model: largest error of a prediction":                       func(r *results) { r.sizing.Figures.Checks[1].Expected.Server = 1 },
		"FairMutex: pairs/s to Mutex":                                         func(r *results) { r.kinds.Figures.Alike[2] = fixtureResult(bench.KindFair, 79_999) },
		"ten names as one, to one after the other":                            func(r *results) { r.kinds.Figures.Ten[0] = fixtureResult(bench.TenAsOne, 4999) },
		"64 goroutines, two clients: longest wait of all rounds":              func(r *results) { r.hot.Figures[3].Fights[0].LongestWait = 51 * time.Millisecond },
		"64 goroutines, two clients: larger share to the smaller":             func(r *results) { r.hot.Figures[3].Fights[0].Shares = [2]float64{0, 1} },
		"64 goroutines, one client: pairs/s to the best of the others":        func(r *results) { r.hot.Figures[1].Fights[2] = fixtureContended("rueidislock", 12_000) },
		"one caller: p99 of a lock to a bare round trip": func(r *results) {
			r.latency.Figures.Alone[0].Locks[0].P99 = time.Second
		},
		"FairMutex: pairs/s to Redisson's":                  func(r *results) { r.kinds.Figures.Redisson[2] = fixtureResult(bench.KindFair, 30_001) },
		"RWMutex, write: pairs/s to Redisson's":             func(r *results) { r.kinds.Figures.Redisson[3] = fixtureResult(bench.KindWrite, 36_667) },
		"Quorum of three: pairs/s to redsync's":             func(r *results) { r.kinds.Figures.Quorum[1] = fixtureResult("redsync", 15_001) },
		"a request: p50 added, to two PINGs":                func(r *results) { r.gateway.Figures[0] = fixtureGateway("lockwheel", 378*time.Microsecond) },
		"a request: p99 added, to two PINGs":                func(r *results) { r.gateway.Figures[4] = fixtureGateway(peers.PingPair.Name, 206*time.Microsecond) },
		"a request: p99, to rueidislock":                    func(r *results) { r.gateway.Figures[3] = fixtureGateway("rueidislock", 309*time.Microsecond) },
		"steady load: p99 beside 100 000 held to none held": func(r *results) { r.latency.Figures.Loads[1] = fixtureLoad("lockwheel", 100_000, time.Millisecond) },
		"1 000 000 held: live heap of a lock":               func(r *results) { r.hold.Figures[3].Heap = 300.4 },
		"1 000 000 held: goroutines a lock":                 func(r *results) { r.hold.Figures[3].Goroutines = 1 },
		"1 000 000 held: lost":                              func(r *results) { r.hold.Figures[3].Lost = 1 },
		"1 000 000 held: p99 of how late renewals are":      func(r *results) { r.hold.Figures[3].Late = 251 * time.Millisecond },
		"1 000 000 held: pairs/s beside them to none held":  func(r *results) { r.hold.Figures[3].During = 139_999 },
		"1 000 000 waiters, one name: p99 of an unrelated lock in the worst phase": func(r *results) {
			r.flood.Figures[0].Phases[5].Probe.Record(21 * time.Millisecond)
			r.flood.Figures[0].Phases[5].Probe.Record(21 * time.Millisecond)
		},
		"1 000 000 waiters, names of their own: longest of an unrelated lock":        func(r *results) { r.flood.Figures[1].Phases[2].Probe.Record(251 * time.Millisecond) },
		"1 000 000 waiters, one name: watched holds lost":                            func(r *results) { r.flood.Figures[0].Lost = 1 },
		"1 000 000 waiters, names of their own: from the cancel to the last channel": func(r *results) { r.flood.Figures[1].Phases[5].Took = 20 * time.Second },
		"1 000 000 waiters, one name: turns, 99.9 % in the worst phase":              func(r *results) { r.flood.Figures[0].Phases[1].Turns = 20 * time.Millisecond },
		"1 000 000 waiters, one name: goroutines more when their context ends":       func(r *results) { r.flood.Figures[0].Phases[5].End.Goroutines += 1001 },
		"1 000 000 waiters, one name: memory of the process when their context ends, to before": func(r *results) {
			r.flood.Figures[0].Phases[5].End.RSS = 1_200_000_000
		},
		"a try of a lock of which very much is stored: longest command of the server": func(r *results) {
			r.planted.Figures[1].Longest = 6 * time.Millisecond
		},
		"16 goroutines: the figure that gained least, to " + before:          func(r *results) { r.before.Figures[2].Figures[0].Now[1] = 193 },
		"100 000 held: the figure that gained least, to " + before:           func(r *results) { r.before.Figures[7].Figures[1].Now[0] = 4.2 },
		"a Multi of 50 000 names: watched holds lost":                        func(r *results) { r.floodOf(bench.FloodParts, false, 50_000).Lost = 50_000 },
		"100 000 readers of one name granted: watched holds lost":            func(r *results) { r.floodOf(bench.FloodGranted, false, 100_000).Lost = 1 },
		"100 000 waiters to read one name: turns, 99.9 % in the worst phase": func(r *results) { r.floodOf(bench.FloodReaders, false, 100_000).Phases[1].Turns = time.Second },
	} {
		r := fixture()
		worsen(r)
		_, not, _ := outcomes(r)
		require.Contains(t, not, what)
	}
}

// One bad round or run of many is enough for a goal not to be met.
func TestGoal_OneBadRoundOrRun_NotMet(t *testing.T) {
	r := fixture()
	one := r.pair.Figures[0].Standings
	for i := range one {
		for range 3 {
			one[i].Add(fixtureResult("", 80_000).Samples[0])
		}
	}
	one[0].Samples[2] = fixtureResult("", 79_999).Samples[0]
	million := &r.hold.Figures[3]
	slow := *million
	slow.Client = 0.21
	million.Runs = []bench.HoldResult{*million, slow, *million}
	ours, ping := r.latency.Figures.Alone[0], r.latency.Figures.Alone[2]
	ours.Locks = append(ours.Locks, measure.Quantiles{P50: 40 * time.Microsecond, P99: ours.Locks[0].P99})
	ping.Locks = append(ping.Locks, ping.Locks[0])
	_, not, without := outcomes(r)
	require.Empty(t, without)
	require.Subset(t, not, []string{
		"1 goroutine: pairs/s to the best of the others", "1 000 000 held: client CPU of a renewal", "one caller: p50 of a lock to a bare round trip",
	})
	require.Contains(t, r.goalsTable(), "| 1 000 000 held: client CPU of a renewal | [Hold](#hold) | 1.00 µs | 2.10 µs |", "the median and the worst")
}

// A goal without a figure, because a run failed or did not take place, counts as not measured.
func TestGoal_FailedOrUnmeasured_NotMet(t *testing.T) {
	met, _, without := outcomes(newResults())
	require.Empty(t, met)
	require.Len(t, without, len(newResults().goals()))
	r := fixture()
	r.hold.Figures = r.hold.Figures[:3] // no million
	r.pair.Figures[2].Standings[1].Failure = "hangs"
	r.hold.Figures[0].Stuck = "hangs, too"
	require.Contains(t, r.markdown(), "| lockwheel, 1 000 locks | hangs, too |")
	_, _, without = outcomes(r)
	require.Len(t, without, 11)
	require.Contains(t, r.markdown(), "; not measured: 11.")
}

// figure is a number of a table, with its unit where that stands behind it.
var figure = regexp.MustCompile(`\d[\d  .]*\d( ×)?|\d`)

// Each figure of README stands in the section of the results that it links to.
func TestReadme_Figures_InResults(t *testing.T) {
	r := fixture()
	results := r.markdown()
	figures, pairs := 0, 0
	for line := range strings.Lines(r.measuredPart()) {
		cells := strings.Split(line, " | ")
		if len(cells) == 6 && !strings.Contains(line, "](") { // of Pair
			pairs++
			for _, cell := range cells[1:] {
				require.Contains(t, results, strings.TrimSuffix(cell, " |\n"), line)
			}
			continue
		}
		if len(cells) != 3 || !strings.Contains(cells[2], "](") {
			continue // a head
		}
		for _, number := range figure.FindAllString(cells[1], -1) {
			require.Contains(t, results, number, line)
			figures++
		}
		link := regexp.MustCompile(`#(\w+)\)`).FindStringSubmatch(cells[2])
		require.Contains(t, strings.ToLower(results), "\n## "+link[1]+"\n")
	}
	require.Greater(t, figures, 20)
	require.GreaterOrEqual(t, pairs, 3, "a head and contestants")
}

// Only the part of README between its two markers is replaced; missing markers are an error.
func TestReadme_MeasuredPart_OnlyReplaced(t *testing.T) {
	text, err := replaceMeasured("a\n<!-- measured -->\nold\n<!-- /measured -->\nb\n", "new\n")
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- measured -->\nnew\n<!-- /measured -->\nb\n", text)
	for _, wrong := range []string{"", "<!-- measured -->\n", "<!-- /measured -->\n<!-- measured -->\n"} {
		_, err := replaceMeasured(wrong, "new\n")
		require.Error(t, err)
	}
	own, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, err = replaceMeasured(string(own), "new\n")
	require.NoError(t, err, "the README of this repository has the lines")
}

// A section that was measured on another machine or with other versions says so.
func TestSection_OtherMachine_Named(t *testing.T) {
	r := fixture()
	require.NotContains(t, r.markdown(), "other than above")
	otherMachine := fixtureMachine()
	otherMachine.Server = "Redis 7"
	otherMachine.Versions["github.com/bsm/redislock"] = "v7"
	r.pair.When.Machine = otherMachine
	require.Contains(t, r.markdown(), "; other than above: Redis 7; redislock v7.")
}

// The command of a section repeats it: with the number of rounds, if that is not the set's.
func TestSection_OtherRounds_InItsCommand(t *testing.T) {
	w := &measurement{Set: "full", Rounds: bench.Full.Rounds, Machine: fixtureMachine()}
	require.NotContains(t, w.line("Hold", w), "-runs")
	w.Rounds, w.Link = 2, time.Millisecond
	require.Contains(t, w.line("Hold", w), "`go run ./report -set full -only hold -runs 2 -link 1ms`")
}

// A peer that was measured with some numbers of goroutines only is not judged by these.
func TestGoal_PeerMissingOnce_NotMeasured(t *testing.T) {
	r := fixture()
	r.pair.Figures = append(r.pair.Figures, pairRun{256, slices.Clone(r.pair.Figures[2].Standings)})
	r.pair.Figures[3].Standings[1].Failure = "hangs"
	_, _, without := outcomes(r)
	require.Equal(t, []string{"256 goroutines and more: pairs/s to direct"}, without)
}

// A heap that is smaller than its noise has no figure.
func TestHeap_Noise_NoFigure(t *testing.T) {
	require.Equal(t, "280", heapCell(&bench.HoldResult{Heap: 280}))
	require.Equal(t, "900 ± 80", heapCell(&bench.HoldResult{Heap: 900, HeapNoise: 80}))
	for _, noisy := range []float64{-6000, 0, 79} {
		require.Equal(t, "– (the heap differs by 80 a lock by itself)", heapCell(&bench.HoldResult{Heap: noisy, HeapNoise: 80}))
	}
}

// An axis has two to ten labels, whatever its range.
func TestAxes_AnyRange_Labelled(t *testing.T) {
	for _, span := range [][2]float64{{0.002, 0.4}, {300, 900}, {20, 6_000_000}, {1.1, 1.9}} {
		labels := 0
		for _, tick := range powerTicks(span[0]/2, span[1]*1.5) {
			if tick.Label != "" {
				labels++
			}
		}
		require.GreaterOrEqual(t, labels, 2, span)
		require.LessOrEqual(t, labels, 10, span)
	}
}

// Figures, ratios and tables are printed in one format.
func TestFigures_Format(t *testing.T) {
	require.Equal(t, []string{"0", "999", "1 000", "1 234 567", "-123", "-1 234"},
		[]string{count(0), count(999), count(1000), count(1234567), count(-123), count(-1234)})
	require.Equal(t, []string{"0", "0.123", "1.23", "12.3", "1 236"},
		[]string{decimals(0), decimals(0.1234), decimals(1.234), decimals(12.34), decimals(1235.6)})
	require.Equal(t, "2.00 ×", ratio(4, 2))
	require.Equal(t, "–", ratio(4, 0))
	table := newTable("", "a", "b")
	table.row("x", "1", "2")
	table.failed("y", "it\nhangs | fails")
	require.Equal(t, "|  | a | b |\n| --- | --: | --: |\n| x | 1 | 2 |\n| y | it; hangs \\| fails |  |\n", table.String())
}
