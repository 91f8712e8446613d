//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// untilInputEnds is a program that runs until the test closes its input.
const untilInputEnds = "echo started $$; cat >/dev/null"

// After a loss run waits for its engine no longer than the close takes, and not for ever.
func TestAtMost_EndsSooner_NoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		atMost(time.Hour, func() { time.Sleep(time.Second) })
		require.Equal(t, time.Second, time.Since(began))
		atMost(time.Minute, func() { time.Sleep(time.Hour) })
		require.Equal(t, time.Minute+time.Second, time.Since(began))
		time.Sleep(time.Hour)
	})
}

// pidOf returns the process that printed "started" and its number.
func pidOf(t *testing.T, p *process) int {
	t.Helper()
	p.prints(t, "\n")
	words := strings.Fields(p.out.String())
	require.GreaterOrEqual(t, len(words), 2, p.out)
	pid, err := strconv.Atoi(words[1])
	require.NoError(t, err)
	return pid
}

func TestRun_ProgramEnds_StatusPassedOn(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 2": 2, "exit 3": 3, "exit 7": 7, "exit 255": 255, "kill -KILL $$": 137, "kill -TERM $$": 143} {
		status, stdout, stderr := result(t, urlOf(s.Addr()), "run", "a", "--", "sh", "-c", "echo out; echo err >&2; "+script)
		assert.Equal(t, want, status, script)
		assert.Equal(t, "out\n", stdout, script)
		assert.Equal(t, "err\n", stderr, script)
		assert.False(t, exists(t, s, "a"), script)
	}
}

func TestRun_ProgramRuns_LockHeldAndRenewed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--prefix", "my:", "--lease", "6s", "--", "sh", "-c", untilInputEnds)
	p.prints(t, "started")
	assert.Len(t, s.Hash(t, "my:a"), 1)
	s.Do(t, "PEXPIRE", "my:a", time.Hour.Milliseconds())
	eventually(t, func() bool { return s.Int(t, "PTTL", "my:a") <= 6000 }, "it is renewed")
	assert.Len(t, s.Hash(t, "my:a"), 1)
	p.in.Close()
	assert.Equal(t, exitOK, p.status(t), p.err)
	assert.False(t, exists(t, s, "my:a"))
}

func TestRun_LockHeld_NotAcquired(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	for _, how := range [][]string{{"--no-wait"}, {"--wait", "200ms"}, {"--wait", "0"}, {"--no-wait", "--fair"}, {"--no-wait", "--write"}} {
		args := append(append([]string{"run", "a"}, how...), "--", "echo", "it ran")
		status, stdout, stderr := result(t, urlOf(s.Addr()), args...)
		assert.Equal(t, exitNotAcquired, status, how)
		assert.Empty(t, stdout, how)
		assert.Contains(t, stderr, `lock "a": lock not acquired`, how)
		assert.Contains(t, stderr, "; held by "+other+"\n", how)
	}
	assert.Equal(t, map[string]string{other: "1"}, s.Hash(t, "a"))
}

// The lock of another library is a string: an error, unless it is to be waited for.
func TestRun_Foreign_WaitsForString(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Do(t, "SET", "a", "token", "PX", 60_000)
	status, _, stderr := result(t, urlOf(s.Addr()), "run", "a", "--no-wait", "--", "echo", "it ran")
	assert.Equal(t, exitRunFailed, status)
	assert.Contains(t, stderr, "WRONGTYPE")
	assert.Contains(t, stderr, "--foreign waits for such a lock")
	assert.NotContains(t, stderr, "Options.")
	for _, kind := range []string{"--read", "--write", "--fair"} {
		status, _, stderr = result(t, urlOf(s.Addr()), "run", "a", "--foreign", kind, "--", "echo", "it ran")
		assert.Equal(t, exitRunFailed, status)
		assert.Contains(t, stderr, "--foreign: only a plain or a fenced lock", kind)
	}
	for _, kind := range [][]string{nil, {"--fenced"}} {
		s.Do(t, "SET", "a", "token", "PX", 60_000)
		args := append([]string{"run", "a", "--foreign"}, kind...)
		status, stdout, stderr := result(t, urlOf(s.Addr()), append(args, "--no-wait", "--", "echo", "it ran")...)
		assert.Equal(t, exitNotAcquired, status, kind)
		assert.Contains(t, stderr, "; its key is of type string\n", kind)
		assert.Empty(t, stdout, kind)
		p := startCommand(t, urlOf(s.Addr()), append(args, "--", "echo", "it ran")...)
		s.Do(t, "DEL", "a")
		assert.Equal(t, exitOK, p.status(t), kind)
		assert.Equal(t, "it ran\n", p.out.String(), kind)
	}
}

func TestRun_LockReleased_NextProgramRuns(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	first := startCommand(t, urlOf(s.Addr()), "run", "a", "--", "sh", "-c", untilInputEnds)
	first.prints(t, "started")
	second := startCommand(t, urlOf(s.Addr()), "run", "a", "--", "echo", "second")
	eventually(t, func() bool {
		return s.Strings(t, "PUBSUB", "NUMSUB", "redisson_lock__channel:{a}")[1] == "1"
	}, "the second waits")
	assert.Empty(t, second.out.String())
	first.in.Close()
	assert.Equal(t, exitOK, first.status(t))
	assert.Equal(t, exitOK, second.status(t))
	assert.Equal(t, "second\n", second.out.String())
}

// A name that begins with a - follows a -- of its own, so that it is no flag.
func TestRun_NameLikeAFlag_FollowsDashes(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startCommand(t, urlOf(s.Addr()), "run", "--lease", "10s", "--", "-x", "--", "sh", "-c", untilInputEnds)
	p.prints(t, "started")
	for _, args := range [][]string{{"state", "--", "-x"}, {"force", "--yes", "--", "-x"}, {"wait", "--", "-x"}} {
		status, stdout, stderr := result(t, urlOf(s.Addr()), args...)
		assert.Equal(t, exitOK, status, stderr)
		if args[0] == "state" {
			assert.Contains(t, stdout, "-x\n  kind      exclusive")
		}
	}
	assert.Equal(t, exitLost, p.status(t))
	_, stdout, _ := result(t, urlOf(s.Addr()), "run", "a", "--", "echo", "--", "b")
	assert.Equal(t, "-- b\n", stdout, "the program's own")
}

func TestRun_Kinds_AreThoseOfTheWire(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	start := func(flag string) *process {
		p := startCommand(t, urlOf(s.Addr()), "run", "name"+flag, flag, "--", "sh", "-c", "echo started $$ $LOCKWHEEL_TOKEN $LOCKWHEEL_REDIS; cat >/dev/null")
		p.prints(t, "started")
		return p
	}
	start("--read")
	start("--read") // both hold it
	assert.Equal(t, "read", s.Hash(t, "name--read")["mode"])
	assert.Len(t, s.Hash(t, "name--read"), 3)
	start("--write")
	assert.Equal(t, "write", s.Hash(t, "name--write")["mode"])
	start("--fair")
	assert.Len(t, s.Hash(t, "name--fair"), 1)
	s.Do(t, "SET", "redisson_lock_token:{name--fenced}", 41)
	fenced := start("--fenced")
	assert.Equal(t, []string{"42", urlOf(s.Addr())}, strings.Fields(fenced.out.String())[2:], "beside the rest of the environment")
}

// Each signal reaches the program, and nothing else happens.
func TestRun_Signal_ReachesProgram(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for name, n := range map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "ALRM": syscall.SIGALRM,
		"WINCH": syscall.SIGWINCH,
	} {
		if signal.Ignored(n) { // tests in the background of a shell ignore INT and QUIT, and so does the command
			continue
		}
		script := "trap 'echo got " + name + "; exit 9' " + name + "; echo started; while :; do sleep 0.02; done"
		p := startCommand(t, urlOf(s.Addr()), "run", "a", "--", "sh", "-c", script)
		p.prints(t, "started")
		p.signal(t, n)
		assert.Equal(t, 9, p.status(t), name)
		assert.Equal(t, "started\ngot "+name+"\n", p.out.String())
		assert.Empty(t, p.err.String())
	}
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--", "sh", "-c", "echo started; exec sleep 60")
	p.prints(t, "started")
	p.signal(t, syscall.SIGTERM)
	assert.Equal(t, 128+15, p.status(t))
	assert.False(t, exists(t, s, "a"))
}

// A program that is stopped, as one in the background that reads the terminal, gets a signal that ends programs, and so
// does what it waits for. As timeout(1) does.
func TestRun_ProgramStopped_SignalContinuesIt(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for name, n := range map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "TERM": syscall.SIGTERM} {
		if signal.Ignored(n) {
			continue
		}
		p := startCommand(t, urlOf(s.Addr()), "run", "a", "--", "sh", "-c", "trap 'exit 9' "+name+"; "+untilInputEnds)
		pid := pidOf(t, p)
		require.NoError(t, syscall.Kill(-pid, syscall.SIGSTOP))
		p.signal(t, n)
		p.in.Close() // cat ends, if it is continued, and then sh handles the signal
		assert.Equal(t, 9, p.status(t), name)
	}
}

// A lock that is granted when a signal has ended the wait is unlocked, and the program is not started.
func TestAcquire_GrantedAfterSignal_Unlocked(t *testing.T) {
	t.Parallel()
	for _, granted := range []error{nil, context.Canceled} {
		r, unlocked := &runner{signals: make(chan os.Signal, 2)}, 0
		r.signals <- syscall.SIGTERM
		r.signals <- syscall.SIGINT // a second one changes nothing
		lock := func(ctx context.Context) error {
			<-ctx.Done()
			return granted
		}
		var f *failure
		require.ErrorAs(t, r.acquire(t.Context(), lock, func() { unlocked++ }), &f)
		assert.Equal(t, exitSignal+int(syscall.SIGTERM), f.status)
		assert.Equal(t, granted == nil, unlocked == 1)
	}
}

// Of the signals that are passed on, a program at a terminal has those of the terminal already.
func TestPass_Terminal_OnlyOtherSignals(t *testing.T) {
	t.Parallel()
	var left []os.Signal
	for _, s := range []os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH,
	} {
		if !fromTerminal(s) {
			left = append(left, s)
		}
	}
	assert.Equal(t, []os.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM}, left)
}

// A signal for the group of a program reaches the program once: many take a second TERM for an order to end at once.
func TestProgram_GroupSignaled_ProgramGetsItOnce(t *testing.T) {
	t.Parallel()
	ended, input, err := os.Pipe()
	require.NoError(t, err)
	defer ended.Close()
	groups := make(chan int, 2)
	p := &program{cmd: exec.Command("cat"), ended: make(chan struct{}), send: func(pid int, _ syscall.Signal) error {
		groups <- pid
		return nil
	}}
	p.cmd.Stdin = ended
	require.NoError(t, p.cmd.Start())
	for _, signalAll := range []func() error{p.terminate, p.kill} {
		require.NoError(t, signalAll())
		assert.Equal(t, -p.id(), <-groups)
	}
	require.NoError(t, input.Close())
	p.cmd.Wait()
	assert.Equal(t, exitOK, p.status(), "no other signal reached it")
}

// What a program has become that belongs to another user, as after sudo, cannot be ended: that is said once, and run
// waits for it.
func TestRun_ProgramForbidden_SaysItGoesOn(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}, Lease: time.Second})
	require.NoError(t, err)
	defer e.Close()
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	ended, input, err := os.Pipe()
	require.NoError(t, err)
	defer ended.Close()
	forbidden := make(chan syscall.Signal, 64)
	mayKill := make(chan struct{})
	p := &program{cmd: exec.Command("cat"), ended: make(chan struct{}), send: func(_ int, s syscall.Signal) error {
		if s == syscall.SIGKILL {
			<-mayKill
		}
		forbidden <- s
		return syscall.EPERM
	}}
	p.cmd.Stdin = ended
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		p.cmd.Wait()
	}()
	said := &output{}
	r := &runner{flags: &runFlags{grace: 10 * time.Millisecond}, argv: []string{"cat"}, engine: e, hold: hold, messages: said, signals: make(chan os.Signal)}
	s.Do(t, "DEL", "a")
	lost := make(chan error, 1)
	go func() { lost <- r.attend(p) }()
	assert.Equal(t, syscall.SIGTERM, <-forbidden)
	text := fmt.Sprintf("the lock is lost, but process %d goes on: it belongs to another user and cannot be ended (operation not permitted)\n", p.id())
	eventually(t, func() bool { return strings.Contains(said.String(), text) }, "it is said before the grace is over")
	close(mayKill)
	assert.Equal(t, syscall.SIGKILL, <-forbidden)
	require.NoError(t, input.Close())
	require.ErrorIs(t, <-lost, lockwheel.ErrLost)
	assert.Equal(t, 1, strings.Count(said.String(), text), said)
	assert.Contains(t, said.String(), fmt.Sprintf("but what is left of process group %d goes on", p.id()))
}

func TestRun_SignalWhileWaiting_EndsTheWait(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--fair", "--", "echo", "it ran")
	eventually(t, func() bool { return s.Int(t, "LLEN", "redisson_lock_queue:{a}") == 1 }, "it waits")
	p.signal(t, syscall.SIGUSR1) // ends no wait
	p.signal(t, syscall.SIGTERM)
	assert.Equal(t, 128+15, p.status(t))
	assert.Empty(t, p.out.String())
	assert.Equal(t, 0, s.Int(t, "LLEN", "redisson_lock_queue:{a}"), "its place is gone")
}

// A file with the URL may be a pipe with a writer that never writes. A signal ends that as well.
func TestRun_SignalWhileFileIsRead_Ends(t *testing.T) {
	t.Parallel()
	pipe := t.TempDir() + "/pipe"
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	p := startCommand(t, "", "run", "a", "--redis-file", pipe, "--", "echo", "it ran")
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns once the command reads
	require.NoError(t, err)
	defer writer.Close()
	p.signal(t, syscall.SIGTERM)
	assert.Equal(t, -int(syscall.SIGTERM), p.status(t))
	assert.Empty(t, p.out.String())
}

// A lock that was taken away ends the program, with TERM.
func TestRun_LockTakenAway_ProgramGetsTERM(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--lease", "1500ms", "--grace", "1h", "--", "sh", "-c",
		"trap 'echo got TERM; exit 0' TERM; echo started; while :; do sleep 0.02; done")
	p.prints(t, "started")
	s.Do(t, "DEL", "a")
	takenBy(t, s, "a", other)
	assert.Equal(t, exitLost, p.status(t), "whatever the program's status")
	assert.Contains(t, p.out.String(), "got TERM")
	assert.Contains(t, p.err.String(), `lock "a": lock lost`)
	assert.Contains(t, p.err.String(), "ended with status 0")
	assert.Equal(t, map[string]string{other: "1"}, s.Hash(t, "a"), "the next holder keeps the lock")
}

// A program that ignores TERM, and what it has started, get KILL after the grace.
func TestRun_LossIgnored_GroupGetsKILL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, script := range []string{
		`trap "" TERM; sleep 300 & echo started $!; wait; wait`,  // the program ignores it, and with it what it starts
		`(trap "" TERM; exec sleep 300) & echo started $!; wait`, // only what it started does
	} {
		p := startCommand(t, urlOf(s.Addr()), "run", "a", "--lease", "1s", "--grace", "300ms", "--", "sh", "-c", script)
		below := pidOf(t, p)
		s.Do(t, "DEL", "a")
		assert.Equal(t, exitLost, p.status(t), script)
		gone(t, below)
	}
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--lease", "1s", "--grace", "0", "--", "sh", "-c", `trap "echo TERM" TERM; echo started $$; while :; do sleep 0.02; done`)
	pidOf(t, p)
	s.Do(t, "DEL", "a")
	assert.Equal(t, exitLost, p.status(t))
	assert.NotContains(t, p.out.String(), "TERM")
	assert.Contains(t, p.err.String(), "ended with status 137")
}

// fillPipe writes into a pipe that no process reads until it takes no more.
func fillPipe(t *testing.T, pipe *os.File) {
	t.Helper()
	require.NoError(t, pipe.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	_, err := pipe.Write(make([]byte, 1<<20)) // more than a pipe takes
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// What is left to do is to print, and no process reads it: TERM ends run.
func TestRun_OnlyPrints_SignalEndsIt(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, s *redistest.Server, args ...string) *process {
		reader, stderr, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { reader.Close(); stderr.Close() })
		fillPipe(t, stderr)
		return startWith(t, func(c *exec.Cmd) { c.Stderr = stderr }, urlOf(s.Addr()), append([]string{"run", "a"}, args...)...)
	}
	endedByTERM := func(t *testing.T, p *process) (status int) {
		select {
		case <-p.ended:
			require.Fail(t, "it had nothing to print")
		default:
		}
		eventually(t, func() bool { // the first ones may come before there is only the message left
			p.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-p.ended:
				return true
			default:
				return false
			}
		}, "TERM does not end it")
		return p.status(t)
	}
	t.Run("lost lock", func(t *testing.T) {
		s := redistest.Start(t)
		p := start(t, s, "--lease", "1s", "--grace", "0", "--", "sh", "-c", untilInputEnds)
		pid := pidOf(t, p)
		s.Do(t, "DEL", "a")
		gone(t, pid)
		assert.Equal(t, -int(syscall.SIGTERM), endedByTERM(t, p))
	})
	t.Run("failed unlock", func(t *testing.T) {
		s := redistest.Start(t)
		p := start(t, s, "--", "sh", "-c", untilInputEnds)
		pid := pidOf(t, p)
		require.NoError(t, s.Kill())
		p.in.Close()
		gone(t, pid)
		assert.Equal(t, -int(syscall.SIGTERM), endedByTERM(t, p))
	})
	t.Run("not acquired", func(t *testing.T) {
		s := redistest.Start(t)
		takenBy(t, s, "a", other)
		clients := func() int { return strings.Count(s.String(t, "CLIENT", "LIST"), "\n") }
		before := clients()
		eventually(t, func() bool {
			asked := s.CommandCalls(t, "hset", "hlen", "exists", "hexists")
			p := start(t, s, "--no-wait", "--", "echo", "it ran")
			eventually(t, func() bool {
				return s.CommandCalls(t, "hset", "hlen", "exists", "hexists") > asked+1 && clients() == before
			}, "it has asked, and closed its engine")
			status := endedByTERM(t, p)
			if status == exitSignal+int(syscall.SIGTERM) { // before it knew that its engine was closed
				return false
			}
			assert.Equal(t, -int(syscall.SIGTERM), status)
			return true
		}, "the signal comes before the message")
	})
}

// The engine of a run that lost its lock is in no list any more, whenever the loss was found.
func TestRun_Lost_EngineIsClosed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, lease := range []string{"1s", "10m"} { // found by a renewal, and by the unlock
		p := holding(t, s, "run", "a", "--lease", lease, "--grace", "0")
		s.Do(t, "DEL", "a")
		if lease != "1s" {
			p.in.Close()
		}
		assert.Equal(t, exitLost, p.status(t), p.err)
		assert.Empty(t, s.Strings(t, "KEYS", "lockwheel:engine:*"), lease)
	}
}

// A server that is gone delays the end of run for a moment only.
func TestAtMost_Hangs_Returns(t *testing.T) {
	t.Parallel()
	release, returned := make(chan struct{}), make(chan struct{})
	defer close(release)
	go func() {
		defer close(returned)
		atMost(time.Millisecond, func() { <-release })
	}()
	select {
	case <-returned:
	case <-time.After(patience):
		require.Fail(t, "it waits for what hangs")
	}
}

// A lock that was not acquired names the program that holds it.
func TestRun_NotAcquired_HolderIsNamed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := holding(t, s, "run", "a", "--prefix", "my:", "--read")
	status, _, stderr := resultAnswered(t, urlOf(s.Addr()), "run", "a", "--prefix", "my:", "--write", "--no-wait", "--", "echo", "it ran")
	assert.Equal(t, exitNotAcquired, status)
	assert.Regexp(t, fmt.Sprintf(`; held by \S+:\d+, .*: program .*, pid %d, .*; since 2`, p.cmd.Process.Pid), stderr)

	// Also that of a stopped program, which does not reply since when it has the lock.
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	_, _, stderr = result(t, urlOf(s.Addr()), "run", "a", "--prefix", "my:", "--write", "--no-wait", "--", "echo", "it ran")
	assert.Regexp(t, fmt.Sprintf(`; held by \S+:\d+, .*: program .*, pid %d, .*; since unknown: its engine did not reply`, p.cmd.Process.Pid), stderr)
}

// The program and its group end also if the message about the loss cannot be printed: its reader does not read, or is
// gone.
func TestRun_StderrNotRead_ProgramIsEnded(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for name, prepare := range map[string]func(reader, stderr *os.File){
		"full": func(_, stderr *os.File) { fillPipe(t, stderr) },
		"gone": func(reader, _ *os.File) { reader.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			reader, stderr, err := os.Pipe()
			require.NoError(t, err)
			defer reader.Close()
			defer stderr.Close()
			prepare(reader, stderr)
			p := startWith(t, func(c *exec.Cmd) { c.Stderr = stderr }, urlOf(s.Addr()), "run", "a", "--lease", "1s", "--grace", "300ms", "--", "sh", "-c",
				`(trap "" TERM; exec sleep 300) & echo started $!; wait`)
			below := pidOf(t, p)
			s.Do(t, "DEL", "a")
			gone(t, below)
			reader.Close() // ends what waits to be printed
			assert.Equal(t, exitLost, p.status(t))
		})
	}
}

// endsInTime requires that a program without its server is ended within a lease and 1 s.
func endsInTime(t *testing.T, p *process, lease time.Duration) {
	t.Helper()
	pid, began := pidOf(t, p), time.Now()
	eventually(t, func() bool { return ended(pid) }, "the program still runs")
	assert.Less(t, time.Since(began), lease+time.Second)
	assert.Equal(t, exitLost, p.status(t), p.err)
}

func TestRun_ServerKilled_EndsProgramInTime(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const lease = 2 * time.Second
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--lease", lease.String(), "--", "sh", "-c", untilInputEnds)
	pidOf(t, p)
	require.NoError(t, s.Kill())
	endsInTime(t, p, lease)
}

func TestRun_CutOff_EndsProgramInTime(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	link := proxy.Start(t, s.Addr())
	const lease = 2 * time.Second
	p := startCommand(t, urlOf(link.Addr()), "run", "a", "--lease", lease.String(), "--", "sh", "-c", untilInputEnds)
	pidOf(t, p)
	link.Set(proxy.Both, proxy.Drop)
	endsInTime(t, p, lease)
}

func TestRun_ShortOutage_IsNoLoss(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	link := proxy.Start(t, s.Addr())
	p := startCommand(t, urlOf(link.Addr()), "run", "a", "--lease", "10s", "--", "sh", "-c", untilInputEnds)
	pidOf(t, p)
	link.Set(proxy.Both, proxy.Hold)
	// A renewal waits at the link by then.
	eventually(t, func() bool { return link.Buffered(proxy.Commands) > 0 }, "a renewal is sent")
	require.NoError(t, link.Heal())
	p.in.Close()
	assert.Equal(t, exitOK, p.status(t), p.err)
	assert.False(t, exists(t, s, "a"))
}

// The program ended while the lock was held: its status counts, although the unlock has no reply.
func TestRun_UnlockFails_StatusStays(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--", "sh", "-c", untilInputEnds+"; exit 5")
	pidOf(t, p)
	require.NoError(t, s.Kill())
	p.in.Close()
	assert.Equal(t, 5, p.status(t))
	assert.Contains(t, p.err.String(), "the lock is free within 30s")
}

// A command that was stopped for longer than its lease notices the loss when it continues.
func TestRun_Stopped_LossIsNoticed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--lease", "3s", "--", "sh", "-c", untilInputEnds)
	pid := pidOf(t, p)
	p.signal(t, syscall.SIGSTOP)
	eventually(t, func() bool { return !exists(t, s, "a") }, "the lease ends")
	takenBy(t, s, "a", other)
	assert.False(t, ended(pid), "the program goes on")
	p.signal(t, syscall.SIGCONT)
	assert.Equal(t, exitLost, p.status(t), p.err)
	gone(t, pid)
	assert.Equal(t, map[string]string{other: "1"}, s.Hash(t, "a"), "the next holder keeps the lock")
}

// While it waits, a server that is gone is waited for as well. If the wait ends before the lease in its last reply, the
// lock counts as held.
func TestRun_OutageWhileWaiting_IsWaitedFor(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	start := func(args ...string) *process {
		args = append([]string{"run", "a", "--lease", "600ms"}, args...)
		return startCommand(t, urlOf(s.Addr()), append(args, "--", "echo", "it ran")...)
	}
	wait := func(number string) {
		eventually(t, func() bool { return s.Strings(t, "PUBSUB", "NUMSUB", "redisson_lock__channel:{a}")[1] == number }, "%s wait", number)
	}
	endless := start()
	wait("1") // on a busy machine a process may take longer to begin than the other one waits
	bounded := start("--wait", "5s")
	wait("2")
	require.NoError(t, s.Kill())
	assert.Equal(t, exitNotAcquired, bounded.status(t))
	assert.Contains(t, bounded.err.String(), "not acquired")
	require.NoError(t, s.Restart()) // without the lock
	assert.Equal(t, exitOK, endless.status(t), endless.err)
	assert.Equal(t, "it ran\n", endless.out.String())
}

// A server that is silent says nothing new: as far as its last reply said, the lock is held until the wait ends.
func TestRun_SilentWhileWaiting_NotAcquired(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	link := proxy.Start(t, s.Addr())
	p := startCommand(t, urlOf(link.Addr()), "run", "a", "--wait", "5s", "--", "echo", "it ran")
	eventually(t, func() bool {
		return s.Strings(t, "PUBSUB", "NUMSUB", "redisson_lock__channel:{a}")[1] == "1"
	}, "it waits")
	link.Set(proxy.Both, proxy.Hold)
	assert.Equal(t, exitNotAcquired, p.status(t), p.err)
	assert.Empty(t, p.out.String())
}

// As kill -9: the lock is free after its lease and not before. On Linux the program is killed as well.
func TestRun_Killed_LockExpires(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--lease", "5s", "--", "sh", "-c", "echo started $$; exec sleep 300")
	pid := pidOf(t, p)
	p.signal(t, syscall.SIGKILL)
	assert.Equal(t, -int(syscall.SIGKILL), p.status(t))
	if runtime.GOOS == "linux" {
		gone(t, pid)
	} else {
		assert.False(t, ended(pid))
		syscall.Kill(pid, syscall.SIGKILL)
	}
	assert.True(t, exists(t, s, "a"))
	eventually(t, func() bool { return !exists(t, s, "a") }, "the lease ends")
}

func TestRun_NoSuchProgram_NothingIsLocked(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(folder+"/text", []byte("no program"), 0o600))
	require.NoError(t, os.WriteFile(folder+"/broken", []byte("no program"), 0o700))
	takenBy(t, s, "held", other)
	for program, want := range map[string]int{"no-such-program": exitNotFound, folder + "/no-such": exitNotFound, folder + "/text": exitCannotRun} {
		status, _, _ := result(t, urlOf(s.Addr()), "run", "held", "--", program)
		assert.Equal(t, want, status, "%s: without waiting for the lock", program)
	}
	status, _, _ := result(t, urlOf(s.Addr()), "run", "a", "--", folder+"/broken")
	assert.Equal(t, exitCannotRun, status)
	assert.False(t, exists(t, s, "a"), "the lock was given back")
}

// A loss that the holder learns of only when it unlocks is one as well.
func TestRun_LossFoundAtUnlock_IsReported(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startCommand(t, urlOf(s.Addr()), "run", "a", "--lease", "10m", "--", "sh", "-c", untilInputEnds)
	pidOf(t, p)
	s.Do(t, "DEL", "a")
	p.in.Close()
	assert.Equal(t, exitLost, p.status(t))
	assert.Contains(t, p.err.String(), "ended with status 0")
}

// Under nohup HUP stays ignored, by the command and by its program.
func TestRun_Nohup_SignalStaysIgnored(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startWith(t, func(c *exec.Cmd) {
		c.Path, c.Args = "/bin/sh", []string{"sh", "-c", `trap "" HUP; exec "$0" run a -- sh -c 'trap "exit 0" USR1; echo started; while :; do sleep 0.02; done'`, os.Args[0]}
	}, urlOf(s.Addr()))
	p.prints(t, "started")
	p.signal(t, syscall.SIGHUP)
	p.signal(t, syscall.SIGUSR1) // passed on after the other one
	assert.Equal(t, exitOK, p.status(t), p.err)
}

// terminal opens a terminal, with a device for the command and the other end for the test.
func terminal(t *testing.T) (keyboard, device *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("needs a terminal: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	device, err = openDevice(int(keyboard.Fd()))
	if err != nil {
		t.Skipf("needs a terminal: %v", err)
	}
	t.Cleanup(func() { device.Close() })
	return keyboard, device
}

// At a terminal Ctrl-C reaches the program once, from the terminal, and a program can read what is typed.
func TestRun_Terminal_KeysReachProgramOnce(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGINT) {
		t.Skip("the tests run in the background of a shell")
	}
	s := redistest.Start(t)
	keyboard, device := terminal(t)
	p := startWith(t, func(c *exec.Cmd) {
		c.Stdin = device
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}, urlOf(s.Addr()), "run", "a", "--", "sh", "-c", `trap 'echo got INT' INT; trap 'echo got USR1' USR1; echo started
		read word; echo "read $word"; while :; do read word && break; done; echo "read $word"; exit 3`)
	p.prints(t, "started")
	keyboard.WriteString("one\n")
	p.prints(t, "read one")
	// What the command would pass on comes later, one signal after the other in the order of their numbers.
	p.signal(t, syscall.SIGSTOP)
	keyboard.Write([]byte{3})
	p.prints(t, "got INT")
	p.signal(t, syscall.SIGUSR1)
	p.signal(t, syscall.SIGCONT)
	p.prints(t, "got USR1")
	keyboard.WriteString("two\n")
	assert.Equal(t, 3, p.status(t), p.err)
	assert.Equal(t, 1, strings.Count(p.out.String(), "got INT"), p.out)
}
