package coordinator

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// page posts a request for a page of a snapshot, and runs turns until it has its result.
func (d *coordinatorHarness) page(s *Snapshot) error {
	r := &actor.Request{Ready: make(chan struct{}, 1)}
	d.queueMessage(&LoopMessage{Value: SnapshotRequest{Request: r, Snapshot: s}})
	for turns := 0; !r.Completed(); turns++ {
		require.Less(d.t, turns, 10)
		d.turn()
	}
	return r.Err
}

// A page has a bounded number of locks, and all pages together have each lock once.
func TestSnapshot_ManyLocks_InPages(t *testing.T) {
	d := newSharedLaneHarness(t, 10)
	d.posts("lock", "k", 95)
	d.opens("done")
	seen, s := map[string]bool{}, &Snapshot{}
	for pages := 1; ; pages++ {
		require.NoError(t, d.page(s))
		require.LessOrEqual(t, len(s.Locks), 10)
		for _, l := range s.Locks {
			require.False(t, seen[l.Key], l.Key)
			require.Equal(t, 1, l.Holds)
			require.True(t, l.Watched)
			require.Greater(t, l.Until, s.Now)
			seen[l.Key] = true
		}
		if !s.More {
			require.Equal(t, 10, pages)
			break
		}
	}
	require.Len(t, seen, 95)
}

// A lock that ended before its page is left out.
func TestSnapshot_LockEnded_LeftOut(t *testing.T) {
	d := newSharedLaneHarness(t, 1)
	d.posts("lock", "k", 3)
	d.opens("done")
	s := &Snapshot{}
	require.NoError(t, d.page(s))
	require.Len(t, s.Locks, 1)
	for i := range 3 {
		if name := fmt.Sprint("k", i); name != s.Locks[0].Key {
			d.ask("unlock", name)
		}
	}
	d.opens("done")
	for s.More {
		require.NoError(t, d.page(s))
		require.Empty(t, s.Locks)
	}
}

// A lock that callers only wait for is in the list, with their number.
func TestSnapshot_Waiters_Counted(t *testing.T) {
	d := newHarness(t, 1)
	d.line("1ms lock a; lock a; lock a")
	s := &Snapshot{}
	require.NoError(t, d.page(s))
	require.Len(t, s.Locks, 1)
	require.Zero(t, s.Locks[0].Holds)
	require.Equal(t, 3, s.Locks[0].Waiting)
	require.NotZero(t, s.Locks[0].WaitingSince)
}

// A request that a closed engine finds in its mailbox has a result.
func TestSnapshot_Closed_Rejected(t *testing.T) {
	d := newHarness(t, 1)
	d.ask("close", "")
	d.turn()
	require.ErrorIs(t, d.page(&Snapshot{}), actor.ErrClosed)
}

// A request for the status of the nodes ends as well when the engine is closed.
func TestStatus_Closed_Rejected(t *testing.T) {
	d := newHarness(t, 1)
	d.ask("close", "")
	d.turn()
	r := &actor.Request{Ready: make(chan struct{}, 1)}
	d.queueMessage(&LoopMessage{Value: StatusRequest{Request: r, Nodes: new([]NodeStatus)}})
	d.turn()
	require.True(t, r.Completed())
	require.ErrorIs(t, r.Err, actor.ErrClosed)
}

// Lists that wait together share one copy of the locks. A list that is requested after the copy was made has one of its
// own. So it has each lock that its caller was granted before.
func TestSnapshot_ManyLists_ShareACopy(t *testing.T) {
	d := newSharedLaneHarness(t, 10)
	d.posts("lock", "k", 95)
	d.opens("done")
	ask := func() *Snapshot {
		s := &Snapshot{}
		d.queueMessage(&LoopMessage{Value: SnapshotRequest{Request: &actor.Request{Ready: make(chan struct{}, 1)}, Snapshot: s}})
		return s
	}
	a, b, c := ask(), ask(), ask()
	d.turn()
	later := ask()
	for range 5 {
		d.turn()
	}
	whole := func(s *Snapshot) any { return &s.round.Left[len(s.round.Left)-1] }
	require.Same(t, whole(a), whole(b))
	require.Same(t, whole(a), whole(c))
	require.NotSame(t, whole(a), whole(later))
	require.Empty(t, d.c.lastList.Left, "no copy is kept for lists to come")
}

// However many lists are requested, the next turn handles the lock requests of other callers.
func TestSnapshot_ManyLists_LocksGoOn(t *testing.T) {
	d := newSharedLaneHarness(t, 10)
	for range 100 {
		d.queueMessage(&LoopMessage{Value: SnapshotRequest{Request: &actor.Request{Ready: make(chan struct{}, 1)}, Snapshot: &Snapshot{}}})
	}
	d.ask("lock", "a")
	d.turn()
	require.Len(t, d.inFlight, 1)
}

// The caller of a list gives up. It has its result in the next turn, however many lists wait, and no page is made for
// it, which others would wait for.
func TestSnapshot_Canceled_EndsInNextTurn(t *testing.T) {
	d := newSharedLaneHarness(t, 10)
	d.posts("lock", "k", 30)
	d.opens("done")
	var asked []SnapshotRequest
	for range 100 {
		m := SnapshotRequest{Request: &actor.Request{Ready: make(chan struct{}, 1)}, Snapshot: &Snapshot{}}
		asked = append(asked, m)
		d.queueMessage(&LoopMessage{Value: m})
	}
	d.turn()
	for _, m := range asked[1:] {
		d.queueMessage(&LoopMessage{Value: CancelRequest{Request: m.Request, Cause: context.Canceled}})
	}
	for range 12 {
		d.turn()
	}
	ended := 0
	for _, m := range asked[1:] {
		require.True(t, m.Request.Completed())
		if m.Request.Err != nil {
			ended++
			require.False(t, m.Snapshot.begun, "it is the caller's again")
		}
	}
	require.Greater(t, ended, 80)
	require.Zero(t, d.unopened())
	require.Empty(t, d.c.lastList.Left, "no copy is kept for lists to come")
	whole := &Snapshot{}
	require.NoError(t, d.page(whole), "others go on")
	require.Len(t, whole.Locks, 10)
}
