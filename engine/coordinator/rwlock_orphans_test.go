package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A master that was a replica may not know of a release. docs/clusters.md promises that the engine removes a tenure
// that came back when it acquires the name again, in whichever half.
func TestOrphan_OtherSide_Released(t *testing.T) {
	for name, c := range map[string]struct{ one, back, other, told, released string }{
		"a write, by a reader":                   {"write a", "unwrite a", "read a", "writer1", "unwrite a"},
		"a read, by a writer":                    {"read a", "unread a", "write a", "reader1", "unread a"},
		"a write, by a reader who does not wait": {"write a", "unwrite a", "tryread a", "writer1", "unwrite a"},
		"a read, by a writer who does not wait":  {"read a", "unread a", "trywrite a", "reader1", "unread a"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(t, 8)
			d.line("1ms " + c.one)
			d.line("2ms 1 done")
			require.Equal(t, "a not held; 2: "+c.back, d.line("3ms unlock a"))
			require.Equal(t, "a unlocked", d.line("4ms 2 done"))
			d.line("5ms " + c.other + "/2")
			require.Contains(t, d.line("6ms 3 "+c.told), "4: "+c.released+"; 5: ")
			require.EqualValues(t, 1, d.inFlight[4].Commands[0].Tenure)
			require.Equal(t, "nothing", d.line("7ms 4 done"))
			require.Contains(t, d.line("8ms 5 done"), "a/2 granted")
			require.Contains(t, d.line("9ms unlock a/2"), "a/2 not held")
			require.Contains(t, d.line("10ms 6 done"), "a/2 unlocked")
			d.line("1s ordered")
			d.line("2s ordered")
			require.Empty(t, d.c.LockSets)
			require.Zero(t, d.c.Locks.Len())
		})
	}
}

// A write of this engine is an orphan if the engine has no writer of that name, and is released.
func TestOrphan_WriteOfUnknownName_Released(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms read a")
	require.Nil(t, d.c.Locks.Get("a"))
	require.Equal(t, "2: unwrite a; 3: read a; join rwlock:{a}", d.line("2ms 1 writer1"))
}

// A tenure that is held, being acquired or being released here is in use.
func TestOrphan_OtherSideInUse_NotReleased(t *testing.T) {
	t.Run("a read", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms read a a/2")
		d.line("2ms 1 done")
		d.line("3ms write a/w")
		require.Equal(t, "join rwlock:{a}", d.line("4ms 2 readers"))
		require.Equal(t, "3: write a", d.line("5ms ordered; subscribed rw:a"))
		require.Equal(t, "a not held; 4: unread a", d.line("6ms unlock a"))
		require.Equal(t, "nothing", d.line("7ms 3 readers"))
	})
	t.Run("a write", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms write a")
		d.line("2ms 1 done")
		d.line("3ms read a/2")
		require.Equal(t, "join rwlock:{a}", d.line("4ms 2 writer1"))
		require.Equal(t, "a not held; 3: unwrite a", d.line("5ms unlock a"))
		require.Equal(t, "4: read a", d.line("6ms ordered; subscribed rw:a"))
		require.Equal(t, "nothing", d.line("7ms 4 writer1"))
	})
}

// A caller unlocks one half with UnlockAsync and tries the other one next. The server may execute the acquire before
// the release, which is in another batch: the caller's own hold is not in its way.
func TestTry_OtherSideBeingReleased_TriesAgain(t *testing.T) {
	for name, c := range map[string]struct{ one, back, other, told string }{
		"a reader behind a writer": {"write", "unwrite", "read", "writer1"},
		"a writer behind a reader": {"read", "unread", "write", "reader1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(t, 8)
			d.line("1ms " + c.one + " a")
			d.line("2ms 1 done")
			require.Equal(t, "a not held; 2: "+c.back+" a", d.line("3ms unlock a"))
			require.Equal(t, "3: "+c.other+" a", d.line("4ms try"+c.other+" a/2"))
			require.Equal(t, "4: "+c.other+" a; join rwlock:{a}", d.line("5ms 3 "+c.told))
			require.Equal(t, "a unlocked", d.line("6ms 2 done"))
			require.Equal(t, "a/2 granted", d.line("7ms 4 done"))
		})
	}
	t.Run("one of two readers reads on", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms read a a/2")
		d.line("2ms 1 done")
		d.line("3ms unlock a")
		require.Equal(t, "3: write a", d.line("4ms trywrite a/w"))
		require.Equal(t, "a/w not acquired", d.line("5ms 3 readers"))
	})
}

// A reply can come after that of a release that ran later. Then there is nothing to release, and a waiter that received
// the message acquires at once.
func TestOrphan_ReplyOvertaken_NoDelay(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms read a")
	d.line("2ms 1 done")
	d.line("3ms write a/w")
	d.line("4ms 2 taken")
	require.Equal(t, "3: write a", d.line("5ms ordered; subscribed rw:a"))
	d.line("6ms unlock a")
	require.Equal(t, "a unlocked", d.line("7ms heard rw:a; 4 done"))
	require.Equal(t, "5: unread a; 6: write a", d.line("8ms 3 reader1"))
	require.Equal(t, "nothing", d.line("9ms heard rw:a; 5 gone"))
	require.Equal(t, "7: unread a; 8: write a", d.line("10ms 6 reader1"))
	require.Equal(t, "nothing", d.line("11ms 7 gone"))
	require.Equal(t, "a/w granted", d.line("12ms 8 done"))
}

// A permission can be missing: to retry at once would be in vain, and would not end.
func TestOrphan_ReleaseDenied_Waits(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms write a")
	require.Equal(t, "2: unread a; 3: write a; join rwlock:{a}", d.line("2ms 1 reader1"))
	require.Equal(t, "nothing", d.line("3ms ordered; 2 denied"))
	require.Equal(t, "nothing", d.line("4ms 3 reader1"))
}
