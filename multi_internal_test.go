package lockwheel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Once the caller's wait has ended, no further lock of several is requested: neither alone nor in a slice of very many.
func TestMulti_PartsAfterWait_NotRequested(t *testing.T) {
	t.Parallel()
	m := Multi{locks: make([]Mutex, 3*sliceSize), name: "all"} // without an engine: a request would be another error, or panic
	late := multiRequest{ctx: t.Context(), deadline: time.Now()}
	for _, last := range []int{sliceSize + 1, 2 * sliceSize} {
		at, err := m.acquireSlice(late, sliceSize, last, time.Now(), make([]*Hold, len(m.locks)))
		require.ErrorIs(t, err, errNotAllRequested)
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, `lock "all"`)
		require.Equal(t, sliceSize, at)
	}
}
