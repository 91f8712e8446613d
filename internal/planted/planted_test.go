package planted

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Tests of the programs mostly wait, so several of them run at once, also on machines with fewer processors.
func TestMain(m *testing.M) {
	redistest.SetParallel(6)
	os.Exit(m.Run())
}

// found is a mistake, and the test that must find it.
type found struct {
	by string // name of that test
	Mistake
}

// Mistake is a mutant with one edit.
type Mistake struct{ what, file, from, to string }

// root is the path to the root of the module.
const root = "../.."

// folder is a package, and the mistakes that tests of it find.
type folder struct {
	name string // from the root of the module
	list []found
}

// folders returns the packages with tests that find mistakes.
func folders(t *testing.T) (all []folder) {
	where := testFolders(t)
	for _, m := range slices.Concat(severalMistakes, sentinelMistakes, coordinatorMistakes, identityMistakes, connectMistakes, rootMistakes, actorMistakes, commandMistakes, engineMistakes, debugMistakes, lockwheeltestMistakes, scriptMistakes, wheelMistakes, histogramMistakes, goredisMistakes, promMistakes, leaderMistakes, examplesMistakes, otelMistakes, furtherMistakes) {
		name := ""
		switch in := where[m.by]; {
		case len(in) == 1:
			name = in[0]
		case slices.Contains(in, path.Dir(m.file)):
			name = path.Dir(m.file)
		default:
			t.Errorf("%s: %d tests of the name %s", m.what, len(in), m.by)
			continue
		}
		at := slices.IndexFunc(all, func(f folder) bool { return f.name == name })
		if at < 0 {
			at, all = len(all), append(all, folder{name: name})
		}
		all[at].list = append(all[at].list, m)
	}
	return all
}

// testFunc matches the first line of a test.
var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testFolders returns the folders of the tests of each name in this module.
func testFolders(t *testing.T) map[string][]string {
	where := make(map[string][]string)
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bench" || name == "interop" || strings.HasPrefix(entry.Name(), ".") && name != "."):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := sourceOf(root, name)
		for _, m := range testFunc.FindAllStringSubmatch(source, -1) {
			where[m[1]] = append(where[m[1]], path.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return where
}

func mistakes(list []found) []Mutant {
	all := make([]Mutant, len(list))
	for i, m := range list {
		all[i] = Mutant{m.what, m.file, []Edit{{m.from, m.to}}}
	}
	return all
}

// A mistake in text that the source no longer contains would not be one.
func TestMistakes_MatchSource(t *testing.T) {
	for _, folder := range folders(t) {
		if err := Check(root, mistakes(folder.list)); err != nil {
			t.Error(err)
		}
	}
}

// What a program leaves behind ends with its run, and nothing else does.
func TestRun_ProcessLeft_Killed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found on Linux only")
	}
	script := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsleep 300 &\necho $!\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &Program{file: script, folder: "."}
	stays := exec.Command("sleep", "300")
	stays.Env = append(os.Environ(), runEnv+"="+script+",another")
	if err := stays.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stays.Process.Kill(); stays.Wait() }()
	out, err := p.Run(None)
	left, number := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || number != nil {
		t.Fatal(err, number, out)
	}
	for deadline := time.Now().Add(10 * time.Second); running(left); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d runs on", left)
		}
	}
	if !running(stays.Process.Pid) {
		t.Error("a process of another run was killed")
	}
}

// running reports whether a process neither has ended nor waits for its parent to notice its end.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// Each mistake is found by the test that is named for it, and that test passes without the mistake.
func TestMistakesAreFound(t *testing.T) {
	long.Only(t, "packages are built once more, and a test of them runs for each mistake")
	for _, folder := range folders(t) {
		t.Run(folder.name, func(t *testing.T) {
			t.Parallel()
			program := Build(t, root, folder.name, mistakes(folder.list))
			var out string
			if !t.Run("with none of them", func(t *testing.T) { out = runUnchanged(t, program, folder.list) }) {
				return
			}
			for i, m := range folder.list {
				t.Run(m.what, func(t *testing.T) {
					t.Parallel()
					requireFound(t, program, i, m.by, quickTimeout(out, m.by))
				})
			}
		})
	}
}

// runUnchanged runs all tests with no mistake chosen, as the quick suite does: a test that fails anyway finds nothing.
// They run at once, beside the tests of all other mistakes, so one that fails there runs once more alone. That such
// tests never fail, and that those of the long suite pass, is for the steps of CI that run them by themselves to show.
// It returns the output of the first run.
func runUnchanged(t *testing.T, program *Program, list []found) string {
	t.Helper()
	var names []string
	for _, m := range list {
		names = append(names, m.by)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	out, err := program.RunQuick(None, "-test.v", "-test.timeout=10m", "-test.run="+oneOf(names))
	first := out
	if err != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return passed(out, name) })
		t.Logf("with no mistake chosen %v did not pass among all: %v\n%s", names, err, out)
		if len(names) > 0 {
			out, err = program.RunQuick(None, "-test.v", "-test.parallel=1", "-test.timeout=10m", "-test.run="+oneOf(names))
		}
	}
	if err != nil {
		t.Fatalf("with no mistake chosen tests fail as well: %v\n%s", err, out)
	}
	for _, name := range names {
		if !passed(out, name) {
			t.Errorf("%s did not run", name)
		}
	}
	return first
}

// oneOf matches tests of these names.
func oneOf(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

// passed reports whether the output of a program of tests says that a test passed.
func passed(out, name string) bool { return strings.Contains(out, "--- PASS: "+name+" ") }

// failed matches the output of a test that failed or did not end.
var failed = regexp.MustCompile(`--- FAIL: \w+|panic: .*|fatal error: .*`)

// maxRuns is how often a test is run that does not find its mistake: some find theirs only if the machine is not busy.
const maxRuns = 3

// requireFound runs a test with a mistake: first as the quick suite does, for at most quick, and if that finds nothing,
// as the long suite does.
func requireFound(t *testing.T, program *Program, number int, by string, quick time.Duration) {
	start, limit := program.RunQuick, quick
	for run := 1; ; run++ {
		began := time.Now()
		out, err := start(number, "-test.run=^"+by+"$", fmt.Sprintf("-test.timeout=%v", limit))
		said := failed.FindString(out)
		t.Logf("run %d, %.1fs: %s", run, time.Since(began).Seconds(), said)
		switch {
		case err != nil && said == "":
			t.Errorf("%s does not fail, and the program ends with %v:\n%s", by, err, out)
		case err == nil && run < maxRuns:
			start, limit = program.Run, testTimeout
			continue
		case err == nil:
			t.Errorf("%s does not find it in %d runs", by, run)
		case run > 1: // only the long suite finds it, or luck does; .ci/run prints this without -v
			fmt.Printf("%s: %s finds it in run %d\n", t.Name(), by, run)
		}
		return
	}
}

const (
	// testTimeout is how long a test may wait for an event that a mistake prevents.
	testTimeout = 20 * time.Second
	// minTimeout is as much for a test that takes no time without the mistake: processes have to start.
	minTimeout = 8 * time.Second
)

// quickTimeout returns how long a test may take with a mistake, from the output of a program that has passed it: not
// much longer than without. Many mistakes show only by an event that never comes.
func quickTimeout(out, name string) time.Duration {
	_, after, found := strings.Cut(out, "--- PASS: "+name+" (")
	took, _, _ := strings.Cut(after, ")")
	without, err := time.ParseDuration(took)
	if !found || err != nil {
		return testTimeout
	}
	return min(minTimeout+4*without, testTimeout)
}

// A test that is quick without a mistake is not waited for as long as one that takes a while.
func TestQuickTimeout_LongerThanWithout(t *testing.T) {
	const out = "--- PASS: TestA (0.00s)\n--- PASS: TestAB (1.50s)\n--- PASS: TestC (60.00s)\n--- FAIL: TestD (0.00s)\n"
	for name, want := range map[string]time.Duration{
		"TestA": minTimeout, "TestAB": minTimeout + 6*time.Second, "TestC": testTimeout, "TestD": testTimeout, "TestE": testTimeout,
	} {
		if got := quickTimeout(out, name); got != want {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
}
