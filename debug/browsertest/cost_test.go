package browsertest

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/debug"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

var (
	rounds = flag.Int("rounds", 1, "how often the unrelated lock is measured with the page, and without it")
	span   = flag.Duration("span", 2*time.Second, "how long a round measures")
)

// firstRow is a script that notes when the first row was there to be painted, counted from the begin of the
// navigation.
const firstRow = `(function look() {
	if (document.querySelector("table.locks tbody tr")) { window.firstRow = performance.now(); return }
	requestAnimationFrame(look)
})()`

// holdAndWait has an engine hold locks and callers wait for a hundred names that another client holds.
func holdAndWait(t *testing.T, s *locktest.Server, e *lockwheel.Engine, held, waiting int) {
	t.Helper()
	pending := make([]*lockwheel.Pending, held)
	for i := range pending {
		pending[i] = e.Mutex(fmt.Sprintf("held/%06d", i)).LockAsync(t.Context())
	}
	for _, p := range pending {
		<-p.Done()
		_, err := p.Hold()
		require.NoError(t, err)
	}
	const elsewhere = 100
	for i := range elsewhere {
		s.HoldAsOther(fmt.Sprintf("elsewhere/%02d", i), 0)
	}
	for i := range waiting {
		e.Mutex(fmt.Sprintf("elsewhere/%02d", i%elsewhere)).LockAsync(t.Context())
	}
	locktest.Queued(t, e, int64(waiting))
}

// unrelated locks and unlocks a name of its own, again and again with a pause between, and returns how long each
// lock took, shortest first.
func unrelated(t *testing.T, e *lockwheel.Engine) (took []time.Duration) {
	t.Helper()
	m := e.Mutex("unrelated")
	for end := time.Now().Add(*span); time.Now().Before(end); time.Sleep(time.Millisecond) {
		began := time.Now()
		hold, err := m.Lock(context.Background())
		require.NoError(t, err)
		took = append(took, time.Since(began))
		require.NoError(t, hold.Unlock(context.Background()))
	}
	slices.Sort(took)
	return took
}

// p99 returns how long the slowest percent took at least, in microseconds.
func p99(sorted []time.Duration) float64 { return float64(sorted[len(sorted)*99/100].Microseconds()) }

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// longestPause returns how long the page waits between two updates: on a busy machine it takes long to read the engine.
func longestPause(b *tab) time.Duration {
	const readPerPause = 100
	return readPerPause * time.Duration(eval[float64](b, `Number(document.getElementById("live").dataset.readMs)`)) * time.Millisecond
}

// A page of 100 000 held locks and 10 000 waiters shows a hundred rows at a time and updates itself. An unrelated lock
// of the engine is served meanwhile. It prints how long the first row took, and the unrelated lock's p99 with the page
// open and without.
func TestBrowser_100000Locks_ShownInPages(t *testing.T) {
	long.Only(t, "it takes 100 000 locks")
	b := openTab(t)
	s := locktest.RealServer(t)
	e := s.Open(locktest.SlowTimeouts)
	held, waiting := s.Amount(100_000, 20_000), s.Amount(10_000, 2_000)
	holdAndWait(t, s, e, held, waiting)
	url := serve(t, debug.Options{}, e)
	run(b, func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: firstRow})
		return chromedp.Void{}, err
	})

	var first, with, without, ratios []float64
	for range *rounds {
		b.open("about:blank")
		before := unrelated(t, e)
		b.open(url)
		b.eventually(`window.firstRow > 0`)
		first = append(first, eval[float64](b, `window.firstRow`))
		eval[string](b, `window.began = document.querySelector("main p").innerText`)
		after := unrelated(t, e)
		b.within(patience+longestPause(b), `document.querySelector("main p").innerText !== window.began`) // the page was not only open
		with, without = append(with, p99(after)), append(without, p99(before))
		ratios = append(ratios, p99(after)/p99(before))
	}
	t.Logf("%d held, %d waiting, medians of %d: the first row %.0f ms after the begin of the navigation; the unrelated lock's p99 %.0f µs with the page, "+
		"%.0f µs without, %.2f times that of the round before", held, waiting, *rounds, median(first), median(with), median(without), median(ratios))

	assert.Contains(t, b.text("main"), fmt.Sprintf("%d of %d locks match", held+100, held+100))
	assert.Len(t, b.column(1), 100)
	b.open(url + "?sort=waiting")
	assert.Equal(t, fmt.Sprint(waiting/100), b.column(8)[0])
	assert.Less(t, eval[int](b, `document.querySelectorAll("*").length`), 3000, "the size of the page")
	assert.Equal(t, int64(held), e.Stats().Held, "none was lost")
	b.requireQuietConsole()
}
