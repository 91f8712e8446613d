//go:build unix

package faults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// envWorkers makes this test binary a worker process, which runs until its input ends. It reports what its workers do,
// one line each.
const envWorkers = "LOCKWHEEL_TEST_CREW"

// workerConfig is the configuration of a worker process.
type workerConfig struct {
	ID, Addr, Numbers string
	Names             []string
	Workers           int
	Lease             time.Duration
}

func init() { locktest.ProcessRoles[envWorkers] = runWorkers }

// runWorkers is the main function of a worker process.
func runWorkers(text string) error {
	var o workerConfig
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	e, err := lockwheel.Open(ctx, lockwheel.Options{
		Redis:       rueidis.ClientOption{InitAddress: []string{o.Addr}, Username: locktest.User, Password: locktest.Password},
		Lease:       o.Lease,
		CallTimeout: o.Lease / 3,
	})
	if err != nil {
		return fmt.Errorf("no engine: %w", err)
	}
	defer e.Close()
	notes := newLines(os.Stdout)
	var workers sync.WaitGroup
	failed := make(chan error, o.Workers)
	for i := range o.Workers {
		number, err := redistest.Dial(o.Numbers)
		if err != nil {
			return err
		}
		defer number.Close()
		l := &worker{id: fmt.Sprint(o.ID, ".", i), engine: e, names: o.Names, number: number, note: notes.write, did: &workerCounts{}}
		workers.Go(func() { failed <- l.work(ctx) })
	}
	workers.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// lines writes operations, and returns only after each is written.
type lines struct {
	mu sync.Mutex
	to *json.Encoder
}

func newLines(to io.Writer) *lines { return &lines{to: json.NewEncoder(to)} }

func (l *lines) write(d op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.to.Encode(d) // the reader is gone: the process is about to be killed
}

// workerProcess is a worker process, as the test sees it.
type workerProcess struct {
	t       testing.TB
	cmd     *exec.Cmd
	input   io.Closer
	heard   *record
	history chan []op // all that it reported, once it has ended
	errors  *strings.Builder
}

func startWorkerProcess(t testing.TB, o workerConfig, heard *record) *workerProcess {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	c := &workerProcess{t: t, heard: heard, history: make(chan []op, 1), errors: &strings.Builder{}}
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), envWorkers+"="+string(text))
	c.cmd.Stderr = c.errors
	c.input, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go c.listen(out)
	return c
}

func (c *workerProcess) listen(out io.Reader) {
	var all []op
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var d op
		if json.Unmarshal(scan.Bytes(), &d) == nil { // the last line of a killed process may be incomplete
			all = append(all, d)
		}
	}
	c.history <- all
}

// ends waits until the workers have released all their locks, and records what they did.
func (c *workerProcess) ends() {
	c.t.Helper()
	require.NoError(c.t, c.input.Close())
	history := <-c.history
	err := c.cmd.Wait()
	require.True(c.t, err == nil || strings.Contains(c.errors.String(), "no engine"), "%v: %s", err, c.errors)
	for _, d := range history {
		c.heard.note(d)
	}
}

// dies kills the process, and records what it did. Its holds have ended; a write that it had begun may be done.
func (c *workerProcess) dies() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Kill())
	history := <-c.history
	_ = c.cmd.Wait()
	ended := now()
	last := map[string]op{} // of each hold
	for _, d := range history {
		last[d.Hold] = d
		c.heard.note(d)
	}
	for _, d := range last {
		switch d.What {
		case left, lost, stray:
			continue
		case begun:
			maybe := d
			maybe.What, maybe.From, maybe.To = stray, d.To, forever
			c.heard.note(maybe)
		}
		d.What, d.From, d.To = lost, d.To, ended
		c.heard.note(d)
	}
}

// standsStill pauses the process for a while.
func (c *workerProcess) standsStill(d time.Duration) {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(d)
	require.NoError(c.t, c.cmd.Process.Signal(syscall.SIGCONT))
}
