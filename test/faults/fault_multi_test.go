package faults_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

// Every kind of fault strikes while Multis are held, waited for and unlocked. They are of plain locks, which one script
// acquires, and of one lock of each kind, which are acquired sequentially.
func TestMulti_EveryFault_NothingLeft(t *testing.T) {
	long.Only(t, "every kind of fault strikes, one after the other")
	t.Parallel()
	onEveryFault(t, 2, func(t *testing.T, o *faultRun, prefix string) { o.multis(t, prefix) })
}

// multis has the fault strike while two Multis are held and waited for, and unlocks those that remain.
func (o *faultRun) multis(t *testing.T, prefix string) {
	together := []string{prefix + "a/plain", prefix + "b/plain", prefix + "c/plain"}
	inTurn := locktest.NamesOfKinds(prefix + "d")
	o.names = []string{together[0], inTurn[0], together[1], inTurn[1], together[2], inTurn[2], inTurn[3]}
	parts := [][]string{together, inTurn}
	var holds []*lockwheel.Hold
	var waiting []<-chan grant
	var told []<-chan time.Time
	for i, names := range parts {
		holds = append(holds, locktest.LockAll(t, locktest.SeveralOf(o.holder, names)))
		told = append(told, locktest.NotifiedAt(holds[i]))
		waiting = append(waiting, granting(t.Context(), locktest.SeveralOf(o.waiter, names)))
	}
	locktest.RequireWaiting(t, o.waiter, 2, 2) // each in the queue of one lock, holding none
	unlocked := time.Now()
	unlocking := make([]<-chan locktest.Answer, len(holds))
	gone, over, free := map[string]time.Time{}, time.Time{}, []atomic.Int64(nil)
	if o.fault.fate != kept {
		gone = o.takesAway()
	} else {
		free = o.watch(t, parts)
		for i, hold := range holds {
			unlocking[i] = locktest.UnlockingLater(t.Context(), hold, time.Duration(rand.Int64N(int64(2*o.spell))))
		}
		over = o.strikes()
	}
	for i, hold := range holds {
		struck := slices.IndexFunc(parts[i], func(name string) bool { return !gone[name].IsZero() })
		switch {
		case o.fault.fate == kept:
			require.NoError(t, locktest.Receive(t, unlocking[i]).Err)
		case struck >= 0:
			o.latest = max(o.latest, locktest.RequireLost(t, hold, told[i], gone[parts[i][struck]], lossLease))
		default:
			require.Empty(t, waiting[i], "a second holder beside that of %s", hold.Name())
			locktest.UnlockHold(t, hold)
		}
		got := locktest.Receive(t, waiting[i])
		if got.Err != nil && o.fault.name == "a key of another type" {
			require.ErrorContains(t, got.Err, "WRONGTYPE")
			continue
		}
		require.NoError(t, got.Err)
		require.False(t, got.at.Before(unlocked))
		if o.fault.fate == kept {
			o.requirePrompt(t, got, &free[i], over)
		}
		o.requireAll(t, got.Hold, parts[i])
		locktest.UnlockHold(t, got.Hold)
	}
}

// requireAll requires that the waiter holds every part.
func (o *faultRun) requireAll(t *testing.T, hold *lockwheel.Hold, parts []string) {
	t.Helper()
	for _, name := range parts {
		if fields := fmt.Sprint(o.Do("HKEYS", name)); hold.Err() == nil { // the fault may have ended the hold
			require.Contains(t, fields, o.waiter.ID(), name)
		}
	}
}
