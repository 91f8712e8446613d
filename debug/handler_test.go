package debug

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

// site is a page in a folder, as a program mounts it.
type site struct {
	t      *testing.T
	url    string
	client *http.Client
}

func serve(t *testing.T, opts Options, engines ...*lockwheel.Engine) *site {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/locks/", http.StripPrefix("/debug/locks", Handler(opts, engines...)))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &site{t, server.URL + "/debug/locks/", server.Client()}
}

func (s *site) do(method, path, body string, header ...string) (status int, text string, headers http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(all), response.Header
}

func (s *site) get(path string) string {
	s.t.Helper()
	status, text, _ := s.do("GET", path, "")
	require.Equal(s.t, http.StatusOK, status, text)
	return text
}

// locks returns /locks.json.
func (s *site) locks(parameters string) (list listJSON) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal([]byte(s.get("locks.json?"+parameters)), &list))
	return list
}

func (l listJSON) names() (names []string) {
	for _, lock := range l.Locks {
		names = append(names, lock.Name)
	}
	return names
}

// A row has what an operator asks: which lock, its holder, since when, until when, and how many callers wait.
func TestPage_HeldAndWaiting_RowsAppear(t *testing.T) {
	t.Parallel()
	var recorder Recorder
	server := locktest.AnyServer(t)
	e := server.Open(lockwheel.Options{Observer: recorder.Observer()})
	hold := locktest.Lock(t, e.Mutex("orders/7"))
	locktest.Lock(t, e.RWMutex("catalogue").RLocker(), lockwheel.Lease(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	waits := e.Mutex("orders/7").LockAsync(ctx)
	locktest.Queued(t, e, 1)
	s := serve(t, Options{Recorder: &recorder}, e, nil)

	list := s.locks("")
	require.Equal(t, []string{"orders/7", "catalogue"}, list.names())
	row := list.Locks[0]
	assert.Equal(t, hold.ID(), row.HolderID)
	assert.Equal(t, "plain", row.Kind)
	assert.Equal(t, 1, row.Waiting)
	assert.True(t, row.Watched)
	assert.False(t, row.Since.IsZero() || row.Deadline.Before(row.Since))
	assert.Equal(t, "orders/7", list.MostWaiters[0].Name)
	assert.Equal(t, "reader", list.Locks[1].Kind)
	assert.Equal(t, []string{"catalogue"}, s.locks("kind=reader").names())
	assert.Equal(t, []string{"catalogue"}, s.locks("q=cata&engine="+e.ID()).names())
	assert.Empty(t, s.locks("engine=other").names())

	page := s.get("")
	for _, want := range []string{e.ID(), hold.ID(), "orders/7", "The server " + server.Addr + " replied to the last call.", "<svg ", "Turns of the loop", "own lease"} {
		assert.Contains(t, page, want)
	}
	assert.NotContains(t, page, "force")
	assert.NotContains(t, page, "not complete")

	counts := func(s *lockwheel.Stats) []uint64 {
		return []uint64{s.AcquireWaits.Count(), s.HoldTimes.Count(), s.RenewalMargins.Count(), s.RoundTrips.Count(), s.TurnTimes.Count()}
	}
	before := e.Stats()
	var stats struct{ Engines []engineJSON }
	require.NoError(t, json.Unmarshal([]byte(s.get("stats.json")), &stats))
	require.Len(t, stats.Engines, 1)
	assert.Equal(t, int64(2), stats.Engines[0].Stats.Held)
	assert.NotEmpty(t, stats.Engines[0].Stats.TurnTimes.Buckets)
	after, shown := e.Stats(), stats.Engines[0].Stats
	for i, count := range []uint64{shown.AcquireWaits.Count, shown.HoldTimes.Count, shown.RenewalMargins.Count, shown.RoundTrips.Count, shown.TurnTimes.Count} {
		assert.GreaterOrEqual(t, count, counts(&before)[i])
		assert.LessOrEqual(t, count, counts(&after)[i])
	}
	assert.False(t, stats.Engines[0].Nodes[0].Down)

	cancel()
	<-waits.Done()
	locktest.Eventually(t, "the events", func() bool {
		page := s.get("")
		return strings.Contains(page, "<td>rejected</td>") && strings.Contains(page, "<td>acquired</td>") && strings.Contains(s.get("events.json"), `"rejected"`)
	})
}

// All texts of the page are escaped, the policy allows no script in it, and exact bytes survive the way through JSON.
func TestPage_AnyName_IsEscaped(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	names := []string{`<script>alert("1")</script>`, `"' onload='x`, "a\xff\xfe", "b\u2028\u202e", `{{.}}`, "javascript:x", "a&b=c#d%zz"}
	for _, name := range names {
		locktest.Lock(t, e.Mutex(name))
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	e.Mutex(names[0]).LockAsync(ctx)
	locktest.Queued(t, e, 1)
	s := serve(t, Options{AllowForce: true}, e)

	status, page, headers := s.do("GET", "?q="+url.QueryEscape(`"><script>`), "")
	require.Equal(t, http.StatusOK, status)
	page += s.get("")
	assert.NotContains(t, page, "<script>")
	assert.NotContains(t, page, "style=")
	assert.Equal(t, 2, strings.Count(page, "<script"), "that of the file, in two pages")
	assert.Contains(t, page, html.EscapeString(`"a\xff\xfe"`))
	policy := headers.Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'; script-src 'self';")
	assert.NotContains(t, policy, "unsafe")

	found := map[string]bool{}
	for _, lock := range s.locks("").Locks {
		name, err := decoded(lock.Name64)
		require.NoError(t, err)
		found[name] = true
	}
	for _, name := range names {
		assert.True(t, found[name], "%q", name)
		assert.Equal(t, 1, s.locks("q="+url.QueryEscape(name)).Matched, "%q", name)
	}
	assert.Equal(t, 1, s.locks("q="+url.QueryEscape(`a\xff\xfe`)).Matched, "as it is shown")
	for _, link := range regexp.MustCompile(`href="(confirm[^"]*)"`).FindAllStringSubmatch(page, -1) {
		assert.Contains(t, s.get(html.UnescapeString(link[1])), `name="token"`, link[1])
	}
	for _, file := range []string{"page.js", "page.css"} {
		assert.NotEmpty(t, s.get(file))
	}
	assert.NotContains(t, s.get("page.js"), "innerHTML")
}

// A bookmark of an engine that is gone does not look as if no lock were held: the page and the JSON say that they have
// no such engine.
func TestPage_UnknownEngine_SaysSo(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.Lock(t, e.Mutex("n"))
	s := serve(t, Options{}, e)
	page := s.get("?engine=gone")
	assert.Contains(t, page, `<p class="alarm">The list of engine gone is not complete: this page has no engine with that id`)
	assert.Contains(t, page, `<option value="gone" selected>gone</option>`)
	assert.Equal(t, []listError{{"gone", noSuchEngine}}, s.locks("engine=gone").Errors)
	for _, known := range []string{"", e.ID()} {
		assert.NotContains(t, s.get("?engine="+known), noSuchEngine)
		assert.Empty(t, s.locks("engine="+known).Errors)
	}
}

// The pages of a list have all rows once, with the links that the page itself has.
func TestPage_ManyLocks_LinksReachAll(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	for i := range 250 {
		p := e.Mutex(fmt.Sprintf("lock-%03d", i)).LockAsync(t.Context())
		<-p.Done()
	}
	s := serve(t, Options{}, e)
	seen := map[string]bool{}
	for path, pages := "?sort=name", 1; ; pages++ {
		page := s.get(path)
		assert.Equal(t, pages > 1, strings.Contains(page, `these are further rows. <a href="?sort=name">First page</a>`))
		rows := regexp.MustCompile(`<tr>\n<td><bdi>(lock-\d+)</bdi>`).FindAllStringSubmatch(page, -1)
		require.LessOrEqual(t, len(rows), maxRows)
		for _, row := range rows {
			assert.False(t, seen[row[1]], row[1])
			seen[row[1]] = true
		}
		next := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(page)
		if next == nil {
			assert.Equal(t, 3, pages)
			break
		}
		path = html.UnescapeString(next[1])
	}
	assert.Len(t, seen, 250)
	list := s.locks("limit=10&q=lock-1")
	assert.Len(t, list.Locks, 10)
	assert.Equal(t, 100, list.Matched)
	assert.Equal(t, 250, list.All)
	status, _, _ := s.do("GET", "?sort=size", "")
	assert.Equal(t, http.StatusBadRequest, status)
}

// form returns the fields of the form that forces a lock, and the kind that it is for.
func (s *site) form(e *lockwheel.Engine, name, kind string) url.Values {
	s.t.Helper()
	text := s.get("confirm?" + url.Values{"engine": {e.ID()}, "kind": {kind}, "name64": {encoded(name)}}.Encode())
	values := url.Values{"confirm": {"yes"}}
	forms := strings.Split(text, "<form ")
	for _, form := range forms[1:] {
		for _, field := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(form, -1) {
			values.Set(field[1], html.UnescapeString(field[2]))
		}
	}
	require.NotEmpty(s.t, values.Get("token"), text)
	return values
}

func (s *site) force(values url.Values, header ...string) (status int, text string) {
	s.t.Helper()
	header = append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", s.url[:strings.Index(s.url, "/debug")]}, header...)
	status, text, _ = s.do("POST", "force", values.Encode(), header...)
	return status, text
}

// A lock of each kind is forced by the methods of its kind; its row vanishes and its holder knows.
func TestForce_EachKind_RowVanishes(t *testing.T) {
	t.Parallel()
	server := locktest.AnyServer(t)
	e := server.Open(lockwheel.Options{Prefix: "p:"})
	s := serve(t, Options{AllowForce: true}, e)
	for kind, lock := range map[string]func(string) lockwheel.Mutex{
		"plain":  e.Mutex,
		"fenced": e.FencedMutex,
		"fair":   e.FairMutex,
		"reader": func(name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() },
		"writer": func(name string) lockwheel.Mutex { return e.RWMutex(name).Writer() },
	} {
		name := "<" + kind + "\xff>"
		hold := locktest.Lock(t, lock(name))
		require.Equal(t, 1, s.locks("").All)
		assert.Contains(t, s.get(""), "confirm?")
		form := s.form(e, name, kind)
		require.Equal(t, hold.ID(), form.Get("owner"))
		status, text := s.force(form)
		require.Equal(t, http.StatusOK, status, text)
		assert.Contains(t, text, "The lock was taken from its holder.")
		assert.ErrorIs(t, hold.Err(), lockwheel.ErrLost, kind)
		assert.False(t, server.Exists("p:"+name), kind)
		locktest.Eventually(t, "no row", func() bool { return s.locks("").All == 0 })
		status, _ = s.force(form)
		assert.Equal(t, http.StatusConflict, status, "the same form again")
	}
}

// An operator may reach the page by any address or as localhost, and by the names of Options.Hosts, in any case, with
// or without a port. Any other name is rejected.
func TestForce_Hosts_OwnNamesOnly(t *testing.T) {
	t.Parallel()
	h := &handler{options: Options{Hosts: []string{"Locks.internal"}}}
	for host, own := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:80": true, "[::1]": true, "[::1]:80": true, "localhost": true, "LOCALHOST:80": true,
		"locks.internal": true, "LOCKS.INTERNAL:80": true,
		"evil.example": false, "evil.example:80": false, "locks.internal.evil.example": false, "127.0.0.1.evil.example": false, "": false,
	} {
		assert.Equal(t, own, h.isOwnHost(host), host)
	}
}

// The record of a force says who took what from whom.
func TestForce_Logged_SaysWhoAndWhat(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	var log bytes.Buffer
	s := serve(t, Options{AllowForce: true, Logger: slog.New(slog.NewJSONHandler(&log, nil))}, e)
	hold := locktest.Lock(t, e.RWMutex("n").Writer())
	status, text := s.force(s.form(e, "n", "writer"))
	require.Equal(t, http.StatusOK, status, text)
	var record map[string]any
	require.NoError(t, json.Unmarshal(log.Bytes(), &record))
	client, _, err := net.SplitHostPort(fmt.Sprint(record["client"]))
	require.NoError(t, err)
	assert.True(t, net.ParseIP(client).IsLoopback())
	for key, want := range map[string]any{
		"msg": "lockwheel: a lock was forced by the debug page", "lock": "n", "kind": "writer", "holder": hold.ID(), "engine": e.ID(), "was_locked": true,
	} {
		assert.Equal(t, want, record[key], key)
	}
}

// A lock without an expiry is not one that ends at once.
func TestForce_NoExpiry_IsSaid(t *testing.T) {
	t.Parallel()
	server := locktest.AnyServer(t)
	e := server.Open(lockwheel.Options{})
	server.Do("HSET", "n", "11111111-2222-3333-4444-555555555555:1", 1)
	s := serve(t, Options{AllowForce: true}, e)
	assert.Contains(t, s.confirmText(e, "n", "plain"), "TTL never expires.")
}

// No answer is kept or read as something else, whatever is asked for, and other sites cannot show it.
func TestPage_Headers_KeepOthersOut(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{AllowForce: true})
	for _, path := range []string{"", "locks.json", "stats.json", "events.json", "page.js", "page.css", "confirm", "none"} {
		_, _, headers := s.do("GET", path, "")
		for name, want := range map[string]string{
			"Content-Security-Policy": securityPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			assert.Equal(t, want, headers.Get(name), "%s of %q", name, path)
		}
	}
	w := httptest.NewRecorder()
	http.StripPrefix("/debug/locks", Handler(Options{})).ServeHTTP(w, httptest.NewRequest("GET", "/debug/locks", nil))
	assert.Equal(t, http.StatusNotFound, w.Code, "mounted without a slash it leads nowhere, and not to the root of the server")
}

// A label is text of the program, and is shown as names are, also in JSON.
func TestPage_Label_IsShownAsNamesAre(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold, err := e.Mutex("n").Lock(lockwheel.WithLabel(t.Context(), "a\u202eb"))
	require.NoError(t, err)
	defer hold.Unlock(t.Context())
	s := serve(t, Options{}, e)
	assert.Equal(t, `"a\u202eb"`, s.locks("").Locks[0].Label)
	assert.NotContains(t, s.get(""), "\u202e")
}

// One holder is the same however often it has entered since the form was shown. Several readers are the same only while
// there are as many of them.
func TestForce_EnteredAgainSince_SameHolder(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	s := serve(t, Options{AllowForce: true}, e)
	hold := locktest.Lock(t, e.Mutex("n"))
	form := s.form(e, "n", "plain")
	_, err := e.Mutex("n").Lock(hold.Context())
	require.NoError(t, err)
	locktest.Eventually(t, "stored", func() bool {
		state, err := e.Mutex("n").State(t.Context())
		return err == nil && state.Count == 2
	})
	status, text := s.force(form)
	require.Equal(t, http.StatusOK, status, text)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)

	readers := e.RWMutex("r").RLocker()
	locktest.Lock(t, readers)
	locktest.Lock(t, readers)
	form = s.form(e, "r", "reader")
	third := locktest.Lock(t, readers)
	status, _ = s.force(form)
	require.Equal(t, http.StatusConflict, status)
	require.NoError(t, third.Err())
}

// A caller that waits for a holder in another process can be helped, too, and for a read/write lock from either side.
func TestForce_HolderElsewhere_WaiterGetsIt(t *testing.T) {
	t.Parallel()
	server := locktest.AnyServer(t)
	other, e := server.Open(lockwheel.Options{}), server.Open(lockwheel.Options{})
	held := locktest.Lock(t, other.RWMutex("n").RLocker())
	waits := locktest.Locking(t.Context(), e.RWMutex("n").Writer())
	locktest.Queued(t, e, 1)
	s := serve(t, Options{AllowForce: true}, e)
	require.Contains(t, s.get(""), "not in this engine")

	form := s.form(e, "n", "writer")
	assert.Equal(t, "reader", form.Get("kind"), "the side that is held")
	assert.Equal(t, held.ID(), form.Get("owner"))
	status, text := s.force(form)
	require.Equal(t, http.StatusOK, status, text)
	locktest.Granted(t, waits)
}

// The lock of another library has no readers and no form. A force that the server rejects is not logged as one.
func TestForce_ForeignString_NotForced(t *testing.T) {
	t.Parallel()
	server := locktest.AnyServer(t)
	e := server.Open(lockwheel.Options{Foreign: true})
	var log strings.Builder
	s := serve(t, Options{AllowForce: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}, e)
	hold := locktest.Lock(t, e.Mutex("n"))
	form := s.form(e, "n", "plain")
	require.NoError(t, hold.Unlock(t.Context()))
	server.Do("SET", "n", "token", "PX", 60_000)
	text := s.get("confirm?" + form.Encode())
	assert.Contains(t, text, "Held by another library: the key is a string; TTL ")
	assert.NotContains(t, text, "readers")
	assert.NotContains(t, text, "<form ")

	form.Set("owner", "")
	form.Set("count", "0")
	status, text := s.force(form)
	assert.Equal(t, http.StatusBadGateway, status, text)
	assert.Contains(t, text, "WRONGTYPE")
	assert.Contains(t, log.String(), "a lock was not forced by the debug page")
	assert.NotContains(t, log.String(), "lock was forced")
}

// A reply that rejects a force is told as that, also if it was repeated until the time was over.
func TestForce_Error_SaysWhetherServerReplied(t *testing.T) {
	t.Parallel()
	rejected := fmt.Errorf("%w: %w", lockwheel.ErrUnavailable, lockwheel.ServerError("NOREPLICAS Not enough good replicas to write."))
	for want, err := range map[string]error{
		"a lock was forced by the debug page":                                            nil,
		"a lock was not forced by the debug page, which tried to":                        rejected,
		"a lock may have been forced by the debug page: the server did not reply":        lockwheel.ErrUnavailable,
		"a lock may have been forced by the debug page: the engine was closed meanwhile": lockwheel.ErrClosed,
	} {
		assert.Equal(t, want, became(true, err))
	}
}

// A key that is no lock of the kind has no form, and its form of before forces nothing: the hash of an application, the
// key of a read/write lock for a plain one, and that of a plain one for a writer.
func TestForce_NoLockOfKind_NotForced(t *testing.T) {
	t.Parallel()
	server := locktest.AnyServer(t)
	e, other := server.Open(lockwheel.Options{}), server.Open(lockwheel.Options{})
	s := serve(t, Options{AllowForce: true}, e)
	for kind, hold := range map[string]func(key string){
		"plain":  func(key string) { server.Do("HSET", key, "name", "Ada", "mail", "ada@example.com") },
		"fenced": func(key string) { locktest.Lock(t, other.RWMutex(key).RLocker()) },
		"fair":   func(key string) { locktest.Lock(t, other.RWMutex(key).Writer()) },
		"writer": func(key string) { locktest.Lock(t, other.Mutex(key)) },
		"reader": func(key string) { server.Do("HSET", key, "name", "Ada", "mail", "ada@example.com") },
	} {
		before := locktest.Lock(t, target{e, kind, kind}.lock())
		form := s.form(e, kind, kind)
		locktest.Unlock(t, before)
		hold(kind)
		text := s.confirmText(e, kind, kind)
		assert.Contains(t, text, "names no holder, because the key is no lock of this kind", kind)
		assert.NotContains(t, text, "readers", kind)
		assert.NotContains(t, text, "<form ", kind)

		form.Set("owner", "")
		form.Set("count", "0")
		status, text := s.force(form)
		assert.Equal(t, http.StatusConflict, status, kind)
		assert.Contains(t, text, "Nothing was done: the key is no lock of this kind", kind)
		assert.True(t, server.Exists(kind), kind)
	}
}

// A force that took nothing does not say that the lock was free: another kind may hold it. Nor is it logged as a force.
func TestForce_TookNothing_SaysWhatMayBe(t *testing.T) {
	t.Parallel()
	done, no := outcome(false, nil)
	require.Nil(t, no)
	assert.Equal(t, "Nothing was taken: by now the lock is free, or held as another kind.", done)
	assert.Equal(t, "a lock was not forced by the debug page: by then it was free, or held as another kind", became(false, nil))
	done, no = outcome(true, nil)
	require.Nil(t, no)
	assert.Equal(t, "The lock was taken from its holder.", done)
}

// What a forced holder notices depends on its engine.
func TestForce_Form_SaysWhenHolderKnows(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.Lock(t, e.Mutex("n"))
	s := serve(t, Options{AllowForce: true}, e)
	text := s.get("confirm?" + s.form(e, "n", "plain").Encode())
	assert.Contains(t, text, "If it uses lockwheel, it is told at once")
}

// Nothing but a complete form of this page, from this page, with the option, forces a lock.
func TestForce_AnythingElse_IsRefused(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	s, other := serve(t, Options{AllowForce: true, Hosts: []string{"locks.internal"}}, e), serve(t, Options{AllowForce: true}, e)
	form := s.form(e, "n", "plain")
	with := func(key, value string) url.Values {
		values := url.Values{}
		for k := range form {
			values.Set(k, form.Get(k))
		}
		values.Set(key, value)
		return values
	}
	for _, try := range []struct {
		what   string
		values url.Values
		header []string
		want   int
	}{
		{"no token", with("token", ""), nil, http.StatusForbidden},
		{"a wrong token", with("token", strings.ToLower(form.Get("token"))), nil, http.StatusForbidden},
		{"the token of another page", with("token", other.form(e, "n", "plain").Get("token")), nil, http.StatusForbidden},
		{"another origin", form, []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		{"an opaque origin", form, []string{"Origin", "null"}, http.StatusForbidden},
		{"another site", form, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"another port of the site", form, []string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		{"a foreign name for this address", form, []string{"Host", "evil.example", "Origin", "http://evil.example"}, http.StatusForbidden},
		{"not confirmed", with("confirm", ""), nil, http.StatusBadRequest},
		{"no such kind", with("kind", "mutex"), nil, http.StatusBadRequest},
		{"no such engine", with("engine", "x"), nil, http.StatusBadRequest},
		{"no name", with("name64", ""), nil, http.StatusBadRequest},
		{"another holder", with("owner", "x:1"), nil, http.StatusConflict},
		{"too long", with("more", strings.Repeat("x", maxForm)), nil, http.StatusBadRequest},
	} {
		status, text := s.force(try.values, try.header...)
		assert.Equal(t, try.want, status, "%s: %s", try.what, text)
		require.NoError(t, hold.Err(), try.what)
	}
	status, _, _ := s.do("GET", "force?"+form.Encode(), "")
	assert.Equal(t, http.StatusMethodNotAllowed, status)
	status, _, _ = s.do("POST", "force?"+form.Encode(), "")
	assert.Equal(t, http.StatusForbidden, status, "fields in the URL")
	status, _, _ = s.do("POST", "confirm?"+form.Encode(), "")
	assert.Equal(t, http.StatusMethodNotAllowed, status)

	reading := serve(t, Options{}, e)
	status, _ = reading.force(form)
	assert.Equal(t, http.StatusForbidden, status, "without the option")
	status, text, _ := reading.do("GET", "confirm?"+form.Encode(), "")
	assert.Equal(t, http.StatusForbidden, status)
	assert.NotContains(t, text, "token")
	require.NoError(t, hold.Err())

	status, text = s.force(form, "Host", "locks.internal:80", "Origin", "http://locks.internal:80")
	assert.Equal(t, http.StatusOK, status, text)
	assert.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
}

// A closed engine, and one that was never opened, are shown as such.
func TestPage_ClosedEngine_SaysSo(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.Lock(t, e.Mutex("n"))
	s := serve(t, Options{AllowForce: true}, e, new(lockwheel.Engine))
	form := s.form(e, "n", "plain")
	require.NoError(t, e.Close())
	page := s.get("")
	assert.Contains(t, page, "The engine is closed.")
	assert.Contains(t, page, "is not complete: lockwheel: locks: engine closed")
	assert.Len(t, s.locks("").Errors, 2)
	assert.Contains(t, s.get("stats.json"), `"closed": true`)
	status, text := s.force(form)
	assert.Equal(t, http.StatusBadGateway, status, text)
}

// While as many requests as allowed read, a further one is rejected at once; a place that is free again can be used.
func TestPage_TooManyRequests_Get503(t *testing.T) {
	t.Parallel()
	slots, inside, leave := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	handle := within(slots, func(*http.Request) *response {
		inside <- struct{}{}
		<-leave
		return asJSON("done")
	})
	results := make(chan int)
	request := func() int {
		w := httptest.NewRecorder()
		handle(w, httptest.NewRequest("GET", "/", nil))
		return w.Code
	}
	for range 2 {
		go func() { results <- request() }()
		<-inside
	}
	w := httptest.NewRecorder()
	handle(w, httptest.NewRequest("GET", "/", nil))
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "2", w.Header().Get("Retry-After"))
	close(leave)
	for range 2 {
		assert.Equal(t, http.StatusOK, <-results)
	}
	go func() { results <- request() }()
	select {
	case <-inside:
		assert.Equal(t, http.StatusOK, <-results)
	case status := <-results:
		assert.Fail(t, "a place that is free again", "status %d", status)
	}
}

// The list of a request that its client gave up ends, and says that it is not complete.
func TestList_ContextEnded_SaysSo(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.Lock(t, e.Mutex("n"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	Handler(Options{}, e).ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	assert.Contains(t, w.Body.String(), "is not complete: lockwheel: locks: context canceled")
}

// A page about 100 000 held locks is as small as one about 100, keeps nothing, and an unrelated lock is served
// meanwhile.
func TestPage_100000Locks_CostsLittle(t *testing.T) {
	long.Only(t, "it takes 100 000 locks")
	opts := locktest.SlowTimeouts
	e := locktest.AnyServer(t).Open(opts)
	const n = 100_000
	pending := make([]*lockwheel.Pending, n)
	for i := range pending {
		pending[i] = e.Mutex(fmt.Sprintf("lock-%06d", i)).LockAsync(t.Context())
	}
	for _, p := range pending {
		<-p.Done()
		_, err := p.Hold()
		require.NoError(t, err)
	}
	s := serve(t, Options{}, e)
	require.Equal(t, n, s.locks("").All)
	turns := e.Stats().TurnTimes
	heap := locktest.LiveHeap()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const requests = 10
	var slowest time.Duration
	ctx, cancel := context.WithCancel(t.Context())
	pairs := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			if e.Mutex("unrelated").Do(ctx, func(context.Context) error { return nil }) == nil {
				n++
			}
		}
		pairs <- n
	}()
	for i := range requests {
		begun := time.Now()
		page := s.get("?sort=" + orders[i%len(orders)])
		slowest = max(slowest, time.Since(begun))
		assert.Less(t, len(page), 200_000)
	}
	cancel()
	served := <-pairs
	runtime.ReadMemStats(&after)
	s.client.CloseIdleConnections()
	garbage := (after.TotalAlloc - before.TotalAlloc) / requests
	now := e.Stats().TurnTimes
	during := now.Since(turns)
	t.Logf("a page of %d locks: at most %v, %d KB allocated; %d other locks taken meanwhile; turns: %d, 99 %% within %v, the longest within %v",
		n, slowest, garbage>>10, served, during.Count(), during.Quantile(0.99), during.Quantile(1))
	assert.Greater(t, served, requests)
	assert.Less(t, garbage, uint64(64<<20))
	assert.Less(t, int64(locktest.LiveHeap())-int64(heap), int64(8<<20), "what requests leave behind")
	assert.Less(t, slowest, readTimeout)
}

// Clients that begin to send a form and do not go on keep no place from the others.
func TestForce_SlowForms_OthersGoOn(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	s := serve(t, Options{AllowForce: true}, e)
	form := s.form(e, "n", "plain")
	site, err := url.Parse(s.url)
	require.NoError(t, err)
	for range 2 * defaultMaxLists {
		c, err := net.Dial("tcp", site.Host)
		require.NoError(t, err)
		defer c.Close()
		_, err = fmt.Fprintf(c, "POST %s/force HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n",
			strings.TrimSuffix(site.Path, "/"), site.Host)
		require.NoError(t, err)
		line, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "100 Continue", "the handler reads the form")
	}
	status, text := s.force(form)
	require.Equal(t, http.StatusOK, status, text)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
}
