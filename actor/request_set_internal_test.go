package actor

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However requests come and go, the remaining ones are there, in the order in which they came.
func TestRequestSet_KeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var s requestSet
	var want []*Request
	for range 200 {
		for range random.IntN(30) {
			r := &Request{}
			s.add(r)
			want = append(want, r)
		}
		for range random.IntN(len(want) + 1) {
			at := random.IntN(len(want))
			s.remove(want[at])
			s.remove(&Request{}) // not in the set
			want = slices.Delete(want, at, at+1)
		}
		require.Equal(t, len(want), s.len())
		require.True(t, slices.Equal(want, s.all()))
		require.LessOrEqual(t, len(s.list), 2*len(want)+indexThreshold)
	}
}

// A request from another queue is put in front of the first that was posted after it. It is not put in front of the one
// that is being acquired.
func TestRequestQueue_Moved_InsertedByAge(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		l := NewLock("k", Plain)
		var want []time.Duration
		for posted := range time.Duration(random.IntN(20)) {
			l.queue.push(&Request{lock: l, receivedAt: 2 * posted})
			want = append(want, 2*posted)
		}
		except, first := l.queue.first(), 0
		if random.IntN(2) == 0 {
			except = nil
		} else if except != nil {
			first = 1
		}
		r := &Request{lock: l, receivedAt: time.Duration(random.IntN(42) - 1)}
		l.queue.insertByAge(r, except, &Effects{})
		at := first
		for at < len(want) && want[at] < r.receivedAt {
			at++
		}
		if at < len(want) && want[at] == r.receivedAt {
			at++
		}
		want = slices.Insert(want, at, r.receivedAt)
		var got []time.Duration
		l.queue.each(func(r *Request) { got = append(got, r.receivedAt) })
		require.Equal(t, want, got)
		require.Same(t, &l.queue, r.list)
	}
}

// A request that tries once is found wherever it is in the queue, also if it was the first when it came.
func TestRequestQueue_Tries_FoundAnywhere(t *testing.T) {
	l := NewLock("k", Plain)
	var tried []*Request
	for i := range 5 {
		r := &Request{lock: l, Once: i%2 == 0, receivedAt: time.Duration(10 + i)}
		if l.queue.push(r); r.Once {
			tried = append(tried, r)
		}
	}
	l.queue.insertByAge(&Request{lock: l, receivedAt: 1}, nil, &Effects{})
	var found []*Request
	l.eachOnce(func(r *Request) { found = append(found, r) })
	require.ElementsMatch(t, tried, found)
	for _, r := range tried {
		l.queue.remove(r)
	}
	l.eachOnce(func(*Request) { t.Fatal("it has left") })
}

// A request from another queue is put behind the last that was not posted after it, or that is being acquired. The
// order of the others stays. This also holds if the queue is not sorted by time of posting.
func TestRequestQueue_Unsorted_InsertedByAge(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range 2000 {
		l := NewLock("k", Plain)
		for range random.IntN(30) {
			r := &Request{lock: l, receivedAt: time.Duration(random.IntN(20))}
			switch first := l.queue.first(); {
			case first == nil || random.IntN(4) > 0:
				l.queue.push(r)
			case random.IntN(3) == 0:
				l.queue.insert(r, first.next)
			case random.IntN(2) == 0 && first.next != first:
				l.queue.moveToFront(first.prev)
			default:
				l.queue.remove(first.next)
			}
			requireOutOfOrderKnown(t, l)
		}
		except := l.queue.first()
		if random.IntN(2) == 0 {
			except = nil
		}
		r := &Request{lock: l, receivedAt: time.Duration(random.IntN(22) - 1)}
		var want []*Request
		at := 0
		l.queue.each(func(other *Request) {
			if want = append(want, other); other == except || other.receivedAt <= r.receivedAt {
				at = len(want)
			}
		})
		want = slices.Insert(want, at, r)
		l.queue.insertByAge(r, except, &Effects{})
		var got []*Request
		l.queue.each(func(r *Request) { got = append(got, r) })
		require.Equal(t, want, got)
		requireOutOfOrderKnown(t, l)
	}
}

// In a queue of any length that is out of order, because requests at its front overtook others, the place of a request
// near one of the ends is found in a few steps. A turn makes no more steps than it may; then the place is the last.
func TestRequestQueue_OutOfOrder_StepsBounded(t *testing.T) {
	const limit = 100
	for _, n := range []int{1000, 10_000} {
		l, fx := NewLock("k", Plain), &Effects{MaxPlaceSteps: limit}
		push := func(posted int) *Request {
			r := &Request{lock: l, receivedAt: time.Duration(posted)}
			l.queue.push(r)
			return r
		}
		push(n + 1) // it is being acquired
		first, overtook := push(0), push(n)
		for i := range n {
			push(10 + i)
		}
		insert := func(posted int) *Request {
			r := &Request{lock: l, receivedAt: time.Duration(posted)}
			l.queue.insertByAge(r, l.queue.first(), fx)
			return r
		}
		for range 10 {
			require.Same(t, insert(n+20), l.queue.last)
		}
		require.LessOrEqual(t, fx.PlaceSteps, 10)
		early := insert(5)
		require.Same(t, overtook, early.next, "in front of all that came after it")
		require.Same(t, first, early.prev)
		require.LessOrEqual(t, fx.PlaceSteps, 20)
		require.Same(t, insert(n/2), l.queue.last, "the search ends")
		require.Greater(t, fx.PlaceSteps, limit)
		require.Same(t, insert(n/2), l.queue.last, "without one")
		require.LessOrEqual(t, fx.PlaceSteps, limit+2)
		fx.MaxPlaceSteps = 0
		require.NotSame(t, insert(n/2-1), l.queue.last)
		requireOutOfOrderKnown(t, l)
	}
}

func requireOutOfOrderKnown(t *testing.T, l *Lock) {
	t.Helper()
	var want int32
	var before *Request
	l.queue.each(func(r *Request) {
		if before != nil && before.receivedAt > r.receivedAt {
			want++
		}
		before = r
	})
	var got int32
	if l.ext != nil {
		got = l.ext.outOfOrder
	}
	require.Equal(t, want, got)
}

// The order of requests that do not wait in the queue does not count as that of the queue.
func TestRequestList_OtherThanQueue_OrderNotCounted(t *testing.T) {
	l := NewLock("k", Plain)
	unlocks := []*Request{{lock: l, receivedAt: 3}, {lock: l, receivedAt: 1}, {lock: l, receivedAt: 2}}
	for _, r := range unlocks {
		l.releases.push(r)
		requireOutOfOrderKnown(t, l)
	}
	require.Nil(t, l.ext, "it costs no memory")
	for _, r := range unlocks {
		l.releases.remove(r)
		requireOutOfOrderKnown(t, l)
	}
}

// However requests come to a queue, change their places and leave, its length is known.
func TestRequestQueue_LengthKnown(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 100 {
		l := NewLock("k", Plain)
		var queue []*Request
		for range 60 {
			r := &Request{lock: l, receivedAt: time.Duration(random.IntN(40))}
			switch n := len(queue); {
			case n == 0 || random.IntN(3) == 0:
				l.queue.push(r)
				queue = append(queue, r)
			case random.IntN(2) == 0:
				l.queue.insertByAge(r, nil, &Effects{})
				queue = append(queue, r)
			case n > 1 && random.IntN(3) == 0:
				l.queue.moveToFront(l.queue.last)
			default:
				at := random.IntN(n)
				l.queue.remove(queue[at])
				queue = slices.Delete(queue, at, at+1)
			}
			require.Equal(t, len(queue), l.QueueLen())
		}
	}
}

// However requests come, go and are taken off the front, those that remain are there in their order, and nothing stays
// of those that left. An emptied set is as new.
func TestRequestSet_PopAndRemove_KeepsOrder(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 13))
		var s requestSet
		var want, left []*Request
		most := 1 + random.IntN(4*indexThreshold)
		for range 300 {
			switch n := len(want); {
			case n == 0 || n < most && random.IntN(5) < 3:
				r := &Request{}
				s.add(r)
				want = append(want, r)
			case random.IntN(2) == 0:
				r := s.pop()
				require.Same(t, want[0], r)
				want, left = want[1:], append(left, r)
			default:
				at := random.IntN(n)
				s.remove(want[at])
				left = append(left, want[at])
				want = slices.Delete(want, at, at+1)
			}
			if len(left) > 0 {
				s.remove(left[random.IntN(len(left))]) // it is not in the set any more
			}
			require.Equal(t, len(want), s.len())
			require.True(t, slices.Equal(want, s.all()))
			require.LessOrEqual(t, len(s.index), len(want))
		}
		for _, r := range want {
			require.Same(t, r, s.pop())
		}
		require.Nil(t, s.pop())
		require.Equal(t, requestSet{}, s)
	}
}
