// Package redisson_test asserts of this library what Redisson's own tests of these locks assert. docs/acceptance.md
// maps each test of Redisson to one here or elsewhere.
package redisson_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }
