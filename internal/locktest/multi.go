package locktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// PlainLocks returns plain locks with those names.
func PlainLocks(e *lockwheel.Engine, names ...string) (locks []lockwheel.Mutex) {
	for _, name := range names {
		locks = append(locks, e.Mutex(name))
	}
	return locks
}

// Multi returns a Multi of plain locks with those names.
func Multi(e *lockwheel.Engine, names ...string) lockwheel.Multi {
	return e.Multi(PlainLocks(e, names...)...)
}

// LockAll acquires locks that must be available.
func LockAll(t testing.TB, m lockwheel.Multi, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	hold, err := m.Lock(t.Context(), append([]lockwheel.Option{lockwheel.Wait(patience)}, opts...)...)
	require.NoError(t, err)
	return hold
}

// SeveralOf returns locks with those names as one.
func SeveralOf(e *lockwheel.Engine, names []string) lockwheel.Multi {
	var locks []lockwheel.Mutex
	for _, name := range names {
		locks = append(locks, MutexOf(e, name))
	}
	return e.Multi(locks...)
}
