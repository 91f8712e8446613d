package lockwheelprom_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/lockwheelprom"
)

// listed is a source with the locks that a test chooses, and then an error.
type listed struct {
	locks []lockwheel.LockInfo
	err   error
}

func (l listed) Locks(context.Context) iter.Seq2[lockwheel.LockInfo, error] {
	return func(yield func(lockwheel.LockInfo, error) bool) {
		for _, info := range l.locks {
			if !yield(info, nil) {
				return
			}
		}
		if l.err != nil {
			yield(lockwheel.LockInfo{}, l.err)
		}
	}
}

// valuesOf returns the values of a metric by the label lock; that of a metric without the label is at "".
func valuesOf(t *testing.T, c prometheus.Collector, name string) map[string]float64 {
	t.Helper()
	values := make(map[string]float64)
	for _, m := range gather(t, c)[name].GetMetric() {
		lock := ""
		for _, l := range m.Label {
			if l.GetName() == "lock" {
				lock = l.GetValue()
			}
		}
		values[lock] = m.Gauge.GetValue()
	}
	return values
}

// The locks that match have series: held ones, and those that callers wait for. Others have none, nor after the unlock.
func TestLocks_NamesThatMatch_HaveSeries(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	c := lockwheelprom.NewLockCollector(e, "orders", regexp.MustCompile(`^(import|report)/`))
	hold := locktest.Lock(t, e.Mutex("report/daily"))
	locktest.Lock(t, e.Mutex("orders/7"))
	s.HoldAsOther("import/fr", time.Minute)
	e.Mutex("import/fr").LockAsync(t.Context())
	e.Mutex("report/daily").LockAsync(t.Context(), lockwheel.Wait(time.Minute))
	locktest.Queued(t, e, 2)
	require.Equal(t, map[string]float64{"report/daily": 1, "import/fr": 0}, valuesOf(t, c, "lockwheel_lock_holds"))
	require.Equal(t, map[string]float64{"report/daily": 1, "import/fr": 1}, valuesOf(t, c, "lockwheel_lock_waiting_requests"))
	held, waited := valuesOf(t, c, "lockwheel_lock_held_seconds"), valuesOf(t, c, "lockwheel_lock_waited_seconds")
	require.Positive(t, held["report/daily"])
	require.Zero(t, held["import/fr"])
	require.Positive(t, waited["import/fr"])
	require.Equal(t, map[string]float64{"": 0}, valuesOf(t, c, "lockwheel_locks_left_out"))

	locktest.Unlock(t, hold)
	e.Close()
	require.Empty(t, gather(t, c), "an engine that is closed")
}

// The number of series has a bound, whatever matches, and so has each label. Locks with one label are one.
func TestLocks_VeryMany_Bounded(t *testing.T) {
	t.Parallel()
	var source listed
	for i := range 1000 {
		source.locks = append(source.locks, lockwheel.LockInfo{Name: fmt.Sprintf("n/%03d", 999-i), Holds: 1, Since: time.Now()})
	}
	long := strings.Repeat("é", 1000)
	source.locks = append(source.locks, lockwheel.LockInfo{Name: "a\xff", Holds: 1}, lockwheel.LockInfo{Name: "a\xfe", Holds: 2}, lockwheel.LockInfo{Name: "a" + long})
	c := lockwheelprom.NewLockCollector(source, "e", regexp.MustCompile(``))
	holds := valuesOf(t, c, "lockwheel_lock_holds")
	require.Len(t, holds, 100)
	require.InDelta(t, 3, holds["a\uFFFD"], 0)
	require.Contains(t, holds, "n/097")
	require.NotContains(t, holds, "n/098")
	require.Contains(t, holds, "a"+long[:254]+"\uFFFD")
	require.Equal(t, map[string]float64{"": 902}, valuesOf(t, c, "lockwheel_locks_left_out"))
}

// Of a label with several locks that has no series, each lock counts as left out.
func TestLocks_LabelLeftOut_EachCounts(t *testing.T) {
	t.Parallel()
	source := listed{locks: []lockwheel.LockInfo{{Name: "z", Holds: 1}, {Name: "z", Holds: 1}}}
	for i := range 100 {
		source.locks = append(source.locks, lockwheel.LockInfo{Name: fmt.Sprintf("n/%03d", i), Holds: 1})
	}
	c := lockwheelprom.NewLockCollector(source, "e", regexp.MustCompile(``))
	require.NotContains(t, valuesOf(t, c, "lockwheel_lock_holds"), "z")
	require.Equal(t, map[string]float64{"": 2}, valuesOf(t, c, "lockwheel_locks_left_out"))
}

// Of several rows with one label the longest hold and the longest wait count, whether or not a row has one of them.
func TestLocks_SeveralRows_LongestCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	rows := []lockwheel.LockInfo{
		{Name: "n", Holds: 1, Since: now.Add(-time.Hour)}, {Name: "n", Holds: 2, Since: now.Add(-3 * time.Hour), Waiting: 1, WaitingSince: now.Add(-time.Hour)},
		{Name: "n", Waiting: 2, WaitingSince: now.Add(-2 * time.Hour)}, {Name: "n", Holds: 1, Since: now.Add(-2 * time.Hour)},
	}
	for range len(rows) {
		rows = append(rows[1:], rows[0])
		c := lockwheelprom.NewLockCollector(listed{locks: rows}, "e", regexp.MustCompile(`n`))
		for name, want := range map[string]float64{"holds": 4, "waiting_requests": 3, "held_seconds": 3 * 3600, "waited_seconds": 2 * 3600} {
			require.InDelta(t, want, valuesOf(t, c, "lockwheel_lock_"+name)["n"], 600, name)
		}
		require.InDelta(t, 4, valuesOf(t, c, "lockwheel_lock_holds")["n"], 0)
	}
	ahead := []lockwheel.LockInfo{{Name: "n", Holds: 1, Since: now.Add(time.Hour)}}
	require.Zero(t, valuesOf(t, lockwheelprom.NewLockCollector(listed{locks: ahead}, "e", regexp.MustCompile(`n`)), "lockwheel_lock_held_seconds")["n"], "no time is negative")
}

// Without names that match, and of a list that was not read to its end, there are no single locks.
func TestLocks_NoneOrBroken_NoSeries(t *testing.T) {
	t.Parallel()
	one := []lockwheel.LockInfo{{Name: "n", Holds: 1}}
	require.Empty(t, gather(t, lockwheelprom.NewLockCollector(listed{one, errors.New("late")}, "e", regexp.MustCompile(`n`))))
	require.Len(t, gather(t, lockwheelprom.NewLockCollector(listed{one, nil}, "e", nil)), 1, "the number of those left out")
}

// Names, types and help are as Prometheus wants them.
func TestLocks_Conventions_Kept(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	for _, engine := range []string{"one", "other"} {
		registry.MustRegister(lockwheelprom.NewLockCollector(listed{locks: []lockwheel.LockInfo{{Name: "n"}}}, engine, regexp.MustCompile(`n`)))
	}
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// An engine's name that is no UTF-8 can be registered: its bytes are replaced.
func TestLocks_EngineNameNotUTF8_Replaced(t *testing.T) {
	t.Parallel()
	require.NoError(t, prometheus.NewRegistry().Register(lockwheelprom.NewLockCollector(&listed{}, "a\xff", nil)))
}
