package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each waiter for a fair lock has its own tenure, place and channel.
func TestFairWaiters_OneLockPerRequest(t *testing.T) {
	runConversation(t, 8, `
		1ms    lock fair:a fair:a/2 fair:a/3 → 1: acquire fair a a a
		2ms    1 done self self              → join {a}:me:2 {a}:me:3; fair:a granted
		3ms    ordered; subscribed {a}:me:2 {a}:me:3 → 2: acquire fair a a
		3ms    2 self self                   → nothing
		// only its owner's lock
		4ms    count fair:a                  → fair:a counted
		5ms    unlock fair:a                 → fair:a not held; 3: release fair a
		6ms    3 done                        → fair:a unlocked
		7ms    cancel fair:a/2               → 4: release fair a; leave {a}:me:2; fair:a/2 not acquired: canceled
		8ms    4 gone; ordered               → nothing
		9ms    cancel fair:a/3               → 5: release fair a; fair:a/3 not acquired: canceled
		10ms   5 gone                        → nothing
		107ms  timer                         → leave {a}:me:3
		108ms  ordered                       → nothing
		109ms  next                          → never
	`)
}

// Two calls could arrive in the other order.
func TestFairAcquire_OneCallInFlight(t *testing.T) {
	runConversation(t, 8, `
		1ms    lock fair:a                   → 1: acquire fair a
		2ms    lock fair:a/2 fair:b          → nothing
		3ms    lock c                        → 2: acquire c
		4ms    1 done                        → 3: acquire fair a b; fair:a granted
		5ms    lock fair:d; unlock fair:a    → fair:a not held; 4: release fair a
		6ms    3 lost broken pipe            → nothing
	`)
}

// A name that is in use as one kind of lock is rejected for any other kind until it is free.
func TestName_OtherKind_Rejected(t *testing.T) {
	const refusal = "in use as another kind of lock: it is a %s lock in this engine now, not a %s one"
	for _, c := range []struct{ is, other, wanted, what string }{
		{"fair:", "", "plain", "fair"}, {"fair:", "fenced:", "fenced", "fair"},
		{"", "fair:", "fair", "plain"}, {"fenced:", "fair:", "fair", "fenced"}, {"fenced:", "", "plain", "fenced"},
	} {
		d := newHarness(t, 8)
		d.line("1ms lock " + c.is + "a")
		want := fmt.Sprintf(refusal, c.what, c.wanted)
		require.Equal(t, c.other+"a/2 "+want, d.line("2ms lock "+c.other+"a/2"))
		require.Equal(t, c.other+"a/2 "+want, d.line("2ms force "+c.other+"a/2"))
		require.Contains(t, d.line("3ms 1 done"), "granted")
		require.Contains(t, d.line("4ms lock "+c.other+"a/2"), want)
		d.line("5ms unlock " + c.is + "a")
		require.Contains(t, d.line("6ms 2 done; lock "+c.other+"a/2"), "acquire")
	}
}

// All kinds of lock have equal priority: many plain acquires do not delay those of another kind.
func TestDispatch_Kinds_TakeTurns(t *testing.T) {
	d := newHarness(t, 1)
	d.line("1ms lock x")
	for i := range 1000 {
		d.ask("lock", fmt.Sprintf("k%03d", i))
	}
	d.ask("lock", "fenced:f")
	d.ask("lock", "fair:q")
	var said []string
	for i := range len(Priorities[3]) + 1 {
		said = append(said, d.line(fmt.Sprintf("2ms %d done", i+1)))
	}
	all := strings.Join(said, "; ")
	require.Contains(t, all, "acquire fenced f")
	require.Contains(t, all, "acquire fair q")
	require.Contains(t, all, "acquire k")
}

// The server may not know of a waiter yet: its acquire is in flight, or its grant was forced away.
func TestFairTry_LocalWaiters_NoOvertaking(t *testing.T) {
	runConversation(t, 8, `
		1ms    lock fair:a                   → 1: acquire fair a
		2ms    try fair:a/2                  → fair:a/2 not acquired
		3ms    1 done                        → fair:a granted
		4ms    unlock fair:a                 → fair:a not held; 2: release fair a
		5ms    2 done                        → fair:a unlocked
		6ms    try fair:a/2                  → 3: acquire fair a
		7ms    3 done                        → fair:a/2 granted
		8ms    unlock fair:a/2               → fair:a/2 not held; 4: release fair a
		9ms    4 done                        → fair:a/2 unlocked
	`)
}

// A grant to one lock of a name ends the holds of the others in this engine. After a force no hold is sure.
func TestLockSet_Grant_EndsOtherHolds(t *testing.T) {
	runConversation(t, 8, `
		1ms    lock fair:a                   → 1: acquire fair a
		2ms    1 done                        → fair:a granted
		3ms    lock fair:a/2                 → 2: acquire fair a
		4ms    2 done                        → fair:a lost; 3: release fair a; fair:a/2 granted
		5ms    3 gone                        → nothing
		6ms    lock fair:a/3                 → 4: acquire fair a
		7ms    4 queued                      → join {a}:me:3
		8ms    force fair:a/4                → fair:a/2 lost; 5: force fair a
		9ms    5 done                        → fair:a/4 forced
		10ms   cancel fair:a/3               → 6: release fair a; fair:a/3 not acquired: canceled
		11ms   6 gone; ordered; subscribed {a}:me:3 → leave {a}:me:3
		12ms   ordered                       → nothing
		13ms   next                          → never
	`)
}

// Behind a dead head, only the first local waiter polls often. The next one does so after that one has left.
func TestFairQueue_OnlyFirstLocal_PollsOften(t *testing.T) {
	const often = 510 * time.Millisecond
	d := newHarness(t, 8)
	d.line("1ms lock fair:a fair:a/2 fair:a/3")
	d.line("2ms 1 dead")
	d.line("3ms ordered")
	for batch := 2; batch < 6; batch++ {
		d.requireAsks(often, fmt.Sprintf("%d: acquire fair a", batch))
		d.line(fmt.Sprintf("+1ms %d dead", batch))
	}
	// a change in the middle has no effect
	require.Contains(t, d.line("+1ms cancel fair:a/2"), "6: release fair a")
	d.line("+1ms 6 gone; ordered")
	d.requireAsks(often, "7: acquire fair a")
	d.line("+1ms 7 dead")
	require.Contains(t, d.line("+1ms cancel fair:a"), "8: release fair a")
	d.line("+1ms 8 gone; ordered")
	for batch := 9; batch < 12; batch++ {
		d.requireAsks(often, fmt.Sprintf("%d: acquire fair a", batch))
		d.line(fmt.Sprintf("+1ms %d dead", batch))
	}
}

// requireAsks fires the timers that are due soon.
func (d *coordinatorHarness) requireAsks(soon time.Duration, want string) {
	d.t.Helper()
	require.Equal(d.t, want, d.line(fmt.Sprintf("+%v timer", soon)))
}

// A caller that tries once for a fair lock is not refused because of a hold of its own engine that was unlocked before.
// The release of that hold waits for the reply to an extension.
func TestFairTry_OwnReleasePending_TriesAgain(t *testing.T) {
	runConversation(t, 2, `
		1ms lock fair:k/1   → 1: acquire fair k
		2ms 1 done          → fair:k/1 granted
		3ms extend fair:k/1 → 2: renew k
		4ms unlock fair:k/1; try fair:k/2 → fair:k/1 not held; 3: acquire fair k; fair:k/1 not held
		5ms 3 self          → 4: acquire fair k; join {k}:me:2
		6ms 2 done          → 5: release fair k
		7ms 4 self          → nothing
		8ms 5 done          → fair:k/1 unlocked
		33ms timer          → 6: acquire fair k
		34ms 6 done         → fair:k/2 granted
	`)
}
