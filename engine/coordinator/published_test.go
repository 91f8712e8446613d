package coordinator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// The end of a hold names the request that was granted it while that has not been published, so that observers are
// notified of the grant first. Afterwards it names none.
func TestHoldEnd_GrantNotPublished_NamesRequest(t *testing.T) {
	for name, c := range map[string]struct {
		before, stimuli string
		ends            []string
	}{
		"canceled":               {"lock a", "1 done; cancel a", []string{"a"}},
		"several canceled":       {"lock a+b", "1 done; cancel a+b", []string{"a+b", "a+b"}},
		"forced":                 {"lock a", "1 done; force a/2", []string{"a"}},
		"reader forced":          {"read a", "1 done; forceread a/2", []string{"a"}},
		"readers evicted":        {"read a b", "1 done; forceread a/2", []string{"a"}},
		"closed":                 {"lock a b", "1 done; close", []string{"a", "b"}},
		"re-entered, and forced": {"lock a/me a/me2", "1 done; force a/2", []string{"a/me2", "a/me"}},
		"handed off, then lost":  {"lock a; lock a/2", "1 done; cancel a; force a/3", []string{"a", "a/2"}},
	} {
		d := newHarness(t, 1)
		var named []string
		ended := 0
		d.onHoldEnds = func(ends []actor.HoldEnd) {
			for i := range ends {
				if ended++; ends[i].Granted != nil {
					named = append(named, d.names[ends[i].Granted])
				}
			}
		}
		d.line("1ms " + c.before)
		d.line("2ms " + c.stimuli)
		for range 10 {
			d.line("+10ms next")
		}
		require.ElementsMatch(t, c.ends, named, name)
		require.Equal(t, len(c.ends), ended, name)
		require.Empty(t, d.c.Fx.EndedUnpublished)
	}

	d := newHarness(t, 1)
	d.line("1ms lock a b; lock c+d")
	require.Contains(t, d.line("2ms 1 done"), "c+d granted")
	require.Contains(t, d.line("2ms 2 done"), "a b granted")
	require.Less(t, d.callers["a"].hold.Tenure, uint64(10))
	require.Less(t, d.callers["c+d"].parts[1].Hold.Tenure, uint64(10))
	d.onHoldEnds = func(ends []actor.HoldEnd) {
		for i := range ends {
			require.Nil(t, ends[i].Granted)
		}
	}
	require.Contains(t, d.line("3ms unlock a; force b/2; force d/2"), "b c+d lost")
}

// The same holds for a grant with a result that waits behind very many others when the hold is lost.
func TestHoldEnd_ResultInLaterTurn_NamesRequest(t *testing.T) {
	const share = 16
	d := newSharedLaneHarness(t, share)
	d.posts("lock", "a/me", 4*share) // all of them re-enter together
	for d.turn(); d.unopened() > 0; {
		d.turn()
	}
	d.deliverBatch([]string{"1", "done"})
	d.turn()
	require.True(t, d.c.Results.pending())
	named := map[string]bool{}
	ended := 0
	d.onHoldEnds = func(ends []actor.HoldEnd) {
		for i := range ends {
			if ended++; ends[i].Granted != nil {
				named[d.names[ends[i].Granted]] = true
			}
		}
	}
	d.ask("force", "a/2")
	d.turn()
	require.Equal(t, 4*share, ended)
	require.Len(t, named, 3*share)
	for i := range 4 * share {
		require.Equal(t, i >= share, named[fmt.Sprint("a/me", i)], i)
	}
}
