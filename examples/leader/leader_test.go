package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/examples/internal/exampletest"
)

// The leader crashes: another member leads, with a greater token, and the program ends cleanly on SIGINT.
func TestLeader_Crash_SuccessorLeads(t *testing.T) {
	e := exampletest.Start(t, run, "-lease", "3s", "-crash", "50ms", "-members", "2")
	first := e.Await(`(member \d) leads, with token 1`)
	e.Await(first[0] + ` has crashed`)
	second := e.Await(`(member \d) leads, with token 2`)
	require.NotEqual(t, first, second)
	e.Await(second[0] + ` counts 1`)
	e.Interrupt()
	require.Equal(t, 1, e.Count(second[0]+` has released the lock`))
}

// The leader steps down: another member leads, and the first one can lead again.
func TestLeader_StepDown_SuccessorLeads(t *testing.T) {
	e := exampletest.Start(t, run, "-crash", "50ms", "-members", "2", "-step-down", "-lease", "1m")
	first := e.Await(`(member \d) leads, with token 1`)
	second := e.Await(`(member \d) leads, with token 2`)
	require.NotEqual(t, first, second)
	e.Await(first[0] + ` leads`)
	e.Interrupt()
}
