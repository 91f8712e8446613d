// Package waiting_test covers callers that wait for a lock: what wakes them, their order, and how a lock is handed off.
// It also covers renewals beside them, and the limits on their number.
package waiting_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }
