// Package api_test covers what each call of the library promises. Its subjects are holds, owners, contexts, options,
// URLs and errors, and what an engine reports: Observer, Logger, Tracer, Stats, Status and lists of locks.
package api_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }
