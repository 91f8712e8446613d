// Package topology_test covers more than one server: clusters, Sentinel and replicas, and masters that are replaced. It
// also covers how an engine reaches them: addresses, TLS, permissions, and Options.Lazy.
package topology_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }
