package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// holds makes the harness hold that many locks since 1ms.
func (d *coordinatorHarness) holds(locks int) {
	for i := range locks {
		d.ask("lock", fmt.Sprintf("k%04d", i))
	}
	d.now = time.Millisecond
	d.turn()
	for len(d.inFlight) > 0 {
		d.done()
		d.turn()
	}
	require.EqualValues(d.t, locks, d.c.Stats().Held)
	d.batches = 0
}

// done replies to all batches in flight.
func (d *coordinatorHarness) done() {
	for _, number := range slices.Sorted(maps.Keys(d.inFlight)) {
		d.deliverBatch([]string{fmt.Sprint(number), "done"})
	}
}

// due runs a turn in which the renewals of the locks from the beginning are due.
func (d *coordinatorHarness) due() string {
	d.now = 10005 * time.Millisecond
	return d.turn()
}

// Very many renewals that are due together do not delay other commands: one batch of them is in flight at a time, and a
// small one as long as others are sent.
func TestRenewPacing_OneBatchAtATime(t *testing.T) {
	d := newHarness(t, 8)
	d.holds(300)
	require.Equal(t, "1: renew k0000 … k0063 (64)", d.due())
	require.Equal(t, "nothing", d.due())
	require.Equal(t, "nothing", d.due())
	require.Equal(t, "2: acquire a", d.line("10.006s lock a"))
	require.Equal(t, "3: renew k0064 … k0127 (64); a granted", d.line("10.007s 1 done; 2 done"))
	require.Equal(t, "4: renew k0128 … k0255 (128)", d.line("10.008s 3 done"))
}

// Renewals that are behind by a slot leave in larger batches, and with each slot from one sender more.
func TestRenewPacing_Behind_LargerCallsMoreSenders(t *testing.T) {
	d := newHarness(t, 8)
	const locks = 2000
	d.holds(locks)
	for range locks/maxTimersPerTurn + 1 {
		d.due()
	}
	require.Len(t, d.inFlight, 1)
	require.Len(t, d.inFlight[1].Commands, BatchKeys/2)
	for slots := range 5 {
		require.Len(t, d.inFlight, slots+1)
		d.now += d.c.Fx.Config.RenewSlot() - 1
		require.Equal(t, "nothing", d.turn())
		d.now++
		d.turn()
		require.Len(t, d.inFlight[slots+2].Commands, renewKeys)
	}
}

// After a standstill of the process its renewals leave at once from all senders, in large batches.
func TestRenewPacing_Standstill_AllSenders(t *testing.T) {
	d := newHarness(t, 8)
	d.holds(20 * maxTimersPerTurn)
	d.now = 25 * time.Second
	for range 8 {
		d.turn()
	}
	require.Greater(t, len(d.inFlight), 4)
	d.done()
	d.turn()
	for _, b := range d.inFlight {
		require.GreaterOrEqual(t, len(b.Commands), BatchKeys)
	}
}

// A short lease leaves little time: few renewals are behind soon, also with a round trip that does not count as long.
func TestRenewPacing_ShortLease_NothingLost(t *testing.T) {
	d := newHarness(t, 8)
	config := harnessConfig()
	config.Lease, config.RenewInterval, config.CallTimeout = 100*time.Millisecond, 33*time.Millisecond, 50*time.Millisecond
	config.RenewSpread = config.RenewInterval / 2
	d.c = New(config, 8)
	const locks, roundTrip = 5000, 4900 * time.Microsecond
	for i := range locks {
		d.ask("lock", fmt.Sprintf("k%04d", i))
	}
	d.now = time.Millisecond
	d.c.Fx.RoundTrip = roundTrip
	d.turn()
	for d.now < time.Second {
		due, _ := d.c.Next()
		for _, b := range d.inFlight {
			due = min(due, b.Sent+roundTrip)
		}
		d.now = max(d.now, due)
		for _, number := range slices.Sorted(maps.Keys(d.inFlight)) {
			if d.inFlight[number].Sent+roundTrip <= d.now {
				d.deliverBatch([]string{fmt.Sprint(number), "done"})
			}
		}
		d.turn()
		d.c.Fx.RoundTrip = roundTrip
	}
	require.EqualValues(t, locks, d.c.Stats().Held)
	require.Zero(t, d.c.Stats().Lost)
}

// Routine renewals that are many slots behind leave at once, also if they are not very many: with a short lease their
// holds would be lost.
func TestRenewPacing_Late_AllLeave(t *testing.T) {
	d := newHarness(t, 8)
	d.holds(1000)
	for range 1000/maxTimersPerTurn + 1 {
		d.due()
	}
	require.Len(t, d.inFlight, 1)
	d.now += d.c.Fx.Config.RenewInterval/lateRoutine + time.Millisecond
	d.turn()
	require.Zero(t, d.c.Fallback.Queues[actor.SendRenew].Len())
}

// A caller waits for an extension: it does not queue behind renewals that no caller waits for.
func TestRenewPacing_CallerWaits_SentAtOnce(t *testing.T) {
	d := newHarness(t, 8)
	d.holds(64)
	d.line("9s lock a")
	d.line("9.001s 1 done")
	require.Equal(t, "2: renew k0000 … k0063 (64)", d.due())
	require.Equal(t, "3: renew a", d.line("10.006s extend a"))
}

// The release can be sent when the renewal has a reply, or is known to be no longer wanted.
func TestRenewPacing_Unlock_NotDelayed(t *testing.T) {
	d := newHarness(t, 8)
	d.holds(600)
	for range 600/maxTimersPerTurn + 1 {
		d.due()
	}
	require.Less(t, len(d.inFlight), 4)
	require.Contains(t, d.line("10.006s unlock k0599"), "release k0599")
	require.False(t, d.c.Fallback.urgentRenewal)
	inFlight := len(d.inFlight)
	d.line("10.007s unlock k0000")
	require.Len(t, d.inFlight, inFlight, "its renewal is in flight: those of others are not urgent")
}

// With a long round trip, the server's time for other commands does not matter.
func TestRenewPacing_FarServer_AllAtOnce(t *testing.T) {
	d := newHarness(t, 8)
	d.holds(300)
	d.c.Fx.RoundTrip = 20 * time.Millisecond
	for range 3 {
		d.due()
	}
	require.Len(t, d.inFlight, 3)
}

// Even if the process stood still and all timers are due, a turn fires at most a fixed number. The next turn follows at
// once.
func TestStandstill_ManyLosses_TurnBounded(t *testing.T) {
	for _, turns := range []int{2, 20} {
		d := newHarness(t, 8)
		d.holds(turns * maxTimersPerTurn)
		d.now = time.Minute
		for lost := range turns {
			require.EqualValues(t, lost*maxTimersPerTurn, d.c.Stats().Lost)
			due, ok := d.c.Next()
			require.True(t, ok)
			require.LessOrEqual(t, due, d.now)
			d.turn()
		}
		require.EqualValues(t, turns*maxTimersPerTurn, d.c.Stats().Lost)
	}
}

// Held locks are renewed before waiters have their turn, however many of these were due earlier.
func TestTimers_Due_RenewalsFirst(t *testing.T) {
	d := newHarness(t, 8)
	const waiters = 10 * maxTimersPerTurn
	d.posts("async", "k", waiters)
	d.opens("taken") // for 20 s
	d.now = 11 * time.Second
	d.line("11s lock held")
	for number := range d.inFlight {
		d.deliverBatch([]string{fmt.Sprint(number), "done"})
	}
	d.turn()
	require.Greater(t, d.c.Timers(), waiters)
	d.now = 22 * time.Second
	require.Contains(t, d.turn(), "renew held")
	require.Contains(t, d.turn(), "acquire")
}

// Locks that were acquired together would be renewed together forever, and would delay all other commands each time.
func TestRenewal_AcquiredTogether_Spread(t *testing.T) {
	d := newHarness(t, 8)
	config := harnessConfig()
	config.RenewSpread = config.RenewInterval / 2
	d.c = New(config, 8)
	const locks = 10_000
	d.holds(locks)
	renewed := map[string][]time.Duration{}
	most := 0
	for d.now < 40*time.Second {
		due, ok := d.c.Next()
		require.True(t, ok)
		d.now = max(d.now, due)
		d.turn()
		together := 0
		for len(d.inFlight) > 0 {
			for _, b := range d.inFlight {
				together += len(b.Commands)
				for i := range b.Commands {
					renewed[b.Commands[i].Key] = append(renewed[b.Commands[i].Key], d.now)
				}
			}
			d.done()
			d.turn()
		}
		most = max(most, together)
	}
	require.Len(t, renewed, locks)
	for _, times := range renewed {
		require.Greater(t, times[0], 5*time.Second)
		require.LessOrEqual(t, times[0], 10*time.Second+2*time.Millisecond)
		for i := range times[1:] {
			require.Equal(t, config.RenewInterval, times[i+1]-times[i], "every later one a renewal interval after the one before")
		}
	}
	require.LessOrEqual(t, most, 256)
	neighbours := 0
	for i := range locks - 1 {
		if renewed[fmt.Sprintf("k%04d", i)][0] == renewed[fmt.Sprintf("k%04d", i+1)][0] {
			neighbours++
		}
	}
	require.Greater(t, neighbours, locks*9/10, "those that were taken one after the other lie side by side here and in the server")
}

// Renewals that are spread leave in bursts, with pauses between: each burst wakes threads once, and has any number of
// batches.
func TestRenewal_Spread_InBursts(t *testing.T) {
	d := newHarness(t, 8)
	config := harnessConfig()
	config.RenewSpread = config.RenewInterval / 2
	d.c = New(config, 8)
	d.holds(10_000)
	var bursts []time.Duration
	for d.now < 10*time.Second {
		due, ok := d.c.Next()
		require.True(t, ok)
		d.now = max(d.now, due)
		d.turn()
		if len(d.inFlight) > 0 && (len(bursts) == 0 || bursts[len(bursts)-1] < d.now) {
			bursts = append(bursts, d.now)
		}
		for len(d.inFlight) > 0 {
			d.done()
			d.turn()
		}
	}
	require.Len(t, bursts, 50, "half an interval of 10 s has 50 slots")
	for i := range bursts[1:] {
		require.Equal(t, 100*time.Millisecond, bursts[i+1]-bursts[i])
	}
}

// The halves of a batch that was rejected for one key are sent together: one after the other they would take too long.
func TestRenewPacing_Resent_LeaveTogether(t *testing.T) {
	d := newHarness(t, 8)
	d.holds(64)
	require.Equal(t, "1: renew k0000 … k0063 (64)", d.due())
	require.Equal(t, "2: renew k0032 … k0063 (32); 3: renew k0000 … k0031 (32)", d.line("10.006s 1 says CROSSSLOT x"))
}
