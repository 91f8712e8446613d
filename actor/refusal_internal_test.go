package actor

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/wheel"
)

// refusing is a lock with a queue of very many requests to be rejected, some per turn, and the expected result of each.
type refusing struct {
	t     *testing.T
	l     *Lock
	fx    *Effects
	queue []*Request // in their order
	why   map[*Request]error
	now   time.Duration
}

func newRefusing(t *testing.T, most int) *refusing {
	timers, err := wheel.New[Sleeper](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	fx := NewEffects(Config{Lease: 30 * time.Second, Timeout: time.Second}, timers)
	fx.RefusalsMost = most
	return &refusing{t: t, l: NewLock("k", Plain), fx: fx, why: make(map[*Request]error)}
}

func (s *refusing) comes(random *rand.Rand) {
	s.now++
	r := &Request{Tag: Acquire, Hold: &Hold{}, lock: s.l, posted: s.now, Once: random.IntN(4) == 0, Owner: random.Uint64N(3)}
	s.l.queue.push(r)
	s.queue = append(s.queue, r)
}

func (s *refusing) leaves(r *Request) {
	delete(s.why, r)
	s.fx.Decide(s.now, r, ErrUnavailable, nil)
	s.took()
}

// refuse rejects all requests that were not rejected before.
func (s *refusing) refuse(err error) {
	for _, r := range s.queue {
		if s.why[r] == nil {
			s.why[r] = err
		}
	}
	s.l.refuseAll(s.now, refused{err: err}, s.fx)
	s.took()
}

// took checks the results, and removes the requests that have one.
func (s *refusing) took() {
	for _, r := range s.fx.Verdicts {
		if s.why[r] != nil {
			require.Same(s.t, s.why[r], r.Err)
		}
		s.queue = without(s.queue, r)
	}
	s.fx.Verdicts = s.fx.Verdicts[:0]
}

func without(all []*Request, out *Request) (others []*Request) {
	for _, r := range all {
		if r != out {
			others = append(others, r)
		}
	}
	return others
}

// looks checks the queue's invariants.
func (s *refusing) looks() {
	first := (*Request)(nil)
	for _, r := range s.queue {
		if s.why[r] == nil {
			first = r
			break
		}
	}
	require.Same(s.t, first, s.l.queue.first())
	require.Equal(s.t, first == nil, s.l.queue.empty())
	require.Len(s.t, s.queue, s.l.Queued())
	var all []*Request
	s.l.queue.each(func(r *Request) { all = append(all, r) })
	require.Equal(s.t, s.queue, all)
}

// While very many requests are being rejected, others come and leave, some of the rejected leave, and others are
// rejected for another reason. Each is rejected for its own reason, a limited number per turn, in their order. Later
// requests are not rejected.
func TestVeryManyAreRefusedAndWhoComesLaterIsNot(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		most := 1 + random.IntN(4)
		s := newRefusing(t, most)
		for range 200 {
			s.fx.Refusals = 0
			switch n := random.IntN(10); {
			case n < 4:
				s.comes(random)
			case n < 6 && len(s.queue) > 0:
				s.leaves(s.queue[random.IntN(len(s.queue))])
			case n == 6:
				s.refuse(errors.New("refused"))
			case n == 7 && s.l.queue.first() != nil && len(s.queue) > 1:
				if last := s.l.queue.last; last != s.l.queue.first() {
					at := len(s.queue) - s.behindFirst()
					s.l.queue.lead(last)
					s.queue = append(s.queue[:at], append([]*Request{last}, s.queue[at:len(s.queue)-1]...)...)
				}
			default:
				before := len(s.queue)
				s.l.refuseOn(s.now, s.fx)
				s.took()
				require.LessOrEqual(t, before-len(s.queue), most)
			}
			s.looks()
		}
		for turns := 0; s.l.Refusing(); turns++ {
			require.Less(t, turns, 300)
			s.fx.Refusals = 0
			s.l.refuseOn(s.now, s.fx)
			s.took()
			s.looks()
		}
		for _, r := range s.queue {
			require.Nil(t, s.why[r], "it is left")
		}
	}
}

// behindFirst returns the number of requests in the queue that are not rejected.
func (s *refusing) behindFirst() (n int) {
	for r := s.l.queue.first(); r != nil; r = s.l.queue.behind(r) {
		n++
	}
	return n
}

// Requests that try once are rejected a limited number per turn, including those that leave meanwhile. For later tries
// the lock is asked for.
func TestVeryManyWhoTryAreRefusedAndWhoTriesLaterIsNot(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		most, tried := 1+random.IntN(4), make(map[*Request]bool)
		s := newRefusing(t, most)
		for range 200 {
			s.fx.Refusals = 0
			switch n := random.IntN(10); {
			case n < 5:
				s.comes(random)
			case n < 7 && len(s.queue) > 0:
				s.leaves(s.queue[random.IntN(len(s.queue))])
			case n == 7:
				for _, r := range s.queue {
					tried[r] = r.Once
				}
				s.l.refuseOnce(s.now, s.fx)
			default:
				s.l.refuseOn(s.now, s.fx)
				require.LessOrEqual(t, len(s.fx.Verdicts), most)
			}
			for _, r := range s.fx.Verdicts {
				require.True(t, tried[r])
				require.Equal(t, ErrNotAcquired, r.Err)
			}
			s.took()
			s.looks()
		}
		for s.l.Refusing() {
			s.fx.Refusals = 0
			s.l.refuseOn(s.now, s.fx)
			s.took()
		}
		for _, r := range s.queue {
			require.False(t, tried[r], "it is left")
		}
	}
}
