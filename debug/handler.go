package debug

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel"
)

// Options are the settings of a [Handler]. The zero value is a page that only reads.
type Options struct {
	// Recorder has the events that the page shows under "Lately". Nil: the page has no such part. The recorder gets
	// events only if [Recorder.Observer] is the Observer of the engines, too.
	Recorder *Recorder

	// AllowForce adds a link to each row that leads to a form to force the lock. False: no request changes anything.
	AllowForce bool

	// Hosts are the names, without a port, under which browsers reach the page, for AllowForce. Requests that force, and
	// the form for that, are rejected under other names, because a foreign name may lead a browser here (DNS rebinding).
	// IP addresses and localhost are always accepted. Hosts does not concern pages that only read.
	Hosts []string

	// MaxLists is how many requests may read from the engines at a time; further ones get status 503 at once. As many
	// more may ask the server about a lock to force. 0 or less: 2.
	MaxLists int

	// Logger gets a record for each forced lock, with the address of the client. Nil: slog.Default().
	Logger *slog.Logger
}

const (
	defaultMaxLists = 2
	// readTimeout bounds how long one request reads.
	readTimeout = 10 * time.Second
	// securityPolicy allows the page its own script, style and requests, and nothing else.
	securityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

//go:embed page.js page.css
var assets embed.FS

// handler is immutable after Handler returned it, so that requests share it.
type handler struct {
	options Options
	engines []*lockwheel.Engine
	token   string        // against forged requests: only the form for forcing shows it
	reads   chan struct{} // has a value for each request that reads from the engines
	forces  chan struct{} // has a value for each request that asks the server about a lock, or forces it
	foreign *http.CrossOriginProtection
}

// Handler returns a handler for a page about engines; nil engines are left out. It serves
//
//   - the page at /
//   - /locks.json with the same parameters as the page: q (part of a name), sort (age, deadline, kind, name, waiting)
//     and kind. Others are engine (an id), limit (1 to 100) and after (field next of the page before)
//   - /stats.json with the state of the connections and [lockwheel.Stats] of each engine
//   - /events.json with what Options.Recorder has
//
// Mount it in a folder by http.StripPrefix, with a slash at the end of the pattern. Links are relative.
//
// A closed engine is shown as such. A request ends early if its client leaves, and after 10 s; then its list is
// incomplete and says so. The handler is safe for concurrent use. It starts no goroutine and keeps no list between
// requests.
func Handler(opts Options, engines ...*lockwheel.Engine) http.Handler {
	if opts.MaxLists <= 0 {
		opts.MaxLists = defaultMaxLists
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	h := &handler{
		options: opts,
		engines: slices.DeleteFunc(slices.Clone(engines), func(e *lockwheel.Engine) bool { return e == nil }),
		token:   rand.Text(),
		reads:   make(chan struct{}, opts.MaxLists),
		forces:  make(chan struct{}, opts.MaxLists),
		foreign: http.NewCrossOriginProtection(),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", within(h.reads, h.page))
	mux.HandleFunc("GET /locks.json", within(h.reads, h.locksJSON))
	mux.HandleFunc("GET /stats.json", within(h.reads, h.statsJSON))
	mux.HandleFunc("GET /events.json", within(h.reads, h.eventsJSON))
	mux.HandleFunc("GET /confirm", within(h.forces, h.confirm))
	mux.HandleFunc("POST /force", withForm(within(h.forces, h.force)))
	files := http.FileServerFS(assets)
	mux.Handle("GET /page.js", files)
	mux.Handle("GET /page.css", files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", securityPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin") // without a referrer, a form would have no Origin to check
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if r.URL.Path == "" { // the mux would redirect to the root of the server
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// response is what a request ends with. It is complete before the first byte is sent, so that a slow client does not
// keep others waiting.
type response struct {
	status      int
	contentType string
	body        bytes.Buffer
}

// within returns a handler that runs f while fewer requests than slots has room for do so, and rejects further
// requests.
func within(slots chan struct{}, f func(*http.Request) *response) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		result := func() *response {
			select {
			case slots <- struct{}{}:
			default:
				w.Header().Set("Retry-After", "2")
				return failure(http.StatusServiceUnavailable, "Too many requests read at the same time. Try again in 2 s.")
			}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
			defer cancel()
			return f(r.WithContext(ctx))
		}()
		w.Header().Set("Content-Type", result.contentType)
		w.WriteHeader(result.status)
		_, _ = w.Write(result.body.Bytes())
	}
}

// withForm returns a handler that reads the form of a request and passes the request on to next. A client that sends
// its form slowly keeps no place from others, and is given up after readTimeout.
func withForm(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		connection := http.NewResponseController(w)
		_ = connection.SetReadDeadline(time.Now().Add(readTimeout)) // not each server has deadlines
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = connection.SetReadDeadline(time.Time{})
		next(w, r)
	}
}

func failure(status int, text string) *response {
	r := &response{status: status, contentType: "text/plain; charset=utf-8"}
	r.body.WriteString(text + "\n")
	return r
}

func asJSON(value any) *response {
	r := &response{status: http.StatusOK, contentType: "application/json"}
	encoder := json.NewEncoder(&r.body)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(value); err != nil {
		return failure(http.StatusInternalServerError, err.Error())
	}
	return r
}

// engineByID returns the engine with an id, or nil.
func (h *handler) engineByID(id string) *lockwheel.Engine {
	for _, e := range h.engines {
		if e.ID() == id {
			return e
		}
	}
	return nil
}
