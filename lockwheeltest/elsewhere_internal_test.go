package lockwheeltest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A test that holds locks elsewhere very often keeps nothing of the processes that have released theirs.
func TestHoldElsewhere_Released_NothingKept(t *testing.T) {
	server := New(t)
	before := len(*server.processes.Load())
	for range 3 {
		kept := server.HoldElsewhere("kept")
		server.HoldElsewhere("released")()
		require.Len(t, *server.processes.Load(), before+1)
		kept()
		require.Len(t, *server.processes.Load(), before)
	}
}
