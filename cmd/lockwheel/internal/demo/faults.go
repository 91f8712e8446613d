package demo

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/lockwheel/lockwheel"
)

// faults counts the errors of a run by what they mean for the result. Safe for concurrent use.
type faults struct {
	lost    tally // a lock was held and was lost: the demo has failed
	refused tally // the server rejects the calls permanently: the demo cannot run, so it has failed, too
	noReply tally // the server did not reply in time: worth reporting, but it happens
}

// record counts an error. It reports whether it is useless to continue.
func (f *faults) record(err error) (permanent bool) {
	switch {
	case errors.Is(err, lockwheel.ErrLost):
		f.lost.add(err)
	case errors.Is(err, lockwheel.ErrUnavailable):
		f.noReply.add(err)
	default:
		f.refused.add(err)
		return true
	}
	return false
}

// tally counts errors of one sort and keeps the first few, which usually say it all.
type tally struct {
	total atomic.Int64
	first [3]atomic.Pointer[string]
}

func (t *tally) add(err error) {
	if n := t.total.Add(1); n <= int64(len(t.first)) {
		text := err.Error()
		t.first[n-1].Store(&text)
	}
}

func (t *tally) count() int64 { return t.total.Load() }

// String returns the first errors, one per line, and the number of the others.
func (t *tally) String() string {
	var lines []string
	for i := range t.first {
		if text := t.first[i].Load(); text != nil {
			lines = append(lines, *text)
		}
	}
	if more := t.count() - int64(len(t.first)); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}
