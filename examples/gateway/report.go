package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// What became of a request that has no status.
const (
	noReply = -1 // within the time that it had
	notSent = -2 // too many others were unanswered
)

// answer is what became of a request.
type answer struct {
	status int
	took   time.Duration
}

// report is what became of a load. Each request writes its own answer.
type report struct {
	began   time.Time
	answers []answer
}

func newReport(requests int) *report { return &report{answers: make([]answer, requests)} }

// print writes a line for each status, with how many requests had it and how long they took.
func (r *report) print(out io.Writer) error {
	took := make(map[int][]time.Duration)
	for _, a := range r.answers {
		took[a.status] = append(took[a.status], a.took)
	}
	lines := fmt.Sprintf("%d requests in %v\n", len(r.answers), time.Since(r.began).Round(time.Millisecond))
	for _, code := range []int{200, 429, 500, 503, noReply, notSent} {
		lines += line(names[code], took[code])
		delete(took, code)
	}
	for code, times := range took {
		lines += line(fmt.Sprintf("other status %d", code), times)
	}
	_, err := io.WriteString(out, lines)
	return err
}

var names = map[int]string{
	200: "200 charged", 429: "429 busy", 500: "500 failed or unknown", 503: "503 no reply in time", noReply: "no reply", notSent: "not sent",
}

func line(name string, times []time.Duration) string {
	if len(times) == 0 {
		return fmt.Sprintf("%-22s %7d\n", name, 0)
	}
	slices.Sort(times)
	return fmt.Sprintf("%-22s %7d   p50 %v  p99 %v  p99.9 %v  max %v\n", name, len(times),
		quantile(times, 0.5), quantile(times, 0.99), quantile(times, 0.999), quantile(times, 1))
}

// quantile returns the time that the fraction q of the times does not exceed. The times are sorted.
func quantile(times []time.Duration, q float64) time.Duration {
	at := int(math.Ceil(q*float64(len(times)))) - 1
	return times[max(at, 0)].Round(10 * time.Microsecond)
}
