package main

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/exampletest"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

var event = regexp.MustCompile(`(begins|finished) job (\d+) of account (\d+)`)

// requireApart requires that each job ran once and to its end, and that no two jobs of one account overlapped.
func requireApart(t *testing.T, e *exampletest.Example) {
	t.Helper()
	runs, now := make(map[string]int), make(map[string]string) // how often a job ran; which job an account has
	for _, line := range e.Said {
		found := event.FindStringSubmatch(line)
		switch {
		case found == nil:
		case found[1] == "begins":
			require.Empty(t, now[found[3]], "two jobs of one account overlap: %q", line)
			now[found[3]] = found[2]
			runs[found[2]]++
			require.Equal(t, 1, runs[found[2]], "a job ran twice: %q", line)
		default:
			require.Equal(t, found[2], now[found[3]])
			delete(now, found[3])
		}
	}
	require.Empty(t, now, "jobs that were begun were not finished")
}

// All jobs are done, each once, and those of an account one after the other. Then the program ends by itself.
func TestWorkers_ManyJobs_EachOnce(t *testing.T) {
	for _, kind := range []string{"-fair=false", "-fair=true"} {
		t.Run(kind, func(t *testing.T) {
			e := exampletest.Start(t, run, kind, "-takes", "5ms", "-jobs", "30", "-accounts", "3")
			e.End()
			requireApart(t, e)
			require.Equal(t, 30, e.Count("finished job"))
		})
	}
}

// SIGINT: workers finish the jobs that they have, and leave the others.
func TestWorkers_Interrupt_JobsInHandEnd(t *testing.T) {
	e := exampletest.Start(t, run, "-takes", "300ms", "-jobs", "100")
	e.Await("begins job")
	e.Interrupt()
	requireApart(t, e)
	require.Positive(t, e.Count("finished job"))
	require.Less(t, e.Count("finished job"), 100)
	require.Positive(t, e.Count("takes no further job"))
}

// A job that another worker holds is skipped and stays open; a job that is done is not done again.
func TestWorkers_JobTakenOrDone_Skipped(t *testing.T) {
	s, err := server.Start("")
	require.NoError(t, err)
	defer s.Close()
	client, err := s.Client()
	require.NoError(t, err)
	defer client.Close()
	members, err := s.Open(t.Context(), 2, lockwheel.Options{})
	require.NoError(t, err)
	log := server.NewLog(failing{t})
	defer log.Close()
	p := &pool{locks: members[0].Locks, redis: client, log: log}

	taken := job{id: 1, account: 1}
	err = members[1].Locks.Mutex(fmt.Sprintf("example/job/%d", taken.id)).Do(t.Context(), func(ctx context.Context) error {
		done, err := p.take(ctx, "w", taken)
		require.NoError(t, err)
		require.False(t, done)
		return p.markDone(ctx, taken)
	})
	require.NoError(t, err)
	done, err := p.take(t.Context(), "w", taken)
	require.NoError(t, err)
	require.True(t, done)
}

// failing fails the test if the example says anything.
type failing struct{ t *testing.T }

func (f failing) Write(p []byte) (int, error) {
	f.t.Errorf("said %q", p)
	return len(p), nil
}
