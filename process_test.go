//go:build unix

package lockwheel_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Holders in another process, which dies or is paused.

// holder is another process that holds the lock n with a lease of HolderLease.
type holder struct {
	t       *testing.T
	process *os.Process
	id      string
	asks    io.Writer
	answers *bufio.Reader
}

func holdElsewhere(t *testing.T, s *Server) *holder {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), EnvHolder+"="+s.Addr)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	h := &holder{t: t, process: cmd.Process, asks: in, answers: bufio.NewReader(out)}
	h.id = h.read()
	return h
}

func (h *holder) read() string {
	h.t.Helper()
	line, err := h.answers.ReadString('\n')
	require.NoError(h.t, err)
	return strings.TrimSpace(line)
}

func (h *holder) ask() {
	h.t.Helper()
	_, err := io.WriteString(h.asks, "\n")
	require.NoError(h.t, err)
}

// Redisson's testAutoExpire: a process that dies frees its locks within the lease, and not while it lives.
func TestALockOfAProcessThatDiedIsFree(t *testing.T) {
	t.Parallel()
	OnEachNotify(t, func(t *testing.T) { diesElsewhere(t, (*lockwheel.Engine).Mutex) })
}

// Redisson's testAutoExpire: only the waiter's kind matters, and not that of the dead holder.
func TestAFairLockOfAProcessThatDiedIsFree(t *testing.T) {
	t.Parallel()
	diesElsewhere(t, (*lockwheel.Engine).FairMutex)
}

func diesElsewhere(t *testing.T, mutex KindOfLock) {
	t.Helper()
	s := RealServer(t)
	h := holdElsewhere(t, s)
	require.Equal(t, map[string]string{h.id: "1"}, s.Hash("n"))
	waiting := Locking(t.Context(), mutex(s.Open(lockwheel.Options{}), "n"))
	RequireNoReply(t, waiting, Renewed) // the lease was renewed
	h.ask()
	require.Equal(t, "<nil>", h.read())
	require.NoError(t, h.process.Kill())
	died := time.Now()
	Unlock(t, Granted(t, waiting))
	require.Less(t, time.Since(died), 2*HolderLease)
}

// A process that was paused for longer than its lease sees the loss immediately, whichever goroutine runs first.
func TestAProcessThatStoodStillKnowsThatItLost(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	h := holdElsewhere(t, s)
	waiting := Locking(t.Context(), s.Open(lockwheel.Options{}).Mutex("n"))
	require.NoError(t, h.process.Signal(syscall.SIGSTOP))
	next := Granted(t, waiting)
	h.ask()
	require.NoError(t, h.process.Signal(syscall.SIGCONT))
	require.Contains(t, h.read(), lockwheel.ErrLost.Error())
	Always(t, 200*time.Millisecond, "the next holder undisturbed", func() bool { return s.Hash("n")[next.ID()] == "1" })
	Unlock(t, next)
}
