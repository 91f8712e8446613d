package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/examples/internal/exampletest"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

// requireRunsApart requires that no tick ran twice, and that a run ended before the next one began.
func requireRunsApart(t *testing.T, e *exampletest.Example) {
	t.Helper()
	var ticks []string // each twice: when it began, and when it ended
	for _, line := range e.Said {
		if found := event.FindStringSubmatch(line); found != nil {
			ticks = append(ticks, found[1])
		}
	}
	for i, tick := range ticks {
		if i%2 == 0 {
			require.NotContains(t, ticks[:i], tick, "tick %s ran twice: %q", tick, e.Said)
		} else {
			require.Equal(t, ticks[i-1], tick, "two runs overlap: %q", e.Said)
		}
	}
}

var event = regexp.MustCompile(`(?:begins|finished|breaks off) tick (\d+)`)

// Several members with one timetable, and a job that is shorter than a tick.
func TestCron_ManyMembers_OnceATick(t *testing.T) {
	e := exampletest.Start(t, run, "-every", "40ms", "-takes", "1ms", "-members", "4")
	for range 8 {
		e.Await(`finished tick`)
	}
	e.Interrupt()
	requireRunsApart(t, e)
}

// A run takes longer than a tick: no member begins the next tick beside it.
func TestCron_LongJob_RunsApart(t *testing.T) {
	e := exampletest.Start(t, run, "-every", "20ms", "-takes", "70ms", "-members", "4")
	for range 4 {
		e.Await(`finished tick`)
	}
	e.Interrupt()
	requireRunsApart(t, e)
}

// The record accepts a tick once, and no holder of an older token.
func TestCron_LateMember_IsRejected(t *testing.T) {
	s, err := server.Start("")
	require.NoError(t, err)
	defer s.Close()
	client, err := s.Client()
	require.NoError(t, err)
	defer client.Close()
	m := &member{redis: client}
	for _, c := range []struct {
		tick  int64
		token uint64
		want  bool
	}{
		{tick: 7, token: 1, want: true},
		{tick: 7, token: 2, want: false}, // was run
		{tick: 6, token: 2, want: false}, // is older than the last
		{tick: 8, token: 3, want: true},
		{tick: 9, token: 2, want: false}, // its lock was lost, and granted again
	} {
		begun, err := m.begin(t.Context(), c.tick, c.token)
		require.NoError(t, err)
		require.Equal(t, c.want, begun, "tick %d, token %d", c.tick, c.token)
	}
}
