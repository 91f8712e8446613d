package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// table is a Markdown table. The first column is text; the others are figures unless prose is set.
type table struct {
	prose bool
	head  []string
	rows  [][]string
}

func newTable(head ...string) *table { return &table{head: head} }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// failed adds the row of a contestant without figures.
func (t *table) failed(name, why string) {
	cells := make([]string, len(t.head))
	cells[0], cells[1] = name, oneLine(why)
	t.rows = append(t.rows, cells)
}

func (t *table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "--:"
		if t.prose {
			rule[i] = "---"
		}
	}
	rule[0] = "---"
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// oneLine makes any text fit a cell.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "; ", "|", "\\|").Replace(s)
}

// count writes a number with its thousands apart, as in 1 234 567.
func count(n float64) string {
	digits := fmt.Sprintf("%.0f", n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + " " + digits[at:]
	}
	return digits
}

func micros(d time.Duration) string { return decimals(float64(d) / float64(time.Microsecond)) }
func millis(d time.Duration) string { return decimals(float64(d) / float64(time.Millisecond)) }

// decimals shows about three digits.
func decimals(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0:
		return "-" + decimals(-x)
	case math.IsInf(x, 1):
		return "∞"
	case x >= 100:
		return count(x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// ratio is a/b, as in "2.13 ×", and a dash where there is nothing to divide by.
func ratio(a, b float64) string {
	if b == 0 || a == 0 {
		return "–"
	}
	return decimals(a/b) + " ×"
}

// timesOrDash writes a ratio, and a dash for one that was not measured.
func timesOrDash(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return decimals(x) + " ×"
}
