package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/debug"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

var screenshot = flag.String("screenshot", "", "write two pictures of the page into this folder: page.png and page-numbers.png")

// The pictures of the documentation: a process in the middle of its work, with a lock for which many wait.
func TestBrowser_Screenshot_IsSmall(t *testing.T) {
	b := openTab(t)
	var recorder debug.Recorder
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Name: "billing@host-7:4711", Observer: recorder.Observer()})
	work := func(context.Context) error { return nil }
	for i := range 300 {
		require.NoError(t, e.Mutex(fmt.Sprintf("orders/%d", i)).Do(t.Context(), work))
	}
	locktest.Lock(t, e.Mutex("reports/daily"))
	locktest.Lock(t, e.FairMutex("printer"))
	locktest.Lock(t, e.RWMutex("catalogue").RLocker())
	locktest.Lock(t, e.FencedMutex("ledger"), lockwheel.Lease(10*time.Minute))
	for i := range 4 {
		locktest.Lock(t, e.Mutex(fmt.Sprintf("orders/%d", 4711+i)))
	}
	for range 12 {
		e.Mutex("reports/daily").LockAsync(t.Context())
	}
	s.HoldAsOther("imports/fr", time.Minute)
	for range 3 {
		e.Mutex("imports/fr").LockAsync(t.Context())
	}
	_, err := e.Mutex("imports/fr").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	locktest.Queued(t, e, 15)
	url := serve(t, debug.Options{Recorder: &recorder, AllowForce: true}, e)
	b.open(url + "?sort=waiting")
	b.eventually(`document.querySelectorAll("table.locks tbody tr").length === 9`)
	b.asOfProduction()
	picture := run(b, chromedp.CaptureScreenshot())
	b.open(url + "?sort=waiting#numbers")
	b.asOfProduction()
	b.eventually(`document.querySelectorAll("figure svg rect").length > 10 && window.scrollY > 0`)
	for name, picture := range map[string][]byte{"page.png": picture, "page-numbers.png": run(b, chromedp.CaptureScreenshot())} {
		require.Less(t, len(picture), 200_000)
		if *screenshot != "" {
			require.NoError(t, os.WriteFile(filepath.Join(*screenshot, name), picture, 0o644))
		}
	}
}

// asOfProduction puts the process of the documents in the place of this test, which is on a machine that the pictures
// do not tell of. No update puts it back.
func (b *tab) asOfProduction() {
	b.t.Helper()
	eval[string](b, `window.fetch = () => new Promise(() => {}); document.getElementById("process").textContent = "billing on host-7, pid 4711"`)
}
