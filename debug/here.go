package debug

import (
	"context"
	"fmt"
	"iter"

	"github.com/lockwheel/lockwheel"
)

// hereJSON says which other rows of the same engine hold the name of a row that only waits: the readers that a writer
// waits for, or the caller that holds a fair lock.
type hereJSON struct {
	Kind     string `json:"kind"`               // of the rows that hold it
	Rows     int    `json:"rows"`               // how many they are
	HolderID string `json:"holderId,omitempty"` // of the only one
}

// String returns the text of the page for a row that only waits. A nil value says that no row of its engine holds it.
func (j *hereJSON) String() string {
	switch {
	case j == nil:
		return "not in this engine"
	case j.Rows == 1:
		return fmt.Sprintf("%s %s of this engine", j.Kind, j.HolderID)
	}
	return fmt.Sprintf("%d %ss of this engine", j.Rows, j.Kind)
}

// waitsFor returns the kinds in which other rows of an engine may hold what a row of a kind waits for. Each reader and
// each caller of a fair lock may be a row of its own; of a plain or fenced lock an engine has one row.
func waitsFor(kind string) []string {
	switch kind {
	case "fair":
		return []string{"fair"}
	case "reader", "writer":
		return []string{"writer", "reader"}
	}
	return nil
}

// nameHere is a name in an engine.
type nameHere struct {
	engine int
	name   string
}

// holdersHere are the rows that hold the names that rows of the page wait for, by their kinds. It has at most a page of
// names, and is read from the engines after the rows are known, because a list of all holders would have no bound.
type holdersHere map[nameHere]map[string]*hereJSON

// want notes the names of rows that only wait. It returns the engines to read.
func (h holdersHere) want(rows []row) map[int]bool {
	engines := make(map[int]bool)
	for i := range rows {
		if r := &rows[i]; r.Holds == 0 && waitsFor(r.Kind) != nil {
			h[nameHere{r.engine, r.Name}], engines[r.engine] = make(map[string]*hereJSON), true
		}
	}
	return engines
}

// read reads the locks of an engine. An error ends it: what was found before stays.
func (h holdersHere) read(engine int, locks iter.Seq2[lockwheel.LockInfo, error]) error {
	for lock, err := range locks {
		if err != nil {
			return err
		}
		kinds := h[nameHere{engine, lock.Name}]
		if kinds == nil || lock.Holds == 0 {
			continue
		}
		if found := kinds[lock.Kind]; found != nil {
			found.Rows, found.HolderID = found.Rows+1, ""
		} else {
			kinds[lock.Kind] = &hereJSON{lock.Kind, 1, lock.HolderID}
		}
	}
	return nil
}

// of returns which rows hold what a row waits for, or nil.
func (h holdersHere) of(r *row) *hereJSON {
	if r.Holds > 0 {
		return nil
	}
	for _, kind := range waitsFor(r.Kind) {
		if found := h[nameHere{r.engine, r.Name}][kind]; found != nil {
			return found
		}
	}
	return nil
}

// readHere reads the engines again for the rows of a list that only wait, if there are such rows. Without all of an
// engine the list is not complete.
func (h *handler) readHere(ctx context.Context, l *list) {
	l.here = make(holdersHere)
	for engine := range l.here.want(l.rows) {
		e := h.engines[engine]
		if err := l.here.read(engine, e.Locks(ctx)); err != nil {
			l.fail(e.ID(), err)
		}
	}
}
