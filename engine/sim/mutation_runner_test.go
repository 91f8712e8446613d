package sim

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/long"
	mutants "github.com/lockwheel/lockwheel/internal/planted" // planted chooses one
)

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
	run := func(test string, mutant, seeds int) (string, error) {
		return program.Run(mutant, "-test.run=^"+test+"$", "-test.v", "-test.timeout=5m", "-sim.shrink=0", fmt.Sprintf("-sim.seeds=%d", seeds))
	}
	for _, test := range []string{simMain, simFailover} {
		if out, err := run(test, mutants.None, 300); err != nil {
			t.Fatalf("with no mutant chosen, the program fails as well: %v\n%s", err, out)
		}
	}
	for i, m := range mistakes {
		t.Run(m.What, func(t *testing.T) {
			test := simMain
			if i >= len(simMutants) {
				test = simFailover
			}
			out, err := run(test, i, simMutantSeeds)
			if err == nil {
				t.Errorf("not found in %d seeds", simMutantSeeds)
				return
			}
			found := simFailed.FindString(out)
			if found == "" {
				t.Errorf("the program fails, but no seed does: %v\n%s", err, out)
			}
			t.Log(found)
		})
	}
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
var simFailed = regexp.MustCompile(`seed \d+, step .*`)
