package actor_test

import (
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

func byTwo(c *actor.Config) { c.Replicas, c.ReplicaFor = 2, time.Second }

// failures 22 (b): what too few replicas have is undone before anybody hears of it.
func TestAGrantThatTooFewReplicasHaveIsUndone(t *testing.T) {
	talk(t, `
		0s     A locks           → acquire #1 30s
		0s     B locks           → nothing
		1s     #1 granted by 1   → release #1
		1.001s #1 released       → acquire #2 30s; A too few replicas have the lock: 1 of 2 in time
		1.002s #2 granted by 2   → B granted 29.689s
		2s     B unlocks         → B over; release #2
		2.001s #2 released       → B unlocked
	`, byTwo)
}

// The next owner in the same engine has what the replicas have.
func TestReplicasAreNotAskedAboutWhatIsHandedOn(t *testing.T) {
	talk(t, `
		0s     A locks           → acquire #1 30s
		0s     B locks           → nothing
		1s     #1 granted by 2   → A granted 28.69s
		1.001s A unlocks         → A over; B granted 28.689s; A unlocked
		1.002s B unlocks         → B over; release #1
		1.003s #1 released       → B unlocked
	`, byTwo)
}

// Whoever has left by then is not waited for; the lock is given back all the same.
func TestAnUndoneGrantWhoseCallerLeftIsReleased(t *testing.T) {
	talk(t, `
		0s     A locks once      → acquire #1 30s
		1s     #1 granted by 0   → release #1
		1.5s   A cancels gone    → A too few replicas have the lock: 0 of 2 in time; gone
		2s     #1 unanswered EOF → release #1
		2.001s #1 released       → nothing
	`, byTwo)
	talk(t, `
		0s     A locks once      → acquire #1 30s
		1s     #1 granted by 0   → release #1
		1.001s #1 unanswered EOF → release #1
		4s     timer             → A too few replicas have the lock: 0 of 2 in time
		5s     #1 released       → nothing
	`, byTwo)
}

// An acquire without an answer is asked again for the same tenure, and counts only with its replicas.
func TestAnAcquireThatIsSentAgainNeedsItsReplicas(t *testing.T) {
	talk(t, `
		0s     A locks           → acquire #1 30s
		1s     #1 unanswered EOF → acquire #1 30s
		2s     #1 granted by 1   → release #1
		2.001s #1 released       → release #1; A too few replicas have the lock: 1 of 2 in time
		// the copy without an answer may still run
		2.002s #1 gone           → nothing
		5.002s timer             → release #1
		5.003s #1 gone           → nothing
	`, byTwo)
}
