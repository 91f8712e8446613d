package main

import "strings"

// conclude prints the durations of calls and the result, and reports whether the result is good.
func (d *demo) conclude(e *evidence) (good bool) {
	d.screen.say("\n  lock calls        number        p50        p99      p99.9    longest")
	d.timing("of a name alone", &d.load.alone)
	d.timing("of the hot name", &d.load.contended)
	if n := d.faults.unanswered.count(); n > 0 {
		d.screen.say("\ncalls without an answer in time: %d%s", n, indented("\n"+d.faults.unanswered.String()))
	}
	d.screen.say("")
	good = true
	for _, f := range e.verdict() {
		mark := "ok      "
		if !f.good {
			mark, good = "FAILED  ", false
		}
		d.screen.say("%s%s", mark, indented(f.text))
	}
	if good {
		d.screen.say("\nverdict: good")
	} else {
		d.screen.say("\nverdict: BAD")
	}
	return good
}

func (d *demo) timing(what string, l *latencies) {
	if l.count() == 0 {
		d.screen.say("  %s        none", what)
		return
	}
	d.screen.say("  %s %11d %10v %10v %10v %10v", what, l.count(),
		brief(l.quantile(0.5)), brief(l.quantile(0.99)), brief(l.quantile(0.999)), brief(l.max()))
}

// indented indents the lines after the first to align with the text of a finding.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n          ") }
