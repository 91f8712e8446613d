package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// jointWish is what one caller wants: one lock or several.
type jointWish struct {
	e       *jointEngine
	request *actor.Request
	parts   []actor.Part
	left    bool
}

// call is one caller's life: it wants something, holds it for a while, and wants something else.
func (e *jointEngine) call() {
	w := e.w
	w.after(w.upTo(20*time.Millisecond), func() {
		if w.tired {
			return
		}
		names := []string{"a", "b", "c", "d", "e"}
		w.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:1+w.random.IntN(3)]
		slices.Sort(names)
		wish := &jointWish{e: e, request: &actor.Request{Tag: actor.Acquire, Name: strings.Join(names, "+"), Key: names[0]}}
		for _, name := range names {
			wish.parts = append(wish.parts, actor.Part{Name: name, Key: name, Hold: &actor.Hold{}})
		}
		r := wish.request
		if len(names) > 1 || w.chance(0.2) {
			r.Joint = &actor.Joint{Parts: wish.parts}
		} else {
			r.Hold = wish.parts[0].Hold
		}
		switch {
		case w.chance(0.2):
			r.Once = true
		case w.chance(0.2):
			r.Wait = w.upTo(200 * time.Millisecond)
		}
		if w.chance(0.2) {
			r.Lease = 100*time.Millisecond + w.upTo(time.Second)
		}
		if w.chance(0.2) {
			w.after(w.upTo(100*time.Millisecond), wish.leave)
		}
		w.note("%s wants %s", e.id, r.Name)
		e.wishes[r] = wish
		e.post(&mail{kind: asks, request: r})
	})
}

func (wish *jointWish) leave() {
	if !wish.left && wish.e.wishes[wish.request] != nil {
		wish.left = true
		wish.e.post(&mail{kind: givesUp, request: wish.request, err: context.Canceled})
	}
}

// decided takes the verdict: all or none.
func (wish *jointWish) decided() {
	e, w, r := wish.e, wish.e.w, wish.request
	w.note("%s has %s: %v", e.id, r.Name, r.Err)
	e.call()
	if r.Err != nil {
		w.refused++
		for _, part := range wish.parts {
			require.Nil(w.t, part.Hold.Lock(), "nothing of it")
		}
		return
	}
	if len(wish.parts) > 1 {
		w.together++
	} else {
		w.alone++
	}
	for _, part := range wish.parts {
		require.NotNil(w.t, part.Hold.Lock(), "all of it")
		if part.Hold.Lock().CountOf(part.Hold.Owner, w.now) > 0 { // not given back in the same turn
			e.held[part.Hold] = part.Key
		}
	}
	if wish.left {
		return // the loop gives it back
	}
	w.after(w.upTo(30*time.Millisecond), func() {
		for _, part := range wish.parts {
			e.post(&mail{kind: asks, request: &actor.Request{Tag: actor.Unlock, Hold: part.Hold}})
		}
	})
}

// TestOneAndSeveralAtRandom: whatever is lost, late or doubled, no two have one lock, several are had all or none, every
// wish is decided, and nothing is left.
func TestOneAndSeveralAtRandom(t *testing.T) {
	var alone, together, refused int
	seeds := 300
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		w := &jointWorld{t: t, random: rand.New(rand.NewPCG(uint64(seed), 1)), keys: map[string]*jointKey{}}
		for i := range 2 {
			e := w.engine(fmt.Sprint("e", i))
			for range 4 {
				e.call()
			}
		}
		t.Cleanup(func() {
			if t.Failed() && len(w.log) > 0 {
				t.Logf("seed %d:\n%s", seed, strings.Join(w.log[max(0, len(w.log)-30):], "\n"))
			}
			w.log = nil
		})
		w.run(3000)
		w.tired = true
		w.note("tired")
		require.True(t, w.run(100_000), "seed %d comes to rest", seed)
		for _, e := range w.engines {
			require.Empty(t, e.wishes, "seed %d: undecided", seed)
			require.Empty(t, e.c.locks, "seed %d: locks", seed)
			require.Zero(t, e.c.wheel.Len())
			stats := e.c.stats()
			require.Zero(t, [4]int64{stats.Held, stats.Waiting, stats.InFlight, stats.Polling}, "seed %d", seed)
			require.Zero(t, [2]int{e.c.fx.Tenures, e.c.fx.Asking}, "seed %d", seed)
		}
		for name := range w.keys {
			require.Empty(t, w.key(name).holder, "seed %d: left in Redis", seed)
		}
		alone, together, refused = alone+w.alone, together+w.together, refused+w.refused
		w.log = nil
	}
	t.Logf("%d got one lock, %d several, %d nothing", alone, together, refused)
	require.Positive(t, min(alone, together, refused))
}
