package lockwheel

import (
	"context"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// RWMutex is a lock by its name that many may hold to read or one to write: Redisson's
// getReadWriteLock. Its methods are the writer's; [RWMutex.RLocker] is the reader, a Mutex as any other.
// It is a small immutable value, free to make and to copy, and safe for concurrent use. The zero RWMutex
// gives an error.
//
// Readers hold it together, and each hold has its own lease; a writer holds it alone. Who writes may
// read as well: whoever locks the reader with the context of the writer's hold gets it at once, and when
// the write is unlocked first, goes on reading beside others. That context ends with the write, and with it
// those of the holds inside; for a read that is to outlast it, lock with context.WithoutCancel of it. Who reads
// cannot write: ErrUpgrade. Both are so as well for those who wait as one owner of [WithOwner]: when it is granted
// the write, its waiting reads go on beside it, and when it is granted the read, its waiting writes are ErrUpgrade.
//
// Writers of one engine come in the order in which they asked. A reader who comes while a writer of the
// same engine waits lets that one come first: for a second, and each time that this was not enough for twice
// as long, up to a minute. So readers of one engine who read for less than that do not keep its writers out
// for ever. For readers of other processes nothing of that kind is promised: Redisson's protocol lets in
// whoever comes while others read. What a quorum of them promises is at [Quorum]. When a writer unlocks, everybody who waits is
// told. Those of the same engine who wait to read by then are asked for before its next writer is, also before a TryLock, which
// waits for that: for two round trips, at least 2 ms. A writer of another engine may still come first.
type RWMutex struct{ writer Mutex }

// RWMutex returns the read/write lock of that name: Redisson's getReadWriteLock. It is a small value, made
// without asking the server; a name that cannot be used is an error of the methods.
func (e *Engine) RWMutex(name string) RWMutex {
	return RWMutex{Mutex{engine: e, name: name, kind: actor.Write}}
}

// RLocker is the reader: a lock that others can hold at the same time. Its ForceUnlock takes the lock from
// all readers and leaves a writer alone, with what it reads. Its State is locked while somebody reads; Count
// is the number of readers, and Owner the only one, empty if there are several.
func (m RWMutex) RLocker() Mutex {
	reader := m.writer
	reader.kind = actor.Read
	return reader
}

// Writer is the writer as a Mutex.
func (m RWMutex) Writer() Mutex { return m.writer }

// Name is the lock's name, without the engine's prefix.
func (m RWMutex) Name() string { return m.writer.Name() }

// Lock waits until it has the lock for writing, as [Mutex.Lock]. ErrUpgrade: ctx carries a hold of the reader
// and none of the writer; nothing was sent.
func (m RWMutex) Lock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.writer.Lock(ctx, opts...)
}

// TryLock takes the lock for writing if nobody holds it, as [Mutex.TryLock]. ErrUpgrade is as for Lock.
func (m RWMutex) TryLock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.writer.TryLock(ctx, opts...)
}

// LockAsync asks for the lock for writing and returns at once, as [Mutex.LockAsync].
func (m RWMutex) LockAsync(ctx context.Context, opts ...Option) *Pending {
	return m.writer.LockAsync(ctx, opts...)
}

// Do runs f while it holds the lock for writing, as [Mutex.Do].
func (m RWMutex) Do(ctx context.Context, f func(context.Context) error, opts ...Option) error {
	return m.writer.Do(ctx, f, opts...)
}

// ForceUnlock takes the lock away from whoever writes, as [Mutex.ForceUnlock], together with what that one
// reads: in this engine both are lost at once. A lock that is only read is left alone.
func (m RWMutex) ForceUnlock(ctx context.Context) (wasLocked bool, err error) {
	return m.writer.ForceUnlock(ctx)
}

// State asks the server how the writer is, as [Mutex.State]: locked while somebody writes.
func (m RWMutex) State(ctx context.Context) (State, error) { return m.writer.State(ctx) }

// IsLocked reports whether somebody writes.
func (m RWMutex) IsLocked(ctx context.Context) (bool, error) { return m.writer.IsLocked(ctx) }

// HoldCount is how many holds of the writer the owner that ctx carries has, as [Mutex.HoldCount].
func (m RWMutex) HoldCount(ctx context.Context) (int, error) { return m.writer.HoldCount(ctx) }

// TTL is how long the lock lives without renewal if somebody writes, as [Mutex.TTL]; otherwise 0.
func (m RWMutex) TTL(ctx context.Context) (time.Duration, error) { return m.writer.TTL(ctx) }

// Locker is the writer for code that needs a sync.Locker, as [Mutex.Locker]. RLocker().Locker() is the
// reader: any number of goroutines may have one such Locker locked at a time.
func (m RWMutex) Locker() sync.Locker { return m.writer.Locker() }
