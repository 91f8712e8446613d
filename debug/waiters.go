package debug

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// maxCounted is how many names waiterCounts counts at a time.
	maxCounted = 4096
	// maxHot is how many of them are shown.
	maxHot = 10
)

// waiterCounts counts waiters by name, in bounded memory. A name can come several times, because each caller of a fair
// lock may be a row of its own. With more than maxCounted names it forgets those with few waiters, by the algorithm of
// Misra and Gries. Then each count is too small by at most lost. The goroutine of the request owns it.
type waiterCounts struct {
	counts map[string]int
	lost   int
}

func (w *waiterCounts) add(name string, waiting int) {
	if w.counts == nil {
		w.counts = make(map[string]int)
	}
	w.counts[name] += waiting
	if len(w.counts) > maxCounted {
		w.forget()
	}
}

// forget subtracts the median from all counts and removes those without a rest.
func (w *waiterCounts) forget() {
	values := make([]int, 0, len(w.counts))
	for _, n := range w.counts {
		values = append(values, n)
	}
	slices.Sort(values)
	median := values[len(values)/2]
	w.lost += median
	for name, n := range w.counts {
		if n <= median {
			delete(w.counts, name)
		} else {
			w.counts[name] = n - median
		}
	}
}

// nameCount is a name with the number of callers that wait for it: at least Waiting, at most AtMost.
type nameCount struct {
	Name    string `json:"name"`
	Name64  string `json:"name64"`
	Waiting int    `json:"waiting"`
	AtMost  int    `json:"atMost"`
	search  string // finds the name
}

// most returns the names with the most waiters, the most first.
func (w *waiterCounts) most() []nameCount {
	names := make([]string, 0, len(w.counts))
	for name := range w.counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(w.counts[b], w.counts[a]), strings.Compare(a, b))
	})
	names = names[:min(len(names), maxHot)]
	most := make([]nameCount, len(names))
	for i, name := range names {
		most[i] = nameCount{shown(name), encoded(name), w.counts[name], w.counts[name] + w.lost, searchFor(name)}
	}
	return most
}
