package coordinator

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A flood of acquires must not delay a renewal.
func TestDispatch_RenewalsBeforeAcquires(t *testing.T) {
	runConversation(t, 1, `
		1ms     lock a b c d   → 1: acquire a b c d
		2ms     1 done         → a b c d granted
		9.999s  lock n1 n2     → 2: acquire n1 n2
		10s     state s; lock n3; force f; unlock d; lock n4 → d not held
		// renewals that are due while all senders are busy
		10.005s timer          → nothing
		10.006s 2 done         → 3: renew a b c; n1 n2 granted
		10.007s 3 done         → 4: release d
		10.008s 4 done         → 5: force f; d unlocked
		10.009s 5 done         → 6: acquire n3 n4; f forced
		10.010s 6 done         → 7: state s; n3 n4 granted
		10.011s 7 done         → s read
	`)
}

// A flood of releases, or of forces, lasts as long as it takes: an acquire gets its share meanwhile.
func TestDispatch_ReleaseFlood_AcquiresShare(t *testing.T) {
	for _, verb := range []string{"unlock", "force"} {
		d := newHarness(t, 1)
		names := make([]string, 20*BatchKeys)
		for i := range names {
			names[i] = fmt.Sprintf("k%05d", i)
		}
		d.now = time.Millisecond
		for _, name := range names {
			d.ask("lock", name)
		}
		for d.turn(); len(d.inFlight) > 0; d.turn() {
			d.deliverBatch([]string{fmt.Sprint(d.batches), "done"})
		}
		require.EqualValues(t, len(names), d.c.Stats().Held)
		first := d.batches
		for _, name := range names {
			d.ask(verb, name)
		}
		d.ask("lock", "a")
		for said := d.turn(); !strings.Contains(said, "acquire a"); said = d.turn() {
			require.Less(t, d.batches-first, maxPassedOver+1, verb)
			d.deliverBatch([]string{fmt.Sprint(d.batches), "done"})
		}
	}
}

// Very many renewals that are due together do not delay other commands: they get half of the senders while others wait.
func TestDispatch_ManyRenewals_HalfTheSenders(t *testing.T) {
	d := newHarness(t, 4)
	for i := range 1000 {
		d.ask("lock", fmt.Sprintf("k%03d", i))
	}
	d.now = time.Millisecond
	d.turn()
	for len(d.inFlight) > 0 {
		for number := range d.inFlight {
			d.deliverBatch([]string{fmt.Sprint(number), "done"})
		}
		d.turn()
	}
	require.EqualValues(t, 1000, d.c.Stats().Held)
	d.now, d.batches = 10*time.Second, 0
	d.ask("lock", "a")
	d.ask("unlock", "k000")
	d.c.ReconfirmAll(d.now)
	require.Equal(t, "k000 not held; 1: renew k001 … k128 (128); 2: renew k129 … k256 (128); 3: release k000; "+
		"4: acquire a", d.turn())
	// No other command waits any more.
	require.Equal(t, "5: renew k257 … k384 (128); 6: renew k385 … k512 (128); k000 unlocked; a granted", d.line("10.001s 3 done; 4 done"))
}

// A renewal that a caller waits for is in the next batch, however many routine renewals are due: they have time.
func TestDispatch_Extension_BeforeRoutineRenewals(t *testing.T) {
	const locks = 3000
	d := newHarness(t, 4)
	d.c.Fx.RoundTrip = 2 * longRTT
	deliver := func(of int) {
		for number := range d.inFlight {
			if of--; of >= 0 {
				d.deliverBatch([]string{fmt.Sprint(number), "done"})
			}
		}
		d.turn()
	}
	for i := range locks {
		d.ask("lock", fmt.Sprintf("k%04d", i))
	}
	for d.turn(); len(d.inFlight) > 0; {
		deliver(len(d.inFlight))
	}
	d.now = 5 * time.Second
	d.ask("lock", "a")
	d.turn()
	deliver(1)
	for ; d.c.Fallback.Queues[actor.SendRenew].Len() < locks/2; d.now += 10 * time.Millisecond {
		require.Less(t, d.now, 30*time.Second)
		d.turn()
	}
	before := d.batches
	d.ask("extend", "a")
	d.turn()
	require.Greater(t, d.batches, before)
	require.True(t, slices.ContainsFunc(d.inFlight[before+1].Commands, func(c actor.Command) bool { return c.Key == "a" }))
	// Routine renewals have a part of each batch, however many callers wait.
	require.Greater(t, len(d.inFlight[before+1].Commands), 1)
}

// However many renewals callers wait for, routine ones that have waited for a quarter of the renewal interval go first,
// with three quarters of a large batch. Until then they have one quarter.
func TestDispatch_RoutineRenewalsLate_GoFirst(t *testing.T) {
	d := newHarness(t, 8)
	q := &d.c.Fallback.Queues[actor.SendRenew]
	push := func(now time.Duration, command actor.Command, n int) {
		for range n {
			command.Verb, command.Request = actor.SendRenew, &actor.Request{}
			q.push(now, &command)
		}
	}
	push(0, actor.Command{Routine: true}, 1000)
	late := d.c.Fx.Config.RenewInterval / 4
	for i, want := range []int{BatchKeys / 4, renewKeys * 3 / 4} {
		d.c.now = late + time.Duration(i)
		push(d.c.now, actor.Command{}, 1000)
		routine := 0
		for _, command := range d.c.fillBatch(d.c.Fallback, actor.SendRenew).Commands {
			if command.Routine {
				routine++
			}
		}
		require.Equal(t, want, routine)
	}
	for q.lists[unawaited].n > 0 {
		d.c.fillBatch(d.c.Fallback, actor.SendRenew)
	}
	push(late+1, actor.Command{Routine: true}, 1000) // these have not waited
	require.Len(t, d.c.fillBatch(d.c.Fallback, actor.SendRenew).Commands, BatchKeys)
}

// A command that is larger than the part of its list leaves all the same: it begins the batch after the one into which
// it did not fit.
func TestDispatch_LargeCommandBehindOthers_Leaves(t *testing.T) {
	for what, large := range map[string]actor.Command{
		"routine":  {Routine: true},
		"repeated": {Retry: true},
	} {
		d := newHarness(t, 8)
		q := &d.c.Fallback.Queues[actor.SendReadRenew]
		push := func(command actor.Command, holds int) {
			command.Verb, command.Request, command.Key = actor.SendReadRenew, &actor.Request{}, "a"
			command.Reader = &actor.ReaderArgs{Leases: make([]time.Duration, holds)}
			q.push(0, &command)
		}
		push(large, 64)
		for batch := 0; q.lists[unawaited].n+q.lists[repeated].n > 0; batch++ {
			require.Less(t, batch, 2, what)
			for range BatchKeys {
				push(actor.Command{}, 1)
			}
			d.c.fillBatch(d.c.Fallback, actor.SendReadRenew)
		}
	}
}

func TestBatch_AtMost128Keys(t *testing.T) {
	d := newHarness(t, 8)
	for i := range 300 {
		d.ask("lock", fmt.Sprintf("k%03d", i))
	}
	require.Equal(t, "1: acquire k000 … k127 (128); 2: acquire k128 … k255 (128); 3: acquire k256 … k299 (44)", d.turn())
}

func TestBatch_AtMostOneMebibyte(t *testing.T) {
	d := newHarness(t, 8)
	long := strings.Repeat("k", 64<<10-2)
	for i := range 40 {
		d.ask("lock", fmt.Sprintf("%02d%s", i, long))
	}
	d.turn()
	total := 0
	for _, b := range d.inFlight {
		size := 0
		for i := range b.Commands {
			size += len(b.Commands[i].Key)
		}
		require.LessOrEqual(t, size, 1<<20)
		total += len(b.Commands)
	}
	require.Equal(t, 40, total)
	require.Len(t, d.inFlight, 3)
}

// An error of the server for one key must not affect the others: redisson#6472.
func TestBatch_WholeRejection_Halved(t *testing.T) {
	t.Run("acquires", func(t *testing.T) {
		runConversation(t, 8, `
			1ms  lock a b bad c d            → 1: acquire a b bad c d
			2ms  1 says NOPERM no access     → 2: acquire bad c d; 3: acquire a b
			3ms  3 done; 2 says NOPERM no access → 4: acquire c d; 5: acquire bad; a b granted
			4ms  5 says NOPERM no access; 4 done → bad NOPERM no access; c d granted
		`)
	})
	t.Run("renewals: no other hold is lost", func(t *testing.T) {
		runConversation(t, 8, `
			1ms     lock a bad b              → 1: acquire a bad b
			2ms     1 done                    → a bad b granted
			10.005s timer                     → 2: renew a bad b
			10.006s 2 says CROSSSLOT x        → 3: renew bad b; 4: renew a
			10.007s 4 done; 3 says CROSSSLOT x → 5: renew b; 6: renew bad
			10.008s 5 done; 6 says NOPERM x   → bad lost; 7: release bad
			10.009s unlock a b                → a b not held; 8: release a b
			10.010s 8 done; 7 says NOPERM x   → a b unlocked
		`)
	})
	t.Run("one key needs no halves", func(t *testing.T) {
		runConversation(t, 8, `
			1ms  lock bad                    → 1: acquire bad
			2ms  1 says ERR unknown command  → bad ERR unknown command
		`)
	})
}

// When the server rejects a whole batch (NOPERM, TRYAGAIN), the engine sends its parts again. While a slot migrates,
// calls with several of its keys get TRYAGAIN, and calls with one key work.
func TestBatch_TryAgain_HalvedNoOutage(t *testing.T) {
	runConversation(t, 1, `
		1ms  lock a b c              → 1: acquire a b c
		2ms  1 says TRYAGAIN x       → 2: acquire b c
		3ms  2 says TRYAGAIN x       → 3: acquire c
		4ms  3 done                  → 4: acquire b; c granted
		5ms  4 done; lock d          → 5: acquire a; b granted
		6ms  5 done                  → 6: acquire d; a granted
		7ms  6 says TRYAGAIN x       → nothing
		8ms  lock e                  → 7: acquire e
	`)
}

// Parts of a rejected batch wait behind renewals, whatever verb they have.
func TestBatch_RejectedHalves_AfterRenewals(t *testing.T) {
	runConversation(t, 1, `
		1ms     lock a           → 1: acquire a
		2ms     1 done           → a granted
		10.000s lock n1 n2 n3 n4 → 2: acquire n1 n2 n3 n4
		10.001s timer            → nothing is due before 10.005s (true)
		10.005s timer            → nothing
		10.006s 2 says NOPERM x  → 3: renew a
		10.007s 3 done           → 4: acquire n3 n4
		10.008s 4 done           → 5: acquire n1 n2; n3 n4 granted
		10.009s 5 done           → n1 n2 granted
	`)
}

// NOSCRIPT: the server was restarted, or never had the script. The whole batch is sent again at once, invisibly to
// callers; leases are counted anew.
func TestNoScript_ResentWithText(t *testing.T) {
	d := newHarness(t, 1)
	require.Equal(t, "1: acquire a b", d.line("1ms lock a b"))
	require.Equal(t, "2: EVAL acquire a b", d.line("5s 1 says NOSCRIPT No matching script"))
	require.Equal(t, "a b granted", d.line("5.001s 2 done"))
	require.Equal(t, 5*time.Second+29690*time.Millisecond, d.callers["a"].hold.Until())
	require.EqualValues(t, 1, d.c.Stats().Retries)
	require.Equal(t, "a b not held; 3: release a b", d.line("5.002s unlock a b"))
	require.Equal(t, "4: EVAL release a b", d.line("5.003s 3 says NOSCRIPT No matching script"))
	// Parts of it are sent in the usual way.
	require.Equal(t, "5: release b", d.line("5.004s 4 says NOPERM x"))
	require.Equal(t, "6: release a; b unlocked", d.line("5.005s 5 done"))
	require.Equal(t, "a unlocked", d.line("5.006s 6 done"))
	d.requireIdle()
}

// A server that replies NOSCRIPT to a script's text is not asked in a loop.
func TestNoScript_ForScriptText_Temporary(t *testing.T) {
	runConversation(t, 1, `
		1ms  lock a              → 1: acquire a
		2ms  1 says NOSCRIPT x   → 2: EVAL acquire a
		3ms  2 says NOSCRIPT x   → nothing
		30ms timer               → 3: acquire a
		31ms 3 done              → a granted
	`)
}

// A command of a call that was canceled before it was sent is recalled: an outage retains nothing.
func TestCommand_Canceled_NotSent(t *testing.T) {
	t.Run("while senders are out", func(t *testing.T) {
		runConversation(t, 1, `
			1ms  lock a          → 1: acquire a
			2ms  lock b c; state s → nothing
			3ms  cancel b s      → b s redis unavailable: canceled
			4ms  1 done          → 2: acquire c; a granted
			5ms  2 done          → c granted
		`)
	})
	t.Run("in parts of a batch", func(t *testing.T) {
		runConversation(t, 1, `
			1ms  lock a b c d     → 1: acquire a b c d
			2ms  1 says NOPERM x  → 2: acquire c d
			3ms  cancel a b       → a b redis unavailable: canceled
			4ms  2 done           → c d granted
		`)
	})
	t.Run("in an outage", func(t *testing.T) {
		d := newHarness(t, 4)
		d.line("1ms lock a b")
		d.line("2ms try c")
		d.line("3ms 1 lost EOF; 2 lost EOF")
		require.Equal(t, "a b c redis unavailable: EOF; canceled", d.line("4ms cancel a b c"))
		// They may have run: only their releases are used as a probe.
		require.Equal(t, "3: release a b c", d.line("13ms timer"))
		d.line("14ms 3 gone")
		for range 10 {
			due, ok := d.c.Next()
			if !ok {
				break
			}
			d.now = due
			d.turn()
			for number := range d.inFlight {
				d.deliverBatch([]string{fmt.Sprint(number), "gone"})
			}
			d.turn()
		}
		d.requireIdle()
	})
}

// A missing or malformed reply counts as no reply: the command is sent again later, and its tenure is released twice.
func TestReply_MissingOrMalformed_NoReply(t *testing.T) {
	runConversation(t, 1, `
		1ms   lock a b              → 1: acquire a b
		2ms   1 done short          → a granted
		// a server with malformed replies is not asked again at once
		20ms  timer                 → 2: acquire b
		21ms  2 short               → nothing
		60ms  timer                 → 3: acquire b
		61ms  3 done                → b granted
		// they may have run: not handed off, and released twice
		65ms  unlock a b            → a b not held; 4: release a b
		66ms  4 done                → 5: release b; a b unlocked
		67ms  5 gone                → nothing
		3.1s  timer                 → 6: release b
		3.11s 6 gone                → nothing
	`)
}

// A lock yields for two round trips, by their recent average; only calls with a reply count.
func TestRoundTrip_RecentAverage(t *testing.T) {
	d := newHarness(t, 1)
	now := time.Duration(0)
	trip := func(took time.Duration, answer string) {
		now += time.Second
		d.line(fmt.Sprintf("%v lock k%v", now, now))
		now += took
		d.line(fmt.Sprintf("%v %d %s", now, d.batches, answer))
	}
	trip(8*time.Millisecond, "taken")
	require.Equal(t, 8*time.Millisecond, d.c.Fx.RoundTrip)
	trip(16*time.Millisecond, "taken")
	require.Equal(t, 9*time.Millisecond, d.c.Fx.RoundTrip)
	for range 50 {
		trip(2*time.Millisecond, "taken")
	}
	require.InDelta(t, 2*time.Millisecond, d.c.Fx.RoundTrip, float64(100*time.Microsecond))
	usual := d.c.Fx.RoundTrip
	trip(time.Second, "lost EOF")
	require.Equal(t, usual, d.c.Fx.RoundTrip)
}

func TestStats_InFlightAndBatches_Counted(t *testing.T) {
	d := newHarness(t, 2)
	d.line("1ms lock a b c")
	d.line("2ms lock d")
	d.line("3ms lock e")
	stats := d.c.Stats()
	require.EqualValues(t, 4, stats.InFlight)
	require.EqualValues(t, 5, stats.Waiting)
	d.line("4ms 1 done busy busy; 2 done")
	stats = d.c.Stats()
	require.EqualValues(t, 1, stats.InFlight)
	require.EqualValues(t, 3, stats.Batches)
	require.EqualValues(t, 5, stats.Commands)
	require.EqualValues(t, 2, stats.Retries)
	require.EqualValues(t, 4, stats.LoopTurns)
	require.EqualValues(t, 2, stats.Held)
	// A batch that is sent again in parts counts once more.
	d.line("5ms 3 done; lock f g")
	d.line("6ms 4 says NOPERM x")
	require.EqualValues(t, 3, d.c.Stats().Retries)
}

// A stale command may be removed when all of its kind have been examined, while a more urgent command is behind it.
func TestDispatch_StaleRemoved_NextSameTurn(t *testing.T) {
	runConversation(t, 1, `
		1ms   lock a             → 1: acquire a
		2ms   1 lost broken      → nothing
		3ms   cancel a           → a redis unavailable: broken; canceled
		100ms timer              → 2: release a
		101ms 2 gone             → nothing
		102ms next               → 2.999s
	`)
}

// A reader has a key per hold, a request for several locks has their keys, and some kinds have more than one key per
// lock.
func TestBatch_KeysPerCommand_Counted(t *testing.T) {
	name := func(bytes int) string { return strings.Repeat("k", bytes) }
	reader := func(holds, bytes int) actor.Command {
		return actor.Command{Key: name(bytes), Tenure: 1, Lease: time.Second, Reader: &actor.ReaderArgs{Leases: make([]time.Duration, holds)}}
	}
	for _, c := range []struct {
		what string
		verb actor.Verb
		of   actor.Command
		want int // how many of them are sent together
	}{
		{"readers with a hold", actor.SendReadRenew, reader(1, 10), BatchKeys},
		{"readers with many", actor.SendReadRenew, reader(50, 10), 2},
		{"readers with very many, each alone", actor.SendReadRenew, reader(10_000, 10), 1},
		{"holds of a reader with a long name", actor.SendReadRenew, reader(9, 30_000), 3},
		{"a reader beside a writer", actor.SendReadAcquire, actor.Command{Key: "a", Reader: &actor.ReaderArgs{Writer: 1}}, BatchKeys},
		{"several locks", actor.SendMultiAcquire, actor.Command{Key: "a", Parts: make([]actor.PartKey, 60)}, 2},
		{"several locks with long names", actor.SendMultiAcquire, actor.Command{Key: "a", Parts: []actor.PartKey{{Key: "a"}, {Key: name(60_000)}}}, 17},
		{"fair locks with long names", actor.SendFairAcquire, actor.Command{Key: name(60_000)}, 4},
		{"orphans", actor.SendAcquire, actor.Command{Key: "a", Orphans: make([]uint64, 1600)}, 10},
	} {
		d := newHarness(t, 8)
		for range 2 * BatchKeys {
			command := c.of
			command.Verb, command.Request = c.verb, &actor.Request{}
			d.c.Fallback.Queues[c.verb].push(0, &command)
		}
		b := d.c.fillBatch(d.c.Fallback, c.verb)
		require.Len(t, b.Commands, c.want, c.what)
	}
}

// Verbs of equal priority take turns for as long as a process runs.
func TestDispatch_VeryManyTurns_NoOverflow(t *testing.T) {
	d := newHarness(t, 8)
	d.c.rotation = math.MaxInt
	require.Equal(t, "1: acquire a", d.line("1ms lock a"))
}

// What was passed over long enough, and then given up, does not keep others from their share.
func TestDispatch_OverdueRowGone_ClaimEnds(t *testing.T) {
	d := newHarness(t, 8)
	n := d.c.Fallback
	n.passedOver[acquirePriority-1] = maxPassedOver
	require.Equal(t, acquirePriority-1, n.overduePriority())
	require.Equal(t, "1: acquire a", d.line("1ms lock a"))
	require.Zero(t, n.overduePriority())
}
