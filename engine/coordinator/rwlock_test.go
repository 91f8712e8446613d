package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// channelNamed returns the channel of a key; rw:a is that of a as a read/write lock.
func channelNamed(name string) string {
	if key, ok := strings.CutPrefix(name, "rw:"); ok {
		return scripts.RedissonKey(scripts.RWChannel, key)
	}
	return channelOf(name)
}

// Readers of one name are acquired, renewed and released in one batch.
func TestReaders_OneName_ShareBatch(t *testing.T) {
	runConversation(t, 1, `
		1ms     read a             → 1: read a
		2ms     read a/2 a/3 b     → nothing
		3ms     1 done             → 2: read a a b; a granted
		4ms     2 done             → a/2 a/3 b granted
		10.005s timer              → 3: reread a a a b
		10.006s 3 done             → nothing
		10.007s unlock a a/2 a/3 b → a a/2 a/3 b not held; 4: unread a a a b
		10.008s 4 done             → a a/2 a/3 b unlocked
	`)
}

// New readers yield to a waiting writer of their engine until it has had the lock or leaves.
func TestReaders_LocalWriterWaits_Yield(t *testing.T) {
	t.Run("until it is done", func(t *testing.T) {
		runConversation(t, 4, `
			1ms   read a           → 1: read a
			2ms   1 done           → a granted
			3ms   write a/w        → 2: write a
			4ms   2 taken          → join rwlock:{a}
			5ms   ordered; subscribed rw:a → 3: write a
			+0ms  3 taken          → nothing
			6ms   read a/2         → nothing
			7ms   tryread a/3      → a/3 not acquired
			8ms   unlock a         → a not held; 4: unread a
			9ms   4 done           → a unlocked
			10ms  heard rw:a       → 5: write a
			11ms  5 done           → 6: read a; a/w granted
			12ms  6 taken          → 7: read a
			+0ms  7 taken          → nothing
			13ms  unlock a/w       → a/w not held; 8: unwrite a
			14ms  8 done; heard rw:a → 9: read a; a/w unlocked
			15ms  9 done           → a/2 granted
		`)
	})
	t.Run("until it leaves", func(t *testing.T) {
		runConversation(t, 4, `
			1ms   read a           → 1: read a
			2ms   1 done           → a granted
			3ms   write a/w        → 2: write a
			4ms   read a/2         → nothing
			5ms   2 taken          → join rwlock:{a}
			6ms   cancel a/w       → 3: read a; a/w not acquired: canceled
			7ms   3 done           → a/2 granted
		`)
	})
	t.Run("or for a second, and then for two", func(t *testing.T) {
		runConversation(t, 4, `
			1ms    read a          → 1: read a
			2ms    1 done          → a granted
			3ms    write a/w       → 2: write a
			4ms    2 taken         → join rwlock:{a}
			5ms    read a/2        → nothing
			10ms   read a/3        → nothing
			1.006s timer           → 3: read a a
			1.007s 3 done          → a/2 a/3 granted
			1.008s read a/4        → nothing
			2.9s   next            → 108ms
			3.009s timer           → 4: read a
			3.010s 4 done          → a/4 granted
		`)
	})
}

// Whether or not they listen, the release of their own engine wakes the readers before its next writer acquires.
func TestReaders_WriterDone_BeforeNextWriter(t *testing.T) {
	for _, polls := range []bool{false, true} {
		for name, next := range map[string][2]string{
			"that comes when it is unlocked": {"", "write a/v"},
			"that comes while it is":         {"write a/v", ""},
			"that does not wait":             {"", "trywrite a/v"},
		} {
			t.Run(fmt.Sprint(name, ", polling ", polls), func(t *testing.T) {
				d := newHarness(t, 8)
				d.c.Fx.Config.Poll = polls
				d.line("0s write a/w")
				d.line("1ms 1 done")
				require.Equal(t, "2: read a a", d.line("2ms read a a/2"))
				d.line("3ms 2 taken")
				if !polls {
					d.line("3.1ms ordered")
				}
				require.Contains(t, d.line("3.2ms unlock a/w"), "3: unwrite a")
				if while := next[0]; while != "" {
					require.NotContains(t, d.line("3.3ms "+while), "4: ")
				}
				require.Equal(t, "4: read a a; a/w unlocked", d.line("3.4ms 3 done"))
				if then := next[1]; then != "" {
					require.NotContains(t, d.line("3.5ms "+then), "5: ")
				}
				require.Equal(t, "a a/2 granted", d.line("3.6ms 4 done"))
				require.Contains(t, d.line("+5ms timer"), "5: write a")
			})
		}
	}
}

// This includes a writer that came when they were waiting already: it hands the lock off to no other writer before
// them.
func TestReaders_WaitedFirst_BeforeNextWriter(t *testing.T) {
	runConversation(t, 8, `
		1ms    read a                   → 1: read a
		2ms    1 taken                  → join rwlock:{a}
		3ms    ordered; subscribed rw:a → 2: read a
		4ms    2 taken                  → nothing
		5ms    write a/w                → 3: write a
		6ms    3 done                   → a/w granted
		7ms    write a/v                → 4: rewrite a
		8ms    4 done                   → nothing
		9ms    unlock a/w               → a/w not held; 5: unwrite a
		9.1ms  5 done                   → 6: read a; a/w unlocked
		9.2ms  6 done                   → a granted
	`)
}

// Where the server rejects messages, the engine itself notifies its locks of its own releases.
func TestRelease_MessageRejected_WakesLocal(t *testing.T) {
	t.Run("of who reads", func(t *testing.T) {
		runConversation(t, 8, `
			1ms  read a                   → 1: read a
			2ms  1 done                   → a granted
			3ms  write a/w                → 2: write a
			4ms  2 taken                  → join rwlock:{a}
			5ms  ordered; subscribed rw:a → 3: write a
			6ms  3 taken                  → nothing
			7ms  unlock a                 → a not held; 4: unread a
			8ms  4 muted                  → 5: write a; a unlocked
			9ms  5 done                   → a/w granted
		`)
	})
	t.Run("of who writes", func(t *testing.T) {
		runConversation(t, 8, `
			1ms  write a                  → 1: write a
			2ms  1 done                   → a granted
			3ms  read a/2                 → 2: read a
			4ms  2 taken                  → join rwlock:{a}
			5ms  ordered; subscribed rw:a → 3: read a
			6ms  3 taken                  → nothing
			7ms  unlock a                 → a not held; 4: unwrite a
			8ms  4 muted                  → 5: read a; a unlocked
			9ms  5 done                   → a/2 granted
		`)
	})
}

// When an engine forces a lock away from readers, its own readers lose it at once, all of them.
func TestReaders_ForcedLocally_LostAtOnce(t *testing.T) {
	d := newHarness(t, 4)
	d.line("1ms read a a/2")
	d.line("2ms 1 done")
	d.callers["f"] = &harnessCaller{}
	require.Equal(t, "a a/2 lost; 2: unread a; 3: force read a", d.line("3ms forceread a/f"))
	require.Equal(t, "nothing", d.line("4ms 2 done"))
	require.Equal(t, "a/f forced", d.line("5ms 3 done"))
	d.requireIdle()
}

// A re-entry joins another read of its owner if that was granted before the timer found its own lost.
func TestReaders_ReentryLosesRead_JoinsOther(t *testing.T) {
	d := newHarness(t, 4)
	d.ask("read", "a/me")
	d.callers["a/me"].latest.Lease = 5 * time.Second
	require.Equal(t, "1: read a", d.line("1.5ms heard rw:a"))
	require.Equal(t, "a/me granted", d.line("2ms 1 done"))
	require.Equal(t, "2: reread a", d.line("4.9412s read a/me2"))
	require.Equal(t, "3: read a", d.line("4.9416s read a/me3"))
	require.Equal(t, "a/me3 granted", d.line("4.9418s 3 done"))
	require.Equal(t, "a/me lost; 4: unread a; join rwlock:{a}; a/me2 granted", d.line("4.942s timer"))
}

// Re-entries that wait for a longer lease when their owner unlocks do not wait for each other: they share the next
// grant.
func TestReaders_ReentriesLoseRead_NoneWaitsForAnother(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms read a")
	d.line("2ms 1 done")
	for _, who := range []string{"a/1", "a/2", "a/3"} {
		d.readBeside("a", who)
	}
	for r, who := range d.names {
		if who != "a" {
			r.Lease = time.Hour
		}
	}
	require.Equal(t, "2: reread a", d.line("3ms heard rw:a"))
	require.Equal(t, "a not held; join rwlock:{a}", d.line("4ms unlock a"))
	require.Equal(t, "3: unread a", d.line("5ms 2 done"))
	require.Equal(t, "4: read a; a unlocked", d.line("6ms 3 done"))
	require.Equal(t, "5: reread a; a/1 granted", d.line("7ms 4 done"))
	require.Equal(t, "6: reread a; a/2 a/3 granted", d.line("8ms 5 done"))
	require.EqualValues(t, 3, d.c.Stats().Held)
	require.Zero(t, d.c.Stats().Waiting)
}

// Of a fair lock one of them is granted, and the next has a place in the queue meanwhile.
func TestFairLock_ReentriesLoseIt_NextHasPlace(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock fair:a")
	d.line("2ms 1 done")
	for _, who := range []string{"fair:a/1", "fair:a/2", "fair:a/3"} {
		d.callers[who] = &harnessCaller{}
		d.ask("lock", who)
		r := d.callers[who].latest
		r.Owner, r.Lease = d.callers["fair:a"].hold.Owner, time.Hour
	}
	require.Equal(t, "2: renew a", d.turn())
	require.Equal(t, "fair:a not held", d.line("4ms unlock fair:a"))
	require.Equal(t, "3: release fair a", d.line("5ms 2 done"))
	require.Equal(t, "4: acquire fair a; fair:a unlocked", d.line("6ms 3 done"))
	require.Equal(t, "5: acquire fair a; fair:a/1 granted", d.line("7ms 4 done"))
	next := d.inFlight[5].Commands[0].Lock
	for _, who := range []string{"fair:a/2", "fair:a/3"} {
		require.Same(t, next, d.callers[who].latest.Lock())
	}
}

// The lease of a write can end while its timer is late. The release of that write can then come before the force, which
// finds the readers alone and takes the lock from them.
func TestReaders_ForcedAtEndOfOwnWrite_LostAtOnce(t *testing.T) {
	d := newHarness(t, 8)
	d.ask("write", "a/me")
	d.callers["a/me"].latest.Lease = 5 * time.Second
	require.Equal(t, "1: write a", d.line("1ms heard rw:a"))
	require.Equal(t, "a/me granted", d.line("2ms 1 done"))
	require.Equal(t, "2: rewrite a; a/me2 granted", d.line("3ms write a/me2"))
	d.line("4ms 2 done")
	d.readBeside("a/me", "a/r")
	require.Equal(t, "3: read a", d.line("5ms heard rw:a"))
	require.Equal(t, "a/r granted", d.line("6ms 3 done"))
	require.Equal(t, "a/me2 not held; 4: rewrite a; a/me2 unlocked", d.line("7ms unlock a/me2")) // the key keeps its TTL a little longer
	d.line("8ms 4 done")
	d.callers["a/f"] = &harnessCaller{}
	require.Equal(t, "a/r a/me lost; 5: unwrite a; 6: force read a", d.line("4.96s forceread a/f"))
}

// The reads beside a writer end with it.
func TestWriter_Forced_OwnReadsLost(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms write a")
	d.line("2ms 1 done")
	d.readBeside("a", "a/2")
	d.line("3ms heard rw:a")
	d.line("4ms 2 done")
	d.callers["f"] = &harnessCaller{}
	require.Equal(t, "a a/2 lost; 3: unread a; 4: force write a", d.line("5ms forcewrite a/f"))
	require.Equal(t, "nothing", d.line("6ms 3 done"))
	require.Equal(t, "a/f forced", d.line("7ms 4 done"))
}

// A grant rules out other holders in this engine: what they had was forced away elsewhere, or lost with the server's
// data.
func TestGrant_ExcludedHolders_Lost(t *testing.T) {
	t.Run("a writer those who read", func(t *testing.T) {
		runConversation(t, 8, `
			1ms  read a a/2   → 1: read a a
			2ms  1 done       → a a/2 granted
			3ms  write a/w    → 2: write a
			4ms  2 done       → a a/2 lost; 3: unread a a; a/w granted
			5ms  3 gone       → nothing
			6ms  read a/3     → 4: read a
			7ms  unlock a/w   → a/w not held; 5: unwrite a
		`)
	})
	t.Run("a reader the writer", func(t *testing.T) {
		runConversation(t, 8, `
			1ms  write a      → 1: write a
			2ms  1 done       → a granted
			3ms  read a/2     → 2: read a
			4ms  read a/3     → 3: read a
			5ms  2 done       → a lost; 4: unwrite a; a/2 granted
			6ms  3 done       → a/3 granted
			7ms  4 gone       → nothing
		`)
	})
	t.Run("but not the writer that it reads beside", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms write a")
		d.line("2ms 1 done")
		d.readBeside("a", "a/2")
		require.Equal(t, "2: read a", d.line("3ms heard rw:a"))
		require.Equal(t, "a/2 granted", d.line("4ms 2 done"))
	})
}

// readBeside requests a read for the owner of a hold.
func (d *coordinatorHarness) readBeside(writer, who string) {
	r := &actor.Request{Op: actor.Acquire, Kind: actor.Read, Name: "a", Key: "a", Owner: d.callers[writer].hold.Owner, Hold: &actor.Hold{}}
	d.names[r] = who
	d.callers[who] = &harnessCaller{hold: r.Hold}
	d.queueMessage(&LoopMessage{Value: r})
}

// A read beside its owner's write that is granted too late is given back, and asked for again beside that write: a
// reader like any other would wait for the write, and so for its own owner.
func TestReadBesideWrite_GrantTooLate_AskedBesideIt(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms write a")
	d.line("2ms 1 done")
	d.readBeside("a", "a/2")
	for r, who := range d.names {
		if who == "a/2" {
			r.Lease = 20 * time.Millisecond
		}
	}
	require.Equal(t, "2: read a", d.line("3ms heard rw:a"))
	require.Equal(t, "3: unread a; join rwlock:{a}", d.line("60ms 2 done"))
	require.Equal(t, "nothing", d.line("61ms 3 done"))
	require.Equal(t, "4: read a", d.line("1s timer"))
	beside := d.inFlight[4].Commands[0].Reader
	require.NotNil(t, beside)
	require.NotZero(t, beside.Writer)
	require.Equal(t, "a/2 granted", d.line("1.001s 4 done"))
}

// Two readers in one field of Redis would release each other's lock.
func TestReaders_UnderWriter_OwnNumbers(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms write a")
	d.line("2ms 1 done")
	d.readBeside("a", "a/2")
	d.line("3ms heard rw:a")
	d.line("4ms 2 busy")
	d.readBeside("a", "a/3")
	require.Equal(t, "3: read a", d.line("5ms heard rw:a"))
	require.Equal(t, "4: read a", d.line("1s timer"))
	require.NotEqual(t, d.inFlight[3].Commands[0].Tenure, d.inFlight[4].Commands[0].Tenure)
}

// The same holds when one of them waits for an earlier tenure to end.
func TestReaders_TenureEnding_OwnNumbers(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms write a")
	d.line("2ms 1 done")
	d.readBeside("a", "a/2")
	d.line("3ms heard rw:a")
	d.readBeside("a", "a/3")
	d.line("4ms heard rw:a")
	require.Equal(t, "4: reread a; a/3 a/2 granted", d.line("5ms 3 done"))
	require.Equal(t, "5: unread a", d.line("6ms 2 done"))
	require.Equal(t, "nothing", d.line("7ms 4 done; 5 done"))
	d.readBeside("a", "a/4")
	d.messages[0].Value.(*actor.Request).Lease = time.Hour
	require.Equal(t, "6: reread a", d.line("8ms heard rw:a"))
	d.line("9ms unlock a/2 a/3")
	d.readBeside("a", "a/5")
	require.Contains(t, d.line("10ms heard rw:a"), "7: read a")
	require.Contains(t, d.line("11ms 6 done"), "8: unread a")
	require.Contains(t, d.line("12ms 8 done"), "9: rewrite a; 10: read a")
	require.EqualValues(t, 1, d.inFlight[10].Commands[0].Tenure)
	require.NotEqualValues(t, 1, d.inFlight[7].Commands[0].Tenure)
}

// A read beside its owner's write ends while a renewal to a longer lease is under way, which the server may run. So its
// writer sets the TTL anew.
func TestReadBesideWrite_EndsWhileLeaseGrows_WriterSetsTTL(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms write a")
	d.line("2ms 1 done")
	d.readBeside("a", "a/2")
	d.line("3ms heard rw:a")
	require.Equal(t, "a/2 granted", d.line("4ms 2 done"))
	d.readBeside("a", "a/3")
	d.messages[0].Value.(*actor.Request).Lease = time.Hour
	require.Equal(t, "3: reread a", d.line("5ms heard rw:a"))
	d.line("6ms unlock a/2")
	require.Contains(t, d.line("7ms 3 done"), "4: unread a")
	require.Contains(t, d.line("8ms 4 done"), "rewrite a")
}

// Nor may a reader have the number of one that still has commands which may run. This holds also when the waiters of
// that one continue beside the same write.
func TestTenureNumber_InUse_NotReused(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms write a")
	d.line("2ms 1 done")
	d.readBeside("a", "a/2")
	d.line("3ms heard rw:a")
	d.line("4ms 2 taken")
	writer := d.c.Locks.Get("a")
	reader := d.c.LockSets["a"].First(func(l *actor.Lock) bool { return l.Kind() == actor.Read })
	reader.BurnNumber()
	require.False(t, d.c.numberFree(writer))
	reader.ContinueUnderWriter(d.now, writer, d.c.numberFree(writer))
	require.False(t, d.c.numberFree(writer))
}

// A reader's renewal that gets no reply while the reader unlocks may run later: the next reader beside the same write
// has another number.
func TestTenureNumber_RenewalUnanswered_NotReused(t *testing.T) {
	for _, outcome := range []string{"done", "lost EOF"} {
		d := newHarness(t, 8)
		d.line("1ms write a")
		d.line("2ms 1 done")
		d.readBeside("a", "a/2")
		d.line("3ms heard rw:a")
		require.Contains(t, d.line("4ms 2 done"), "a/2 granted")
		require.Contains(t, d.line("5ms extend a/2"), "3: ")
		d.line("6ms unlock a/2")
		said := d.line("7ms 3 " + outcome)
		for ; !strings.Contains(said, "a/2 unlocked"); said = d.turn() {
			require.Less(t, d.now, time.Second)
			d.now += time.Millisecond
			d.done()
		}
		require.Equal(t, outcome == "done", d.c.numberFree(d.c.Locks.Get("a")), outcome)
	}
}

// A read acquire from before its owner's write may get its reply afterwards. The reply names another writer, but that
// is its owner. The reader continues beside that write, or it would wait for itself.
func TestReader_StaleRejection_GoesOn(t *testing.T) {
	d := newHarness(t, 8)
	post := func(kind actor.LockKind, who string) {
		r := &actor.Request{Op: actor.Acquire, Kind: kind, Name: "a", Key: "a", Owner: actor.ThreadOwner | 7, Hold: &actor.Hold{}}
		d.names[r] = who
		d.callers[who] = &harnessCaller{hold: r.Hold}
		d.queueMessage(&LoopMessage{Value: r})
	}
	post(actor.Read, "reads")
	require.Equal(t, "1: read a", d.line("1ms heard rw:a"))
	post(actor.Write, "writes")
	require.Equal(t, "2: write a", d.line("2ms heard rw:a"))
	require.Contains(t, d.line("3ms 2 done"), "writes granted")
	require.Contains(t, d.line("4ms 1 taken"), "3: read a")
	writer := d.c.Locks.Get("a").Tenure()
	require.NotZero(t, writer)
	require.Equal(t, &actor.ReaderArgs{Writer: writer}, d.inFlight[3].Commands[0].Reader)
	require.Contains(t, d.line("5ms 3 done"), "reads granted")
}

// A grant that arrives after its lease says nothing of who holds the lock now: the writer was granted it since.
func TestGrant_TooLate_WriterKept(t *testing.T) {
	d := newHarness(t, 8)
	d.ask("read", "a/r")
	d.callers["a/r"].latest.Lease = 20 * time.Millisecond
	require.Equal(t, "1: read a; 2: write a", d.line("1ms write a/w"))
	require.Equal(t, "a/w granted", d.line("2ms 2 done"))
	require.Equal(t, "3: unread a; join rwlock:{a}", d.line("40ms 1 done"))
}
