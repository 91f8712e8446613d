package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// simPlanted is the variable that chooses a mutant, in the program that has them all.
const simPlanted = "LOCKWHEEL_PLANTED"

// simChooser is what a package with mutants gets besides.
const simChooser = `package %s

import (
	"os"
	"strconv"
)

var chosen, _ = strconv.Atoi(os.Getenv(%q))

func planted(number int) bool { return number == chosen }
`

// simMutantSeeds is how many seeds a mutant has to be found in.
const simMutantSeeds = 10_000

// A simulation that never fails proves nothing: each mistake that is planted in a copy of a decision of the
// product is found. The copies are put in the place of the files by the go command, all into one program;
// the simulation in it runs once with each.
func TestMutantsAreFound(t *testing.T) {
	if _, inside := os.LookupEnv(simPlanted); inside || *simSeedFlag != 0 {
		t.Skip("a mutant, or another seed, is looked at")
	}
	program := buildMutants(t)
	if out, err := program.run("-1", 300); err != nil {
		t.Fatalf("with no mutant chosen, the program fails as well: %v\n%s", err, out)
	}
	for i, m := range simMutants {
		t.Run(m.what, func(t *testing.T) {
			out, err := program.run(fmt.Sprint(i), simMutantSeeds)
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

// A mutant of what the source no longer says would not be one.
func TestMutantsAreOfTheSourceAsItIs(t *testing.T) {
	for _, m := range simMutants {
		if _, err := m.plant(readSource(t, m.file), 0); err != nil {
			t.Error(err)
		}
	}
}

func (m *simMutant) plant(source string, number int) (string, error) {
	for _, edit := range m.edits {
		if n := strings.Count(source, edit.from); n != 1 {
			return "", fmt.Errorf("%s: %s says %d times, and not once:\n%s", m.what, m.file, n, edit.from)
		}
		if !strings.Contains(edit.to, "planted()") {
			return "", fmt.Errorf("%s: nothing chooses it", m.what)
		}
		source = strings.Replace(source, edit.from, strings.ReplaceAll(edit.to, "planted()", fmt.Sprintf("planted(%d)", number)), 1)
	}
	return source, nil
}

// simProgram is this package's tests, built with all mutants.
type simProgram string

func buildMutants(t *testing.T) simProgram {
	t.Helper()
	folder := t.TempDir()
	copies := map[string]string{}
	for i, m := range simMutants {
		if copies[m.file] == "" {
			copies[m.file] = readSource(t, m.file)
		}
		mutated, err := m.plant(copies[m.file], i)
		if err != nil {
			t.Fatal(err)
		}
		copies[m.file] = mutated
	}
	for _, folder := range []string{"actor", "actor/quorum", "engine", "wheel"} {
		copies[folder+"/planted.go"] = fmt.Sprintf(simChooser, path.Base(folder), simPlanted)
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for i, name := range slices.Sorted(maps.Keys(copies)) {
		original, err := filepath.Abs(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][original] = filepath.Join(folder, fmt.Sprintf("%d.go", i))
		writeFile(t, overlay["Replace"][original], []byte(copies[name]))
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "mutants.test")
	writeFile(t, list, text)
	build := exec.Command("go", "test", "-c", "-overlay", list, "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	return simProgram(program)
}

// run runs the simulation with one mutant chosen.
func (p simProgram) run(mutant string, seeds int) (string, error) {
	c := exec.Command(string(p), "-test.run=^TestSimulation$", "-test.v", "-test.timeout=5m", "-sim.shrink=0",
		fmt.Sprintf("-sim.seeds=%d", seeds))
	c.Env = append(os.Environ(), simPlanted+"="+mutant)
	out, err := c.CombinedOutput()
	return string(out), err
}

func readSource(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// simFailed is what a run says about a seed that failed.
var simFailed = regexp.MustCompile(`seed \d+, step .*`)
