package debug

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lockwheel/lockwheel"
)

// maxForm is the maximum size of a form in bytes. The longest name, of 64 KiB, has 88 KiB in base64.
const maxForm = 256 << 10

// target is a lock to force.
type target struct {
	engine *lockwheel.Engine
	name   string
	kind   string
}

// lock returns the lock with the methods of its kind.
func (t target) lock() lockwheel.Mutex {
	switch t.kind {
	case "fenced":
		return t.engine.FencedMutex(t.name)
	case "fair":
		return t.engine.FairMutex(t.name)
	case "reader":
		return t.engine.RWMutex(t.name).RLocker()
	case "writer":
		return t.engine.RWMutex(t.name).Writer()
	}
	return t.engine.Mutex(t.name)
}

func (h *handler) target(values url.Values) (t target, problem *response) {
	t = target{engine: h.engineByID(values.Get("engine")), kind: values.Get("kind")}
	name, err := decoded(values.Get("name64"))
	if t.engine == nil || !slices.Contains(kinds, t.kind) || err != nil || name == "" {
		return t, failure(http.StatusBadRequest, "No such lock: engine, kind or name64 is missing or wrong. The process may have started anew.")
	}
	t.name = name
	return t, nil
}

// mayForce returns why a request may not force, or nil.
func (h *handler) mayForce(r *http.Request) *response {
	if !h.options.AllowForce {
		return failure(http.StatusForbidden, "This page only reads: debug.Options.AllowForce is not set.")
	}
	if !h.isOwnHost(r.Host) {
		return failure(http.StatusForbidden, "The page was reached under a name that is not in debug.Options.Hosts.")
	}
	return nil
}

// isOwnHost reports whether a Host header has an address, localhost, or a name of Options.Hosts.
func (h *handler) isOwnHost(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	same := func(name string) bool { return strings.EqualFold(name, host) }
	return same("localhost") || slices.ContainsFunc(h.options.Hosts, same)
}

// side is a lock that a form can force.
type side struct {
	Kind, Owner, TTL, Error string
	Count                   int
	Locked                  bool
	Foreign                 bool // it is the lock of another library, which is not forced
	NoLock                  bool // the key is no lock of this kind, which is not forced
	Holder                  holderText
	Engine, Name64, Token   string
}

// confirm asks the server for the holder and returns the form that forces. It changes nothing. For a read/write lock it
// has both sides, because a reader may wait for a writer or the other way round.
func (h *handler) confirm(r *http.Request) *response {
	if no := h.mayForce(r); no != nil {
		return no
	}
	t, no := h.target(r.URL.Query())
	if no != nil {
		return no
	}
	show := []string{t.kind}
	if t.kind == "reader" || t.kind == "writer" {
		show = []string{"writer", "reader"}
	}
	view := forceView{Process: thisProcess, Name: shown(t.name), Engine: t.engine.ID()}
	for _, kind := range show {
		t.kind = kind
		s := side{Kind: kind, Engine: t.engine.ID(), Name64: encoded(t.name), Token: h.token}
		state, err := t.lock().State(r.Context())
		if err != nil {
			s.Error = shown(err.Error())
		} else {
			s.Locked, s.Owner, s.Count, s.TTL = state.Locked, state.Owner, state.Count, duration(state.TTL)
			s.Foreign = state.Foreign
			s.NoLock = noLock(kind, state)
			if state.TTL < 0 {
				s.TTL = "never expires"
			}
		}
		view.Sides = append(view.Sides, s)
	}
	h.describeHolders(r.Context(), t, view.Sides)
	return render(http.StatusOK, "force.html", view)
}

// noLock reports whether a key is no lock of a kind: it is one of another kind, or a hash of another program. Its State
// has no owner, as that of several readers.
func noLock(kind string, state lockwheel.State) bool {
	return state.Locked && !state.Foreign && state.Owner == "" && (kind != "reader" || state.Count < 2)
}

// force forces a lock, if the form is complete, comes from this page, and the holder is the one that it showed.
func (h *handler) force(r *http.Request) *response {
	if no := h.mayForce(r); no != nil {
		return no
	}
	if err := h.foreign.Check(r); err != nil {
		return failure(http.StatusForbidden, err.Error())
	}
	form := r.PostForm // read by withForm; never the URL: a token belongs in no log
	if subtle.ConstantTimeCompare([]byte(form.Get("token")), []byte(h.token)) != 1 {
		return failure(http.StatusForbidden, "The form is not of this process. Go back, reload the page and try again.")
	}
	if form.Get("confirm") != "yes" {
		return failure(http.StatusBadRequest, "Not confirmed: nothing was done. Go back and tick the box.")
	}
	t, no := h.target(form)
	if no != nil {
		return no
	}
	return h.forceTarget(r.Context(), r.RemoteAddr, t, form)
}

func (h *handler) forceTarget(ctx context.Context, client string, t target, form url.Values) *response {
	lock := t.lock()
	state, err := lock.State(ctx)
	if err != nil {
		return failure(http.StatusBadGateway, "Nothing was done: "+shown(err.Error()))
	}
	if !state.Locked || state.Owner != form.Get("owner") || strconv.Itoa(state.Count) != form.Get("count") && state.Owner == "" {
		return failure(http.StatusConflict, "Nothing was done: the lock is free or has another holder now. Go back and look again.")
	}
	if noLock(t.kind, state) {
		return failure(http.StatusConflict, "Nothing was done: the key is no lock of this kind. Go back and look again.")
	}
	wasLocked, err := lock.ForceUnlock(ctx)
	h.options.Logger.Warn("lockwheel: "+became(wasLocked, err), "lock", shown(t.name), "kind", t.kind,
		"holder", state.Owner, "engine", t.engine.ID(), "client", client, "was_locked", wasLocked, "error", err)
	done, no := outcome(wasLocked, err)
	if no != nil {
		return no
	}
	return render(http.StatusOK, "force.html", forceView{Process: thisProcess, Name: shown(t.name), Engine: t.engine.ID(), Done: done})
}

// outcome says on the page what became of a lock, or returns a response that says why it was not forced.
func outcome(wasLocked bool, err error) (done string, no *response) {
	switch {
	case errors.Is(err, lockwheel.ErrKindMismatch):
		return "", failure(http.StatusBadGateway, "Nothing was done: "+shown(err.Error()))
	case errors.Is(err, lockwheel.ErrClosed):
		return "", failure(http.StatusBadGateway, "Nothing was done, unless the process shut down just now: "+shown(err.Error()))
	case unanswered(err):
		return "", failure(http.StatusBadGateway, "The server did not reply. The command may still take effect. If this process held the lock, it has lost it: "+shown(err.Error()))
	case err != nil:
		return "", failure(http.StatusBadGateway, "The lock was not forced. If this process held it, it has lost it all the same: "+shown(err.Error()))
	case !wasLocked:
		return "Nothing was taken: by now the lock is free, or held as another kind.", nil
	}
	return "The lock was taken from its holder.", nil
}

// unanswered reports whether the server did not reply: a reply that rejects the command is one.
func unanswered(err error) bool {
	var said lockwheel.ServerError
	return errors.Is(err, lockwheel.ErrUnavailable) && !errors.As(err, &said)
}

// became says for the log what became of a lock.
func became(wasLocked bool, err error) string {
	switch {
	case errors.Is(err, lockwheel.ErrClosed):
		return "a lock may have been forced by the debug page: the engine was closed meanwhile"
	case unanswered(err):
		return "a lock may have been forced by the debug page: the server did not reply"
	case err != nil:
		return "a lock was not forced by the debug page, which tried to"
	case !wasLocked:
		return "a lock was not forced by the debug page: by then it was free, or held as another kind"
	}
	return "a lock was forced by the debug page"
}
