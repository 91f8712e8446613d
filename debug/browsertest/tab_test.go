package browsertest

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/debug"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// patience is the deadline for what a browser does at once, or within the 2 s between two updates of the page.
const patience = 60 * time.Second

// serve serves a page in a folder, as a program mounts it, and returns its address.
func serve(t *testing.T, opts debug.Options, engines ...*lockwheel.Engine) (url string) {
	t.Helper()
	opts.Logger = slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	mux.Handle("/debug/locks/", http.StripPrefix("/debug/locks", debug.Handler(opts, engines...)))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/debug/locks/"
}

// browser finds Chromium. Otherwise it skips the test, or fails it where everything is required.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		found, err := exec.LookPath(name)
		if err == nil {
			return found
		}
		require.ErrorIs(t, err, exec.ErrNotFound)
	}
	if os.Getenv(redistest.EnvRequire) == "1" {
		t.Fatal("needs the package chromium")
	}
	t.Skip("needs the package chromium")
	return ""
}

// tab is a tab of a browser, which ends with the test.
type tab struct {
	t       *testing.T
	ctx     context.Context
	console iter.Seq2[chromedp.ConsoleMessage, error] // messages, exceptions, violations of the policy, failed requests
}

// openTab opens a tab in a browser of its own.
func openTab(t *testing.T) *tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(browser(t)), chromedp.WindowSize(1280, 920),
		chromedp.WSURLReadTimeout(patience))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	ctx, endBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(endBrowser)
	return tabOf(t, ctx)
}

func tabOf(t *testing.T, parent context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx)) // the browser ends with the context of the first call
	return &tab{t, ctx, chromedp.Console(ctx)}
}

// requireQuietConsole fails the test if the page wrote anything into the console. It reads up to a message of its own.
func (b *tab) requireQuietConsole() {
	b.t.Helper()
	const end = "the end of the test"
	eval[bool](b, `console.log("`+end+`") || true`)
	for m, err := range b.console {
		require.NoError(b.t, err)
		if m.Text == end {
			return
		}
		assert.Fail(b.t, "the console", "%s %s", m, m.URL)
	}
}

// do carries out what a person would do.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	run(b, chromedp.Steps(actions...))
}

// run carries out an action and returns what it yields.
func run[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	require.NoError(b.t, err)
	return value
}

// eval evaluates an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression))
}

// open opens a page.
func (b *tab) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// click clicks on an element.
func (b *tab) click(selector chromedp.CSS) {
	b.t.Helper()
	b.do(chromedp.Click(selector))
}

// follow clicks on an element that leads to another page, and waits until that is loaded.
func (b *tab) follow(selector chromedp.CSS) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, chromedp.Click(selector))
	require.NoError(b.t, err)
}

// eventually waits until an expression is true in the page. It is evaluated from outside, because the policy of
// the page allows it no code from text.
func (b *tab) eventually(expression string) {
	b.t.Helper()
	b.within(patience, expression)
}

// within is eventually with another patience.
func (b *tab) within(patience time.Duration, expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !eval[bool](b, expression); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("never true: %s; the page: %s", expression, b.text("body"))
		}
	}
}

// text returns the text of the first element that a selector matches.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, "document.querySelector("+strconv.Quote(selector)+").innerText")
}

// column returns the texts of a column of the table of locks.
func (b *tab) column(n int) []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("table.locks tbody td:nth-child(`+strconv.Itoa(n)+`)")].map(td => td.innerText)`)
}
