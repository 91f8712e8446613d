package archtest

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// The source of this module keeps all rules of the architecture.
func TestRules_SourceComplies(t *testing.T) {
	violations, files, err := inspectModule(os.DirFS("../.."))
	require.NoError(t, err)
	require.Greater(t, files, 3, "at least the files of this package were read")
	for _, v := range violations {
		t.Error(v)
	}
}

// The go.mod of this module requires exactly the allowed dependencies.
func TestGoMod_OnlyAllowed(t *testing.T) {
	text, err := fs.ReadFile(os.DirFS("../.."), "go.mod")
	require.NoError(t, err)
	for _, v := range inspectGoMod(string(text)) {
		t.Error(v)
	}
}

// Each rule with source that breaks it, and with similar source that does not.
func TestInspect_FindsViolations(t *testing.T) {
	for _, c := range []struct {
		name, path, source string
		want               []string
	}{
		// Arrows.
		{"wheel imports nothing of ours", "wheel/a.go", `import "github.com/lockwheel/lockwheel/actor"`,
			[]string{"wheel/a.go:2: wheel must not import actor"}},
		{"scripts import nothing of ours", "scripts/a.go", `import _ "github.com/lockwheel/lockwheel/internal/redistest"`,
			[]string{"scripts/a.go:2: scripts must not import internal"}},
		{"the coordinator imports no I/O", "engine/coordinator/a.go", "import (\"github.com/lockwheel/lockwheel/engine\"; \"github.com/lockwheel/lockwheel/engine/wire\"; \"net\")\nvar a, b = net.Dial, net.JoinHostPort",
			[]string{"engine/coordinator/a.go:2: engine/coordinator must not import engine", "engine/coordinator/a.go:2: engine/coordinator must not import engine/wire", "engine/coordinator/a.go:3: engine/coordinator must not use net.Dial"}},
		{"a clock in the coordinator", "engine/coordinator/a.go", "import \"time\"\nvar t = time.Now()",
			[]string{"engine/coordinator/a.go:3: engine/coordinator must not use time.Now: time is an argument"}},
		{"a folder below a pure one is pure", "actor/quorum/a.go", "import \"os\"",
			[]string{"actor/quorum/a.go:2: actor must not import os"}},
		{"actor does not import engine", "actor/a.go", `import "github.com/lockwheel/lockwheel/engine"`,
			[]string{"actor/a.go:2: actor must not import engine"}},
		{"actor imports wheel and scripts", "actor/a.go", `import ("github.com/lockwheel/lockwheel/wheel"; "github.com/lockwheel/lockwheel/scripts")`, nil},
		{"engine does not import the root", "engine/a.go", `import "github.com/lockwheel/lockwheel"`,
			[]string{"engine/a.go:2: engine must not import the root"}},
		{"engine imports the three below", "engine/a.go", `import ("github.com/lockwheel/lockwheel/actor"; "github.com/lockwheel/lockwheel/engine/coordinator"; "github.com/lockwheel/lockwheel/scripts")`, nil},
		{"folders below count as the folder", "engine/deep/a.go", `import ("github.com/lockwheel/lockwheel/engine"; "github.com/lockwheel/lockwheel/internal/proxy")`,
			[]string{"engine/deep/a.go:2: engine must not import internal"}},
		{"the root does not reach past engine", "lock.go", `import "github.com/lockwheel/lockwheel/wheel"`,
			[]string{"lock.go:2: the root must not import wheel"}},
		{"the root imports nothing internal", "lock.go", `import "github.com/lockwheel/lockwheel/internal/embedded"`,
			[]string{"lock.go:2: the root must not import internal/embedded"}},
		{"no folder of the library imports lockwheeltest", "lock.go", `import "github.com/lockwheel/lockwheel/lockwheeltest"`,
			[]string{"lock.go:2: the root must not import lockwheeltest"}},
		{"lockwheeltest imports the root and the embedded server", "lockwheeltest/a.go", `import ("github.com/lockwheel/lockwheel"; "github.com/lockwheel/lockwheel/internal/embedded"; "testing")`, nil},
		{"lockwheeltest imports nothing else of ours", "lockwheeltest/a.go", `import ("github.com/lockwheel/lockwheel/internal/redistest"; "github.com/lockwheel/lockwheel/engine"; "github.com/stretchr/testify/require")`,
			[]string{"lockwheeltest/a.go:2: lockwheeltest must not import internal", "lockwheeltest/a.go:2: lockwheeltest must not import engine",
				"lockwheeltest/a.go:2: github.com/stretchr/testify/require belongs in tests and internal only"}},
		{"no folder of the library imports debug", "lock.go", `import "github.com/lockwheel/lockwheel/debug"`,
			[]string{"lock.go:2: the root must not import debug"}},
		{"debug imports the root", "debug/a.go", `import ("github.com/lockwheel/lockwheel"; "net/http")`, nil},
		{"debug imports nothing else", "debug/a.go", `import ("github.com/lockwheel/lockwheel/engine"; "github.com/lockwheel/lockwheel/internal/embedded"; "github.com/redis/rueidis")`,
			[]string{"debug/a.go:2: debug must not import engine", "debug/a.go:2: debug must not import internal/embedded",
				"debug/a.go:2: github.com/redis/rueidis belongs in engine without its pure parts, the root, examples, internal and tests only"}},
		{"debug has no mutexes", "debug/a.go", `import "sync"; var mu sync.Mutex`, []string{"debug/a.go:2: sync.Mutex: no mutexes, and nothing made of them"}},
		{"leader imports the root only", "leader/a.go", `import ("github.com/lockwheel/lockwheel"; "github.com/lockwheel/lockwheel/lockwheeltest"; "github.com/lockwheel/lockwheel/actor")`,
			[]string{"leader/a.go:2: leader must not import lockwheeltest", "leader/a.go:2: leader must not import actor"}},
		{"tests of leader use lockwheeltest", "leader/a_test.go", `import ("github.com/lockwheel/lockwheel/lockwheeltest"; "github.com/lockwheel/lockwheel/internal/leaks")`, nil},
		{"tests of engine do not", "engine/a_test.go", `import "github.com/lockwheel/lockwheel/lockwheeltest"`,
			[]string{"engine/a_test.go:2: engine must not import lockwheeltest"}},
		{"the root does not import leader", "lock.go", `import "github.com/lockwheel/lockwheel/leader"`,
			[]string{"lock.go:2: the root must not import leader"}},
		{"examples use what programs use", "examples/cron/main.go", `import ("github.com/lockwheel/lockwheel"; "github.com/lockwheel/lockwheel/leader"; "github.com/lockwheel/lockwheel/examples/internal/server"; "github.com/redis/rueidis")`, nil},
		{"examples use nothing else of ours", "examples/cron/main.go", `import "github.com/lockwheel/lockwheel/engine"`,
			[]string{"examples/cron/main.go:2: examples must not import engine"}},
		{"the root imports engine and actor", "lock.go", `import ("github.com/lockwheel/lockwheel/engine"; "github.com/lockwheel/lockwheel/actor")`, nil},
		{"tests import internal and themselves", "engine_test.go", `import ("github.com/lockwheel/lockwheel"; "github.com/lockwheel/lockwheel/internal/embedded")`, nil},
		{"tests of wheel do not import engine", "wheel/a_test.go", `import ("github.com/lockwheel/lockwheel/wheel"; "github.com/lockwheel/lockwheel/engine")`,
			[]string{"wheel/a_test.go:2: wheel must not import engine"}},
		{"a similar name is not ours", "wheel/a.go", `import "github.com/lockwheel/lockwheelish"`,
			[]string{"wheel/a.go:2: github.com/lockwheel/lockwheelish is not one of the dependencies"}},
		{"an unknown folder", "utils/a.go", ``, []string{"utils/a.go:1: folder utils has no rule"}},

		// rueidis and the other dependencies.
		{"rueidis in actor", "actor/a.go", `import "github.com/redis/rueidis"`,
			[]string{"actor/a.go:2: github.com/redis/rueidis belongs in engine without its pure parts, the root, examples, internal and tests only"}},
		{"a part of rueidis in scripts", "scripts/a.go", `import "github.com/redis/rueidis/internal/cmds"`,
			[]string{"scripts/a.go:2: github.com/redis/rueidis/internal/cmds belongs in engine without its pure parts, the root, examples, internal and tests only"}},
		{"rueidis where it belongs", "engine/a.go", `import "github.com/redis/rueidis"`, nil},
		{"rueidis in the root", "options.go", `import r "github.com/redis/rueidis"`, nil},
		{"testify in the product", "engine/a.go", `import "github.com/stretchr/testify/require"`,
			[]string{"engine/a.go:2: github.com/stretchr/testify/require belongs in tests and internal only"}},
		{"goleak in the product", "engine/a.go", `import "go.uber.org/goleak"`,
			[]string{"engine/a.go:2: go.uber.org/goleak belongs in tests and internal only"}},
		{"miniredis in the root", "lock.go", `import "github.com/alicebob/miniredis/v2"`,
			[]string{"lock.go:2: github.com/alicebob/miniredis/v2 belongs in internal and tests only"}},
		{"porcupine in internal", "internal/proxy/a.go", `import "github.com/anishathalye/porcupine"`,
			[]string{"internal/proxy/a.go:2: github.com/anishathalye/porcupine belongs in tests only"}},
		{"porcupine in a test", "lock_test.go", `import "github.com/anishathalye/porcupine"`, nil},
		{"miniredis in a test", "lock_test.go", `import "github.com/alicebob/miniredis/v2/server"`, nil},
		{"a dependency too many", "engine/a_test.go", `import "golang.org/x/sync/errgroup"`,
			[]string{"engine/a_test.go:2: golang.org/x/sync/errgroup is not one of the dependencies"}},
		{"the standard library", "engine/a.go", `import ("net/http"; "go/ast")`, nil},

		// Purity.
		{"actor without context and sync", "actor/a.go", `import ("context"; "sync"; "sync/atomic")`,
			[]string{"actor/a.go:2: actor must not import context", "actor/a.go:2: actor must not import sync"}},
		{"engine may have both", "engine/a.go", `import ("context"; "sync")`, nil},
		{"a clock in wheel", "wheel/a.go", "import \"time\"\nvar t = time.Now()\nvar d time.Duration = time.Second",
			[]string{"wheel/a.go:3: wheel must not use time.Now: time is an argument"}},
		{"a clock passed on", "actor/a.go", "import \"time\"\nvar clock = time.Now",
			[]string{"actor/a.go:3: actor must not use time.Now: time is an argument"}},
		{"a clock by another name", "scripts/a.go", "import t \"time\"\nvar c = t.After(1)",
			[]string{"scripts/a.go:3: scripts must not use time.After: time is an argument"}},
		{"a clock from nowhere", "wheel/a.go", "import . \"time\"\nvar c = Now()",
			[]string{"wheel/a.go:2: a dot import of time hides what is used"}},
		{"every clock", "wheel/a.go", "import \"time\"\nfunc f() { time.Since(x); time.Until(x); time.Sleep(1); time.AfterFunc(1, f); time.NewTimer(1); time.NewTicker(1); time.Tick(1) }",
			[]string{
				"wheel/a.go:3: wheel must not use time.Since: time is an argument",
				"wheel/a.go:3: wheel must not use time.Until: time is an argument",
				"wheel/a.go:3: wheel must not use time.Sleep: time is an argument",
				"wheel/a.go:3: wheel must not use time.AfterFunc: time is an argument",
				"wheel/a.go:3: wheel must not use time.NewTimer: time is an argument",
				"wheel/a.go:3: wheel must not use time.NewTicker: time is an argument",
				"wheel/a.go:3: wheel must not use time.Tick: time is an argument",
			}},
		{"Now of something else", "wheel/a.go", "import \"time\"\nvar t = w.Now(time.Time{})", nil},
		{"a goroutine in actor", "actor/a.go", "func f() {\n\tgo f()\n}",
			[]string{"actor/a.go:3: actor must not start goroutines"}},
		{"a clock and a goroutine in a test of actor", "actor/a_test.go", "import \"time\"\nfunc f() { go f(); time.Now() }", nil},
		{"a clock and a goroutine in engine", "engine/a.go", "import \"time\"\nfunc f() { go f(); time.Now() }", nil},

		// Mutexes.
		{"a mutex", "engine/a.go", "import \"sync\"\ntype t struct {\n\tmu sync.Mutex\n}",
			[]string{"engine/a.go:4: sync.Mutex: no mutexes, and nothing made of them"}},
		{"what is made of mutexes", "hold.go", "import \"sync\"\nvar (\n\ta sync.RWMutex\n\tb = sync.NewCond(nil)\n\tc *sync.Cond\n\td sync.Once\n\te sync.Map\n\tf = sync.OnceFunc(nil)\n)",
			[]string{
				"hold.go:4: sync.RWMutex: no mutexes, and nothing made of them",
				"hold.go:5: sync.NewCond: no mutexes, and nothing made of them",
				"hold.go:6: sync.Cond: no mutexes, and nothing made of them",
				"hold.go:7: sync.Once: no mutexes, and nothing made of them",
				"hold.go:8: sync.Map: no mutexes, and nothing made of them",
				"hold.go:9: sync.OnceFunc: no mutexes, and nothing made of them",
			}},
		{"an embedded mutex by another name", "engine/a.go", "import s \"sync\"\ntype t struct{ s.Mutex }",
			[]string{"engine/a.go:3: sync.Mutex: no mutexes, and nothing made of them"}},
		{"a mutex from nowhere", "engine/a.go", "import . \"sync\"\nvar m Mutex",
			[]string{"engine/a.go:2: a dot import of sync hides what is used"}},
		{"what is no mutex", "engine/a.go", "import (\"sync\"; \"sync/atomic\")\nvar (a sync.Pool; b sync.WaitGroup; c sync.Locker; d atomic.Int64)", nil},
		{"our own Mutex", "lock.go", "type Mutex struct{}\nvar m Mutex", nil},
		{"a mutex in a test", "engine/a_test.go", "import \"sync\"\nvar m sync.Mutex", nil},
		{"a mutex in internal", "internal/proxy/a.go", "import \"sync\"\nvar m sync.Mutex", nil},
		{"spinning politely", "engine/a.go", "import \"runtime\"\nfunc f() { for { runtime.Gosched() } }",
			[]string{"engine/a.go:3: runtime.Gosched: no spinning"}},
		{"giving way once a turn", "engine/yield.go", "import \"runtime\"\nfunc f() { runtime.Gosched() }", nil},
		{"spinning", "engine/a.go", "func f() {\n\tfor !a.CompareAndSwap(0, 1) {\n\t}\n}",
			[]string{"engine/a.go:3: a loop without a body: no spinning"}},
		{"draining is no spinning", "engine/a.go", "func f() { for range c {}; for i := 0; g(i); i++ {} }", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, inspect(c.path, []byte("package a\n"+c.source)))
		})
	}
}

// A file that does not parse is reported with its position.
func TestInspect_ParseError_Reported(t *testing.T) {
	violations := inspect("engine/a.go", []byte("package a\nfunc {"))
	require.Len(t, violations, 1)
	require.Contains(t, violations[0], "engine/a.go:2:6: ")
}

// Only Go files of this module are read, without those of other modules, testdata and hidden folders.
func TestInspectModule_OtherModules_Skipped(t *testing.T) {
	bad := &fstest.MapFile{Data: []byte("package a\nimport \"sync\"\nvar m sync.Mutex")}
	violations, files, err := inspectModule(fstest.MapFS{
		"go.mod":               {Data: []byte("module a")},
		"lock.go":              bad,
		"engine/deep/a.go":     bad,
		"engine/a.lua":         bad,
		"bench/go.mod":         {Data: []byte("module b")},
		"bench/a.go":           bad,
		"engine/testdata/a.go": bad,
		".git/a.go":            bad,
		"_old/a.go":            bad,
	})
	require.NoError(t, err)
	require.Equal(t, 2, files)
	require.Equal(t, []string{
		"engine/deep/a.go:3: sync.Mutex: no mutexes, and nothing made of them",
		"lock.go:3: sync.Mutex: no mutexes, and nothing made of them",
	}, violations)

	violations, files, err = inspectModule(fstest.MapFS{})
	require.NoError(t, err)
	require.Zero(t, files)
	require.Empty(t, violations)
}

// A dependency too many, one too few and one that is not required directly are reported.
func TestInspectGoMod_ExactDependencies(t *testing.T) {
	const right = `module github.com/lockwheel/lockwheel

go 1.25.0 // a remark

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/anishathalye/porcupine v1.3.1
	github.com/google/uuid v1.6.0
	github.com/redis/rueidis v1.0.79 // a remark
	go.uber.org/goleak v1.3.0
)

require github.com/stretchr/testify v1.12.1

require (
	github.com/yuin/gopher-lua v1.1.1 // indirect
)

exclude example.com/other v1.0.0
`
	require.Empty(t, inspectGoMod(right))
	require.Equal(t, []string{
		"go.mod: example.com/more is not one of the dependencies",
		"go.mod: example.com/one is not one of the dependencies",
	}, inspectGoMod(right+"require example.com/one v1.0.0\nrequire (\n\texample.com/more v1.0.0\n)\n"))
	require.Len(t, inspectGoMod("module a"), len(dependencies))
	require.Equal(t, []string{"go.mod: go.uber.org/goleak is not required directly (go mod tidy?)"},
		inspectGoMod(`require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/anishathalye/porcupine v1.3.1
	github.com/google/uuid v1.6.0
	github.com/redis/rueidis v1.0.79
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0 // indirect
)`))
}
