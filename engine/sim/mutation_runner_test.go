package sim

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/long"
	mutants "github.com/lockwheel/lockwheel/internal/planted" // planted chooses one
)

var simRecordFlag = flag.Bool("sim.record", false, "write which seed finds each mutant")

// simMutantSeeds is within how many seeds each mutant must be found.
const simMutantSeeds = 10_000

// A simulation that never fails proves nothing: each mistake that is planted in a copy of a decision of the product
// is found. The go command puts the copies in the place of the files, all into one program. The simulation in that
// program runs once with each mutant.
func TestMutantsAreFound(t *testing.T) {
	if _, inside := os.LookupEnv(mutants.Env); inside || *simSeedFlag != 0 {
		t.Skip("a mutant, or another seed, is looked at")
	}
	long.Only(t, "the simulation is built once more, and runs until it has found each of them")
	mistakes := allMutants()
	program := mutants.Build(t, "../..", "engine/sim", mistakes)
	run := func(test string, mutant int, first uint64, seeds int) (string, error) {
		return program.Run(mutant, "-test.run=^"+test+"$", "-test.v", "-test.timeout=5m", "-sim.shrink=0",
			fmt.Sprintf("-sim.first=%d", first), fmt.Sprintf("-sim.seeds=%d", seeds))
	}
	for _, test := range []string{simMain, simFailover} {
		if out, err := run(test, mutants.None, 1, 300); err != nil {
			t.Fatalf("with no mutant chosen, the program fails as well: %v\n%s", err, out)
		}
	}
	known := readFoundBy(t)
	found := maps.Clone(known) // a run of some mutants leaves the seeds of the others as they are
	maps.DeleteFunc(found, func(what string, _ uint64) bool {
		return !slices.ContainsFunc(mistakes, func(m mutants.Mutant) bool { return m.What == what })
	})
	for i, m := range mistakes {
		t.Run(m.What, func(t *testing.T) {
			test := simMain
			if i >= len(simMutants) {
				test = simFailover
			}
			seed := known[m.What]
			out, err := "", error(nil)
			if seed != 0 && seed <= simMutantSeeds {
				out, err = run(test, i, seed, 1)
			}
			if err == nil {
				out, err = run(test, i, 1, simMutantSeeds)
			}
			if err == nil {
				t.Errorf("not found in %d seeds", simMutantSeeds)
				return
			}
			failure := simFailed.FindStringSubmatch(out)
			if failure == nil {
				t.Errorf("the program fails, but no seed does: %v\n%s", err, out)
				return
			}
			found[m.What], _ = strconv.ParseUint(failure[1], 10, 64)
			if found[m.What] != seed {
				t.Log("not found by the seed in " + foundByFile + ", so all seeds were tried: -sim.record writes that file anew")
			}
			t.Log(failure[0])
		})
	}
	if *simRecordFlag {
		found.write(t)
	}
}

// foundBy has a seed that finds each mutant. A seed is one history, and always the same one until the product or the
// simulation changes. So a seed that found a mutant is tried first, and all seeds from 1 on only if it no longer does.
type foundBy map[string]uint64

const foundByFile = "mutants_found_by.txt"

// readFoundBy reads the file, which has a line for each mutant: the seed, a tab and the mistake.
func readFoundBy(t *testing.T) foundBy {
	text, err := os.ReadFile(foundByFile)
	require.NoError(t, err)
	known := foundBy{}
	for line := range strings.Lines(string(text)) {
		seed, what, _ := strings.Cut(strings.TrimSpace(line), "\t")
		known[what], err = strconv.ParseUint(seed, 10, 64)
		require.NoError(t, err, line)
	}
	return known
}

func (f foundBy) write(t *testing.T) {
	text := ""
	for _, what := range slices.Sorted(maps.Keys(f)) {
		text += fmt.Sprintf("%d\t%s\n", f[what], what)
	}
	require.NoError(t, os.WriteFile(foundByFile, []byte(text), 0o644))
}

// simMain and simFailover are the simulations that look for mutants: of one server, and of masters that follow each
// other.
const simMain, simFailover = "TestSimulation", "TestSuccessions"

func allMutants() (mistakes []mutants.Mutant) {
	for _, m := range slices.Concat(simMutants, failoverMutants) {
		mistake := mutants.Mutant{What: m.what, File: m.file}
		for _, e := range m.edits {
			mistake.Edits = append(mistake.Edits, mutants.Edit{From: e.from, To: e.to})
		}
		mistakes = append(mistakes, mistake)
	}
	return mistakes
}

// A mutant of text that the source no longer contains would not be one.
func TestMutants_MatchSource(t *testing.T) {
	require.NoError(t, mutants.Check("../..", allMutants()))
}

// simFailed matches what a run prints about a seed that failed.
var simFailed = regexp.MustCompile(`seed (\d+), step .*`)
