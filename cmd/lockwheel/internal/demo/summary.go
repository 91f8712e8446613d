package demo

import "strings"

// printSummary prints the durations of calls and the result, and reports whether the result is good.
func (d *demo) printSummary(e *results) (good bool) {
	d.screen.printf("\n  lock calls        number        p50        p99      p99.9    longest")
	d.timing("of a name alone", &d.load.uncontended)
	d.timing("of the hot name", &d.load.contended)
	if n := d.faults.noReply.count(); n > 0 {
		d.screen.printf("\ncalls without a reply in time: %d%s", n, indented("\n"+d.faults.noReply.String()))
	}
	d.screen.printf("")
	good = true
	for _, f := range e.verdict() {
		mark := "ok      "
		if !f.good {
			mark, good = "FAILED  ", false
		}
		d.screen.printf("%s%s", mark, indented(f.text))
	}
	if good {
		d.screen.printf("\nverdict: good")
	} else {
		d.screen.printf("\nverdict: BAD")
	}
	return good
}

func (d *demo) timing(what string, l *latencies) {
	if l.count() == 0 {
		d.screen.printf("  %s        none", what)
		return
	}
	d.screen.printf("  %s %11d %10v %10v %10v %10v", what, l.count(),
		rounded(l.quantile(0.5)), rounded(l.quantile(0.99)), rounded(l.quantile(0.999)), rounded(l.max()))
}

// indented indents the lines after the first to align with the text of a finding.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n          ") }
