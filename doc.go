// Package lockwheel provides distributed locks that processes share through a Redis or Valkey server. Locks are
// re-entrant and leased, and they are renewed while they are held. The kinds are:
//
//   - [Engine.Mutex]: exclusive
//   - [Engine.RWMutex]: many readers or one writer
//   - [Engine.FairMutex]: granted in the order of arrival
//   - [Engine.FencedMutex]: exclusive, with fencing tokens
//   - [Engine.Multi]: several locks of one engine, all or none
//   - [Quorum]: a majority of locks on independent servers
//
// On the wire they are Redisson's locks, so a Go program and a Java program can share one.
//
//	locks, err := lockwheel.Dial(ctx, "redis://127.0.0.1:6379")
//	if err != nil {
//		return err
//	}
//	defer locks.Close()
//
//	hold, err := locks.Mutex("orders/7").Lock(ctx)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return charge(hold.Context()) // ends if the lock is lost
//
// A lock acquired without [Lease] is watched: the engine renews it until it is unlocked. If the process dies, the
// lock is free within Options.Lease.
//
// A hold can be lost: the key is deleted, ForceUnlock takes the lock away, or the server is unreachable for longer than
// the lease. [Hold.Context], [Hold.Done] and [Hold.Err] report the loss. When a lease expires, Err reports it before
// the lock can be granted again. Context and Done do so if the process is scheduled in time, which is 1 % of the lease
// and at most 1 s.
//
// A lease is not a proof. A process that is suspended between checking the lock and writing cannot notice the loss. A
// write that must never happen twice needs a check at the store that receives it.
//
// An [Engine] uses one connection for commands, one for Pub/Sub and one event loop for any number of locks. In a
// cluster it has these connections to each master; [Options.Replicas] adds two per master. Neither a held lock nor a
// waiting [Mutex.LockAsync] needs a goroutine, if the contexts come from package context.
package lockwheel
