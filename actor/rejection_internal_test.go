package actor

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/wheel"
)

// rejectionHarness is a lock with a queue of very many requests to be rejected, some per turn, and the expected result
// of each.
type rejectionHarness struct {
	t        *testing.T
	l        *Lock
	fx       *Effects
	queue    []*Request // in their order
	expected map[*Request]error
	now      time.Duration
}

func newRejectionHarness(t *testing.T, most int) *rejectionHarness {
	timers, err := wheel.New[TimerTarget](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	fx := NewEffects(Config{Lease: 30 * time.Second, CallTimeout: time.Second}, timers)
	fx.MaxRejections = most
	return &rejectionHarness{t: t, l: NewLock("k", Plain), fx: fx, expected: make(map[*Request]error)}
}

func (s *rejectionHarness) enqueue(random *rand.Rand) {
	s.now++
	r := &Request{Op: Acquire, Hold: &Hold{}, lock: s.l, receivedAt: s.now, Once: random.IntN(4) == 0, Owner: random.Uint64N(3)}
	s.l.queue.push(r)
	s.queue = append(s.queue, r)
}

func (s *rejectionHarness) cancel(r *Request) {
	delete(s.expected, r)
	s.fx.Complete(s.now, r, ErrUnavailable, nil)
	s.takeResults()
}

// rejectAll rejects all requests that were not rejected before.
func (s *rejectionHarness) rejectAll(err error) {
	for _, r := range s.queue {
		if s.expected[r] == nil {
			s.expected[r] = err
		}
	}
	s.l.rejectAll(s.now, rejectedPart{err: err}, s.fx)
	s.takeResults()
}

// takeResults checks the results, and removes the requests that have one.
func (s *rejectionHarness) takeResults() {
	for _, r := range s.fx.Results {
		if s.expected[r] != nil {
			require.Same(s.t, s.expected[r], r.Err)
		}
		s.queue = without(s.queue, r)
	}
	s.fx.Results = s.fx.Results[:0]
}

func without(all []*Request, out *Request) (others []*Request) {
	for _, r := range all {
		if r != out {
			others = append(others, r)
		}
	}
	return others
}

// check checks the queue's invariants.
func (s *rejectionHarness) check() {
	first := (*Request)(nil)
	for _, r := range s.queue {
		if s.expected[r] == nil {
			first = r
			break
		}
	}
	require.Same(s.t, first, s.l.queue.first())
	require.Equal(s.t, first == nil, s.l.queue.empty())
	require.Len(s.t, s.queue, s.l.QueueLen())
	var all []*Request
	s.l.queue.each(func(r *Request) { all = append(all, r) })
	require.Equal(s.t, s.queue, all)
}

// While very many requests are being rejected, others come and leave, some of the rejected leave, and others are
// rejected for another reason. Each is rejected for its own reason, a limited number per turn, in their order. Later
// requests are not rejected.
func TestRejection_ManyWaiters_LaterGoOn(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		most := 1 + random.IntN(4)
		s := newRejectionHarness(t, most)
		for range 200 {
			s.fx.Rejections = 0
			switch n := random.IntN(10); {
			case n < 4:
				s.enqueue(random)
			case n < 6 && len(s.queue) > 0:
				s.cancel(s.queue[random.IntN(len(s.queue))])
			case n == 6:
				s.rejectAll(errors.New("refused"))
			case n == 7 && s.l.queue.first() != nil && len(s.queue) > 1:
				if last := s.l.queue.last; last != s.l.queue.first() {
					at := len(s.queue) - s.notRejected()
					s.l.queue.moveToFront(last)
					s.queue = append(s.queue[:at], append([]*Request{last}, s.queue[at:len(s.queue)-1]...)...)
				}
			default:
				before := len(s.queue)
				s.l.continueRejecting(s.now, s.fx)
				s.takeResults()
				require.LessOrEqual(t, before-len(s.queue), most)
			}
			s.check()
		}
		for turns := 0; s.l.Rejecting(); turns++ {
			require.Less(t, turns, 300)
			s.fx.Rejections = 0
			s.l.continueRejecting(s.now, s.fx)
			s.takeResults()
			s.check()
		}
		for _, r := range s.queue {
			require.Nil(t, s.expected[r], "it is left")
		}
	}
}

// Requests that came after the reason for a rejection go on waiting, with their owner and in their order, also if so
// many are rejected that it takes several turns.
func TestRejection_BoundedByTime_LaterGoOn(t *testing.T) {
	const all, early = 20, 8
	for most := range all {
		s := newRejectionHarness(t, most+1)
		random := rand.New(rand.NewPCG(uint64(most), 3))
		owners := make(map[*Request]uint64, all)
		for range all {
			s.enqueue(random)
		}
		for i, r := range s.queue {
			if owners[r] = r.Owner; i < early {
				s.expected[r] = ErrNotReplicated
			}
		}
		later := s.queue[early:]
		s.l.rejectUnreplicated(s.now, rejectedPart{bounded: true, until: early}, s.fx)
		s.takeResults()
		for turns := 0; s.l.Rejecting(); turns++ {
			require.Less(t, turns, all)
			s.fx.Rejections = 0
			s.l.continueRejecting(s.now, s.fx)
			s.takeResults()
		}
		require.Equal(t, later, s.queue)
		s.check()
		for _, r := range later {
			require.Equal(t, owners[r], r.Owner)
		}
	}
}

// notRejected returns the number of requests in the queue that are not rejected.
func (s *rejectionHarness) notRejected() (n int) {
	for r := s.l.queue.first(); r != nil; r = s.l.queue.following(r) {
		n++
	}
	return n
}

// Requests that try once are rejected a limited number per turn, including those that leave meanwhile. For later tries
// the lock is asked for.
func TestRejection_ManyTries_LaterGoOn(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		most, tried := 1+random.IntN(4), make(map[*Request]bool)
		s := newRejectionHarness(t, most)
		for range 200 {
			s.fx.Rejections = 0
			switch n := random.IntN(10); {
			case n < 5:
				s.enqueue(random)
			case n < 7 && len(s.queue) > 0:
				s.cancel(s.queue[random.IntN(len(s.queue))])
			case n == 7:
				for _, r := range s.queue {
					tried[r] = r.Once
				}
				s.l.rejectWaitingTries(s.now, s.fx)
			default:
				s.l.continueRejecting(s.now, s.fx)
				require.LessOrEqual(t, len(s.fx.Results), most)
			}
			for _, r := range s.fx.Results {
				require.True(t, tried[r])
				require.Equal(t, ErrNotAcquired, r.Err)
			}
			s.takeResults()
			s.check()
		}
		for s.l.Rejecting() {
			s.fx.Rejections = 0
			s.l.continueRejecting(s.now, s.fx)
			s.takeResults()
		}
		for _, r := range s.queue {
			require.False(t, tried[r], "it is left")
		}
	}
}
