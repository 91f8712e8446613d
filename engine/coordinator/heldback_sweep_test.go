package coordinator

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A sweep of a queue removes what is handled, and nothing else changes: not the order, and not the queue to which a
// message was moved that the sweep had reached.
func TestMessageQueue_Swept_OthersKeepOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q, next messageQueue
	var want, wantNext []*LoopMessage
	all := func(q *messageQueue) (list []*LoopMessage) {
		for m := q.first; m != nil; m = m.Next {
			list = append(list, m)
		}
		return list
	}
	request := func(m *LoopMessage) *actor.Request { return m.Value.(*actor.Request) }
	for range 20_000 {
		switch n := len(want); {
		case random.IntN(3) == 0 && n < 20:
			m := &LoopMessage{Value: &actor.Request{}}
			q.push(m)
			want = append(want, m)
		case random.IntN(8) == 0 && n > 0:
			require.Same(t, want[0], q.pop())
			next.push(want[0])
			want, wantNext = want[1:], append(wantNext, want[0])
		case random.IntN(8) == 0 && len(wantNext) > 5:
			require.Same(t, wantNext[0], next.pop())
			wantNext = wantNext[1:]
		case random.IntN(2) == 0 && n > 0:
			request(want[random.IntN(n)]).MarkHandled()
		default:
			q.sweepNext()
			want = slices.DeleteFunc(want, func(m *LoopMessage) bool {
				return request(m).Handled() && !slices.Contains(all(&q), m)
			})
		}
		require.Equal(t, len(want), q.n)
		require.Equal(t, len(want), q.work)
		require.True(t, slices.Equal(want, all(&q)))
		require.True(t, slices.Equal(wantNext, all(&next)))
		require.Equal(t, len(wantNext), next.n)
	}
	for _, m := range want {
		request(m).MarkHandled()
	}
	for range 2*len(want) + 2 {
		q.sweepNext()
	}
	require.Empty(t, all(&q))
	require.Zero(t, q.n)
	require.Nil(t, q.last)
	require.False(t, q.sweepNext())
}
