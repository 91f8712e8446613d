package interop

import (
	"slices"
	"testing"

	"github.com/lockwheel/lockwheel"
)

// kind is a kind of lock that both sides have.
type kind struct {
	java  string // its name in Peer.java
	mutex func(e *lockwheel.Engine, name string) lockwheel.Mutex
}

func (k kind) String() string { return k.java }

var (
	plain  = kind{"plain", (*lockwheel.Engine).Mutex}
	fenced = kind{"fenced", (*lockwheel.Engine).FencedMutex}
	fair   = kind{"fair", (*lockwheel.Engine).FairMutex}
	write  = kind{"write", func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).Writer() }}
	read   = kind{"read", func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() }}
)

// exclusive are the kinds with one holder at a time.
var exclusive = []kind{plain, fenced, fair, write}

// kinds are all kinds that both sides have.
var kinds = slices.Concat(exclusive, []kind{read})

// exclusion is a pair of kinds on one name: a holder of the first keeps out callers that want the second.
type exclusion struct{ held, wanted kind }

// exclusions returns those of each exclusive kind with itself, and those of different kinds.
func exclusions() (all []exclusion) {
	for _, k := range exclusive {
		all = append(all, exclusion{k, k})
	}
	return append(all, mixed...)
}

// mixed are the exclusions of different kinds.
var mixed = []exclusion{{read, write}, {write, read}}

func (x exclusion) String() string {
	if x.held.java == x.wanted.java {
		return x.held.java
	}
	return x.held.java + " keeps out " + x.wanted.java
}

// everyExclusion runs a test for each exclusion, on every topology, one after the other.
func everyExclusion(t *testing.T, f func(t *testing.T, s *testEnv, x exclusion)) {
	forEach(t, exclusions(), exclusion.String, f)
}

// everyExclusive runs a test for each kind with one holder at a time, on every topology, one after the other.
func everyExclusive(t *testing.T, f func(t *testing.T, s *testEnv, k kind)) {
	forEach(t, exclusive, kind.String, f)
}

// everyKind runs a test for each kind, on every topology, one after the other.
func everyKind(t *testing.T, f func(t *testing.T, s *testEnv, k kind)) {
	forEach(t, kinds, kind.String, f)
}

func forEach[T any](t *testing.T, all []T, name func(T) string, f func(t *testing.T, s *testEnv, it T)) {
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		for _, it := range all {
			t.Run(name(it), func(t *testing.T) { f(t, s.cleared(t), it) })
		}
	})
}

// everyExclusionParallel is like everyExclusion, but in parallel, for a test that mostly waits for a lease.
func everyExclusionParallel(t *testing.T, f func(t *testing.T, s *testEnv, x exclusion)) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		t.Parallel()
		for _, x := range exclusions() {
			t.Run(x.String(), func(t *testing.T) {
				t.Parallel()
				f(t, start(t), x)
			})
		}
	})
}
