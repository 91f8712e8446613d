package debug

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A row that only waits names the rows of the same engine that hold the lock: readers of a writer that waits, and the
// caller that has a fair lock. A lock that is held elsewhere is not in this engine.
func TestPage_HeldBySameEngine_WaiterSaysSo(t *testing.T) {
	t.Parallel()
	server := locktest.RealServer(t)
	e, other := server.Open(lockwheel.Options{}), server.Open(lockwheel.Options{})
	first := locktest.Lock(t, e.RWMutex("rw").RLocker())
	fair := locktest.Lock(t, e.FairMutex("fair"))
	locktest.Lock(t, other.RWMutex("elsewhere").RLocker())
	locktest.Locking(t.Context(), e.RWMutex("rw").Writer())
	locktest.Locking(t.Context(), e.FairMutex("fair"))
	locktest.Locking(t.Context(), e.RWMutex("elsewhere").Writer())
	locktest.Queued(t, e, 3)
	s := serve(t, Options{}, e, other)
	here := func() map[string]*hereJSON {
		all := map[string]*hereJSON{}
		for _, row := range s.locks("engine=" + e.ID()).Locks {
			if row.Holds == 0 {
				all[row.Name] = row.HeldHere
			} else {
				assert.Nil(t, row.HeldHere)
			}
		}
		return all
	}
	rows := here()
	require.Equal(t, &hereJSON{"reader", 1, first.ID()}, rows["rw"])
	require.Nil(t, rows["elsewhere"])
	require.Equal(t, &hereJSON{"fair", 1, fair.ID()}, rows["fair"])
	page := s.get("")
	assert.Contains(t, page, "reader "+first.ID()+" of this engine")
	assert.Contains(t, page, "not in this engine")
}

// Several rows that hold a name are counted. Those of another engine, or of a kind that the row does not wait for, are
// not.
func TestHere_SeveralHold_Counted(t *testing.T) {
	waits := []row{
		{LockInfo: lockwheel.LockInfo{Name: "rw", Kind: "writer", Waiting: 1}},
		{LockInfo: lockwheel.LockInfo{Name: "fair", Kind: "fair", Waiting: 1}},
		{LockInfo: lockwheel.LockInfo{Name: "plain", Kind: "plain", Waiting: 1}},
		{LockInfo: lockwheel.LockInfo{Name: "rw", Kind: "writer", Waiting: 1}, engine: 1},
		{LockInfo: lockwheel.LockInfo{Name: "both", Kind: "reader", Waiting: 1}},
	}
	here := make(holdersHere)
	require.Equal(t, map[int]bool{0: true, 1: true}, here.want(waits))
	require.NoError(t, here.read(0, func(yield func(lockwheel.LockInfo, error) bool) {
		for _, lock := range []lockwheel.LockInfo{
			{Name: "rw", Kind: "reader", Holds: 1, HolderID: "e:1"}, {Name: "rw", Kind: "reader", Holds: 2, HolderID: "e:2"},
			{Name: "rw", Kind: "reader", Waiting: 1}, {Name: "fair", Kind: "fair", Holds: 1, HolderID: "e:3"},
			{Name: "plain", Kind: "plain", Holds: 1, HolderID: "e:4"}, {Name: "other", Kind: "reader", Holds: 1, HolderID: "e:5"},
			{Name: "both", Kind: "reader", Holds: 1, HolderID: "e:6"}, {Name: "both", Kind: "writer", Holds: 1, HolderID: "e:6"},
		} {
			if !yield(lock, nil) {
				return
			}
		}
	}))
	assert.Equal(t, &hereJSON{"reader", 2, ""}, here.of(&waits[0]))
	assert.Equal(t, "2 readers of this engine", here.of(&waits[0]).String())
	assert.Equal(t, &hereJSON{"fair", 1, "e:3"}, here.of(&waits[1]))
	assert.Nil(t, here.of(&waits[2]))
	assert.Nil(t, here.of(&waits[3]))
	assert.Equal(t, "writer e:6 of this engine", here.of(&waits[4]).String(), "what the writer reads as well ends with its write")
	assert.Empty(t, here.want([]row{{LockInfo: lockwheel.LockInfo{Name: "p", Kind: "plain", Waiting: 1}}}))
}

// The engines are read again for rows that only wait. If the request ends between the two reads, the list says that it
// is not complete, as after the first read, and once for each engine.
func TestHere_SecondReadFails_ListSaysSo(t *testing.T) {
	t.Parallel()
	server := locktest.AnyServer(t)
	e := server.Open(lockwheel.Options{})
	locktest.Lock(t, e.RWMutex("rw").RLocker())
	locktest.Locking(t.Context(), e.RWMutex("rw").Writer())
	locktest.Queued(t, e, 1)
	h := &handler{engines: []*lockwheel.Engine{e}}
	ctx, cancel := context.WithCancel(t.Context())
	l := newList(queryOf(t, ""))
	l.read(0, e.ID(), e.Locks(ctx))
	l.finish()
	require.Empty(t, l.errors)
	cancel()
	h.readHere(ctx, l)
	want := []listError{{e.ID(), "lockwheel: locks: context canceled"}}
	require.Equal(t, want, l.errors)
	h.readHere(ctx, l)
	require.Equal(t, want, l.errors)
}
