package interop

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Each grant has a token greater than all earlier ones, of either side.
func TestTokens_BothSides_Increase(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		c := s.redisson(nil)
		engines := []*lockwheel.Engine{s.engine(lockwheel.Options{}), s.engine(lockwheel.Options{})}
		var last uint64
		requireAbove := func(token uint64) {
			t.Helper()
			require.Greater(t, token, last)
			last = token
		}
		o, reads := c.owner("o"), c.owner("reads")
		for i := range 20 {
			e := engines[i%2]
			theirs := o.send("lockForToken", fenced, "n", nil)
			got := receive(t, theirs)
			require.NoError(t, got.Err)
			requireAbove(parseToken(t, got.Fields["token"]))

			ours := locktest.Locking(t.Context(), e.FencedMutex("n"))
			behind := locktest.Locking(t.Context(), e.FencedMutex("n")) // the lock may be handed off to it
			o.unlock(fenced, "n")
			for range 2 {
				select {
				case got := <-ours:
					ours = nil
					require.NoError(t, got.Err)
					requireAbove(got.Hold.Token())
					require.Equal(t, got.Hold.Token(), parseToken(t, reads.succeed("token", fenced, "n", nil)["token"]))
					locktest.Unlock(t, got.Hold)
				case got := <-behind:
					behind = nil
					require.NoError(t, got.Err)
					requireAbove(got.Hold.Token())
					require.Equal(t, got.Hold.Token(), parseToken(t, reads.succeed("token", fenced, "n", nil)["token"]))
					locktest.Unlock(t, got.Hold)
				}
			}
		}
		require.Equal(t, strconv.FormatUint(last, 10), s.do("n", "GET", "redisson_lock_token:{n}"), "the token outlives the lock")
	})
}

func parseToken(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}
