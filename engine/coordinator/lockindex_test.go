package coordinator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// Whatever happens to very many locks of one name, their index says what a scan of them says, and keeps nothing of
// locks that ended.
func TestLockIndex_RandomEvents_MatchesScan(t *testing.T) {
	for seed := range uint64(2) {
		for what, prefix := range map[string]string{"read": "", "lock": "fair:"} {
			random := rand.New(rand.NewPCG(seed, 1))
			d := newHarness(t, 8)
			var who []string
			known := map[uint64]bool{}
			for i := range 2 * maxUnindexed {
				who = append(who, fmt.Sprint(prefix, "a/", i))
				if i%3 == 0 {
					who[i] = fmt.Sprint(prefix, "a/me", i) // they are of one owner
				}
				d.ask(what, who[i])
			}
			d.turn()
			for step := range 250 {
				d.now += time.Duration(random.IntN(1000)) * time.Millisecond
				for _, number := range slices.Sorted(maps.Keys(d.inFlight)) {
					words := []string{fmt.Sprint(number)}
					for range len(d.inFlight[number].Commands) {
						words = append(words, []string{"done", "done", "done", "done", "gone", "taken", "busy"}[random.IntN(7)])
					}
					if random.IntN(5) == 0 {
						words = []string{words[0], "lost", "reset"}
					}
					if random.IntN(2) == 0 {
						d.post(words)
					}
				}
				if d.order != nil {
					d.post([]string{"ordered"})
				}
				for range random.IntN(6) {
					at := random.IntN(len(who))
					switch random.IntN(4) {
					case 0:
						d.ask("cancel", who[at])
					case 1:
						d.ask("unlock", who[at])
					case 2:
						d.ask(what, who[at])
						d.callers[who[at]].latest.Lease = time.Duration(random.IntN(3)) * time.Hour // a re-entry may want more
					case 3:
						if step%20 == 0 {
							d.ask(map[string]string{"read": "forceread", "lock": "force"}[what], prefix+"a/force")
						}
					}
				}
				d.turn()
				requireIndexMatches(t, d, known, step%7 == 0)
			}
		}
	}
}

// A lock that is lost and granted again, for a caller that re-enters it, is in each index once.
func TestLockIndex_GrantedAgain_Once(t *testing.T) {
	d := newHarness(t, 8)
	for i := range maxUnindexed + 5 {
		d.ask("read", fmt.Sprint("a/", i))
	}
	d.ask("read", "a/me")
	d.turn()
	replies := func(word string) {
		for _, number := range slices.Sorted(maps.Keys(d.inFlight)) {
			d.post([]string{fmt.Sprint(number), word})
		}
		d.now += time.Millisecond
		d.turn()
	}
	for len(d.inFlight) > 0 {
		replies("done")
	}
	l := d.c.LockSets["a"].heldBy(actor.ThreadOwner|1, actor.Read, d.now)
	d.ask("read", "a/me2")
	d.callers["a/me2"].latest.Lease = time.Hour
	d.turn()
	replies("gone")
	require.False(t, l.HasOwner())
	replies("done")
	require.Same(t, l, d.c.LockSets["a"].heldBy(actor.ThreadOwner|1, actor.Read, d.now), "the same lock is granted again")
	requireIndexMatches(t, d, map[uint64]bool{}, true)
}

// requireIndexMatches compares the index of name a with a scan. known has the tenures that were seen before. If held is
// set, it also asks for the valid holds, which removes the locks that are not held.
func requireIndexMatches(t *testing.T, d *coordinatorHarness, known map[uint64]bool, held bool) {
	t.Helper()
	for _, l := range d.c.Fx.OwnerChanged[:cap(d.c.Fx.OwnerChanged)] {
		require.True(t, l == nil)
	}
	for _, n := range d.c.Fx.NewTenures[:cap(d.c.Fx.NewTenures)] {
		require.True(t, n == actor.LockTenure{})
	}
	set := d.c.LockSets["a"]
	if set == nil || set.index == nil {
		return
	}
	ix, in, owned := set.index, map[*actor.Lock]bool{}, 0
	for _, l := range set.All() {
		in[l] = true
		for _, tenure := range l.Tenures() {
			known[tenure] = true
		}
		if o := l.Owner(); o != 0 && (ix.byOwner.owners[l] != o || !ix.byOwner.locks[o].has(l)) {
			t.Fatalf("a lock of owner %d is not in the index", o)
		}
		if l.HasOwner() && !ix.held.has(l) {
			t.Fatal("a held lock is not in the index")
		}
	}
	for _, some := range ix.byOwner.locks {
		owned += some.len()
	}
	require.Len(t, ix.byOwner.owners, owned, "each is of one owner")
	for tenure := range known {
		want := set.First(func(l *actor.Lock) bool { return l.OwnsTenure(tenure) })
		if want == nil {
			want = set.First(func(l *actor.Lock) bool { return l.IsOrphan(tenure) })
		}
		if got := ix.byTenure.withTenure(tenure); got != want {
			t.Fatalf("tenure %d", tenure)
		}
	}
	for l := range ix.byTenure.tenures {
		require.True(t, in[l], "a lock that ended is in the index")
	}
	for _, l := range ix.byTenure.locks {
		require.True(t, in[l], "a tenure of a lock that ended is in the index")
	}
	if !held {
		return
	}
	valid := ix.heldAt(d.now)
	require.Len(t, valid, len(set.filter(func(l *actor.Lock) bool { return l.HeldAt(d.now) })))
	listed := map[*actor.Lock]bool{}
	for _, l := range ix.held.all() {
		require.True(t, l.HasOwner(), "heldAt has removed those that are not held")
		require.False(t, listed[l], "a lock is in the index twice")
		listed[l] = true
	}
}
