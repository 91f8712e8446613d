// Package interop has only tests, in which lockwheel and Redisson share locks on one server. Redisson is the
// reference. The folder java contains the Java side, and package internal/redisson runs it.
package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/leaks"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redisson"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(envHolder); addr != "" {
		if err := holdUntilKilled(addr, os.Getenv(envKind)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	redistest.SetParallel(8) // parallel tests here mostly wait for leases and clusters
	leaks.Main(withJava{m})
}

// withJava ends the Java machine that the tests shared before the check for leaks.
type withJava struct{ *testing.M }

func (m withJava) Run() int {
	defer func() {
		if machine.process != nil {
			machine.process.Close()
		}
	}()
	return m.M.Run()
}

// machine is one Java machine for all tests. Each test has its own clients in it.
var machine struct {
	once    sync.Once
	process *redisson.Process
	err     error
}

// longReason is the reason why no test of this package is in the quick suite.
const longReason = "Maven fetches Redisson the first time, and a Java machine starts"

// java returns the Java machine that the tests share. Without Java it skips the test, or fails it where Java is
// required.
func java(t *testing.T) *redisson.Process {
	t.Helper()
	long.Only(t, longReason)
	program := redisson.Require(t)
	machine.once.Do(func() { machine.process, machine.err = program.StartSmall() })
	if machine.err != nil {
		t.Fatal(machine.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of what the Java program logged:\n%s", machine.process.Log())
		}
	})
	return machine.process
}

// envHolder makes this binary a process that holds the lock n on the given server until it is killed, with a lease
// of crashLease. The kind is in envKind. The process prints its id.
const (
	envHolder = "LOCKWHEEL_INTEROP_HOLDER"
	envKind   = "LOCKWHEEL_INTEROP_KIND"
)

func holdUntilKilled(addr, name string) error {
	opts := lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}}, Lease: crashLease, Anonymous: true}
	e, err := lockwheel.Open(context.Background(), opts)
	for errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), "no reply within") { // a busy machine, and a Timeout as short as the lease makes it
		e, err = lockwheel.Open(context.Background(), opts)
	}
	if err != nil {
		return err
	}
	for _, k := range kinds {
		if k.java != name {
			continue
		}
		hold, err := k.mutex(e, "n").Lock(context.Background(), lockwheel.Wait(time.Minute))
		if err != nil {
			return err
		}
		fmt.Println(hold.ID())
		bufio.NewScanner(os.Stdin).Scan() // until the parent ends, at the latest
		return nil
	}
	return fmt.Errorf("no kind %s", name)
}
