// Package kinds_test covers what is special to a kind of lock: fair, fenced and read/write locks, Multi and Quorum. It
// also covers locks beside those of another library (Options.Foreign).
package kinds_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }
