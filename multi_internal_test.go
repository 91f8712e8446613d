package lockwheel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A slice of very many locks is not requested once the caller's wait has ended.
func TestMulti_SliceAfterWait_NotRequested(t *testing.T) {
	t.Parallel()
	m := Multi{locks: make([]Mutex, 3*sliceSize), name: "all"} // without an engine: a request would panic
	late := multiRequest{ctx: t.Context(), deadline: time.Now()}
	at, err := m.acquireSlice(late, sliceSize, 2*sliceSize, time.Now(), make([]*Hold, len(m.locks)))
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, `lock "all"`)
	require.Equal(t, sliceSize, at)
}
