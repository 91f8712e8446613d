package actor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

func limitHandoff(most int, maxTime time.Duration) func(*actor.Config) {
	return func(c *actor.Config) { c.MaxHandoffGrants, c.MaxHandoffTime = most, maxTime }
}

// Redis still shows the tenure, so no command is sent.
func TestHandoff_NoRoundTrip(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 30s
		1ms    #1 granted  → A granted 29.689s
		2ms    B locks     → listen
		3ms    A unlocks   → A over; B granted 29.687s; A unlocked
		4ms    B unlocks   → B over; release #1
		5ms    #1 released → B unlocked
		252ms..256ms timer → leave
	`)
}

// A handoff near the end of a lease is confirmed first.
func TestHandoff_LeaseEnding_ConfirmedFirst(t *testing.T) {
	lazy := func(c *actor.Config) { c.RenewInterval = 15 * time.Second }
	t.Run("half of the lease is left", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks     → acquire #1 30s
			1ms     #1 granted  → A granted 29.689s
			2ms     B locks     → listen
			14.69s  A unlocks   → A over; B granted 15s; A unlocked
			14.7s   B unlocks   → B over; release #1
			14.71s  #1 released → B unlocked
			14.94s..14.96s timer → leave
		`, lazy)
	})
	t.Run("less than half of it", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks     → acquire #1 30s
			1ms     #1 granted  → A granted 29.689s
			2ms     B locks     → listen
			14.691s A unlocks   → A over; renew #1 30s; A unlocked
			14.691s A?          → not held
			14.692s #1 renewed  → B granted 29.689s
			14.7s   B unlocks   → B over; release #1
			14.71s  #1 released → B unlocked
			14.94s..14.96s timer → leave
		`, lazy)
	})
	t.Run("the server is so far away that no more would be left", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks     → acquire #1 30s
			1ms     #1 granted  → A granted 29.689s
			2ms     B locks     → listen
			14.691s A unlocks   → A over; renew #1 30s; A unlocked
			29.5s   #1 renewed  → B granted 14.881s
			29.6s   B unlocks   → B over; release #1
			29.61s  #1 released → B unlocked
			29.75s  timer       → leave
		`, lazy)
	})
	t.Run("it is gone", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks          → acquire #1 30s
			1ms     #1 granted       → A granted 29.689s
			2ms     B locks          → listen
			14.691s A unlocks        → A over; renew #1 30s; A unlocked
			14.692s #1 gone          → acquire #2 30s
			14.693s #2 taken 10s x:1 → nothing
			14.7s   B cancels        → B lock not acquired
			14.95s  timer            → leave
		`, lazy)
	})
	t.Run("the server does not answer until it is over", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks             → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			2ms     B locks             → listen
			14.691s A unlocks           → A over; renew #1 30s; A unlocked
			29.69s  timer              → acquire #2 30s orphans [1]; release #1
			30s     #1 renew unanswered reset   → nothing
			30s     #1 release unanswered reset → release #1
			30s     #2 unanswered reset → acquire #2 30s orphans [1]
			31s     #2 granted          → B granted 28.69s
			31s     #1 gone             → nothing
			31.1s   B unlocks           → B over; release #2
			31.101s #2 released         → release #2; B unlocked
			31.102s #2 gone             → nothing
			31.25s  timer               → leave
			34.102s timer               → release #2
			+1ms    #2 gone             → nothing
		`, lazy)
	})
}

// A handoff to an owner with a fixed lease is first confirmed with that lease.
func TestHandoff_FixedLease_ConfirmedFirst(t *testing.T) {
	t.Run("shorter", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks           → acquire #1 30s
			1ms    #1 granted        → A granted 29.689s
			2ms    B locks lease 5s  → listen
			3ms    A unlocks         → A over; renew #1 5s; A unlocked
			4ms    #1 renewed        → B granted 4.939s
			254ms  timer             → leave
			4.943s timer             → B lost: its lease ended; release #1
			4.944s #1 released       → nothing
		`)
	})
	t.Run("longer", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks           → acquire #1 30s
			1ms    #1 granted        → A granted 29.689s
			2ms    B locks lease 1h  → listen
			3ms    A unlocks         → A over; renew #1 1h0m0s; A unlocked
			4ms    #1 renewed        → B granted 59m58.989s
			5ms    B unlocks         → B over; release #1
			6ms    #1 released       → B unlocked
			254ms  timer             → leave
		`)
	})
	t.Run("each time anew, also for the same lease", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks           → acquire #1 30s
			1ms    #1 granted        → A granted 29.689s
			2ms    B locks lease 5s  → listen
			2ms    C locks lease 5s  → nothing
			3ms    A unlocks         → A over; renew #1 5s; A unlocked
			4ms    #1 renewed        → renew #1 0s listeners; B granted 4.939s
			5ms    #1 renewed        → nothing
			6ms    B unlocks         → B over; renew #1 5s listeners; B unlocked
			7ms    #1 renewed        → C granted 4.939s
			8ms    C unlocks         → C over; release #1
			9ms    #1 released       → C unlocked
			257ms  timer             → leave
		`, limitHandoff(64, time.Second))
	})
	t.Run("and from a long one to a watched lock", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1h  → acquire #1 1h0m0s
			1ms    #1 granted        → A granted 59m58.989s
			2ms    B locks           → listen
			3ms    A unlocks         → A over; renew #1 30s; A unlocked
			4ms    #1 renewed        → B granted 29.689s
			254ms  timer             → leave
			10.005s timer            → renew #1 30s listeners
			+1ms   #1 renewed        → B has 29.689s
			+1ms   B unlocks         → B over; release #1
			+1ms   #1 released       → B unlocked
		`)
	})
	t.Run("the next in the queue when the first has left", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks           → acquire #1 30s
			1ms    #1 granted        → A granted 29.689s
			2ms    B locks lease 5s  → listen
			2ms    C locks lease 10s → nothing
			2ms    D locks           → nothing
			3ms    A unlocks         → A over; renew #1 5s; A unlocked
			4ms    B cancels         → B lock not acquired
			5ms    #1 renewed        → renew #1 10s
			6ms    C cancels         → C lock not acquired
			7ms    #1 renewed        → renew #1 30s
			8ms    #1 renewed        → D granted 29.689s
			9ms    D unlocks         → D over; release #1
			10ms   #1 released       → D unlocked
			258ms  timer             → leave
		`)
	})
}

// The first handoff asks for other subscribers. There is one, so Handoff.MaxGrants grants are the limit.
func TestHandoff_PeersListen_MaxGrantsBounds(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		1ms    B locks                → listen
		1ms    C locks                → nothing
		1ms    D locks                → nothing
		1ms    E locks                → nothing
		2ms    subscribed             → renew #1 30s
		3ms    #1 renewed             → A has 29.689s
		4ms    A unlocks              → A over; renew #1 30s listeners but us; B granted 29.688s; A unlocked
		5ms    #1 renewed listeners 2 → B has 29.689s
		6ms    B unlocks              → B over; C granted 29.688s; B unlocked
		7ms    C unlocks              → C over; D granted 29.687s; C unlocked
		// three times: release, then yield
		8ms    D unlocks              → D over; release #1
		9ms    #1 released            → D unlocked
		// the notification of its own release
		9ms    message                → nothing
		11ms   timer                  → acquire #2 30s
		12ms   #2 granted             → E granted 29.689s
		13ms   E unlocks              → E over; release #2
		14ms   #2 released            → E unlocked
		262ms  timer                  → leave
	`, limitHandoff(3, time.Second))
}

// While other engines listen, handoffs end MaxHandoffTime after the first one.
func TestHandoff_PeersListen_MaxTimeBounds(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		1ms    B locks                → listen
		1ms    C locks                → nothing
		1ms    D locks                → nothing
		4ms    A unlocks              → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed listeners 2 → B has 29.689s
		// five milliseconds since the first handoff, not since the grant
		8ms    B unlocks              → B over; C granted 29.686s; B unlocked
		9ms    C unlocks              → C over; release #1
		10ms   #1 released            → C unlocked
		12ms   timer                  → acquire #2 30s
		13ms   #2 granted             → D granted 29.689s
		14ms   D unlocks              → D over; release #2
		15ms   #2 released            → D unlocked
		263ms  timer                  → leave
	`)
}

// In a cluster with plain PUBLISH the number of subscribers cannot be known, and then the limit applies.
func TestHandoff_ListenersUnknown_Bounded(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 30s
		1ms    #1 granted  → A granted 29.689s
		1ms    B locks     → listen
		1ms    C locks     → nothing
		1ms    D locks     → nothing
		4ms    A unlocks   → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed  → B has 29.689s
		10ms   B unlocks   → B over; release #1
		11ms   #1 released → B unlocked
		13ms   timer       → acquire #2 30s
		14ms   #2 granted  → C granted 29.689s
		15ms   C unlocks   → C over; D granted 29.688s; C unlocked
		16ms   D unlocks   → D over; release #2
		17ms   #2 released → D unlocked
		264ms..266ms timer → leave
	`)
}

// While the number of subscribers is not known, the engine asks before it exceeds the limit.
func TestHandoff_AtLimit_CountsListeners(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		1ms    B locks                → listen
		1ms    C locks                → nothing
		1ms    D locks                → nothing
		4ms    A unlocks              → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    B unlocks              → B over; B unlocked
		6ms    #1 renewed listeners 0 → C granted 29.688s
		7ms    C unlocks              → C over; D granted 29.687s; C unlocked
		8ms    D unlocks              → D over; release #1
		9ms    #1 released            → D unlocked
		257ms  timer                  → leave
	`, limitHandoff(1, time.Second))
}

// Without other subscribers the tenure is kept, confirmed every 30 ms, and released about every 100 ms for clients that
// poll.
func TestHandoff_Unbounded_ReleasedAtTimes(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		1ms    B locks                → listen
		1ms    C locks                → nothing
		1ms    D locks                → nothing
		1ms    E locks                → nothing
		1ms    F locks                → nothing
		2ms    subscribed             → renew #1 30s
		3ms    #1 renewed listeners 5 → A has 29.689s
		4ms    A unlocks              → A over; renew #1 30s listeners but us; B granted 29.688s; A unlocked
		5ms    #1 renewed listeners 1 → B has 29.689s
		34ms   timer                  → renew #1 30s listeners but us
		// without stopping for it
		35ms   B unlocks              → B over; C granted 29.659s; B unlocked
		36ms   #1 renewed listeners 1 → C has 29.688s
		60ms   C unlocks              → C over; D granted 29.664s; C unlocked
		64ms   timer                  → renew #1 30s listeners but us
		65ms   #1 renewed listeners 1 → D has 29.689s
		90ms   D unlocks              → D over; E granted 29.664s; D unlocked
		94ms   timer                  → renew #1 30s listeners but us
		95ms   #1 renewed listeners 1 → E has 29.689s
		106ms  E unlocks              → E over; release #1
		107ms  #1 released            → E unlocked
		109ms  timer                  → acquire #2 30s
		110ms  #2 granted             → F granted 29.689s
		111ms  F unlocks              → F over; release #2
		112ms  #2 released            → F unlocked
		360ms  timer                  → leave
	`)
}

// While one owner keeps the tenure for long, confirmations become rare. So the number of other subscribers is old when
// it unlocks, and is asked for once more: a client that has subscribed since would be taken for one that polls.
func TestHandoff_LongHold_CountedLessAndAtItsEnd(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		1ms    B locks                → listen
		1ms    C locks                → nothing
		4ms    A unlocks              → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed listeners 0 → B has 29.689s
		34ms   timer                  → renew #1 30s listeners
		35ms   #1 renewed listeners 0 → B has 29.689s
		64ms   timer                  → renew #1 30s listeners
		65ms   #1 renewed listeners 0 → B has 29.689s
		94ms   timer                  → renew #1 30s listeners
		95ms   #1 renewed listeners 0 → B has 29.689s
		139ms  timer                  → renew #1 30s listeners
		140ms  #1 renewed listeners 0 → B has 29.689s
		201ms  B unlocks              → B over; renew #1 30s listeners; B unlocked
		202ms  #1 renewed listeners 1 → release #1
		203ms  #1 released            → nothing
		205ms  timer                  → acquire #2 30s
		206ms  #2 granted             → C granted 29.689s
		207ms  C unlocks              → C over; release #2
		208ms  #2 released            → C unlocked
		456ms  timer                  → leave
	`)
}

// Far from the server the number is old when it arrives. It is not asked for again and again then: the tenure would
// have no owner for ever.
func TestHandoff_LongHoldFarAway_CountedOnceAtItsEnd(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		90ms   #1 granted             → A granted 29.6s
		90ms   B locks                → listen
		90ms   C locks                → nothing
		100ms  A unlocks              → A over; renew #1 30s listeners; B granted 29.59s; A unlocked
		190ms  #1 renewed listeners 0 → renew #1 30s listeners; B has 29.6s
		280ms  #1 renewed listeners 0 → renew #1 30s listeners; B has 29.6s
		370ms  #1 renewed listeners 0 → renew #1 30s listeners; B has 29.6s
		460ms  #1 renewed listeners 0 → B has 29.6s
		505ms  timer                  → renew #1 30s listeners
		595ms  #1 renewed listeners 0 → B has 29.6s
		700ms  B unlocks              → B over; renew #1 30s listeners; B unlocked
		790ms  #1 renewed listeners 0 → release #1
		880ms  #1 released            → nothing
		882ms  timer                  → acquire #2 30s
		972ms  #2 granted             → C granted 29.6s
		980ms  C unlocks              → C over; release #2
		1.07s  #2 released            → C unlocked
		1.22s..1.23s timer            → leave
	`)
}

// An owner by hand-off has all of its MaxHold, also if that is shorter than a lease and its predecessor used a part.
func TestHandoff_ShortMaxHold_WholeForEach(t *testing.T) {
	runTranscript(t, `
		0s     A locks       → acquire #1 4s
		1ms    #1 granted    → A granted 3.949s
		2ms    B locks       → listen
		1.5s   A unlocks     → A over; renew #1 4s listeners; B granted 2.45s; A unlocked
		1.501s #1 renewed    → B has 3.949s
		1.75s  timer         → leave
		5.45s  timer         → B lost: held for Options.MaxHold; release #1
		5.451s #1 released   → nothing
	`, func(c *actor.Config) { c.MaxHold = 4 * time.Second })
}

// A renewal that a caller waits for is not delayed by the pause of routine renewals after a rejection for now.
func TestRenewal_RejectedForNow_AwaitedSoon(t *testing.T) {
	t.Run("a hand-off is confirmed", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks              → acquire #1 30s
			1ms    #1 granted           → A granted 29.689s
			2ms    B locks lease 1h     → listen
			3ms    A unlocks            → A over; renew #1 1h0m0s; A unlocked
			4ms    #1 refused LOADING x → nothing
			254ms  timer                → renew #1 1h0m0s
			255ms  #1 renewed           → B granted 59m58.989s
			256ms  B unlocks            → B over; release #1
			257ms  #1 released          → B unlocked
			505ms  timer                → leave
		`)
	})
	t.Run("an extension comes later", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks              → acquire #1 30s
			1ms     #1 granted           → A granted 29.689s
			10s     timer                → renew #1 30s
			10.001s #1 refused LOADING x → nothing
			10.002s A extends 1m         → nothing
			10.252s timer                → renew #1 1m0s
			10.253s #1 renewed           → A extended; A has 59.389s
			10.254s A unlocks            → A over; release #1
			10.255s #1 released          → A unlocked
		`)
	})
	t.Run("a force is announced later", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks              → acquire #1 30s
			1ms     #1 granted           → A granted 29.689s
			10s     timer                → renew #1 30s
			10.001s #1 refused LOADING x → nothing
			10.002s message              → nothing
			10.252s timer                → renew #1 30s
			10.253s #1 gone              → A lost: the key is gone or someone else's
		`)
	})
}

// Also beside a fixed lease, with an unchanged TTL: every 30 ms, not every round trip.
func TestHandoff_FixedLease_Reconfirmed(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		1ms    B locks lease 5s       → listen
		1ms    C locks                → nothing
		4ms    A unlocks              → A over; renew #1 5s; A unlocked
		5ms    #1 renewed             → renew #1 0s listeners; B granted 4.939s
		6ms    #1 renewed listeners 1 → nothing
		35ms   timer                  → renew #1 0s listeners
		+1ms   #1 renewed listeners 1 → nothing
		65ms   timer                  → renew #1 0s listeners
		+1ms   #1 renewed listeners 1 → nothing
		95ms   timer                  → renew #1 0s listeners
		+1ms   #1 renewed listeners 1 → nothing
		118ms  B unlocks              → B over; release #1
		119ms  #1 released            → B unlocked
		121ms  timer                  → acquire #2 30s
		122ms  #2 granted             → C granted 29.689s
		123ms  C unlocks              → C over; release #2
		124ms  #2 released            → C unlocked
		372ms  timer                  → leave
	`)
}

// Once there is a subscriber, the limit counts from the first handoff.
func TestHandoff_PeerSubscribes_Ends(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		1ms    B locks                → listen
		1ms    C locks                → nothing
		1ms    D locks                → nothing
		4ms    A unlocks              → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed listeners 0 → B has 29.689s
		30ms   B unlocks              → B over; C granted 29.664s; B unlocked
		34ms   timer                  → renew #1 30s listeners
		35ms   #1 renewed listeners 1 → C has 29.689s
		56ms   C unlocks              → C over; release #1
		57ms   #1 released            → C unlocked
		59ms   timer                  → acquire #2 30s
		60ms   #2 taken 10s y:1       → nothing
		61ms   D cancels              → D lock not acquired
		311ms  timer                  → leave
	`)
}

// The engine yields until it has seen another holder, or for two of its round trips and at least 2 ms.
func TestYield_LastsTwoRoundTrips(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 30s
		0s     round trip 4ms → nothing
		1ms    #1 granted  → A granted 29.689s
		1ms    B locks     → listen
		1ms    C locks     → nothing
		4ms    A unlocks   → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed  → B has 29.689s
		10ms   B unlocks   → B over; release #1
		11ms   #1 released → B unlocked
		12ms   message     → nothing
		// a request that comes now yields, too
		13ms   D locks once → D lock not acquired
		19ms   timer       → acquire #2 30s
		20ms   #2 granted  → C granted 29.689s
		21ms   C unlocks   → C over; release #2
		22ms   #2 released → C unlocked
		270ms  timer       → leave
	`)
}

// Also when the requests for which it yielded have left.
func TestYield_NewRequest_Waits(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 30s
		0s     round trip 4ms → nothing
		1ms    #1 granted  → A granted 29.689s
		1ms    B locks     → listen
		1ms    C locks     → nothing
		4ms    A unlocks   → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed  → B has 29.689s
		10ms   B unlocks   → B over; release #1
		11ms   #1 released → B unlocked
		12ms   C cancels   → C lock not acquired
		13ms   D locks once → nothing
		19ms   timer       → acquire #2 30s
		20ms   #2 granted  → D granted 29.689s
		21ms   D unlocks   → D over; release #2
		22ms   #2 released → D unlocked
		262ms..272ms timer → leave
	`)
}

// Also if the server was slow just now.
func TestYield_SlowServer_Bounded(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 30s
		0s     round trip 2s → nothing
		1ms    #1 granted  → A granted 29.689s
		1ms    B locks     → listen
		1ms    C locks     → nothing
		4ms    A unlocks   → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed  → B has 29.689s
		10ms   B unlocks   → B over; release #1
		11ms   #1 released → B unlocked
		261ms  timer       → acquire #2 30s
		262ms  #2 granted  → C granted 29.689s
		263ms  C unlocks   → C over; release #2
		264ms  #2 released → C unlocked
		512ms  timer       → leave
	`)
}

// The second notification after the release ends the yield, because another holder has released the lock.
func TestYield_SecondMessage_Ends(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 30s
		0s     round trip 100ms → nothing
		1ms    #1 granted  → A granted 29.689s
		1ms    B locks     → listen
		1ms    C locks     → nothing
		4ms    A unlocks   → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed  → B has 29.689s
		10ms   B unlocks   → B over; release #1
		11ms   #1 released → B unlocked
		12ms   message     → nothing
		// not a notification, only its subscription again
		13ms   subscribed  → nothing
		15ms   message     → acquire #2 30s
		16ms   #2 granted  → C granted 29.689s
		17ms   C unlocks   → C over; release #2
		18ms   #2 released → C unlocked
		266ms  timer       → leave
	`)
}

// The notifications can arrive before the reply to the release.
func TestYield_MessageBeforeReply_Counted(t *testing.T) {
	for _, messages := range []int{0, 1, 2} {
		s := newHarness(t, defaultConfig())
		s.play("0s A locks", "0s round trip 100ms", "1ms #1 granted", "1ms B locks", "1ms C locks", "4ms A unlocks", "5ms #1 renewed")
		require.Equal(t, "B over; release #1", s.play("10ms B unlocks"))
		for range messages {
			s.play("11ms message")
		}
		released, next := s.play("12ms #1 released"), s.play("13ms message")
		switch messages {
		case 0: // then this was its own
			require.Equal(t, [2]string{"B unlocked", "nothing"}, [2]string{released, next})
		case 1:
			require.Equal(t, [2]string{"B unlocked", "acquire #2 30s"}, [2]string{released, next})
		case 2: // another holder had it already
			require.Equal(t, [2]string{"acquire #2 30s; B unlocked", "nothing"}, [2]string{released, next})
		}
	}
}

// Yielding is for that release only, and counts the notifications since then.
func TestYield_NextRelease_CountsAnew(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 30s
		0s     round trip 100ms → nothing
		1ms    #1 granted  → A granted 29.689s
		1ms    B locks     → listen
		1ms    C locks     → nothing
		4ms    A unlocks   → A over; renew #1 30s listeners; B granted 29.686s; A unlocked
		5ms    #1 renewed  → B has 29.689s
		10ms   B unlocks   → B over; release #1
		11ms   #1 released → B unlocked
		12ms   message     → nothing
		13ms   message     → acquire #2 30s
		14ms   #2 granted  → C granted 29.689s
		// the queue is empty: there is nothing to yield for
		15ms   C unlocks   → C over; release #2
		16ms   #2 released → C unlocked
		17ms   D locks     → acquire #3 30s
		18ms   #3 granted  → D granted 29.689s
		19ms   E locks     → nothing
		20ms   F locks     → nothing
		21ms   D unlocks   → D over; renew #3 30s listeners; E granted 29.686s; D unlocked
		22ms   #3 renewed  → E has 29.689s
		30ms   E unlocks   → E over; release #3
		31ms   #3 released → E unlocked
		32ms   message     → nothing
		33ms   message     → acquire #4 30s
		34ms   #4 granted  → F granted 29.689s
		35ms   F unlocks   → F over; release #4
		36ms   #4 released → F unlocked
		284ms  timer       → leave
	`)
}

// The server knows nothing of our subscription, and there is no other subscriber.
func TestListeners_CountNeverNegative(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		1ms    B locks                → listen
		1ms    C locks                → nothing
		2ms    subscribed             → renew #1 30s
		3ms    #1 renewed             → A has 29.689s
		4ms    A unlocks              → A over; renew #1 30s listeners but us; B granted 29.688s; A unlocked
		5ms    #1 renewed listeners 0 → B has 29.689s
		30ms   B unlocks              → B over; C granted 29.664s; B unlocked
		31ms   C unlocks              → C over; release #1
		32ms   #1 released            → C unlocked
		280ms  timer                  → leave
	`)
}

// With handoff turned off, an unlock releases the lock although callers of this engine wait.
func TestHandoff_Disabled_Releases(t *testing.T) {
	runTranscript(t, `
		0s     A locks           → acquire #1 30s
		1ms    #1 granted        → A granted 29.689s
		1ms    B locks           → listen
		4ms    A unlocks         → A over; release #1
		5ms    #1 released       → acquire #2 30s; A unlocked
		6ms    #2 taken 20s x:1  → nothing
		7ms    message           → acquire #3 30s
		8ms    #3 granted        → B granted 29.689s
		9ms    B unlocks         → B over; release #3
		10ms   #3 released       → B unlocked
		258ms  timer             → leave
	`, limitHandoff(-1, time.Second))
}

// A tenure with a command without a reply is not handed off: the copy may run at any time.
func TestHandoff_CommandUnanswered_Releases(t *testing.T) {
	runTranscript(t, `
		0s     A locks             → acquire #1 30s
		1ms    #1 granted          → A granted 29.689s
		10s    timer               → renew #1 30s
		11s    #1 unanswered reset → renew #1 30s
		12s    #1 renewed          → A has 28.69s
		13s    B locks             → listen
		14s    A unlocks           → A over; release #1
		14.01s #1 released         → acquire #2 30s; A unlocked
		14.02s #2 granted          → B granted 29.68s
		14.27s timer               → leave
		15s    B unlocks           → B over; release #2
		15.01s #2 released         → B unlocked
	`)
}

// A hold count that the last owner left in Redis is corrected for the next.
func TestHandoff_StaleCount_Corrected(t *testing.T) {
	runTranscript(t, `
		0s   A locks       → acquire #1 30s
		1ms  #1 granted    → A granted 29.689s
		1ms  A2 locks as A → renew #1 30s count 2; A2 granted 29.689s
		2ms  #1 renewed    → A has 29.689s; A2 has 29.689s
		3ms  B locks       → listen
		4ms  A unlocks     → A over; renew #1 30s count 1; A unlocked
		// the command in flight says 1 already
		4ms  A2 unlocks    → A2 over; B granted 29.687s; A2 unlocked
		5ms  #1 renewed    → B has 29.689s
		6ms  B unlocks     → B over; release #1
		7ms  #1 released   → B unlocked
		254ms timer        → leave
	`)
}

func TestHandoff_Counted(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.play("0s A locks", "1ms #1 granted", "2ms B locks", "3ms C locks", "4ms A unlocks", "5ms #1 renewed listeners 0",
		"6ms B unlocks", "7ms C unlocks", "8ms #1 released")
	s.play("300ms next")
	require.Empty(t, s.finish())
	require.Equal(t, actor.Stats{Acquired: 3, Released: 3, HandedOff: 2, Renewed: 1}, s.fx.Stats)
}
