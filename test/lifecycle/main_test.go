// Package lifecycle_test covers an engine from Open to Shutdown and Close, with its connections and its record in the
// server. It also covers processes that die, and what engines and forgotten holds cost and leave behind: memory,
// goroutines, keys and channels.
package lifecycle_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }
