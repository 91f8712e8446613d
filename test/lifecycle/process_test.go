//go:build unix

package lifecycle_test

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
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// holder is another process that holds the lock n with a lease of SteadyLease.
type holder struct {
	t       *testing.T
	process *os.Process
	id      string
	asks    io.Writer
	answers *bufio.Reader
}

func holdElsewhere(t *testing.T, s *locktest.Server) *holder {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), locktest.EnvHolder+"="+s.Addr)
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
func TestProcess_Died_LockFreeAfterLease(t *testing.T) {
	t.Parallel()
	locktest.OnEachNotify(t, func(t *testing.T) { diesElsewhere(t, (*lockwheel.Engine).Mutex) })
}

// Redisson's testAutoExpire: only the waiter's kind matters, and not that of the dead holder.
func TestProcess_Died_FairLockFreeAfterLease(t *testing.T) {
	t.Parallel()
	diesElsewhere(t, (*lockwheel.Engine).FairMutex)
}

func diesElsewhere(t *testing.T, mutex locktest.KindOfLock) {
	t.Helper()
	s := locktest.RealServer(t)
	h := holdElsewhere(t, s)
	require.Equal(t, map[string]string{h.id: "1"}, s.Hash("n"))
	waiting := locktest.Locking(t.Context(), mutex(s.Open(lockwheel.Options{}), "n"))
	locktest.RequireNoReply(t, waiting, locktest.SteadyLease+locktest.SteadyLease/2) // the lease was renewed
	h.ask()
	require.Equal(t, "<nil>", h.read())
	require.NoError(t, h.process.Kill())
	died := time.Now()
	locktest.Unlock(t, locktest.ReceiveWithin(t, locktest.LongDeadline, waiting).Hold)
	require.Less(t, time.Since(died), locktest.LongDeadline) // a busy machine needs time, too
}

// A process that was paused for longer than its lease sees the loss immediately, whichever goroutine runs first.
func TestProcess_Paused_KnowsLoss(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	h := holdElsewhere(t, s)
	waiting := locktest.Locking(t.Context(), s.Open(lockwheel.Options{}).Mutex("n"))
	require.NoError(t, h.process.Signal(syscall.SIGSTOP))
	next := locktest.ReceiveWithin(t, locktest.LongDeadline, waiting).Hold
	h.ask()
	require.NoError(t, h.process.Signal(syscall.SIGCONT))
	require.Contains(t, h.read(), lockwheel.ErrLost.Error())
	locktest.Always(t, 200*time.Millisecond, "the next holder undisturbed", func() bool { return s.Hash("n")[next.ID()] == "1" })
	locktest.Unlock(t, next)
}
