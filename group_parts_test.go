package lockwheel

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// ofThree returns a group that needs two of three locks and has those members.
func ofThree(e *Engine, holds ...*Hold) *multiHold {
	g := newMultiHold(context.Background(), Multi{locks: []Mutex{e.Mutex("a"), e.Mutex("b"), e.Mutex("c")}, name: "n"}, 2)
	g.actor.Begin(0, false, false)
	g.actor.Actions = nil
	for i, h := range holds {
		g.members[i].hold.Store(h)
	}
	return g
}

func realEngine(t *testing.T) (*Engine, *redistest.Server) {
	t.Helper()
	s := redistest.Start(t)
	e, err := Open(t.Context(), Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e, s
}

// By the clock the group is held while enough members are, even before it is notified that the others have ended.
func TestAGroupIsOverWhenFewerPartsAreHeldThanItNeeds(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	lock := func(name string) *Hold {
		hold, err := e.Mutex(name).Lock(t.Context())
		require.NoError(t, err)
		return hold
	}
	over := &Hold{engine: e, name: "b", parent: t.Context()} // its deadline is zero
	require.ErrorIs(t, over.Err(), ErrLost)
	require.NoError(t, ofThree(e, lock("a"), over, lock("c")).err())
	require.ErrorIs(t, ofThree(e, lock("d"), over).err(), ErrLost)
	require.ErrorIs(t, ofThree(e, lock("e"), over, over).err(), ErrLost)
}

// Two of three are known to be held until the second of their deadlines.
func TestTheDeadlineOfAGroupIsThatOfTheLastPartItNeeds(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	var holds []*Hold
	for i, lease := range []time.Duration{20 * time.Second, time.Minute, 10 * time.Second} {
		hold, err := e.Mutex(string(rune('a'+i))).Lock(t.Context(), Lease(lease))
		require.NoError(t, err)
		holds = append(holds, hold)
	}
	require.Equal(t, holds[0].Deadline(), ofThree(e, holds...).deadline())
	require.Equal(t, holds[0].Deadline(), ofThree(e, holds[:2]...).deadline())
	require.Zero(t, ofThree(e, holds[:1]...).deadline())
}

// A grant may have expired when its caller is woken: it is not returned, and its remaining members are released.
func TestAGroupThatIsOverWhenItsCallerWakesIsReleased(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	_, err = ofThree(e, hold, &Hold{engine: e, name: "b", parent: t.Context()}).checked()
	require.ErrorIs(t, err, ErrLost)
	requireFree(t, s, "a")
}

// A writer gives readers time to unlock. Other callers do not hold their first locks for that long.
func TestAQuorumWithAWriterIsOneThatWrites(t *testing.T) {
	t.Parallel()
	e := new(Engine)
	plain, writer, reader := e.Mutex("a"), e.RWMutex("b").Writer(), e.RWMutex("c").RLocker()
	for _, test := range []struct {
		locks  []Mutex
		writes bool
	}{
		{[]Mutex{writer, writer, writer}, true},
		{[]Mutex{plain, plain, writer}, true},
		{[]Mutex{plain, plain, plain}, false},
		{[]Mutex{reader, reader, reader}, false},
	} {
		for _, lease := range []time.Duration{0, time.Second} {
			want := quorum.New(3, 2)
			if test.writes {
				want.SetWriter(lease)
			}
			require.Equal(t, want, Quorum(test.locks...).newQuorumHold(multiRequest{ctx: t.Context(), lease: lease}).actor)
		}
	}
}

// Until a quorum is held, its locks are kept from other callers for nothing. So its requests fail at once where the
// server is known to be down. The missing members of a held quorum wait for the server.
func TestAQuorumThatIsNotHeldWaitsForNoServerThatIsDown(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	for _, order := range []quorum.Action{{Once: true}, {Wait: time.Second}, {}} {
		var asked bool
		g := ofThree(e)
		g.executor.submit(func() { // no result is handled before this event ends
			m := &g.members[0]
			m.request(order)
			asked = m.pendingCall.FailIfDown
			m.withdraw()
		})
		require.Equal(t, order.Once || order.Wait != 0, asked, "%+v", order)
	}
}

// requireFree waits until a lock is free, for much less than a lease.
func requireFree(t *testing.T, s *redistest.Server, name string) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Second); s.Int(t, "EXISTS", name) == 1; {
		require.True(t, time.Now().Before(deadline), "it is still held")
		time.Sleep(time.Millisecond)
	}
}

// The end of a previous hold of a member does not concern its current hold.
func TestTheEndOfAnEarlierPartIsNotThatOfTheNext(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	g, earlier := ofThree(e, hold), &Hold{engine: e, name: "a", parent: t.Context()}
	earlier.grant.End(ErrLost, nil, 0)
	g.members[0].HoldEnded(&earlier.grant)
	require.Same(t, hold, g.members[0].hold.Load())
	require.Nil(t, g.members[0].lastHold.Load())
}

// The wait for a part is as long as the try lasts, and at most the caller's own wait.
func TestThePatienceForAPartIsWithinTheCallersWait(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, c := range []struct {
		wait, try time.Time
		most      time.Duration
	}{
		{in(time.Minute), in(time.Hour), time.Minute},
		{in(time.Hour), in(time.Minute), time.Minute},
		{time.Time{}, in(time.Minute), time.Minute},
		{in(time.Minute), time.Time{}, time.Minute},
		{in(time.Minute), in(-time.Minute), 0},
	} {
		got := (&multiRequest{deadline: c.wait}).waitOption(c.try)
		require.Equal(t, waitOption, got.kind)
		require.LessOrEqual(t, got.d, c.most)
		require.Equal(t, c.most > 0, got.d > c.most/2)
	}
	require.Equal(t, Option{}, (&multiRequest{}).waitOption(time.Time{}))
	require.Equal(t, Wait(0), (&multiRequest{once: true}).waitOption(in(time.Hour)))
}

// If no member is left to ask, the error says which part was lost.
func TestAGroupWithoutItsPartsSaysWhichItLost(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	hold, err := e.Mutex("b").Lock(t.Context())
	require.NoError(t, err)
	_, err = e.Mutex("b").ForceUnlock(t.Context())
	require.NoError(t, err)
	g := ofThree(e)
	g.hold.name = "a,b,c"
	require.ErrorIs(t, g.lossError(), ErrClosed)
	g.members[1].lastHold.Store(hold)
	require.ErrorIs(t, g.lossError(), ErrLost)
	require.NotErrorIs(t, g.lossError(), ErrClosed)
	require.ErrorContains(t, g.lossError(), `its part "b"`)
}

// The grant of a member and the end of the group are concurrent: the members were inspected before the grant.
func TestAPartThatComesWhenItsGroupHasEndedIsReleased(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	g := ofThree(e)
	g.ended.Store(endedByUnlock)
	g.members[0].attach(hold, &actor.HoldSignal{})
	for deadline := time.Now().Add(8 * time.Second); s.Int(t, "EXISTS", "a") == 1; {
		require.True(t, time.Now().Before(deadline), "it is still held")
		time.Sleep(time.Millisecond)
	}
}
