package sim

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	simShrinkFlag = flag.Duration("sim.shrink", 20*time.Second, "how long to look for a shorter history of a seed that failed; 0: not at all")
	simKeepFlag   = flag.String("sim.keep", "", "with -sim.seed: only these of all that may happen, as a shortened history says")
	simSaltFlag   = flag.Uint64("sim.salt", 0, "with -sim.seed: another history of the same plan")
	simUntilFlag  = flag.Duration("sim.until", 0, "with -sim.seed: faults stop at this moment of the history, in place of after so many steps")
)

// simShort is the shortest history found that fails as a seed does.
type simShort struct {
	run      simRun
	violated string
	kept     []simChoice
	steps    int
	before   int // choices, before any was left out
	runs     int
	failed   bool // it fails with the choices that are left
	ends     time.Time
}

// simShortEnough is the number of events from which on a history need not be shortened further.
const simShortEnough = 8

// shorten looks for a shorter history that fails the same check as a run does. It uses delta debugging, and when that
// stops making progress, it looks among other histories with the same plan. It returns nil if there is no time at all.
func shorten(run simRun, within time.Duration) *simShort {
	if within <= 0 {
		return nil
	}
	s := &simShort{run: run, ends: time.Now().Add(within)}
	w := s.whole()
	s.violated, s.before = w.violated, len(s.kept)
	s.leaveOut(w.plan.engines)
	s.elsewhere()
	s.run.choices = &simChoices{keep: simKeys32(s.kept)}
	return s
}

// whole runs it with nothing left out.
func (s *simShort) whole() *simWorld {
	s.runs++
	run := s.run
	run.choices = &simChoices{}
	w := newSimWorld(run)
	w.run()
	s.kept, s.steps = run.choices.met, w.steps
	s.run.until = w.drainingSince
	if s.run.until == 0 {
		s.run.until = w.now
	}
	return w
}

// elsewhere tries histories that only begin like this one and are no longer.
func (s *simShort) elsewhere() {
	for salt := uint64(1); salt <= 3000 && len(s.kept) > simShortEnough && !s.late(); salt++ {
		other := &simShort{run: s.run, violated: s.violated, ends: s.ends}
		other.run.until, other.run.steps, other.run.salt = 0, s.steps, salt
		if w := other.whole(); w.violated == s.violated {
			other.run.steps = s.run.steps
			other.leaveOut(w.plan.engines)
		}
		s.runs += other.runs
		if other.failed && len(other.kept) < len(s.kept) {
			s.run, s.kept, s.steps = other.run, other.kept, other.steps
		}
	}
}

// leaveOut leaves out requests of callers and faults, first by kind, then in chunks, then one by one, and lets the
// faults stop earlier.
func (s *simShort) leaveOut(engines int) {
	if s.fails(s.kept, s.run.until) {
		s.fewerEngines(engines)
	}
	for length := -1; length != len(s.kept) && !s.late(); {
		length = len(s.kept)
		s.byKind(func(c simChoice) string { return c.who })
		s.byKind(func(c simChoice) string { return c.what })
		for chunk := len(s.kept) / 2; chunk > 0; chunk /= 2 {
			s.inChunks(chunk)
		}
		s.earlier()
	}
}

// fails tries a history with some choices left, and keeps it if it fails as it should.
func (s *simShort) fails(left []simChoice, until time.Duration) bool {
	if s.late() {
		return false
	}
	s.runs++
	run := s.run
	run.until, run.choices = until, &simChoices{keep: simKeys32(left)}
	w := newSimWorld(run)
	w.run()
	if w.violated != s.violated {
		return false
	}
	s.kept, s.run.until, s.steps, s.failed = run.choices.met, until, w.steps, true
	return true
}

func (s *simShort) late() bool { return time.Now().After(s.ends) }

// fewerEngines looks for the smallest number of engines with the same failure.
func (s *simShort) fewerEngines(most int) {
	said := s.run.engines
	for s.run.engines = 1; s.run.engines < most; s.run.engines++ {
		if s.fails(s.kept, s.run.until) {
			return
		}
	}
	s.run.engines = said
}

// byKind leaves out all choices of a kind at once.
func (s *simShort) byKind(kindOf func(simChoice) string) {
	var kinds []string
	for _, c := range s.kept {
		if kind := kindOf(c); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		s.fails(slices.DeleteFunc(slices.Clone(s.kept), func(c simChoice) bool { return kindOf(c) == kind }), s.run.until)
	}
}

// inChunks leaves out size choices in a row, the last ones first: the cause of a failure is rarely late.
func (s *simShort) inChunks(size int) {
	for from := len(s.kept) - size; from > -size && !s.late(); {
		left := slices.Delete(slices.Clone(s.kept), max(from, 0), from+size)
		s.fails(left, s.run.until)
		from = min(from, len(s.kept)) - size
	}
}

// earlier lets the faults stop earlier, as early as right after the last choice.
func (s *simShort) earlier() {
	least := simStart
	if len(s.kept) > 0 {
		least = s.kept[len(s.kept)-1].at
	}
	for _, part := range []time.Duration{0, 64, 16, 4, 2} {
		until := least + time.Microsecond
		if part != 0 {
			until += (s.run.until - least) / part
		}
		if until < s.run.until && s.fails(s.kept, until) {
			return
		}
	}
}

func (s *simShort) String() string {
	run := s.run
	run.trace = &simTrace{}
	run.choices = &simChoices{keep: run.choices.keep}
	w := newSimWorld(run)
	w.run()
	return fmt.Sprintf("shortened in %d runs, from %d things that happened to %d, and to %d steps: %s\n\n%s\n\nreplay: %s",
		s.runs, s.before, len(s.kept), w.steps, w.failure, run.trace.brief(), simReplay(run))
}

func simKeys32(choices []simChoice) map[uint32]bool {
	keys := make(map[uint32]bool, len(choices))
	for _, c := range choices {
		keys[c.key] = true
	}
	return keys
}

// String returns the value for -sim.keep.
func (c *simChoices) String() string {
	var keys []string
	for key := range c.keep {
		keys = append(keys, strconv.FormatUint(uint64(key), 36))
	}
	slices.Sort(keys)
	return strings.Join(append(keys, "-"), ",")
}

// parseKeep parses the result of String. The empty text keeps everything.
func parseKeep(text string) (keep map[uint32]bool, err error) {
	if text == "" {
		return nil, nil
	}
	keep = map[uint32]bool{}
	for _, word := range strings.Split(text, ",") {
		if word == "-" {
			continue
		}
		key, err := strconv.ParseUint(word, 36, 32)
		if err != nil {
			return nil, fmt.Errorf("-sim.keep: %w", err)
		}
		keep[uint32(key)] = true
	}
	return keep, nil
}

// A failure must be readable: its printed history is short, fails the same check, and is what the printed command
// shows.
func TestShrink_Failure_Shortened(t *testing.T) {
	for _, bug := range []simBug{bugGoneUnsaid, bugSentIgnored, bugTakenUnsaid} {
		_, failed := simulate(1, 2000, bug)
		if failed == nil {
			t.Fatalf("bug %d is not found", bug)
		}
		short := shorten(simRun{seed: failed.seed, steps: *simStepsFlag, bug: bug}, 5*time.Minute) // about fifty runs
		if most := max(short.before/10, 10); len(short.kept) > most {
			t.Errorf("of %d things that happened, %d are left, and not %d at most", short.before, len(short.kept), most)
		}
		replay := short.run
		_, words, _ := strings.Cut(simReplay(short.run), "-sim.keep=")
		keep, err := parseKeep(strings.TrimSuffix(words, " -v"))
		if err != nil {
			t.Fatal(err)
		}
		replay.choices = &simChoices{keep: keep}
		w := newSimWorld(replay)
		w.run()
		if w.violated != failed.violated {
			t.Errorf("seed %d fails with %q, its shortened history with %q", failed.seed, failed.violated, w.violated)
		}
		t.Logf("%s\n%d things of %d, %d steps of %d", short, len(short.kept), short.before, w.steps, failed.steps)
	}
}

// Leaving something out must not change what stays, because otherwise shortening would look at unrelated histories.
func TestShrink_NothingLeftOut_SameHistory(t *testing.T) {
	for seed := range uint64(8) {
		run := simRun{seed: seed + 1, steps: 500, choices: &simChoices{}}
		all := simHistory(run)
		run.choices = &simChoices{keep: simKeys32(run.choices.met)}
		if again := simHistory(run); all != again {
			t.Fatalf("seed %d differs: %s", seed+1, simDifference(all, again))
		}
	}
}
