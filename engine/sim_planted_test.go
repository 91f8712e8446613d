package engine

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/long"
	mutants "github.com/lockwheel/lockwheel/internal/planted" // planted is what chooses one
)

// simMutantSeeds is how many seeds a mutant has to be found in.
const simMutantSeeds = 10_000

// A simulation that never fails proves nothing: each mistake that is planted in a copy of a decision of the
// product is found. The copies are put in the place of the files by the go command, all into one program;
// the simulation in it runs once with each.
func TestMutantsAreFound(t *testing.T) {
	if _, inside := os.LookupEnv(mutants.Env); inside || *simSeedFlag != 0 {
		t.Skip("a mutant, or another seed, is looked at")
	}
	long.Only(t, "the simulation is built once more, and runs until it has found each of them")
	mistakes := allMutants()
	program := mutants.Build(t, "..", "engine", mistakes)
	run := func(test string, mutant, seeds int) (string, error) {
		return program.Run(mutant, "-test.run=^"+test+"$", "-test.v", "-test.timeout=5m", "-sim.shrink=0", fmt.Sprintf("-sim.seeds=%d", seeds))
	}
	for _, test := range []string{simMain, simSuccession} {
		if out, err := run(test, mutants.None, 300); err != nil {
			t.Fatalf("with no mutant chosen, the program fails as well: %v\n%s", err, out)
		}
	}
	for i, m := range mistakes {
		t.Run(m.What, func(t *testing.T) {
			test := simMain
			if i >= len(simMutants) {
				test = simSuccession
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

// The simulations that look for mutants: of one server, and of masters that follow each other; with it a conversation about slots on their way.
const simMain, simSuccession = "TestSimulation", "(TestSuccessions|TestAllWaitersOfASlotOnItsWayPoll)"

func allMutants() (mistakes []mutants.Mutant) {
	for _, m := range slices.Concat(simMutants, successionMutants) {
		mistake := mutants.Mutant{What: m.what, File: m.file}
		for _, e := range m.edits {
			mistake.Edits = append(mistake.Edits, mutants.Edit{From: e.from, To: e.to})
		}
		mistakes = append(mistakes, mistake)
	}
	return mistakes
}

// A mutant of what the source no longer says would not be one.
func TestMutantsAreOfTheSourceAsItIs(t *testing.T) {
	require.NoError(t, mutants.Check("..", allMutants()))
}

// simFailed is what a run says about a seed that failed.
var simFailed = regexp.MustCompile(`seed \d+, step .*|FAIL: TestAllWaiters\w*`)
