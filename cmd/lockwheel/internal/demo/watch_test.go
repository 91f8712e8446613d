package demo

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// runWatch watches two and a half seconds in which an engine does the same in every second.
func runWatch(t *testing.T, on *screen) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := &watch{screen: on, stats: func() lockwheel.Stats {
			seconds := uint64(time.Since(began) / time.Second)
			return lockwheel.Stats{
				Held: 100, Waiting: 3, Acquired: 50_000 * seconds, Renewed: 10_000 * seconds,
				HandedOff: 700 * seconds, RenewalLag: 12_345 * time.Microsecond, Lost: seconds,
			}
		}}
		half := func(now lockwheel.Stats) float64 { return 0.5 }
		w.during("keeping", half, func() { time.Sleep(2500 * time.Millisecond) })
	})
}

func TestWatch_EachSecond_PrintsLine(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out)
	runWatch(t, s)
	s.printf("kept")
	runWatch(t, s)
	const rows = `
  time     held acquired/s renewed/s handed on/s waiting renewal lag     lost
    1s      100      50000     10000         700       3      12.3ms        1
    2s      100      50000     10000         700       3      12.3ms        2
`
	assert.Equal(t, rows+"\nkept\n"+rows, out.String())
}

func TestWatch_Terminal_BarBelowLastLine(t *testing.T) {
	var out strings.Builder
	runWatch(t, &screen{to: &out, terminal: true})
	const bar = "keeping [####################....................]  50%"
	wiped := strings.Repeat(" ", len(bar)+len("^C^C"))
	shown := strings.Split(out.String(), "\r")
	require.Len(t, shown, 7)
	assert.Equal(t, bar, shown[0])
	assert.Equal(t, wiped, shown[1], "before a line is printed")
	assert.Regexp(t, "^\n  time .*\n    1s .*\n"+regexp.QuoteMeta(bar)+"$", shown[2])
	assert.Equal(t, wiped, shown[3])
	assert.Regexp(t, "^    2s .*\n"+regexp.QuoteMeta(bar)+"$", shown[4])
	assert.Equal(t, wiped, shown[5])
	assert.Empty(t, shown[6], "nothing of it is left at the end")
}

// A part that is more than the whole, as when a clock is set, fills the bar and does not leave it.
func TestScreen_AnyPart_BarFits(t *testing.T) {
	for part, want := range map[float64]int{-1: 0, 0: 0, 0.5: 20, 1: 40, 1.5: 40} {
		var out strings.Builder
		(&screen{to: &out, terminal: true}).progress("keeping", part)
		assert.Equal(t, want, strings.Count(out.String(), "#"), part)
		assert.Equal(t, 40-want, strings.Count(out.String(), "."), part)
	}
}

func TestScreen_File_NoTerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	defer file.Close()
	assert.False(t, newScreen(file).terminal)
}

func TestDurations_Rounded(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 123_456: "123µs", 1_234_567: "1.23ms", 12_345_678_901: "12.3s", 30 * time.Second: "30s",
	} {
		assert.Equal(t, want, rounded(d).String())
	}
}

// A phase has its own rates, whatever the engines did before it. When it ends, nothing more is printed.
func TestWatch_LaterPhase_OwnRates(t *testing.T) {
	var out strings.Builder
	synctest.Test(t, func(t *testing.T) {
		before := uint64(1_000_000)
		w := &watch{screen: &screen{to: &out, terminal: true}, stats: func() lockwheel.Stats { return lockwheel.Stats{Acquired: before} }}
		w.during("keeping", func(lockwheel.Stats) float64 { return 0.5 }, func() { time.Sleep(1500 * time.Millisecond) })
		length := out.Len()
		synctest.Wait()
		assert.Equal(t, length, out.Len())
	})
	assert.Regexp(t, `\n +1s +0 +0 +0 `, out.String())
}
