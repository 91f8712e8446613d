package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/debug"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// An operator opens the page and sees rows, charts and what happened, in the page's own style. Nothing is in the
// console, so that the policy against foreign scripts blocks nothing of the page itself.
func TestBrowser_HeldLocks_RowsAppear(t *testing.T) {
	b := openTab(t)
	var recorder debug.Recorder
	e := locktest.AnyServer(t).Open(lockwheel.Options{Observer: recorder.Observer()})
	hold := locktest.Lock(t, e.Mutex("orders/7"))
	locktest.Lock(t, e.RWMutex("catalogue").RLocker())
	url := serve(t, debug.Options{Recorder: &recorder}, e)
	locktest.Eventually(t, "the events", func() bool {
		b.open(url)
		return eval[int](b, `document.querySelectorAll("table.events tbody tr").length`) == 2
	})
	assert.Equal(t, []string{"orders/7", "catalogue"}, b.column(1))
	assert.Equal(t, []string{"plain", "reader"}, b.column(2))
	assert.Equal(t, hold.ID(), b.column(3)[0])
	assert.Positive(t, eval[int](b, `[...document.querySelectorAll("svg rect")].filter(r => r.getBoundingClientRect().height > 0).length`))
	assert.Equal(t, "8px", eval[string](b, `getComputedStyle(document.querySelector("table.locks")).borderTopLeftRadius`), "the page's own style")
	b.requireQuietConsole()
}

// In a window of 1200 pixels with forms, names, kinds, leases and links stay in one line, also beside a long holder. A
// long name breaks, so that the page is not wider than the window.
func TestBrowser_NarrowWindow_WordsNotBroken(t *testing.T) {
	b := openTab(t)
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.Lock(t, e.Mutex("orders/7"))
	locktest.Lock(t, e.Mutex(strings.Repeat("long", 100)))
	locktest.Lock(t, e.RWMutex("catalogue").RLocker())
	e.RWMutex("catalogue").LockAsync(t.Context())
	locktest.Queued(t, e, 1)
	b.do(chromedp.EmulateViewport(1200, 900))
	b.open(serve(t, debug.Options{AllowForce: true}, e))
	b.eventually(`document.querySelectorAll("table.locks tbody tr").length === 4`)
	require.Contains(t, strings.Join(b.column(3), "\n"), "of this engine")
	const lines = `(() => { const r = document.createRange(); return [...document.querySelectorAll("table.locks tbody td")].
		filter(td => !td.matches(".holder") && td.innerText.length < 100).
		filter(td => { r.selectNodeContents(td); return r.getBoundingClientRect().height > 30 }). // one line is less
		map(td => td.innerText) })()`
	assert.Empty(t, eval[[]string](b, lines))
	assert.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), 1200)
}

// The page shows what came and went without being loaded anew. It waits while the operator selects text, and shows
// since when it is not up to date if the process does not reply.
func TestBrowser_LockComesAndGoes_UpdatesItself(t *testing.T) {
	b := openTab(t)
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("first"))
	handler := debug.Handler(debug.Options{}, e)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	b.open(server.URL)
	eval[string](b, `window.same = "document"`)
	require.Equal(t, []string{"first"}, b.column(1))

	locktest.Lock(t, e.Mutex("second"))
	b.eventually(`document.querySelector("table.locks").innerText.includes("second")`)
	locktest.Unlock(t, hold)
	b.eventually(`!document.querySelector("table.locks").innerText.includes("first")`)
	assert.Equal(t, []string{"second"}, b.column(1))
	assert.Equal(t, "document", eval[string](b, `window.same`))
	b.requireQuietConsole()

	server.Close()
	b.eventually(`document.getElementById("trouble").innerText.startsWith("Not updated since ")`)
	assert.Equal(t, []string{"second"}, b.column(1), "the last state stays")
}

// rewritten serves a page with another body.
func rewritten(t *testing.T, page http.Handler, body func(was string) string) *httptest.Server {
	return rewrittenAt(t, "/", page, body)
}

// rewrittenAt serves a page with another body at one path.
func rewrittenAt(t *testing.T, path string, page http.Handler, body func(was string) string) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		text := answer.Body.String()
		if r.URL.Path == path {
			text = body(text)
			w.Header().Del("Content-Length")
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server
}

// The head names the process that replied to the last update: after a restart it is another one.
func TestBrowser_ProcessReplaced_HeadSaysSo(t *testing.T) {
	b := openTab(t)
	h := debug.Handler(debug.Options{}, locktest.AnyServer(t).Open(lockwheel.Options{}))
	var replaced atomic.Bool
	server := rewritten(t, h, func(body string) string {
		if !replaced.Load() {
			return body
		}
		body = regexp.MustCompile(`<p id="process">[^<]*`).ReplaceAllString(body, `<p id="process">next`)
		return regexp.MustCompile(`<title>[^<]*`).ReplaceAllString(body, `<title>next`)
	})
	b.open(server.URL)
	require.Contains(t, b.text("#process"), fmt.Sprintf("pid %d", os.Getpid()))
	replaced.Store(true)
	b.eventually(`document.getElementById("process").innerText === "next" && document.title === "next"`)
	b.requireQuietConsole()
}

// clockwork goes before the page's script: its time, its timers and its requests are in the hands of the test.
const clockwork = `
window.test = {
	now: Date.now(), waits: [],
	ask: () => { test.now += test.waits.at(-1); test.next() },
	look: later => { test.now += later; test.tick(); return document.getElementById("trouble").innerText },
	reply: (took, read) => {
		const page = document.documentElement.outerHTML.replace(/data-read-ms="\d+"/, "data-read-ms=" + read)
		test.now += took
		test.settle({ ok: true, text: async () => page })
	},
	fail: took => { test.now += took; test.settle(Promise.reject(new Error("the test says no"))) },
}
Date.now = performance.now = () => test.now
window.setTimeout = (then, wait) => { test.waits.push(wait); test.next = then }
window.setInterval = then => { test.tick = then }
window.fetch = () => new Promise(settle => { test.settle = settle })
`

// openAtTestTime opens a page with clockwork.
func (b *tab) openAtTestTime() {
	b.t.Helper()
	h := debug.Handler(debug.Options{}, locktest.AnyServer(b.t).Open(lockwheel.Options{}))
	b.open(rewrittenAt(b.t, "/page.js", h, func(script string) string { return clockwork + script }).URL)
	b.eventually(`window.test !== undefined && test.waits.length === 1`)
}

// A request that took long, and a process that read for long, are followed by a longer pause, of at most 10 s. Only if
// the process reads for as long again, the pause is longer: reading takes at most 1 % of the time. A request that
// failed has no share.
func TestBrowser_SlowUpdate_PauseBounded(t *testing.T) {
	b := openTab(t)
	b.openAtTestTime()
	ok := func(took, read int) string { return fmt.Sprintf("test.reply(%d, %d)", took, read) }
	for i, step := range []struct {
		reply string
		pause int
	}{
		{ok(5, 3), 2000}, {ok(300, 3), 3000}, {ok(14000, 3), 10000}, {ok(14000, 3), 10000}, // the network is slow
		{ok(5, 3), 2000}, {ok(60, 50), 5000}, {ok(1300, 1200), 10000}, {ok(1300, 1000), 100000}, {ok(1300, 1200), 100000}, // so is the process
		{ok(5, 3), 2000}, {ok(1300, 1200), 10000}, {ok(5, 3), 2000},
		{"test.fail(15000)", 2000}, {ok(5, 3), 2000},
	} {
		eval[bool](b, `test.ask(), true`)
		eval[bool](b, step.reply+`, true`)
		b.eventually(fmt.Sprintf(`test.waits.length === %d`, i+2))
		assert.Equal(t, step.pause, eval[int](b, `test.waits.at(-1)`), "%d: %s", i, step.reply)
	}
}

// An old state is never shown as the present one: the page says so while a request hangs, after it has failed, while it
// waits for an operator that selects text, and in a long pause. It says nothing in an ordinary pause.
func TestBrowser_NoUpdate_SaysSinceWhen(t *testing.T) {
	b := openTab(t)
	b.openAtTestTime()
	look := func(later int) string { return eval[string](b, fmt.Sprintf("test.look(%d)", later)) }
	updates := 1
	act := func(actions ...string) {
		for _, action := range actions {
			eval[bool](b, action+", true")
		}
		updates++
		b.eventually(fmt.Sprintf(`test.waits.length === %d`, updates))
	}
	act("test.ask()", "test.reply(5, 3)")
	since := eval[string](b, `"Not updated since " + new Date(test.now).toLocaleTimeString()`)
	require.Empty(t, look(2000))
	eval[bool](b, `test.next(), true`) // it hangs
	require.Empty(t, look(3000))
	require.Equal(t, since+": no reply yet", look(1))
	act("test.fail(10000)")
	require.Equal(t, since+": the test says no", look(0))
	act("test.ask()", "test.reply(9000, 3)")
	require.Empty(t, look(0))
	require.Empty(t, look(10000), "in the pause")

	act("test.ask()", "test.reply(5, 3)")
	act("getSelection().selectAllChildren(document.querySelector('h1'))", "test.ask()")
	require.Empty(t, look(0), "for a short time")
	require.Regexp(t, "^Not updated since .* while text is selected or a link has the focus$", look(4000))
	act("getSelection().removeAllRanges()", "test.ask()", "test.reply(1300, 1200)")
	require.Empty(t, look(0))
	act("test.ask()", "test.reply(1300, 1200)")
	require.Empty(t, look(13000))
	require.Regexp(t, "^Not updated since .*: reading the locks takes the process 1200 ms, so the next update is at .*$", look(1))
	act("test.ask()", "test.reply(5, 3)")
	require.Empty(t, look(0))
	eval[bool](b, `document.getElementById("updating").checked = false, true`)
	require.Empty(t, look(60000), "the operator wants none")
}

// The form searches, sorts and restricts to a kind, and a link continues with the next rows.
func TestBrowser_Form_SortsAndSearches(t *testing.T) {
	b := openTab(t)
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	for _, name := range []string{"c/1", "b/2", "a/1"} { // so the oldest is last by name
		locktest.Lock(t, e.Mutex(name))
	}
	locktest.Lock(t, e.FencedMutex("d/1"))
	for i := range 120 {
		locktest.Lock(t, e.Mutex(fmt.Sprintf("many/%03d", i)))
	}
	b.open(serve(t, debug.Options{}, e))
	require.Len(t, b.column(1), 100)
	require.Equal(t, "c/1", b.column(1)[0])

	choose := func(name, value string) {
		b.do(chromedp.SetValue(chromedp.CSS(`form.search [name="`+name+`"]`), value))
		b.follow("form.search button")
	}
	choose("q", "/1")
	require.Subset(t, b.column(1), []string{"a/1", "c/1", "d/1"})
	require.NotContains(t, b.column(1), "b/2")
	choose("sort", "name")
	require.Equal(t, []string{"a/1", "c/1", "d/1"}, b.column(1)[:3], "sorted, and the search is kept")
	choose("kind", "fenced")
	require.Equal(t, []string{"d/1"}, b.column(1))

	choose("kind", "")
	choose("q", "many/")
	first := b.column(1)
	b.follow(`a[rel="next"]`)
	rest := b.column(1)
	require.Len(t, first, 100)
	require.Equal(t, "many/099", first[99])
	require.Len(t, rest, 20)
	require.Equal(t, "many/100", rest[0])
	b.requireQuietConsole()
}

// Names are shown as text, whatever they contain: no script runs, no element appears, and the search finds them.
func TestBrowser_HostileName_IsText(t *testing.T) {
	b := openTab(t)
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	names := []string{`<img src=x onerror="alert(1)">`, `<script>alert(2)</script>`, `'"><svg onload=alert(3)>`, `javascript:alert(4)`}
	for _, name := range names {
		locktest.Lock(t, e.Mutex(name))
	}
	b.open(serve(t, debug.Options{}, e))
	assert.Equal(t, names, b.column(1))
	assert.Zero(t, eval[int](b, `document.querySelectorAll("table.locks img, table.locks script, table.locks svg").length`))
	b.do(chromedp.SetValue(chromedp.CSS(`form.search [name="q"]`), names[2]))
	b.follow("form.search button")
	assert.Equal(t, names[2:3], b.column(1))
	assert.Equal(t, names[2], eval[string](b, `document.querySelector('form.search [name="q"]').value`))
	b.requireQuietConsole()
}

// A lock is forced by following its link, ticking the box and pressing the button, and vanishes from the list.
// Without the tick the browser does not send the form.
func TestBrowser_Forced_LockVanishes(t *testing.T) {
	b := openTab(t)
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("stuck"))
	locktest.Lock(t, e.Mutex("other"))
	url := serve(t, debug.Options{AllowForce: true}, e)
	b.open(url)
	require.Equal(t, []string{"stuck", "other"}, b.column(1))
	b.follow("table.locks tbody tr:first-child a")
	form := b.text("body")
	require.Contains(t, form, "Force stuck")
	require.Contains(t, form, hold.ID())

	b.click("form button")
	require.True(t, eval[bool](b, `!!document.querySelector("form input[name=confirm]:invalid")`), "still the form")
	require.NoError(t, hold.Err())

	b.click("form input[name=confirm]")
	b.follow("form button")
	require.Equal(t, "The lock was taken from its holder.", b.text("#done"))
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	b.follow(`a[href="./"]`)
	assert.Equal(t, []string{"other"}, b.column(1))
	b.requireQuietConsole()
}

// A form without the right token forces nothing, and neither does a form of another site that has the right one.
func TestBrowser_ForgedForm_ForcesNothing(t *testing.T) {
	b := openTab(t)
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	url := serve(t, debug.Options{AllowForce: true}, e)
	toForm := func() {
		b.open(url)
		b.follow("table.locks tbody a")
	}
	toForm()
	form := eval[string](b, `document.querySelector("form").outerHTML`)
	b.click("form input[name=confirm]")
	eval[string](b, `document.querySelector("form input[name=token]").value = "guessed"`)
	b.follow("form button")
	require.Contains(t, b.text("body"), "The form is not of this process.")
	require.NoError(t, hold.Err())

	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!DOCTYPE html><base href=%q>%s`, url, form)
	}))
	t.Cleanup(evil.Close)
	b.open(evil.URL)
	b.click("form input[name=confirm]")
	b.follow("form button")
	require.Contains(t, b.text("body"), "cross-origin request")
	require.NoError(t, hold.Err())

	toForm() // and the same form on its own page forces
	b.click("form input[name=confirm]")
	b.follow("form button")
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
}
