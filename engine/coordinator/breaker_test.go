package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An outage is probed with a backoff, by one batch at a time, while all else waits. It ends with the first reply.
func TestBreaker_Outage_OneProbeWithBackoff(t *testing.T) {
	runConversation(t, 3, `
		1ms    lock a           → 1: acquire a
		1ms    lock b           → 2: acquire b
		2ms    1 lost EOF       → nothing
		// calls that were in flight with it do not count again
		3ms    2 lost EOF; lock c → nothing
		3ms    next             → 9ms
		4ms    lock d           → nothing
		// a command without a reply must be released later, so one is enough
		12ms   timer            → 3: acquire a
		12ms   next             → never
		13ms   lock e; state s  → nothing
		20ms   3 lost EOF       → nothing
		20ms   next             → 20ms
		40ms   timer            → 4: acquire b
		41ms   4 lost EOF       → nothing
		81ms   timer            → 5: acquire c
		82ms   5 lost EOF       → nothing
		162ms  timer            → 6: state s
		163ms  6 lost EOF       → nothing
		323ms  timer            → 7: acquire d
		324ms  7 lost EOF       → nothing
		574ms  timer            → 8: acquire e
		575ms  8 lost EOF       → nothing
		825ms  timer            → 9: acquire a
		// one reply ends the outage
		900ms  9 done           → 10: acquire b c d e; 11: state s; a granted
		901ms  10 done; 11 done; lock f → 12: acquire f; b c d e granted; s read
		902ms  12 lost EOF      → nothing
		902ms  next             → 10ms
	`)
}

// A caller that keeps other locks meanwhile does not wait for a server that is known to be down. Exceptions are the
// request that probes the server, and re-entries.
func TestBreaker_OnlyIfUp_RejectedAtOnce(t *testing.T) {
	runConversation(t, 3, `
		1ms    ifup a held      → 1: acquire a held
		2ms    1 done           → a held granted
		3ms    ifup b           → 2: acquire b
		4ms    ifup c           → 3: acquire c
		5ms    2 lost EOF       → nothing
		6ms    ifup d           → d redis unavailable: EOF
		7ms    ifup held        → held granted
		15ms   3 lost EOF; ifup e → e redis unavailable: EOF
		60ms   ifup f           → 4: renew held
		61ms   ifup g           → g redis unavailable: EOF
		62ms   4 done           → 5: acquire b c f
		63ms   ifup h           → 6: acquire h
	`)
}

// A command that breaks the connection whenever it is sent is not the only one that is tried.
func TestBreaker_Outage_VerbsTakeTurns(t *testing.T) {
	runConversation(t, 1, `
		1ms    lock a           → 1: acquire a
		2ms    1 done           → a granted
		3ms    unlock a; lock b → a not held; 2: release a
		4ms    2 lost EOF       → nothing
		14ms   timer            → 3: release a
		15ms   3 lost EOF       → nothing
		35ms   timer            → 4: acquire b
		36ms   4 lost EOF       → nothing
		76ms   timer            → 5: acquire b
		77ms   5 lost EOF       → nothing
		157ms  timer            → 6: release a
		158ms  6 lost EOF; force f → nothing
		318ms  timer            → 7: release a
		319ms  7 lost EOF       → nothing
		569ms  timer            → 8: force f
		570ms  8 done           → 9: release a; f forced
		571ms  9 done           → 10: acquire b; a unlocked
	`)
}

// A temporary rejection of a whole batch is an outage.
func TestBreaker_BatchRejectedForNow_Outage(t *testing.T) {
	runConversation(t, 3, `
		1ms    lock a           → 1: acquire a
		2ms    1 says LOADING x → nothing
		3ms    lock b           → nothing
		12ms   timer            → 2: acquire b
		13ms   2 done           → 3: acquire a; b granted
	`)
}

// An error for one key concerns only that key.
func TestBreaker_KeyRejected_NoOutage(t *testing.T) {
	runConversation(t, 3, `
		1ms  lock a b       → 1: acquire a b
		2ms  1 busy done; lock c → 2: acquire c; b granted
		3ms  2 refused      → c WRONGTYPE x
		4ms  lock d         → 3: acquire d
	`)
}

// Renewals go first when the server is back; no hold is lost before its lease expires.
func TestOutage_ShorterThanLease_HoldsKept(t *testing.T) {
	runConversation(t, 3, `
		1ms     lock a b        → 1: acquire a b
		2ms     1 done          → a b granted
		10.005s timer           → 2: renew a b
		13s     2 lost timeout; lock c → nothing
		13.01s  timer           → 3: renew a b
		16s     3 lost timeout; unlock b → b not held
		16.02s  timer           → 4: renew a
		19s     4 lost timeout  → b redis unavailable: timeout
		19.04s  timer           → 5: renew a
		29s     5 done          → 6: release b; 7: acquire c
		29.001s 6 gone; 7 done  → c granted
	`)
}

// In an outage longer than the lease, holds are lost by the clock, and no stale command is sent afterwards.
func TestOutage_LongerThanLease_HoldsLost(t *testing.T) {
	runConversation(t, 3, `
		1ms     lock a          → 1: acquire a
		2ms     1 done          → a granted
		10.005s timer           → 2: renew a
		13s     2 lost timeout  → nothing
		13.01s  timer           → 3: renew a
		29.695s timer           → a lost
		30s     3 lost timeout  → nothing
		30.02s  timer           → 4: release a
		31s     4 done          → nothing
		31s     next            → never
	`)
}

// A restarted server has lost the scripts: the probe is sent again at once, and its reply ends the outage.
func TestBreaker_ServerRestarted_ProbeResent(t *testing.T) {
	runConversation(t, 3, `
		1ms    lock a           → 1: acquire a
		2ms    1 lost EOF       → nothing
		3ms    lock b           → nothing
		12ms   timer            → 2: acquire a
		13ms   2 says NOSCRIPT x → 3: EVAL acquire a
		14ms   lock c           → nothing
		15ms   3 done           → 4: acquire b c; a granted
	`)
}

// A permanent error is a reply: the outage is over, and all else is sent at once.
func TestBreaker_ProbeRejected_OutageEnds(t *testing.T) {
	runConversation(t, 3, `
		1ms    lock a           → 1: acquire a
		2ms    1 lost EOF       → nothing
		3ms    lock b           → nothing
		12ms   timer            → 2: acquire a
		13ms   2 says NOPERM x  → 3: release a; 4: acquire b; a NOPERM x
		14ms   lock c           → 5: acquire c
	`)
}

// An outage begins with the first failure, and another one after a reply.
func TestBreaker_ManyFailures_DownSinceFirst(t *testing.T) {
	k := breaker{maxBackoff: time.Second}
	k.onFailure(time.Second, errors.New("reset"))
	k.onFailure(5*time.Second, errors.New("reset"))
	require.Equal(t, time.Second, k.since)
	k.onSuccess()
	k.onFailure(9*time.Second, errors.New("reset"))
	require.Equal(t, 9*time.Second, k.since)
}

// A lock that was held when the server last replied may be free by now, if it was time to ask again. So its waiters do
// not hear that another caller holds it, although no try of their own has failed. Most do not get to ask while the
// server is down.
func TestBreaker_AsksInVain_NotCalledHeld(t *testing.T) {
	runConversation(t, 3, `
		1ms    lock a b c       → 1: acquire a b c
		2ms    1 taken          → join {a} {b} {c}
		3ms    ordered          → nothing
		4ms    subscribed a b c → 2: acquire a b c
		5ms    2 taken          → nothing
		6ms    lock d           → 3: acquire d
		7ms    3 lost EOF       → nothing
		8ms    heard a b        → nothing
		9ms    cancel a         → a redis unavailable: EOF; canceled
		10ms   cancel c         → c not acquired: canceled
		20ms   timer            → 4: acquire d
		21ms   4 done           → 5: acquire b; d granted
		// the server replies, so the last thing known counts
		22ms   cancel b         → b not acquired: canceled
	`)
}

// The same is true of a lock that the engine itself is releasing.
func TestBreaker_ReleasesInVain_NotCalledHeld(t *testing.T) {
	d := newHarness(t, 3)
	d.c.Fx.Config.MaxHandoffGrants = -1
	compare(t, `
		1ms    lock a           → 1: acquire a
		2ms    1 done           → a granted
		3ms    lock a/2 a/3     → join {a}
		4ms    unlock a         → a not held; 2: release a
		5ms    cancel a/2       → a/2 not acquired: canceled
		6ms    lock d           → 3: acquire d
		7ms    3 lost EOF       → nothing
		8ms    cancel a/3       → a/3 redis unavailable: EOF; canceled
	`, d.line)
}

// During an outage a caller that tries hears that the lock is held while another caller of its engine has it.
func TestTry_HeldInOutage_NotAcquired(t *testing.T) {
	runConversation(t, 3, `
		1ms    lock a           → 1: acquire a
		2ms    1 done           → a granted
		10.01s timer            → 2: renew a
		+1ms   2 lost EOF       → nothing
		+1ms   try a/2          → a/2 not acquired
	`)
}

// A caller comes after the unlock, and its wait ends before the release has a reply. It does not hear that another
// caller holds the lock: it has waited for the server only. One that came before the unlock does.
func TestRelease_NoReplyYet_LaterCallerNotTurnedAway(t *testing.T) {
	d := newHarness(t, 3)
	d.c.Fx.Config.MaxHandoffGrants = -1
	compare(t, `
		1ms    lock a           → 1: acquire a
		2ms    1 done           → a granted
		3ms    lock a/2         → join {a}
		4ms    unlock a         → a not held; 2: release a
		5ms    lock a/3         → nothing
		6ms    cancel a/3       → a/3 redis unavailable: canceled
		7ms    cancel a/2       → a/2 not acquired: canceled
		8ms    lock a/4         → nothing
		9ms    cancel a         → a redis unavailable: canceled
		10ms   cancel a/4       → a/4 redis unavailable: canceled
	`, d.line)
}

// A server that has replied to nothing since the lease ended that it told of is silent, though its calls have not
// failed yet: its waiters do not hear that another caller holds the lock. While it replies to others, the last thing
// known counts.
func TestBreaker_SilentSinceLeaseEnded_NotCalledHeld(t *testing.T) {
	runConversation(t, 3, `
		1ms    lock a b       → 1: acquire a b
		2ms    1 taken        → join {a} {b}
		3ms    ordered        → nothing
		4ms    subscribed a b → 2: acquire a b
		5ms    2 taken        → nothing
		20.01s timer          → 3: acquire a b
		20.05s lock d         → 4: acquire d
		20.11s 4 done         → d granted
		20.15s cancel a       → a not acquired: canceled
		20.25s cancel b       → b redis unavailable: canceled
	`)
}

// A reader that lets a writer of its engine go first does not hear that the lock is held while the server is down.
func TestBreaker_ReaderBehindWriter_NotCalledHeld(t *testing.T) {
	runConversation(t, 3, `
		1ms    write w          → 1: write w
		2ms    read w/2         → nothing
		3ms    cancel w/2       → w/2 not acquired: canceled
		4ms    lock d           → 2: acquire d
		5ms    2 lost EOF       → nothing
		6ms    read w/3         → nothing
		7ms    cancel w/3       → w/3 redis unavailable: EOF; canceled
	`)
}

// Behind callers that ask a silent server, a caller that only tries waits for that reply, too. It does not where it is
// turned away at once because others wait.
func TestTry_BehindWaitersSilentServer_WaitsOrUnavailable(t *testing.T) {
	for name, c := range map[string]struct{ wait, try, at, end string }{
		"plain":           {"lock a", "try a/2", "nothing", "23.5s"},
		"write":           {"write a", "trywrite a/2", "nothing", "23.5s"},
		"write at reader": {"read a", "trywrite a/2", "3: write a", "23.5s"},
		"fair":            {"lock fair:a", "try fair:a/2", "fair:a/2 redis unavailable: no reply in time", ""},
		"read at writer":  {"write a", "tryread a/2", "a/2 redis unavailable: no reply in time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(t, 8)
			d.line("1ms " + c.wait)
			d.line("2ms 1 taken")
			require.Contains(t, d.line("20.01s timer"), "2: ")
			require.Equal(t, c.at, d.line("20.5s "+c.try))
			if c.end != "" {
				d.line("23.49s timer")
				require.False(t, d.callers["a/2"].latest.Completed())
				require.Contains(t, d.line(c.end+" timer"), "a/2 redis unavailable: no reply in time")
			}
		})
	}
}

// A caller that only tries is turned away where others of its engine wait. While the server is down, those may wait in
// vain, so it does not hear that the lock is held.
func TestBreaker_TriesBehindWaiters_NotCalledHeld(t *testing.T) {
	runConversation(t, 3, `
		1ms    write w          → 1: write w
		2ms    1 taken          → join rwlock:{w}
		3ms    tryread w/2      → w/2 not acquired
		4ms    lock d           → 2: acquire d
		5ms    2 lost EOF       → nothing
		6ms    tryread w/3      → w/3 not acquired
		7ms    heard rw:w       → nothing
		8ms    tryread w/4      → w/4 redis unavailable: no reply in time; EOF
	`)
}
