package coordinator

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// Leaving a channel costs the same per lock, however many listen to it, and leaves the order of the others as it is.
func TestListenerSet_Remove_StepsLinear(t *testing.T) {
	steps := func(n int) (copied int) {
		var h listenerSet
		all := make([]*actor.Lock, n)
		for i := range all {
			all[i] = actor.NewLock(fmt.Sprint(i), actor.Read)
			h.add(all[i])
		}
		for i := 0; i < n; i += 2 {
			h.remove(all[i])
		}
		require.Len(t, h.all(), n/2)
		for i, l := range h.all() {
			require.Same(t, all[2*i+1], l)
		}
		for i := 1; i < n; i += 2 {
			before := len(h.locks)
			h.remove(all[i])
			if len(h.locks) != before {
				copied += len(h.locks)
			}
			h.remove(all[i])
		}
		require.Zero(t, h.len())
		require.Empty(t, h.all())
		return copied
	}
	require.LessOrEqual(t, steps(1000), 2*1000)
	require.LessOrEqual(t, steps(10_000), 2*10_000)
}

// A channel is small: as many may have a listener as there are locks that are waited for.
func TestChannel_SizeBounded(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(channel{}), uintptr(80))
}

// The newest leave first: nothing is left between those that stay, down to the last one.
func TestListenerSet_RemoveNewestFirst_Empty(t *testing.T) {
	var h listenerSet
	all := make([]*actor.Lock, maxScannedListeners+1)
	for i := range all {
		all[i] = actor.NewLock(fmt.Sprint(i), actor.Read)
		h.add(all[i])
	}
	for left := len(all) - 1; left >= 0; left-- {
		require.True(t, h.has(all[left]))
		h.remove(all[left])
		require.False(t, h.has(all[left]))
		require.Equal(t, all[:left], h.all())
	}
}

// However many channels there are, a turn examines a bounded number of them. Subscribing and unsubscribing them takes
// as many turns as there are slices.
func TestChannels_Many_TurnBounded(t *testing.T) {
	turns := func(n int) (turns int) {
		e := newSubscriptions()
		number, current, next := 0, 0, 0
		now := time.Second
		turn := func() {
			now += time.Millisecond
			turns++
			e.takeUnreported()
			before := len(e.Channels)
			e.updateOrder(now)
			require.LessOrEqual(t, before-len(e.Channels), 2*maxChannelsPerTurn+MaxChannelsPerCommand)
			o := e.Order
			if e.Order = nil; o == nil {
				return
			}
			require.LessOrEqual(t, len(o.Channels), MaxChannelsPerCommand)
			if o.CloseConns {
				current, next = 0, 0
				e.onOrderDone(now, 0, number, nil)
				return
			}
			at := &current
			if o.OnNextConn && current != 0 {
				at = &next
			}
			if *at == 0 {
				number++
				*at = number
			}
			to, gone := *at, 0
			for _, name := range o.Channels {
				e.onSubscribed(name, to)
			}
			if o.SwitchConn && next != 0 {
				current, next, gone = next, 0, next-1
			}
			e.onOrderDone(now, to, gone, nil)
		}
		until := func(what string, done func() bool) {
			for !done() {
				require.Less(t, turns, 20*(n/MaxChannelsPerCommand+10), what)
				turn()
			}
		}
		all := make([]*actor.Lock, n)
		for i := range all {
			all[i] = actor.NewLock(fmt.Sprint(i), actor.Plain)
			e.addListener(all[i], fmt.Sprint(i))
		}
		until("joined", func() bool { return e.Subscribed == n })
		e.onConnLost(number)
		current, next = 0, 0
		until("joined anew", func() bool { return e.Subscribed == n })
		for i := range n / 2 {
			e.removeListener(all[i], all[i].Key())
		}
		until("half of them left", func() bool { return len(e.Channels) == n-n/2 && e.Subscribed == n-n/2 })
		for i := n / 2; i < n; i++ {
			e.removeListener(all[i], all[i].Key())
		}
		now += unsubscribeMinPause
		until("all of them left", func() bool { return !e.active() })
		return turns
	}
	few, many := turns(20*MaxChannelsPerCommand), turns(200*MaxChannelsPerCommand)
	require.LessOrEqual(t, many, 11*few)
}

// A set from which most locks left has no room for all of them any more.
func TestListenerSet_MostLeave_GapsRemoved(t *testing.T) {
	var h listenerSet
	all := make([]*actor.Lock, 10*maxScannedListeners)
	for i := range all {
		all[i] = actor.NewLock(fmt.Sprint(i), actor.Read)
		h.add(all[i])
	}
	for i, l := range all[:len(all)-1] {
		h.remove(l)
		require.LessOrEqual(t, len(h.locks), 2*h.len()+1, i)
	}
	require.Equal(t, all[len(all)-1:], h.all())
}
