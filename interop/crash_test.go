package interop

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

const (
	// crashLease is the lease of holders that are killed: short, to keep the test short, and long enough for a busy
	// machine.
	crashLease = 3 * time.Second
	// leaseTolerance is by how much a lock may be acquired before the end that the server reported, because its clock may
	// be adjusted meanwhile.
	leaseTolerance = 100 * time.Millisecond
)

// The lock of a Java process that was killed is free after its lease, and not earlier.
func TestJavaKilled_GoWaits_GrantedAfterLease(t *testing.T) {
	everyExclusionParallel(t, func(t *testing.T, s *testEnv, x exclusion) {
		process := redisson.Start(t)
		o := s.redissonIn(process, redisson.Fields{"watchdog": milliseconds(crashLease)}).owner("o")
		e := s.engine(lockwheel.Options{})
		o.lock(x.held, "n")
		waiting := locktest.Locking(t.Context(), x.wanted.mutex(e, "n"))
		awaitWaiting(t, e)
		process.Kill()
		died, left := time.Now(), s.lease()
		hold := requireGranted(t, waiting)
		require.Greater(t, time.Since(died), left-leaseTolerance)
		locktest.Unlock(t, hold)
	})
}

// The lock of a Go process that was killed is free after its lease, and not earlier.
func TestGoKilled_JavaWaits_GrantedAfterLease(t *testing.T) {
	everyExclusionParallel(t, func(t *testing.T, s *testEnv, x exclusion) {
		o := s.redisson(nil).owner("o")
		holder, id := startHolder(t, s, x.held)
		require.Equal(t, map[string]string{id: "1"}, s.fields("n"))
		waiting := o.lockAsync(x.wanted, "n")
		awaitListening(t, s, "n", waiting)
		require.NoError(t, holder.Kill())
		died, left := time.Now(), s.lease()
		requireSuccess(t, waiting)
		require.Greater(t, time.Since(died), left-leaseTolerance)
		o.unlock(x.wanted, "n")
	})
}

// lease returns what is left of the lease of the lock n.
func (s *testEnv) lease() time.Duration { return time.Duration(s.pttl("n")) * time.Millisecond }

// startHolder starts a process that holds the lock n, and returns its id on the wire.
func startHolder(t *testing.T, s *testEnv, k kind) (process *os.Process, id string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envHolder+"="+s.addrs[0], envKind+"="+k.java)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return cmd.Process, strings.TrimSpace(line)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
