package actor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

func withTwoReplicas(c *actor.Config) { c.Replicas, c.ReplicaTimeout = 2, time.Second }

// A grant that too few replicas have is undone before a caller sees it.
func TestGrant_TooFewReplicas_Undone(t *testing.T) {
	runTranscript(t, `
		0s     A locks           → acquire #1 30s
		1s     #1 granted by 1   → release #1
		1s     B locks           → nothing
		1.001s #1 released       → acquire #2 30s; A too few replicas have the lock: 1 of 2 in time
		1.002s #2 granted by 2   → B granted 29.689s
		2s     B unlocks         → B over; release #2
		2.001s #2 released       → B unlocked
	`, withTwoReplicas)
}

// Requests that wait meanwhile would fail the same way: none queues for that, and a later request tries again.
func TestGrant_TooFewReplicas_WaitersFail(t *testing.T) {
	runTranscript(t, `
		0s     A locks           → acquire #1 30s
		0s     B locks           → nothing
		1ms    C locks wait 10s  → nothing
		2ms    D locks once      → nothing
		3ms    E locks lease 5s  → nothing
		4ms    F locks           → nothing
		5ms    F cancels gone    → F redis unavailable: gone
		1s     #1 granted by 1   → release #1; B too few replicas have the lock: 1 of 2 in time; C too few replicas have the lock: 1 of 2 in time; D too few replicas have the lock: 1 of 2 in time; E too few replicas have the lock: 1 of 2 in time
		1s     G locks wait 2s   → listen
		1.001s #1 released       → acquire #2 30s; A too few replicas have the lock: 1 of 2 in time
		1.002s H locks           → nothing
		2.001s #2 granted by 0   → release #2; H too few replicas have the lock: 0 of 2 in time
		2.002s #2 released       → G too few replicas have the lock: 0 of 2 in time
		2.251s timer             → leave
	`, withTwoReplicas)
}

// A grant being undone has no holder: a caller that leaves meanwhile does not get the error for another holder.
func TestUndoneGrant_CallerLeaves_NotTaken(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1s     #1 granted by 1    → release #1
		1s     B locks wait 100ms → nothing
		1s     C locks wait 500ms → nothing
		1.1s   timer              → B redis unavailable: no reply in time
		1.101s #1 released        → acquire #2 30s; A too few replicas have the lock: 1 of 2 in time
		1.5s   timer              → C redis unavailable: no reply in time
		1.6s   #2 granted by 2    → release #2
		1.601s #2 released        → nothing
	`, withTwoReplicas)
}

// The server is down when the grant is to be released: the caller waits for that no longer than for any unlock.
func TestUndoneGrant_ServerDown_EndsInTime(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1s     #1 granted by 1    → release #1
		4s     timer              → A too few replicas have the lock: 1 of 2 in time
		5s     #1 unanswered EOF  → release #1
		6s     #1 released        → nothing
	`, withTwoReplicas)
	runTranscript(t, `
		0s     A locks wait 1m    → acquire #1 30s
		1s     #1 granted by 1    → release #1
		4s     timer              → A too few replicas have the lock: 1 of 2 in time
		5s     #1 released        → nothing
	`, withTwoReplicas)
	runTranscript(t, `
		0s     A locks wait 2s    → acquire #1 30s
		1s     #1 granted by 1    → release #1
		2s     timer              → A too few replicas have the lock: 1 of 2 in time
		5s     #1 released        → nothing
	`, withTwoReplicas)
}

// A grant that too few replicas have was never a hold: a release that finds nothing is not a loss found by an Unlock.
func TestUndoneGrant_ReleaseGone_NoLoss(t *testing.T) {
	s := newHarness(t, func() actor.Config { c := defaultConfig(); withTwoReplicas(&c); return c }())
	for _, line := range []string{
		"0s A locks → acquire #1 30s", "1s #1 granted by 1 → release #1", "1.001s #1 gone → A too few replicas have the lock: 1 of 2 in time; lock lost",
	} {
		s.line(line)
	}
	require.Zero(t, s.fx.Stats.LostAtUnlock)
	for _, line := range []string{
		"2s B locks → acquire #2 30s", "2.001s #2 granted by 2 → B granted", "2.002s B unlocks → B over; release #2",
		"2.003s #2 gone → B unlocked",
	} {
		s.line(line)
	}
	require.EqualValues(t, 1, s.fx.Stats.LostAtUnlock)
}

// The next owner in the same engine has a lock that the replicas have.
func TestHandoff_ReplicasNotAsked(t *testing.T) {
	runTranscript(t, `
		0s     A locks           → acquire #1 30s
		0s     B locks           → nothing
		1s     #1 granted by 2   → A granted 28.69s
		1.001s A unlocks         → A over; B granted 28.689s; A unlocked
		1.002s B unlocks         → B over; release #1
		1.003s #1 released       → B unlocked
	`, withTwoReplicas)
}

// A caller that has left by then gets nothing; the lock is released all the same.
func TestUndoneGrant_CallerLeft_Released(t *testing.T) {
	runTranscript(t, `
		0s     A locks once      → acquire #1 30s
		1s     #1 granted by 0   → release #1
		1.5s   A cancels gone    → A too few replicas have the lock: 0 of 2 in time; gone
		2s     #1 unanswered EOF → release #1
		2.001s #1 released       → nothing
	`, withTwoReplicas)
	runTranscript(t, `
		0s     A locks once      → acquire #1 30s
		1s     #1 granted by 0   → release #1
		1.001s #1 unanswered EOF → release #1
		4s     timer             → A too few replicas have the lock: 0 of 2 in time
		5s     #1 released       → nothing
	`, withTwoReplicas)
}

// An acquire without a reply is sent again for the same tenure, and counts only with its replicas.
func TestAcquire_Resent_NeedsReplicas(t *testing.T) {
	runTranscript(t, `
		0s     A locks           → acquire #1 30s
		1s     #1 unanswered EOF → acquire #1 30s
		2s     #1 granted by 1   → release #1
		2.001s #1 released       → release #1; A too few replicas have the lock: 1 of 2 in time
		// the copy without a reply may still run
		2.002s #1 gone           → nothing
		5.002s timer             → release #1
		5.003s #1 gone           → nothing
	`, withTwoReplicas)
}

// Each kind is released by its own command.
func TestGrant_AnyKindTooFewReplicas_Undone(t *testing.T) {
	for kind, answer := range map[actor.LockKind]string{
		actor.Fenced: "granted by 1 token 7", actor.Fair: "granted by 1", actor.Read: "granted by 1", actor.Write: "granted by 1",
	} {
		runTranscriptOf(t, kind, `
			0s     A locks once → acquire #1 30s
			1s     #1 `+answer+` → release #1
			1.001s #1 released → A too few replicas have the lock: 1 of 2 in time
		`, withTwoReplicas)
	}
}

// The next owner's token is a grant like any other: a new master that has not received it would issue it again.
func TestToken_TooFewReplicas_NoGrant(t *testing.T) {
	runTranscriptOf(t, actor.Fenced, `
		0s     A locks                     → acquire #1 30s
		1ms    #1 granted by 2 token 7     → A granted 29.689s token 7
		2ms    B locks                     → listen
		3ms    subscribed                  → renew #1 30s
		4ms    #1 renewed                  → A has 29.689s
		5ms    A unlocks                   → A over; pass #1 30s after token 7; A unlocked
		6ms    #1 renewed by 1 token 8     → release #1
		7ms    #1 released                 → B too few replicas have the lock: 1 of 2 in time
		256ms  timer                       → leave
	`, withTwoReplicas)
	runTranscriptOf(t, actor.Fenced, `
		0s     A locks                     → acquire #1 30s
		1ms    #1 granted by 2 token 7     → A granted 29.689s token 7
		2ms    B locks                     → listen
		3ms    subscribed                  → renew #1 30s
		4ms    #1 renewed                  → A has 29.689s
		5ms    A unlocks                   → A over; pass #1 30s after token 7; A unlocked
		6ms    #1 renewed by 2 token 8     → B granted 29.689s token 8
		7ms    B unlocks                   → B over; release #1
		8ms    #1 released                 → B unlocked
		256ms  timer                       → leave
	`, withTwoReplicas)
}
