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
		l.queue.insertByAge(r, except)
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
	l.queue.insertByAge(&Request{lock: l, receivedAt: 1}, nil)
	var found []*Request
	l.eachOnce(func(r *Request) { found = append(found, r) })
	require.ElementsMatch(t, tried, found)
	for _, r := range tried {
		l.queue.remove(r)
	}
	l.eachOnce(func(*Request) { t.Fatal("it has left") })
}

// A request from another queue is put in front of all that were posted after it, and behind all others. The exception
// is the one that is being acquired. This also holds if the queue is not sorted by time of posting.
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
		var want, younger []*Request
		l.queue.each(func(other *Request) {
			if other != except && other.receivedAt > r.receivedAt {
				younger = append(younger, other)
			} else {
				want = append(want, other)
			}
		})
		l.queue.insertByAge(r, except)
		var got []*Request
		l.queue.each(func(r *Request) { got = append(got, r) })
		require.Equal(t, append(append(want, r), younger...), got)
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
				l.queue.insertByAge(r, nil)
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
