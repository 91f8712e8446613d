package faults_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// quorumFaultRun is three independent servers, a client that holds quorums and one that waits.
type quorumFaultRun struct {
	fault          fault
	scenes         []*faultEnv
	holder, waiter []*lockwheel.Engine // one per server
	ways           [][]*proxy.Proxy    // links to each server: the holder's and the waiter's
	over           time.Time           // end of the last fault
	longest        time.Duration       // maximum delay of a waiter after the release and the fault
	lossOf         sync.Mutex
	gone           map[string]map[int]time.Time // by name and server: the latest time at which the server had the lock
	latest         time.Duration                // maximum delay until a holder was notified of a loss
}

// quorumFaultCase is a set of quorums that are held, with their waiters.
type quorumFaultCase struct {
	holds   []*lockwheel.Hold
	waiting []<-chan grant
}

// A quorum is held, renewed and released whatever happens to a minority of its servers.
func TestQuorum_FaultOfMinority_HoldGoesOn(t *testing.T) {
	long.Only(t, "every kind of fault strikes, one after the other")
	t.Parallel()
	onQuorumFaultRun(t, func(t *testing.T, b *quorumFaultRun, prefix string, at int) {
		b.staysThrough(t, prefix+"a", at%3)
		b.requireNothingLeft(t)
		b.releasesUnder(t, prefix+"b", at%3)
	})
}

// A quorum ends in time if a majority of its servers loses its keys, continues if they are kept, and leaves nothing
// behind.
func TestQuorum_FaultOfMajority_NothingLeft(t *testing.T) {
	long.Only(t, "every kind of fault strikes, one after the other")
	t.Parallel()
	onQuorumFaultRun(t, func(t *testing.T, b *quorumFaultRun, prefix string, at int) {
		members := []int{at % 3, (at + 1) % 3}
		if b.fault.fate == kept {
			b.staysThrough(t, prefix+"a", members...)
			b.requireNothingLeft(t)
			b.releasesUnder(t, prefix+"b", members...)
		} else {
			b.endsInTime(t, prefix, members...)
		}
	})
}

// onQuorumFaultRun has each kind of fault strike as often as configured. at is the number of the strike.
func onQuorumFaultRun(t *testing.T, strikes func(t *testing.T, b *quorumFaultRun, prefix string, at int)) {
	for _, f := range everyFault() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			b := newQuorumFaultRun(t, f)
			for i := range *faultRounds {
				strikes(t, b, fmt.Sprint("n", i), i)
				b.requireNothingLeft(t)
			}
			t.Logf("the latest waiter came %v after its release, and the latest holder was told %v after its loss", b.longest, b.latest)
		})
	}
}

func newQuorumFaultRun(t *testing.T, f fault) *quorumFaultRun {
	b := &quorumFaultRun{fault: f}
	opts := lockwheel.Options{Lease: faultLease, CallTimeout: faultTimeout}
	if f.fate != kept {
		opts = lossOptions
	}
	for i := range 3 {
		s := realFaultEnv(t)
		s.lost = func(names []string, _, to time.Time) {
			b.lossOf.Lock()
			defer b.lossOf.Unlock()
			for _, name := range names {
				if b.gone[name] == nil {
					b.gone[name] = map[int]time.Time{}
				}
				b.gone[name][i] = to
			}
		}
		holder, at := s.enter(opts)
		b.scenes, b.holder = append(b.scenes, s), append(b.holder, holder)
		if f.fate == stranded {
			b.waiter = append(b.waiter, s.Open(opts)) // with the default user, which has all permissions
			b.ways = append(b.ways, []*proxy.Proxy{at})
			continue
		}
		waiter, to := s.enter(opts)
		b.waiter, b.ways = append(b.waiter, waiter), append(b.ways, []*proxy.Proxy{at, to})
	}
	return b
}

// quorumOf returns the lock with such a name on several servers.
func quorumOf(engines []*lockwheel.Engine, name string) lockwheel.Multi {
	var locks []lockwheel.Mutex
	for _, e := range engines {
		locks = append(locks, locktest.MutexOf(e, name))
	}
	return lockwheel.Quorum(locks...)
}

// begins acquires a quorum of each kind of lock on all servers, and makes the other client wait for it.
func (b *quorumFaultRun) begins(t *testing.T, prefix string) (m quorumFaultCase) {
	b.gone = map[string]map[int]time.Time{}
	names := locktest.NamesOfKinds(prefix)
	for _, s := range b.scenes {
		s.names = names
	}
	for _, name := range names {
		m.holds = append(m.holds, locktest.LockAll(t, quorumOf(b.holder, name)))
		m.waiting = append(m.waiting, granting(t.Context(), quorumOf(b.waiter, name)))
	}
	b.requireAllMembers(t, m)
	if b.fault.fate != kept {
		b.requireRenewed(t, m)
	}
	locktest.Eventually(t, "all waiters asleep", func() bool { return b.asleep() == int64(len(names)) })
	return m
}

// asleep counts the waiters that only a message can wake: each queues at one server. The result is negative if some
// do not wait yet.
func (b *quorumFaultRun) asleep() (n int64) {
	for _, e := range b.waiter {
		s := e.Stats()
		if s.InFlight != 0 || s.Subscriptions < s.Waiting {
			return -1
		}
		n += s.Waiting
	}
	return n
}

// requireAllMembers waits until every quorum is held on every server.
func (b *quorumFaultRun) requireAllMembers(t *testing.T, m quorumFaultCase) {
	t.Helper()
	for i, s := range b.scenes {
		for _, hold := range m.holds {
			locktest.Eventually(t, fmt.Sprint(hold.Name(), " on server ", i), func() bool {
				return strings.Contains(fmt.Sprint(s.Do("HKEYS", hold.Name())), b.holder[i].ID())
			})
		}
		locktest.Eventually(t, "the engine to know", func() bool { return b.holder[i].Stats().Held == int64(len(m.holds)) })
	}
}

// requireRenewed waits until every member has been confirmed once more. A member that was granted late counts only
// from then on. Until the others are renewed, a quorum of three needs all its members.
func (b *quorumFaultRun) requireRenewed(t *testing.T, m quorumFaultCase) {
	t.Helper()
	for _, e := range b.holder {
		locktest.RenewedTimes(t, e, len(m.holds))
	}
}

// strike has the fault strike some of the servers at the same time. It calls meanwhile until the fault has ended.
func (b *quorumFaultRun) strike(t *testing.T, members []int, meanwhile func()) {
	t.Helper()
	began := time.Now()
	// No server restores the permissions before the locks on all of them are lost.
	var lost atomic.Bool
	until := func() bool {
		if !lost.Load() && !slices.ContainsFunc(members, func(i int) bool { return b.holder[i].Stats().Held != 0 }) {
			lost.Store(true)
		}
		return lost.Load()
	}
	var striking sync.WaitGroup
	for _, i := range members {
		b.scenes[i].links = b.ways[i]
		if b.fault.fate == stranded {
			b.scenes[i].until = until
		}
		striking.Go(func() { b.fault.strike(b.scenes[i]) })
	}
	over := make(chan struct{})
	go func() { striking.Wait(); close(over) }()
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-time.After(5 * time.Millisecond):
			meanwhile()
		}
	}
	require.False(t, t.Failed(), "the fault could be made")
	b.over = time.Now()
	if noticed := began.Add(2 * faultTimeout); b.fault.silent && noticed.After(b.over) {
		b.over = noticed
	}
}

// staysThrough requires that quorums survive the fault, that there is no second holder, and that they are held on all
// servers afterwards.
func (b *quorumFaultRun) staysThrough(t *testing.T, prefix string, members ...int) {
	m := b.begins(t, prefix)
	untouched := func() {
		for i, hold := range m.holds {
			require.NoError(t, hold.Err())
			require.Empty(t, m.waiting[i], "a second holder beside that of %s", hold.Name())
		}
	}
	b.strike(t, members, untouched)
	if b.fault.fate != kept {
		locktest.Always(t, lossLease/2, "held", func() bool { untouched(); return true }) // a renewal would notice a loss
	}
	b.requireAllMembers(t, m)
	untouched()
	for i, hold := range m.holds {
		unlocked := time.Now()
		locktest.UnlockHold(t, hold)
		b.passesOn(t, m.waiting[i], unlocked, time.Now())
	}
}

// releasesUnder unlocks while the fault strikes.
func (b *quorumFaultRun) releasesUnder(t *testing.T, prefix string, members ...int) {
	m := b.begins(t, prefix)
	var unlocking []<-chan locktest.Answer
	began := time.Now()
	for _, hold := range m.holds {
		unlocking = append(unlocking, locktest.UnlockingLater(t.Context(), hold, time.Duration(rand.Int64N(int64(b.scenes[0].spell)))))
	}
	b.strike(t, members, func() {})
	for i := range m.holds {
		unlocked := locktest.Receive(t, unlocking[i])
		require.NoError(t, unlocked.Err)
		b.passesOn(t, m.waiting[i], began, unlocked.At)
	}
}

// passesOn waits for the waiter. It requires that the grant came after the begin of the Unlock, and in time after its
// end.
func (b *quorumFaultRun) passesOn(t *testing.T, waiting <-chan grant, from, unlocked time.Time) {
	t.Helper()
	got := locktest.Receive(t, waiting)
	require.NoError(t, got.Err)
	require.False(t, got.at.Before(from))
	took := min(got.at.Sub(unlocked), got.at.Sub(b.over))
	b.longest = max(b.longest, took)
	if *faultRounds > 1 {
		require.Less(t, took, locktest.ConfirmRound+promptWait, got.Hold.Name())
	}
	locktest.UnlockHold(t, got.Hold)
}

// endsInTime lets the fault cost a majority. Holders are notified within their lease, or have all members again.
func (b *quorumFaultRun) endsInTime(t *testing.T, prefix string, members ...int) {
	m := b.begins(t, prefix)
	var told []<-chan time.Time
	for _, hold := range m.holds {
		told = append(told, locktest.NotifiedAt(hold))
	}
	began := time.Now()
	b.strike(t, members, func() {})
	for i, hold := range m.holds {
		touched := b.fault.fate == stranded || len(b.gone[hold.Name()]) == len(members)
		locktest.Eventually(t, "a loss, or all members", func() bool {
			return hold.Err() != nil || b.heldEverywhere(hold) && len(m.waiting[i]) == 0
		})
		if hold.Err() == nil {
			require.NotEqual(t, stranded, b.fault.fate)
			locktest.UnlockHold(t, hold)
		} else {
			require.True(t, touched, "%s was lost without a reason: %v", hold.Name(), hold.Err())
			last := began // for a server that rejects commands and so confirms nothing
			for _, at := range b.gone[hold.Name()] {
				if at.After(last) {
					last = at
				}
			}
			b.latest = max(b.latest, locktest.RequireLost(t, hold, told[i], last, lossLease))
		}
		got := locktest.Receive(t, m.waiting[i])
		if got.Err != nil && b.fault.name == "a key of another type" {
			require.ErrorContains(t, got.Err, "WRONGTYPE")
			continue
		}
		require.NoError(t, got.Err)
		locktest.UnlockHold(t, got.Hold)
	}
}

func (b *quorumFaultRun) heldEverywhere(hold *lockwheel.Hold) bool {
	for i, s := range b.scenes {
		if !strings.Contains(fmt.Sprint(s.Do("HKEYS", hold.Name())), b.holder[i].ID()) {
			return false
		}
	}
	return true
}

// requireNothingLeft requires that no key, channel, timer or request is left on any server, long before a lease could
// expire.
func (b *quorumFaultRun) requireNothingLeft(t *testing.T) {
	t.Helper()
	for i, s := range b.scenes {
		locktest.RequireIdle(t, b.holder[i])
		locktest.RequireIdle(t, b.waiter[i])
		if b.fault.silent {
			for _, p := range s.links {
				p.Cut() // the server's side of half-open connections
			}
		}
		s.RequireNoLock(t, b.waiter[i], nil)
		locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
	}
}
