package debug

import (
	"cmp"
	"container/heap"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel"
)

// noSuchEngine is the error of a list that is asked of an engine that the page does not have.
const noSuchEngine = "this page has no engine with that id; perhaps its process has ended or has been restarted"

// maxRows is the maximum number of rows of a page.
const maxRows = 100

// orders are the values of parameter sort. The first is the default.
var orders = []string{"age", "deadline", "kind", "name", "waiting"}

// kinds are those of lockwheel.LockInfo.
var kinds = []string{"plain", "fenced", "fair", "reader", "writer"}

// query is what a request wants to see.
type query struct {
	search, sort, kind, engine string
	limit                      int
	after                      *position // the last row of the page before; nil for the first page
}

// position is where a row is in the order. It identifies a row also after others came or went, so that the next page
// begins right behind it. Callers of a fair lock and readers are rows of their own. While they wait, such rows can be
// alike in all that a list says of them; Alike counts these.
type position struct {
	Value  int64  `json:"v"` // by which the rows are sorted; the other fields decide between equal ones
	Name   []byte `json:"n"`
	Kind   string `json:"k"`
	Engine int    `json:"e"`
	Holder string `json:"h"`
	Caller uint64 `json:"c,omitzero"` // hash of what callerOf returns
	Alike  int    `json:"a"`          // how many rows that are equal in all other fields the pages have so far
}

func parseQuery(r *http.Request) (q query, err error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, fmt.Errorf("the parameters: %w", err)
	}
	q = query{search: values.Get("q"), sort: cmp.Or(values.Get("sort"), orders[0]), kind: values.Get("kind"), engine: values.Get("engine"), limit: maxRows}
	if !slices.Contains(orders, q.sort) {
		return q, fmt.Errorf("sort: want one of %s", strings.Join(orders, ", "))
	}
	if q.kind != "" && !slices.Contains(kinds, q.kind) {
		return q, fmt.Errorf("kind: want one of %s", strings.Join(kinds, ", "))
	}
	if limit := values.Get("limit"); limit != "" {
		if q.limit, err = strconv.Atoi(limit); err != nil || q.limit < 1 || q.limit > maxRows {
			return q, fmt.Errorf("limit: want 1 to %d", maxRows)
		}
	}
	if after := values.Get("after"); after != "" {
		text, err := base64.RawURLEncoding.DecodeString(after)
		if err != nil || json.Unmarshal(text, &q.after) != nil || q.after == nil {
			return q, errors.New("after: want field next of the page before")
		}
	}
	return q, nil
}

// encode returns the query as the parameters of a URL.
func (q query) encode() string {
	values := url.Values{}
	for name, value := range map[string]string{"q": q.search, "kind": q.kind, "engine": q.engine} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.sort != orders[0] {
		values.Set("sort", q.sort)
	}
	if q.limit != maxRows {
		values.Set("limit", strconv.Itoa(q.limit))
	}
	if q.after != nil {
		values.Set("after", q.after.encode())
	}
	return "?" + values.Encode()
}

func (p *position) encode() string {
	text, _ := json.Marshal(p) // strings and numbers only
	return base64.RawURLEncoding.EncodeToString(text)
}

// matches reports whether a lock is one that the query asks for.
func (q *query) matches(lock *lockwheel.LockInfo) bool {
	if q.kind != "" && lock.Kind != q.kind {
		return false
	}
	return q.search == "" || strings.Contains(lock.Name, q.search) ||
		!isPlain(lock.Name) && strings.Contains(quoted(lock.Name), q.search)
}

// row is a lock in a list.
type row struct {
	lockwheel.LockInfo
	engine int    // its index
	value  int64  // by which the rows are sorted
	caller uint64 // of callerOf
}

// callerOf tells apart the callers that wait for one fair lock, and those that wait for one reader's side. Other rows
// are told apart by the rest of their position. So it is 0 for them: their first caller may leave between two pages.
func callerOf(lock *lockwheel.LockInfo) uint64 {
	if lock.Holds > 0 || lock.Kind != "fair" && lock.Kind != "reader" {
		return 0
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %q %q", lock.WaitingSince.UnixNano(), lock.Label, lock.CallSite)
	return hash.Sum64()
}

func (q *query) value(lock *lockwheel.LockInfo) int64 {
	switch q.sort {
	case "age":
		return since(lock).UnixNano()
	case "deadline":
		if lock.Holds == 0 {
			return math.MaxInt64
		}
		return lock.Deadline.UnixNano()
	case "waiting":
		return -int64(lock.Waiting)
	case "kind":
		return int64(slices.Index(kinds, lock.Kind))
	}
	return 0
}

// since returns since when a lock is held, or waited for if this engine does not hold it.
func since(lock *lockwheel.LockInfo) time.Time {
	if lock.Holds > 0 {
		return lock.Since
	}
	return lock.WaitingSince
}

func (r *row) position() *position {
	return &position{Value: r.value, Name: []byte(r.Name), Kind: r.Kind, Engine: r.engine, Holder: r.HolderID, Caller: r.caller}
}

func compareRows(a, b *row) int {
	return cmp.Or(cmp.Compare(a.value, b.value), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind),
		cmp.Compare(a.engine, b.engine), strings.Compare(a.HolderID, b.HolderID), cmp.Compare(a.caller, b.caller))
}

// list is what one request learned from the engines. It keeps only the rows of its page and one more, however many
// locks there are. The goroutine of the request owns it.
type list struct {
	query   query
	after   *row // as a row, to compare with
	alike   int  // rows that are equal to it
	rows    worstFirst
	more    bool
	matched int
	locks   int
	waiters waiterCounts
	errors  []listError
	here    holdersHere
}

type listError struct {
	Engine string `json:"engine"`
	Error  string `json:"error"`
}

func newList(q query) *list {
	l := &list{query: q}
	if p := q.after; p != nil {
		l.after = &row{LockInfo: lockwheel.LockInfo{Name: string(p.Name), Kind: p.Kind, HolderID: p.Holder}, engine: p.Engine, value: p.Value, caller: p.Caller}
	}
	return l
}

// read reads the locks of one engine, once.
func (l *list) read(engine int, id string, locks iter.Seq2[lockwheel.LockInfo, error]) {
	for lock, err := range locks {
		if err != nil {
			l.fail(id, err)
			return
		}
		l.add(engine, lock)
	}
}

// fail notes that an engine could not be read to its end, with the first error of it.
func (l *list) fail(id string, err error) {
	if !slices.ContainsFunc(l.errors, func(e listError) bool { return e.Engine == id }) {
		l.errors = append(l.errors, listError{id, shown(err.Error())})
	}
}

func (l *list) add(engine int, lock lockwheel.LockInfo) {
	l.locks++
	if lock.Waiting > 0 {
		l.waiters.add(lock.Name, lock.Waiting)
	}
	if !l.query.matches(&lock) {
		return
	}
	l.matched++
	r := row{lock, engine, l.query.value(&lock), callerOf(&lock)}
	if l.after != nil && l.isBefore(&r) {
		return
	}
	if len(l.rows) <= l.query.limit { // one more than the page has, to know whether there is a next one
		heap.Push(&l.rows, r)
	} else if compareRows(&r, &l.rows[0]) < 0 {
		l.rows[0] = r
		heap.Fix(&l.rows, 0)
	}
}

// isBefore reports whether a row is on a page before this one. Of rows that are alike it does not matter which of them
// count as shown.
func (l *list) isBefore(r *row) bool {
	order := compareRows(r, l.after)
	if order == 0 {
		l.alike++
		return l.alike <= l.query.after.Alike
	}
	return order < 0
}

// finish sorts the rows, after the last engine was read.
func (l *list) finish() {
	slices.SortFunc(l.rows, func(a, b row) int { return compareRows(&a, &b) })
	if l.more = len(l.rows) > l.query.limit; l.more {
		l.rows = l.rows[:l.query.limit]
	}
}

// next returns the position at which the next page begins, or nil on the last page.
func (l *list) next() *position {
	if !l.more {
		return nil
	}
	last := &l.rows[len(l.rows)-1]
	p := last.position()
	for i := range l.rows {
		if compareRows(&l.rows[i], last) == 0 {
			p.Alike++
		}
	}
	if l.after != nil && compareRows(last, l.after) == 0 {
		p.Alike += l.query.after.Alike
	}
	return p
}

// worstFirst is a heap of rows with the last one in the order on top.
type worstFirst []row

func (w worstFirst) Len() int           { return len(w) }
func (w worstFirst) Less(i, j int) bool { return compareRows(&w[i], &w[j]) > 0 }
func (w worstFirst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *worstFirst) Push(r any)        { *w = append(*w, r.(row)) }
func (w *worstFirst) Pop() any          { panic("lockwheel: bug: rows are replaced, never removed") }

// list reads the engines that a query asks for.
func (h *handler) list(r *http.Request, q query) *list {
	l := newList(q)
	if q.engine != "" && h.engineByID(q.engine) == nil {
		l.errors = append(l.errors, listError{shown(q.engine), noSuchEngine})
	}
	for i, e := range h.engines {
		if q.engine == "" || q.engine == e.ID() {
			l.read(i, e.ID(), e.Locks(r.Context()))
		}
	}
	l.finish()
	h.readHere(r.Context(), l)
	return l
}

// lockJSON is a row of /locks.json.
type lockJSON struct {
	Engine       string    `json:"engine"`
	Name         string    `json:"name"`   // as the page shows it
	Name64       string    `json:"name64"` // its bytes, in base64 for URLs
	Kind         string    `json:"kind"`
	Holds        int       `json:"holds"`
	HolderID     string    `json:"holderId,omitempty"`
	Since        time.Time `json:"since,omitzero"`
	Deadline     time.Time `json:"deadline,omitzero"`
	Watched      bool      `json:"watched"`
	Waiting      int       `json:"waiting"`
	WaitingSince time.Time `json:"waitingSince,omitzero"`
	Label        string    `json:"label,omitempty"` // of lockwheel.WithLabel, as the page shows it
	CallSite     string    `json:"callSite,omitempty"`
	HeldHere     *hereJSON `json:"heldHere,omitempty"`
}

// labelShown returns a label as the page shows it; empty for none.
func labelShown(label string) string {
	if label == "" {
		return ""
	}
	return shown(label)
}

type listJSON struct {
	Process     process     `json:"process"`
	Now         time.Time   `json:"now"`
	Locks       []lockJSON  `json:"locks"`
	Matched     int         `json:"matched"` // locks that match the parameters, on all pages
	All         int         `json:"all"`     // locks of the engines that were read
	Next        string      `json:"next,omitempty"`
	MostWaiters []nameCount `json:"mostWaiters"`
	Errors      []listError `json:"errors,omitempty"`
}

func (h *handler) locksJSON(r *http.Request) *response {
	q, err := parseQuery(r)
	if err != nil {
		return failure(http.StatusBadRequest, err.Error())
	}
	l := h.list(r, q)
	out := listJSON{Process: thisProcess, Now: time.Now(), Matched: l.matched, All: l.locks, Locks: make([]lockJSON, len(l.rows)), MostWaiters: l.waiters.most(), Errors: l.errors}
	if next := l.next(); next != nil {
		out.Next = next.encode()
	}
	for i, row := range l.rows {
		out.Locks[i] = lockJSON{
			h.engines[row.engine].ID(), shown(row.Name), encoded(row.Name), row.Kind, row.Holds, row.HolderID,
			row.Since, row.Deadline, row.Watched, row.Waiting, row.WaitingSince, labelShown(row.Label), row.CallSite, l.here.of(&row),
		}
	}
	return asJSON(out)
}
