//go:build unix

package leader_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// process is a member in a process of its own.
type process struct {
	id  int
	cmd *exec.Cmd
}

// belief is a time at which a member led.
type belief struct {
	member int
	at     time.Time
	hold   string // its id
}

// election is some members, and what they said.
type election struct {
	t       *testing.T
	addr    string
	said    chan belief
	ready   chan int
	members map[int]process
	history []belief
	next    int
}

func (e *election) start() {
	p := process{e.next, exec.Command(os.Args[0])}
	e.next++
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), envMember+"="+e.addr), os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(e.t, err)
	require.NoError(e.t, p.cmd.Start())
	e.members[p.id] = p
	e.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var at int64
			var hold string
			if _, err := fmt.Sscan(lines.Text(), &at, &hold); err == nil {
				e.said <- belief{p.id, time.Unix(0, at), hold}
			} else {
				e.ready <- p.id
			}
		}
	}()
}

// leads waits until a member leads that accept accepts, within d, and returns it.
func (e *election) leads(d time.Duration, accept func(belief) bool) belief {
	e.t.Helper()
	deadline := time.After(d)
	for {
		select {
		case b := <-e.said:
			e.history = append(e.history, b)
			if accept(b) {
				return b
			}
		case <-deadline:
			require.FailNow(e.t, "no leader in time", "%v", d)
		}
	}
}

// Three processes; the leader is killed, or stopped for longer than its lease and continued, again and again. Each
// time another one leads soon after the lease. The times of two holds never interleave.
func TestRun_LeaderKilledOrStopped_OneLeads(t *testing.T) {
	const late = 6 * time.Second // of timers and processes on a busy machine
	server := redistest.Start(t)
	e := &election{t: t, addr: server.Addr(), said: make(chan belief, 1<<16), ready: make(chan int, 16), members: make(map[int]process)}
	start := func() {
		e.start()
		select {
		case <-e.ready:
		case <-time.After(20 * time.Second):
			require.FailNow(t, "a member does not start")
		}
	}
	for range 3 {
		start()
	}
	old := e.leads(10*time.Second, func(belief) bool { return true })
	for round := range long.Pick(2, 8) {
		p, signal := e.members[old.member], syscall.SIGKILL
		if round%2 == 1 {
			signal = syscall.SIGSTOP
		}
		require.NoError(t, p.cmd.Process.Signal(signal))
		begin := time.Now()
		successor := e.leads(memberLease+2*late, func(b belief) bool { return b.member != old.member && b.at.After(begin) })
		took := successor.at.Sub(begin)
		t.Logf("round %d: %v, a successor after %v", round, signal, took.Round(time.Millisecond))
		require.Less(t, took, memberLease+late)
		if signal == syscall.SIGSTOP {
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
		} else {
			delete(e.members, old.member)
			start()
		}
		// A while of the successor, in which a continued leader would speak up.
		old = e.leads(10*time.Second, func(b belief) bool { return b.at.After(successor.at.Add(500 * time.Millisecond)) })
	}
	requireOneAtATime(t, e.history)
}

// requireOneAtATime sorts what members said by time. A hold lasted from the first to the last time that its member
// said. So the times of another hold must not lie between these two.
func requireOneAtATime(t *testing.T, history []belief) {
	t.Helper()
	slices.SortFunc(history, func(a, b belief) int { return a.at.Compare(b.at) })
	ended := make(map[string]bool)
	for i, b := range history {
		if i > 0 && b.hold != history[i-1].hold {
			ended[history[i-1].hold] = true
		}
		require.False(t, ended[b.hold], "%s leads again at %v, after another hold did", b.hold, b.at)
	}
}
