// Package planted builds the tests of a package with mistakes planted in the source. A copy of a file replaces a
// piece of its text while the mistake is chosen. The go command puts the copies in the place of the files, all into
// one program, and a variable chooses one mistake. The product itself contains nothing of this.
package planted

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/internal/long"
)

// Env is the environment variable that chooses a mistake, by its number, in a program that has them all.
const Env = "LOCKWHEEL_PLANTED"

// None chooses no mistake.
const None = -1

// Mutant is a mistake: one or several edits of a file.
type Mutant struct {
	What  string // what is wrong
	File  string // path from the root of the module
	Edits []Edit
}

// Edit replaces one text by another.
type Edit struct {
	From string // occurs once in the file
	To   string // in a Go file, planted() is true while the mistake is chosen
}

// lua reports whether the file is a script, which is read when a program is built and replaced when it starts.
func (m *Mutant) lua() bool { return path.Ext(m.File) == ".lua" }

// plant returns the text of the file with mistake number in it. It returns an error if the text to replace does not
// occur exactly once.
func (m *Mutant) plant(source string, number int) (string, error) {
	for _, edit := range m.Edits {
		if n := strings.Count(source, edit.From); n != 1 {
			return "", fmt.Errorf("%s: %s says %d times, and not once:\n%s", m.What, m.File, n, edit.From)
		}
		if !m.lua() && !strings.Contains(edit.To, "planted()") {
			return "", fmt.Errorf("%s: nothing chooses it", m.What)
		}
		source = strings.Replace(source, edit.From, strings.ReplaceAll(edit.To, "planted()", fmt.Sprintf("planted(%d)", number)), 1)
	}
	return source, nil
}

// Check reports the mistakes with a text that no longer occurs exactly once in the source.
func Check(root string, mistakes []Mutant) error {
	_, err := overlay(root, mistakes)
	return err
}

// chooser is the file that is added to a package with mistakes.
const chooser = `package %s

import (
	"os"
	"strconv"
)

var plantedNumber, _ = strconv.Atoi(os.Getenv(%q))

func planted(number int) bool { return number == plantedNumber }
`

// textChooser is the file that is added to package scripts: the texts of its files, and their replacements while a
// mistake is chosen.
const textChooser = `
var plantedTexts = map[int][2]string{
%s}

func plantedText(text string) string {
	change, some := plantedTexts[plantedNumber]
	if !some {
		return text
	}
	return strings.ReplaceAll(text, change[0], change[1])
}
`

// loads is the line that loads every script, and loadsPlanted the one in its place.
const loads, loadsPlanted = "text = localsText + text", "text = plantedText(localsText + text)"

// Program is the test program of a package, built with all mistakes.
type Program struct{ file, folder string }

// Build builds the tests of a package, given by its folder from the root of the module, which is at root. The
// number of a mistake is its index in the list.
func Build(t testing.TB, root, folder string, mistakes []Mutant) *Program {
	t.Helper()
	scratch := t.TempDir()
	copies, err := overlay(root, mistakes)
	if err != nil {
		t.Fatal(err)
	}
	replace := make(map[string]string)
	for name, text := range copies {
		original, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		replace[original] = filepath.Join(scratch, strings.ReplaceAll(name, "/", "-"))
		write(t, replace[original], text)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(scratch, "overlay.json")
	write(t, file, string(list))
	p := &Program{file: filepath.Join(scratch, "planted.test"), folder: filepath.Join(root, folder)}
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", file, "-o", p.file, ".")
	build.Dir = p.folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	return p
}

// overlay returns the text of each file that differs. The error names every mistake that cannot be planted any
// more.
func overlay(root string, mistakes []Mutant) (copies map[string]string, wrong error) {
	copies = make(map[string]string)
	var texts strings.Builder
	for i := range mistakes {
		m := &mistakes[i]
		source, err := copies[m.File], error(nil)
		if source == "" {
			source, err = sourceOf(root, m.File)
		}
		mutated := ""
		if err == nil {
			mutated, err = m.plant(source, i)
		}
		switch {
		case err != nil:
			wrong = errors.Join(wrong, err)
		case m.lua():
			fmt.Fprintf(&texts, "\t%d: {%q, %q},\n", i, source, mutated)
		default:
			copies[m.File] = mutated
			copies[path.Join(path.Dir(m.File), "planted.go")] = fmt.Sprintf(chooser, packageOf(mutated), Env)
		}
	}
	if texts.Len() > 0 {
		wrong = errors.Join(wrong, replaceTexts(root, texts.String(), copies))
	}
	return copies, wrong
}

// replaceTexts has package scripts load the chosen text of its files.
func replaceTexts(root, texts string, copies map[string]string) (err error) {
	const file = "scripts/scripts.go"
	source := copies[file]
	if source == "" {
		if source, err = sourceOf(root, file); err != nil {
			return err
		}
	}
	if strings.Count(source, loads) != 1 {
		return fmt.Errorf("%s does not say once: %s", file, loads)
	}
	copies[file] = strings.Replace(source, loads, loadsPlanted, 1)
	imports := strings.Replace(chooser, "\t\"strconv\"\n", "\t\"strconv\"\n\t\"strings\"\n", 1)
	copies["scripts/planted.go"] = fmt.Sprintf(imports, "scripts", Env) + fmt.Sprintf(textChooser, texts)
	return nil
}

// packageOf returns the name in the package clause of code.
func packageOf(source string) string {
	for line := range strings.Lines(source) {
		if name, found := strings.CutPrefix(line, "package "); found {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func sourceOf(root, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, name))
	return string(text), err
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Run runs the program with one mistake chosen, in the folder of its package. It ends what the program has left behind.
func (p *Program) Run(number int, arguments ...string) (output string, err error) {
	return p.run(os.Environ(), number, arguments)
}

// RunQuick is Run for the quick suite, whatever suite this process is of.
func (p *Program) RunQuick(number int, arguments ...string) (output string, err error) {
	return p.run(append(os.Environ(), long.Env+"="), number, arguments)
}

func (p *Program) run(environment []string, number int, arguments []string) (output string, err error) {
	c := exec.Command(p.file, arguments...)
	c.Dir = p.folder
	mark := runEnv + "=" + p.file + "," + strconv.FormatInt(runs.Add(1), 10)
	c.Env = append(environment, Env+"="+strconv.Itoa(number), mark)
	c.WaitDelay = 5 * time.Second // what is left behind may keep the output open
	out, err := c.CombinedOutput()
	endMarked(mark)
	if errors.Is(err, exec.ErrWaitDelay) { // the program itself succeeded
		err = nil
	}
	return string(out), err
}
