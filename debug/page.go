package debug

import (
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"
)

//go:embed page.html force.html
var templates embed.FS

var pages = template.Must(template.ParseFS(templates, "page.html", "force.html"))

func render(status int, name string, view any) *response {
	r := &response{status: status, contentType: "text/html; charset=utf-8"}
	if err := pages.ExecuteTemplate(&r.body, name, view); err != nil {
		return failure(http.StatusInternalServerError, err.Error())
	}
	return r
}

// pageView is what page.html shows. All texts are escaped there.
type pageView struct {
	Process              process
	Now                  string
	ReadMS               int64 // how long it took to read the engines
	Search, Sort, Kind   string
	Orders, Kinds        []choice
	EngineIDs            []choice
	Engines              []engineView
	Rows                 []rowView
	Matched, All         int
	Paged                bool // not the first page
	FirstPage, NextPage  string
	Hot                  []hotView
	Errors               []listError
	AllowForce, Recorded bool
	Events               []eventView
}

type choice struct {
	Value    string
	Selected bool
	Name     string // of an engine, beside its value
}

type engineView struct {
	ID, Name    string
	Connections []connection
	Tiles       []figure // what an operator looks at first
	Figures     []figure
	Charts      []chart
}

type rowView struct {
	Label                      string // of lockwheel.WithLabel
	Name, Kind, Engine, Holder string
	Holds, Waiting             int
	Held, Deadline, Wait       string
	Renewal                    string
	Late                       bool // the deadline has passed
	Force                      string
}

type hotView struct {
	nameCount
	Search string
}

type eventView struct{ What, Ago, Name, Took, Error string }

// maxEventsShown is how many events of each sort the page shows; /events.json has all.
const maxEventsShown = 20

func (h *handler) page(r *http.Request) *response {
	q, err := parseQuery(r)
	if err != nil {
		return failure(http.StatusBadRequest, err.Error())
	}
	begun := time.Now()
	l := h.list(r, q)
	now := time.Now()
	view := pageView{
		Process: thisProcess,
		Now:     now.UTC().Format(time.RFC3339), ReadMS: now.Sub(begun).Milliseconds(), Search: q.search, Sort: q.sort, Kind: q.kind, Matched: l.matched, All: l.locks,
		Orders: choices(orders, q.sort), Kinds: choices(append([]string{""}, kinds...), q.kind), Paged: q.after != nil,
		Errors: l.errors, AllowForce: h.options.AllowForce, Recorded: h.options.Recorder != nil,
	}
	ids, names := []string{""}, []string{""}
	for _, e := range h.engines {
		ids, names = append(ids, e.ID()), append(names, shown(e.Name()))
		nodes, stats := e.Status(), e.Stats()
		view.Engines = append(view.Engines, engineView{e.ID(), shown(e.Name()), connections(nodes, now), tiles(&stats), figures(&stats), charts(&stats)})
	}
	if !slices.Contains(ids, q.engine) { // otherwise the choice would read as any engine
		ids = append(ids, q.engine)
	}
	view.EngineIDs = choices(ids, q.engine)
	for i, name := range names {
		view.EngineIDs[i].Name = name
	}
	for _, row := range l.rows {
		view.Rows = append(view.Rows, h.rowView(&row, l.here.of(&row), now))
	}
	for _, hot := range l.waiters.most() {
		view.Hot = append(view.Hot, hotView{hot, query{search: hot.search, sort: "waiting", limit: maxRows}.encode()})
	}
	next := l.next()
	q.after = nil
	view.FirstPage = q.encode()
	if q.after = next; next != nil {
		view.NextPage = q.encode()
	}
	if h.options.Recorder != nil {
		view.Events = h.options.Recorder.views(now)
	}
	return render(http.StatusOK, "page.html", view)
}

func choices(values []string, selected string) []choice {
	all := make([]choice, len(values))
	for i, value := range values {
		all[i] = choice{Value: value, Selected: value == selected}
	}
	return all
}

func (h *handler) rowView(r *row, here *hereJSON, now time.Time) rowView {
	engine := h.engines[r.engine].ID()
	v := rowView{Name: shown(r.Name), Kind: r.Kind, Engine: engine, Holder: r.HolderID, Holds: r.Holds, Waiting: r.Waiting, Label: labelShown(r.Label)}
	if r.Holds > 0 {
		v.Held, v.Renewal = duration(now.Sub(r.Since)), "own lease"
		if r.Watched {
			v.Renewal = "renewed"
		}
		left := r.Deadline.Sub(now)
		if v.Deadline, v.Late = "in "+duration(left), left < 0; v.Late {
			v.Deadline = duration(-left) + " ago"
		}
	}
	if v.Holder == "" {
		v.Holder = here.String()
	}
	if r.Waiting > 0 {
		v.Wait = duration(now.Sub(r.WaitingSince))
	}
	if h.options.AllowForce {
		v.Force = "confirm?" + url.Values{"engine": {engine}, "kind": {r.Kind}, "name64": {encoded(r.Name)}}.Encode()
	}
	return v
}

// views returns the latest events of each sort in words.
func (r *Recorder) views(now time.Time) (all []eventView) {
	for _, sort := range r.sorts() {
		last := sort.last()
		for _, e := range last[:min(len(last), maxEventsShown)] {
			v := eventView{What: sort.what, Ago: duration(now.Sub(e.at)), Name: e.name, Error: e.err}
			if sort.took != "" {
				v.Took = sort.took + " " + duration(e.took)
			}
			all = append(all, v)
		}
	}
	return all
}

// forceView is what force.html shows: the sides of a lock to force, or what was done.
type forceView struct {
	Process            process
	Name, Engine, Done string
	Sides              []side
}
