// Package lockwheeltest runs unit tests of code that uses locks, without a server. [New] starts an empty server inside
// the process, connected by pipes, with an engine of package lockwheel on it:
//
//	func TestCharge_HeldElsewhere_GivesUp(t *testing.T) {
//		server := lockwheeltest.New(t)
//		defer server.HoldElsewhere("orders/7")()
//		if err := charge(t.Context(), server.Engine(), 7); !errors.Is(err, lockwheel.ErrNotAcquired) {
//			t.Fatal(err)
//		}
//	}
//
// The engine is a real one. A test can have a lock held by another process ([Server.HoldElsewhere]) and a hold lost
// ([Server.Lose]). It can have an outage ([Server.Down], [Server.Up]) and a server without its data ([Server.Flush]).
// At its end the test fails if it left a hold that was not unlocked, or a key.
//
// # Time
//
// Leases run by the time of package time. In a bubble of testing/synctest that time costs nothing, and an hour passes
// as soon as all goroutines of the bubble wait:
//
//	synctest.Test(t, func(t *testing.T) {
//		server := lockwheeltest.New(t) // in the bubble
//		go work(t.Context(), server.Engine())
//		synctest.Wait()           // work waits for something
//		time.Sleep(time.Hour)     // 360 renewals
//		…
//	})
//
// New must be called in the bubble. All that uses the engine must run in the same bubble. Outside of a bubble a test
// that waits for a lease needs a short one: New(t, WithOptions(lockwheel.Options{Lease: 5 * time.Second})). A process
// that does not run for that long loses its locks, so prefer a bubble.
//
// # What it is not
//
// The server is miniredis, a stand-in for Redis. It has no replicas, no cluster and no Sentinel, and it is slower: use
// it with up to some thousand locks.
package lockwheeltest
