//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
	"github.com/lockwheel/lockwheel/internal/leaks"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// asCommand makes the test's own program the command, so that every test runs it as a process.
const asCommand = "LOCKWHEEL_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	redistest.SetParallel(8)
	leaks.Main(m)
}

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// process is the command as a process.
type process struct {
	cmd      *exec.Cmd
	out, err *output
	in       io.WriteCloser
	ended    chan struct{}
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startCommand starts the command with a server. It is killed at the end of the test.
func startCommand(t *testing.T, url string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, url, args...)
}

func startWith(t *testing.T, change func(*exec.Cmd), url string, args ...string) *process {
	t.Helper()
	p := &process{out: &output{}, err: &output{}, ended: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Env = append(os.Environ(), asCommand+"=1", serverVariable+"="+url)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	p.cmd.WaitDelay = time.Second // what the program has started may keep the pipes
	if change != nil {
		change(p.cmd)
	}
	if p.cmd.Stdin == nil {
		var err error
		p.in, err = p.cmd.StdinPipe()
		require.NoError(t, err)
	}
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// status waits until the command has ended.
func (p *process) status(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.Fail(t, "it did not end", "stdout: %s\nstderr: %s", p.out, p.err)
	}
	if s := p.cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		return -int(s.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// prints waits until the command has printed a text.
func (p *process) prints(t *testing.T, text string) {
	t.Helper()
	eventually(t, func() bool { return strings.Contains(p.out.String(), text) }, "it never printed %q, but: %s%s", text, p.out, p.err)
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// result runs the command to its end.
func result(t *testing.T, url string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	p := startCommand(t, url, args...)
	p.in.Close()
	status = p.status(t)
	return status, p.out.String(), p.err.String()
}

// resultAnswered is result of a state with the time since when locks are held, which their engines say. On a busy
// machine an answer may come too late; then it asks again.
func resultAnswered(t *testing.T, url string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	eventually(t, func() bool {
		status, stdout, stderr = result(t, url, args...)
		return sinceKnown.MatchString(stdout + stderr)
	}, "no engine says since when")
	return status, stdout, stderr
}

// sinceKnown matches a time in a text and in JSON.
var sinceKnown = regexp.MustCompile(`since(":"| +)2`)

func eventually(t *testing.T, condition func() bool, format string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.Failf(t, "it did not happen in time", format, args...)
		}
	}
}

func urlOf(addr string) string { return "redis://" + addr }

// other is a holder that is no process of this test.
const other = "11111111-2222-3333-4444-555555555555:1"

// takenBy has a lock held by another client.
func takenBy(t *testing.T, s *redistest.Server, name, holder string) {
	t.Helper()
	s.Do(t, "HSET", name, holder, 1)
	s.Do(t, "PEXPIRE", name, 600_000)
}

func exists(t *testing.T, s *redistest.Server, name string) bool {
	t.Helper()
	return s.Int(t, "EXISTS", name) == 1
}

// unused is an address without a server.
const unused = "127.0.0.1:1"

func TestCommand_Help_SaysTheExitStatuses(t *testing.T) {
	t.Parallel()
	status, stdout, _ := result(t, "")
	assert.Equal(t, exitOK, status)
	assert.Contains(t, stdout, "LOCKWHEEL_REDIS")
	for _, c := range newRoot().Commands() {
		assert.Regexp(t, `(?m)^  `+c.Name()+` +[A-Z].{9}`, stdout, "it says what the command is for")
	}
	for _, name := range []string{"run", "state", "ls", "wait", "force", "top"} {
		status, stdout, stderr := result(t, "", name, "--help")
		assert.Equal(t, exitOK, status, name)
		assert.Contains(t, stdout, "Exit status", name)
		assert.Contains(t, stdout, "--prefix", name)
		assert.Empty(t, stderr, name)
	}
	status, stdout, _ = result(t, "", "help", "demo")
	assert.Equal(t, exitOK, status)
	assert.Contains(t, stdout, "It exits with 0 if")
}

// What surprises about run is in its help: signals of a stopped program, other users, a silent server, names.
func TestRun_Help_SaysWhatSurprises(t *testing.T) {
	t.Parallel()
	_, stdout, _ := result(t, "", "run", "--help")
	text := strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{
		"reads the terminal is stopped", "another user, as with sudo", "Write sudo lockwheel run", "as far as the server's last reply said",
		"lockwheel run -- -name -- PROGRAM", "about 4 s later",
	} {
		assert.Contains(t, text, want)
	}
}

func TestCommand_Demo_RunsWithItsOldFlags(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := result(t, "", "demo", "-locks", "100", "-for", "300ms", "-workers", "4", "-hot", "1")
	assert.Equal(t, exitOK, status, stdout, stderr)
	assert.Contains(t, stdout, "verdict: good")
	status, _, stderr = result(t, "", "demo", "-locks", "0")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, stderr, "-locks 0: want 1 to")
}

func TestCommand_Shell_IsCompleted(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		status, stdout, _ := result(t, "", "completion", shell)
		assert.Equal(t, exitOK, status, shell)
		assert.Contains(t, stdout, "__complete", shell)
	}
	_, stdout, _ := result(t, "", "__complete", "run", "--")
	assert.Contains(t, stdout, "--fenced")
	assert.Contains(t, stdout, "--redis-file")
}

func TestCommand_WrongLine_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"lock", exitUsage, `unknown command "lock"`},
		{"state", exitUsage, "want the name of a lock"},
		{"state a --nope", exitUsage, "unknown flag: --nope"},
		{"wait a b", exitUsage, `unexpected argument "b"`},
		{"wait a --timeout 5", exitUsage, "missing unit"},
		{"wait a --timeout -1s", exitUsage, "want 0 or more"},
		{"ls a b", exitUsage, "want one pattern"},
		{"top a", exitUsage, `unexpected argument "a"`},
		{"top --json", exitUsage, "want --once"},
		{"top --sample 0", exitUsage, "want 1 to"},
		{"top --rows 1001", exitUsage, "want 1 to 1000"},
		{"top --interval 99ms", exitUsage, "at least 100ms"},
		{"state a --redis one --redis-file two", exitUsage, "want one of them"},
		{"state a --redis localhost", exitUsage, "--redis: want a URL"},
		{"state a --redis=", exitUsage, "\"--redis\" flag: it is empty"},
		{"state a --redis-file=", exitUsage, "\"--redis-file\" flag: it is empty"},
		{"run a --redis= -- true", exitRunFailed, "\"--redis\" flag: it is empty"},
		{"state a --redis redis://me:secret@host/%zz", exitUsage, "it cannot be read"},
		{"state a --redis me:secret@host:6379", exitUsage, "--redis: want a URL"},
		{"state a --redis-file /no/such/file", exitUsage, "no such file"},
		{"completion", exitUsage, "want bash, zsh, fish or powershell"},
		{"completion nosh", exitUsage, "want bash, zsh, fish or powershell"},
		{"run a", exitRunFailed, "want -- before the program"},
		{"run a b", exitRunFailed, "want -- before the program"},
		{"run a sh -c b", exitRunFailed, "unknown shorthand flag: 'c' in -c: want -- before the program"},
		{"run -- a", exitRunFailed, "want one name"},
		{"run a b -- c", exitRunFailed, "want one name"},
		{"run a --", exitRunFailed, "want a program"},
		{"run a --fair --read -- b", exitRunFailed, "kinds of lock"},
		{"run a --wait 1s --no-wait -- b", exitRunFailed, "want one of them"},
		{"run a --wait 0 --no-wait -- b", exitRunFailed, "want one of them"},
		{"run a --lease 100ms -- b", exitNotFound, "executable file not found"}, // the shortest one
		{"run a --wait -1s -- b", exitRunFailed, "want 0 or more"},
		{"run a --lease 99ms -- b", exitRunFailed, "at least 100ms"},
		{"run a --grace -1s -- b", exitRunFailed, "want 0 or more"},
		{"run a --nope -- b", exitRunFailed, "unknown flag"},
		{"state ''", exitUsage, "no empty name"},
		{"state a ''", exitUsage, "no empty name"},
		{"wait ''", exitUsage, "no empty name"},
		{"force ''", exitUsage, "no empty name"},
		{"run '' -- b", exitRunFailed, "no empty name"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		status, stdout, stderr := result(t, urlOf(unused), args...)
		assert.Equal(t, c.status, status, c.args)
		assert.Contains(t, stderr, c.want, c.args)
		assert.NotContains(t, stderr, "secret", c.args)
		assert.Empty(t, stdout, c.args)
	}
}

// Without the hint at a missing --, because the flag stands before the program.
func TestRun_WrongFlag_NoHint(t *testing.T) {
	t.Parallel()
	_, _, stderr := result(t, urlOf(unused), "run", "a", "--nope", "--", "b")
	assert.Contains(t, stderr, "unknown flag: --nope\n")
}

// A report of a mistake says what the command was built from.
func TestCommand_Version_IsPrinted(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := result(t, urlOf(unused), "--version")
	assert.Equal(t, exitOK, status, stderr)
	assert.Regexp(t, `^lockwheel version \S.* go1\.\d+`, stdout)
	info := &debug.BuildInfo{GoVersion: "go1.26.1"}
	assert.Equal(t, "(devel) go1.26.1", version(info, true))
	info.Main.Version, info.Settings = "v1.2.3", []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0badcafe"}}
	assert.Equal(t, "v1.2.3 0badcafe go1.26.1", version(info, true))
}

// The password is in no output, whatever fails, and no argument of a process has it.
func TestCommand_Password_IsNeverPrinted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--requirepass", "right-secret")
	file := t.TempDir() + "/url"
	require.NoError(t, os.WriteFile(file, []byte("redis://:right-secret@"+s.Addr()+"\n"), 0o600))
	for _, args := range [][]string{
		{"state", "a"}, {"ls"}, {"wait", "a"}, {"force", "a", "--yes"}, {"top", "--once", "--interval", "100ms"}, {"run", "a", "--no-wait", "--", "true"},
	} {
		for _, url := range []string{"redis://:wrong-secret@" + s.Addr(), "redis://me:wrong-secret@" + unused, "redis://:wrong-secret@" + s.Addr() + "/x"} {
			status, stdout, stderr := result(t, url, args...)
			assert.NotContains(t, []int{exitOK, exitNo}, status, args)
			assert.NotContains(t, stdout+stderr, "secret", args)
			assert.NotEmpty(t, stderr, args)
		}
		if args[0] != "force" { // the lock is free
			status, stdout, stderr := result(t, "redis://:wrong-secret@"+s.Addr(), append([]string{"--redis-file", file}, args...)...)
			assert.Equal(t, exitOK, status, "%v: %s%s", args, stdout, stderr)
			assert.NotContains(t, stdout+stderr, "secret", args)
		}
	}
}

// A URL at the wrong place is in an error, but without its user and its password.
func TestCommand_URLInWrongPlace_PasswordNotPrinted(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://me:secret@" + unused, "redis://:se\"c@ret/secret@" + unused, "rediss://me:a secret@" + unused} {
		for _, args := range [][]string{
			{"ls", "--redis-file", url}, {"wait", "a", url}, {"top", url}, {"engines", url}, {url, "ls"}, {"ls", "-redis=" + url},
			{"ls", "--" + url}, {"top", "--interval", url}, {"run", "a", "--no-wait", "--", url}, {"run", "a", url},
			{"demo", url}, {"demo", "-locks", url}, {"demo", "-listen", url}, {"completion", url},
		} {
			status, stdout, stderr := result(t, urlOf(unused), args...)
			assert.NotContains(t, []int{exitOK, exitNo}, status, args)
			assert.NotContains(t, stdout+stderr, "secret", args)
			assert.NotEmpty(t, stderr, args)
		}
	}
	_, _, stderr := result(t, "redis://a%@"+unused, "ls")
	assert.Contains(t, stderr, "want redis://user:password@host:port", "the advice is whole")
	_, _, stderr = result(t, urlOf(unused), "ls", "--redis-file", "me:secret@"+unused)
	assert.Contains(t, stderr, "--redis-file: no such file or directory")
	assert.NotContains(t, stderr, "secret", "without a scheme")
}

// Names are printed, so a URL with a password is none, whatever the password contains. One without may be.
func TestCommand_NameIsURL_Refused(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, url := range []string{
		"redis://user:secret@host:6379", "rediss://:se/c@ret-secret@h", "valkey://u:1/secret@h", "Valkeys://u:%secret@h", "unix://u:secret@/path",
	} {
		for _, args := range [][]string{
			{"state", url}, {"state", "--waiters", "a", url}, {"wait", "--timeout", "0", url}, {"force", "--yes", url}, {"run", url, "--no-wait", "--", "true"},
		} {
			status, stdout, stderr := result(t, urlOf(s.Addr()), args...)
			assert.Equal(t, map[bool]int{false: exitUsage, true: exitRunFailed}[args[0] == "run"], status, args)
			assert.Contains(t, stderr, "not a URL with a password: that belongs in LOCKWHEEL_REDIS, or in the file of --redis-file", args)
			assert.NotContains(t, stdout+stderr, "secret", args)
		}
	}
	for _, name := range []string{"redis://user@host:6379", "redis://host:6379/0", "http://user:word@host", "orders:7@shop"} {
		status, stdout, stderr := result(t, urlOf(s.Addr()), "state", name)
		assert.Equal(t, exitOK, status, stderr)
		assert.Contains(t, stdout, name)
	}
}

// A URL that asks for RESP2, for the sake of other programs, is one as any other: the command speaks RESP3. A server
// without it is an error that says so.
func TestCommand_RESP2Asked_SpeaksRESP3(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	option, err := parseServer("--redis", urlOf(s.Addr())+"?protocol=2&client_name=command")
	require.NoError(t, err)
	server, err := inspect.Open(t.Context(), option, "")
	require.NoError(t, err)
	defer server.Close()
	connections := 0
	for line := range strings.Lines(s.String(t, "CLIENT", "LIST")) {
		if strings.Contains(line, " name=command ") {
			connections++
			assert.Contains(t, line, " resp=3")
		}
	}
	assert.Equal(t, 1, connections)

	older, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer older.Close()
	go func() {
		for {
			conn, err := older.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for commands := bufio.NewReader(conn); ; {
					words, err := redistest.ReadCommand(commands)
					if err != nil {
						return
					}
					fmt.Fprintf(conn, "-ERR unknown command '%s', with args beginning with: \r\n", words[0])
				}
			}()
		}
	}()
	status, _, stderr := result(t, urlOf(older.Addr().String()), "ls")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, older.Addr().String()+": the server does not speak RESP3, which an engine needs: ERR unknown command 'HELLO'")
}

func TestCommand_NoServer_IsNamed(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"state", "a"}, {"ls"}, {"wait", "a"}, {"force", "a"}, {"top"}} {
		status, _, stderr := result(t, urlOf(unused), args...)
		assert.Equal(t, exitFailed, status, args)
		assert.Contains(t, stderr, unused, args)
	}
	status, _, stderr := result(t, urlOf(unused), "run", "a", "--", "true")
	assert.Equal(t, exitRunFailed, status)
	assert.Contains(t, stderr, unused)
}

// gone waits until a process has ended and its parent knows.
func gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, func() bool { return ended(pid) }, "process %d still runs", pid)
}

// ended reports whether there is no such process, or only what is left of it for a parent that does not ask.
func ended(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}
