package actor

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/wheel"
)

// However many wait, all places can be renewed in time, and those of an engine that dies do not live much longer than
// that needs.
func TestPlaceLife_AnyNumber_WithinBounds(t *testing.T) {
	for _, life := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second, 10 * 365 * 24 * time.Hour} {
		fx := &Effects{Config: Config{FairWaitTimeout: life}}
		random := rand.New(rand.NewPCG(1, 2))
		for range 100_000 {
			by := random.Int64N(5000) - 2400
			fx.placeLives.change(max(by, -fx.placeLives.waiting), life)
			need := time.Duration(fx.placeLives.waiting) * placeCost
			require.GreaterOrEqual(t, fx.placeLife(), max(need, life))
			require.LessOrEqual(t, fx.placeLife(), max(need*8/3, life))
		}
		for fx.placeLives.waiting > 0 {
			fx.placeLives.change(-1, life)
		}
		require.Equal(t, life, fx.placeLife())
	}
}

// The life of the places is that of few waiters until there are three renewals a place at 5000 a second.
func TestPlaceLife_AsManyAsCanBeRenewed_NotLonger(t *testing.T) {
	var p placeLives
	p.change(5000, 3*time.Second)
	require.Zero(t, p.doublings)
	p.change(1, 3*time.Second)
	require.EqualValues(t, 1, p.doublings)
}

// Waiters that come and go in turn do not change the life each time: those with unequal lives share no time.
func TestPlaceLife_NumberVaries_FewChanges(t *testing.T) {
	const life = time.Second
	for n := range int64(10_000) {
		var p placeLives
		p.change(n, life)
		p.change(n/4, life)
		at := p.doublings
		for range 10 {
			p.change(-n/4, life)
			require.Equal(t, at, p.doublings, n)
			p.change(n/4, life)
			require.Equal(t, at, p.doublings, n)
		}
	}
}

// An engine with many waiters asks with a longer wait, and shortens it when they have left. The release subtracts what
// the place added when it was taken. A waiter that was notified is asked for before those that only keep their places.
func TestFairWaiter_ManyWait_PlaceLivesLonger(t *testing.T) {
	const life = 100 * time.Millisecond
	timers, err := wheel.New[TimerTarget](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	fx := NewEffects(Config{ID: "e", Lease: time.Minute, CallTimeout: time.Minute, FairWaitTimeout: life}, timers)
	now := time.Second
	var others []*Request
	for range int(4 * life / placeCost) {
		others = append(others, &Request{Op: Acquire, Kind: Fair})
		fx.Receive(now, others[len(others)-1])
	}
	l, r := NewLock("k", Fair), &Request{Op: Acquire, Kind: Fair, Hold: &Hold{}}
	taken := &Reply{Status: HeldByOther, TTL: time.Minute, Holder: "x:1", QueueTTL: time.Hour}
	sent := func() *Command {
		require.Len(t, fx.Commands, 1)
		c := fx.Commands[0]
		fx.Commands = nil
		return &c
	}
	fx.Receive(now, r)
	l.Step(now, &Message{Event: Requested, Request: r}, fx)
	first := sent()
	require.Equal(t, 8*life, first.Wait)
	l.Step(now, &Message{Event: Replied, Command: first, Reply: taken, Sent: now}, fx)
	require.Equal(t, now+8*life/3, l.ext.nextTry)
	for _, r := range others {
		fx.Complete(now, r, ErrNotAcquired, nil)
	}
	now = l.ext.nextTry
	l.Step(now, &Message{Event: TimerFired}, fx)
	renewal := sent()
	require.Equal(t, life, renewal.Wait)
	require.True(t, renewal.Retry)
	l.Step(now, &Message{Event: Replied, Command: renewal, Reply: taken, Sent: now}, fx)
	require.Equal(t, now+life/3, l.ext.nextTry)
	l.Step(now, &Message{Event: Notified}, fx)
	turn := sent()
	require.False(t, turn.Retry)
	l.Step(now, &Message{Event: Replied, Command: turn, Reply: taken, Sent: now}, fx)
	l.Step(now, &Message{Event: Cancel, Request: r}, fx)
	require.Equal(t, 8*life, sent().Wait)
}
