package coordinator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// Keys with the same hash are distinguished, in whatever order their locks come and go.
func TestLockMap_HashCollision_KeysDistinct(t *testing.T) {
	for _, hashes := range []uint64{1, 3, 1 << 60} {
		t.Run(fmt.Sprint(hashes), func(t *testing.T) {
			r := newLockMap()
			hash := r.hash
			r.hash = func(key string) uint64 { return hash(key) % hashes }
			random := rand.New(rand.NewPCG(1, hashes))
			have := map[string]*actor.Lock{}
			for range 20_000 {
				key := fmt.Sprint("lock:", random.IntN(40))
				switch l := r.Get(key); {
				case l == nil:
					l = actor.NewLock(key, actor.Plain)
					r.add(l)
					have[key] = l
				case random.IntN(2) == 0:
					r.remove(l)
					delete(have, key)
				}
				require.Equal(t, len(have), r.Len())
				require.Same(t, have[key], r.Get(key))
			}
			var keys []string
			for key, l := range have {
				require.Same(t, l, r.Get(key))
				keys = append(keys, key)
			}
			slices.Sort(keys)
			require.Equal(t, keys, r.sortedKeys())
		})
	}
}

// sortedKeys returns the keys of all locks in ascending order.
func (m *lockMap) sortedKeys() []string {
	keys := make([]string, 0, m.Len())
	for _, l := range m.byHash {
		keys = append(keys, l.Key())
	}
	for key := range m.collisions {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
