package actor

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/wheel"
)

// After any operations a holdSet returns what a scan of all holds would, and keeps no more slots than it may.
func TestHoldSet_MatchesScan(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		config := Config{Lease: 30 * time.Second, RenewInterval: 10 * time.Second, CallTimeout: 3 * time.Second}
		if seed%2 == 0 {
			config.MaxHold = 100 * time.Second
		}
		timers, err := wheel.New[TimerTarget](time.Millisecond, wheel.Config{})
		require.NoError(t, err)
		fx := NewEffects(config, timers)
		l := &Lock{phase: held, tenure: 1, validUntil: 50 * time.Second, ownedSince: time.Second}
		var all []*Hold
		now := 2 * time.Second
		for range 400 {
			switch n := len(all); {
			case n == 0 || random.IntN(100) < 40:
				h := &Hold{Owner: 7, Tenure: 1, lock: l, fixedEnd: someFixed(random, now)}
				l.add(h, fx)
				all = append(all, h)
			case random.IntN(100) < 40:
				i := random.IntN(n)
				if random.IntN(2) == 0 {
					i = n - 1
				}
				until := all[i].Until()
				l.remove(all[i])
				all[i].fixedEnd = endedMark
				require.Equal(t, until, all[i].Until(), "it stays as it was")
				all = slices.Delete(all, i, i+1)
			case random.IntN(100) < 50:
				l.setHoldLease(all[random.IntN(n)], someFixed(random, now), fx)
			default:
				now += time.Duration(random.IntN(400)) * time.Millisecond
				if l.validUntil = now + time.Duration(random.Int64N(int64(60*time.Second)))&^limitCauses; random.IntN(3) > 0 {
					l.publish(fx)
				}
			}
			l.publish(fx)
			if random.IntN(3) == 0 {
				require.Equal(t, liveAt(l, all, now, fx), l.HoldCount(7, now))
				l.expireHolds(now, fx)
				require.Len(t, fx.HoldEnds, len(all)-liveAt(l, all, now, fx))
				fx.HoldEnds = nil
				all = slices.DeleteFunc(all, func(h *Hold) bool { return h.fixedEnd < 0 })
			}
			requireSame(t, random, l, all, fx)
		}
	}
}

func someFixed(random *rand.Rand, now time.Duration) time.Duration {
	if random.IntN(3) == 0 {
		return 0
	}
	return now + time.Duration(1+random.IntN(30))*100*time.Millisecond
}

func liveAt(l *Lock, all []*Hold, now time.Duration, fx *Effects) (live int) {
	for _, h := range all {
		if now < l.holdLimit(h.fixedEnd, fx) {
			live++
		}
	}
	return live
}

func requireSame(t *testing.T, random *rand.Rand, l *Lock, all []*Hold, fx *Effects) {
	t.Helper()
	first, last, watched := never, time.Duration(0), 0
	except := make(map[*Hold]*Request)
	for _, h := range all {
		require.True(t, h.held())
		require.Equal(t, min(l.validUntil, l.holdLimit(h.fixedEnd, fx)), h.Until())
		first = min(first, l.holdLimit(h.fixedEnd, fx))
		if h.fixedEnd == 0 {
			watched++
		}
		if random.IntN(4) == 0 {
			except[h] = &Request{}
		} else {
			last = max(last, h.fixedEnd)
		}
	}
	require.EqualValues(t, len(all), l.holdCount())
	require.Equal(t, watched, l.watchedHolds())
	require.Equal(t, first, l.nextHoldLimit(fx))
	require.Equal(t, last, l.lastFixed(except))
	if len(all) == 0 {
		require.Nil(t, l.holds)
		return
	}
	require.Same(t, all[len(all)-1], l.holds, "the innermost")
	requireLongest(t, l.latestFixed(3, except), all, except)
	if s := l.set(); s != nil {
		most := 2*len(all) + spareHolds
		require.LessOrEqual(t, max(len(s.holds), len(s.limits), len(s.leaseEnds)), most)
	}
}

func requireLongest(t *testing.T, got, all []*Hold, except map[*Hold]*Request) {
	t.Helper()
	var want []time.Duration
	for _, h := range all {
		if h.fixedEnd != 0 && except[h] == nil {
			want = append(want, h.fixedEnd)
		}
	}
	slices.SortFunc(want, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	require.Len(t, got, min(3, len(want)))
	for i, h := range got {
		require.Equal(t, want[i], h.fixedEnd)
		require.Equal(t, 1, count(got, h))
	}
}

func count(of []*Hold, h *Hold) (n int) {
	for _, other := range of {
		if other == h {
			n++
		}
	}
	return n
}
