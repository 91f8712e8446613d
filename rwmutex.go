package lockwheel

import (
	"context"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// RWMutex is a named lock that many readers or one writer can hold: Redisson's getReadWriteLock. Its methods are
// those of the writer. [RWMutex.RLocker] is the reader, a Mutex like any other. It is a small immutable value, free
// to create and to copy, and safe for concurrent use. The methods of the zero RWMutex return an error.
//
// Readers hold it together, and each hold has its own lease. A writer holds it alone.
//
// A writer may also read: a call that locks the reader with the context of the writer's hold succeeds at once. If the
// write is unlocked first, the read continues beside other readers. The writer's context ends with the write, and so
// do the contexts of holds acquired with it. For a read that outlives the write, lock with context.WithoutCancel of
// that context.
//
// A reader cannot write: it gets ErrUpgrade. Both rules also apply to calls that wait with one owner of [WithOwner].
// When that owner is granted the write, its waiting reads are granted beside it. When it is granted the read, its
// waiting writes get ErrUpgrade.
//
// Writers of one engine acquire the lock in the order of their calls. A reader that arrives while a writer of the same
// engine waits lets the writer go first. It does so for up to 1 s, and for twice as long each time that this was not
// enough, up to one minute. So readers of one engine that read for less than that do not starve its writers.
//
// There is no such guarantee against readers of other processes: Redisson's protocol admits a new reader while others
// read. For quorums see [Quorum].
//
// When a writer unlocks, all waiters are notified. The engine sends the requests of its readers that wait by then
// before that of its next writer, and before a TryLock. A TryLock waits for that for two round trips, at least 2 ms.
// A writer of another engine may still go first.
type RWMutex struct{ writer Mutex }

// RWMutex returns the read/write lock with that name: Redisson's getReadWriteLock. The result is a small value, and
// the server is not contacted. The methods return an error for an invalid name; see [Engine.Mutex].
func (e *Engine) RWMutex(name string) RWMutex {
	return RWMutex{Mutex{engine: e, name: name, kind: actor.Write}}
}

// RLocker returns the reader: a lock that others can hold at the same time. Its ForceUnlock takes the lock away from
// all readers, but not from a writer or from reads of that writer. Its State is locked while there is a reader. Count
// is the number of readers, and Owner the only reader, empty if there are several.
func (m RWMutex) RLocker() Mutex {
	reader := m.writer
	reader.kind = actor.Read
	return reader
}

// Writer returns the writer as a Mutex.
func (m RWMutex) Writer() Mutex { return m.writer }

// Name returns the lock's name, without the engine's prefix.
func (m RWMutex) Name() string { return m.writer.Name() }

// Lock waits until it holds the lock for writing; see [Mutex.Lock]. It returns ErrUpgrade if ctx carries a hold of
// the reader and none of the writer; nothing is sent then.
func (m RWMutex) Lock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.writer.Lock(ctx, opts...)
}

// TryLock acquires the lock for writing if it is free; see [Mutex.TryLock]. It returns ErrUpgrade as Lock does.
func (m RWMutex) TryLock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.writer.TryLock(ctx, opts...)
}

// LockAsync requests the lock for writing and returns without blocking; see [Mutex.LockAsync].
func (m RWMutex) LockAsync(ctx context.Context, opts ...Option) *Pending {
	return m.writer.LockAsync(ctx, opts...)
}

// Do runs f while it holds the lock for writing; see [Mutex.Do].
func (m RWMutex) Do(ctx context.Context, f func(context.Context) error, opts ...Option) error {
	return m.writer.Do(ctx, f, opts...)
}

// ForceUnlock takes the lock away from the writer, together with the writer's reads; see [Mutex.ForceUnlock]. A
// writer in this engine loses both immediately. A lock that only readers hold is left alone.
func (m RWMutex) ForceUnlock(ctx context.Context) (wasLocked bool, err error) {
	return m.writer.ForceUnlock(ctx)
}

// State reads the writer's side from the server, as [Mutex.State] does: the lock is locked while there is a writer.
func (m RWMutex) State(ctx context.Context) (State, error) { return m.writer.State(ctx) }

// IsLocked reports whether there is a writer.
func (m RWMutex) IsLocked(ctx context.Context) (bool, error) { return m.writer.IsLocked(ctx) }

// HoldCount returns how many holds of the writer the owner in ctx has; see [Mutex.HoldCount].
func (m RWMutex) HoldCount(ctx context.Context) (int, error) { return m.writer.HoldCount(ctx) }

// TTL returns how long the lock lives without renewal if there is a writer, and otherwise 0; see [Mutex.TTL].
func (m RWMutex) TTL(ctx context.Context) (time.Duration, error) { return m.writer.TTL(ctx) }

// Locker returns the writer as a sync.Locker; see [Mutex.Locker]. RLocker().Locker() is the reader: any number of
// goroutines may have one such Locker locked at a time.
func (m RWMutex) Locker() sync.Locker { return m.writer.Locker() }
