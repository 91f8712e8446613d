package demo

import (
	"fmt"
	"strings"
)

// results is the input of the final checks.
type results struct {
	wanted          int // locks to be kept
	kept            int // locks acquired
	interrupted     bool
	faults          *faults
	exclusionChecks []*exclusionCheck
	shutdown        error // of the engines
	leftovers       leftovers
	unreadable      error // why remains is not known
}

// check is the result of one check.
type check struct {
	good bool
	text string
}

// verdict returns the results of all checks.
func (e *results) verdict() []check {
	checks := []check{e.noneLost(), e.neverTwo(), e.nothingLeft()}
	if e.kept < e.wanted && !e.interrupted {
		checks = append(checks, check{false, fmt.Sprintf("only %d of %d locks could be taken", e.kept, e.wanted)})
	}
	if n := e.faults.refused.count(); n > 0 {
		checks = append(checks, check{false, fmt.Sprintf("calls refused for good: %d\n%v", n, &e.faults.refused)})
	}
	if e.shutdown != nil {
		checks = append(checks, check{false, fmt.Sprintf("the engines did not come to an end: %v", e.shutdown)})
	}
	return checks
}

func (e *results) noneLost() check {
	n := e.faults.lost.count()
	if n == 0 {
		return check{true, fmt.Sprintf("no held lock was lost (%d kept all the time)", e.kept)}
	}
	return check{false, fmt.Sprintf("held locks lost: %d\n%v", n, &e.faults.lost)}
}

func (e *results) neverTwo() check {
	var broken []string
	for _, t := range e.exclusionChecks {
		if n := t.violations.Load(); n > 0 {
			broken = append(broken, fmt.Sprintf("%q: up to %d at once, %d in all who were not alone", t.name, t.peak.Load(), n))
		}
	}
	if len(broken) == 0 {
		return check{true, "never two held one name at once"}
	}
	return check{false, "two held one name at once:\n" + strings.Join(broken, "\n")}
}

func (e *results) nothingLeft() check {
	r := e.leftovers
	switch {
	case e.unreadable != nil:
		return check{false, fmt.Sprintf("whether anything is left in the server is not known: %v", e.unreadable)}
	case r.count > 0:
		return check{false, fmt.Sprintf("keys left in the server: %d\n%s", r.count, strings.Join(r.keys, "\n"))}
	case len(r.channels) > 0:
		return check{false, fmt.Sprintf("channels left in the server: %d\n%s", len(r.channels), strings.Join(r.channels, "\n"))}
	}
	return check{true, "nothing is left in the server: no key, no channel"}
}
