package waiting_test

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/locktest"
)

// No mutexes also means no spinning, and no channel used as a mutex. This test is not parallel: the profiles are
// those of the process.
func TestHotLock_NoMutexContention(t *testing.T) {
	s := locktest.RealServer(t)
	e := s.Open(locktest.SlowTimeouts)
	m := e.Mutex("n")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // more threads than processors: the holder of a mutex is interrupted now and then
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	locktest.Crowd(t, 64, func(int) error {
		for range 1000 {
			hold, err := m.Lock(t.Context())
			if err != nil {
				return err
			}
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	runtime.SetBlockProfileRate(0)
	runtime.SetMutexProfileFraction(0)
	require.Empty(t, waitedIn(runtime.MutexProfile, "sync."), "a mutex of ours")
	require.Subset(t, []string{
		"(*Engine).await", "(*Engine).awaitOrCancel", // callers, for their results
		"engine.(*Engine).sleep",                  // the loop, for messages
		"engine/mpsc.(*Mailbox[...]).CancelSleep", // or for a wake-up that is just being sent
		"engine.runSender",                        // senders, for batches
		"engine.(*subscriber).run",                // for orders
		"engine.(*subscriber).serve",              // and messages
		"engine.(*lender).lend",                   // and a dedicated connection
		"internal/dial.call[...]",                 // or a connection that is being made
	}, waitedIn(runtime.BlockProfile, "sync.", "runtime.chan", "runtime.select"), "a channel of ours in a mutex's place")
}

// waitedIn returns the functions of this module in which a profile saw a goroutine wait in one of those places.
// Functions that wait in a call to other code do not count. The profile of mutexes also contains the runtime's own
// locks, which channels have.
func waitedIn(profile func([]runtime.BlockProfileRecord) (int, bool), places ...string) []string {
	records := make([]runtime.BlockProfileRecord, 10_000)
	n, _ := profile(records)
	found := map[string]bool{}
	for _, record := range records[:n] {
		frames := runtime.CallersFrames(record.Stack())
		frame, more := frames.Next()
		if !slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(frame.Function, place) }) {
			continue
		}
		for ; more; frame, more = frames.Next() {
			name, ours := strings.CutPrefix(frame.Function, "github.com/lockwheel/lockwheel")
			switch {
			case frame.Function == "runtime.mallocgc": // began a collection, and waits for its workers
			case strings.HasPrefix(frame.Function, "sync.(*Pool)"): // makes room for more processors
			case strings.HasPrefix(frame.Function, "runtime."), strings.HasPrefix(frame.Function, "sync"):
				continue
			case ours && !strings.HasPrefix(name, "/test/") && !strings.HasPrefix(name, "/internal/locktest"):
				found[strings.TrimLeft(name, "/.")] = true
			}
			break
		}
	}
	return slices.Sorted(maps.Keys(found))
}
