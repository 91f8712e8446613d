package main

import (
	"fmt"
	"strings"
)

// evidence is the input of the final checks.
type evidence struct {
	wanted      int // locks to be kept
	kept        int // locks acquired
	interrupted bool
	faults      *faults
	turnstiles  []*turnstile
	shutdown    error // of the engines
	remains     remains
	unseen      error // why remains is not known
}

// finding is the result of one check.
type finding struct {
	good bool
	text string
}

// verdict returns the results of all checks.
func (e *evidence) verdict() []finding {
	findings := []finding{e.noneLost(), e.neverTwo(), e.nothingLeft()}
	if e.kept < e.wanted && !e.interrupted {
		findings = append(findings, finding{false, fmt.Sprintf("only %d of %d locks could be taken", e.kept, e.wanted)})
	}
	if n := e.faults.refused.count(); n > 0 {
		findings = append(findings, finding{false, fmt.Sprintf("calls refused for good: %d\n%v", n, &e.faults.refused)})
	}
	if e.shutdown != nil {
		findings = append(findings, finding{false, fmt.Sprintf("the engines did not come to an end: %v", e.shutdown)})
	}
	return findings
}

func (e *evidence) noneLost() finding {
	n := e.faults.lost.count()
	if n == 0 {
		return finding{true, fmt.Sprintf("no held lock was lost (%d kept all the time)", e.kept)}
	}
	return finding{false, fmt.Sprintf("held locks lost: %d\n%v", n, &e.faults.lost)}
}

func (e *evidence) neverTwo() finding {
	var broken []string
	for _, t := range e.turnstiles {
		if n := t.twice.Load(); n > 0 {
			broken = append(broken, fmt.Sprintf("%q: up to %d at once, %d in all who were not alone", t.name, t.most.Load(), n))
		}
	}
	if len(broken) == 0 {
		return finding{true, "never two held one name at once"}
	}
	return finding{false, "two held one name at once:\n" + strings.Join(broken, "\n")}
}

func (e *evidence) nothingLeft() finding {
	r := e.remains
	switch {
	case e.unseen != nil:
		return finding{false, fmt.Sprintf("whether anything is left in the server is not known: %v", e.unseen)}
	case r.count > 0:
		return finding{false, fmt.Sprintf("keys left in the server: %d\n%s", r.count, strings.Join(r.keys, "\n"))}
	case len(r.channels) > 0:
		return finding{false, fmt.Sprintf("channels left in the server: %d\n%s", len(r.channels), strings.Join(r.channels, "\n"))}
	}
	return finding{true, "nothing is left in the server: no key, no channel"}
}
