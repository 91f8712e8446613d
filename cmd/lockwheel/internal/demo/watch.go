package demo

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel"
)

// watch prints one line per second about the engines.
type watch struct {
	screen *screen
	stats  func() lockwheel.Stats
	began  time.Time       // start of the current phase
	last   lockwheel.Stats // of the previous line
	lastAt time.Time
}

// during prints lines while f runs. progress returns which part of it is done, from 0 to 1.
func (w *watch) during(what string, progress func(lockwheel.Stats) float64, f func()) {
	w.began = time.Now()
	w.last, w.lastAt = w.stats(), w.began
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		w.run(done, what, progress)
	}()
	f()
	close(done)
	<-over
}

func (w *watch) run(done <-chan struct{}, what string, progress func(lockwheel.Stats) float64) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	w.screen.progress(what, progress(w.last))
	for {
		select {
		case <-done:
			w.screen.clear()
			return
		case <-second.C:
			now, at := w.stats(), time.Now()
			w.screen.row(header, w.line(now, at))
			w.screen.progress(what, progress(now))
			w.last, w.lastAt = now, at
		}
	}
}

const header = "  time     held acquired/s renewed/s handed on/s waiting renewal lag     lost"

// line returns what has happened since the previous line.
func (w *watch) line(now lockwheel.Stats, at time.Time) string {
	seconds := at.Sub(w.lastAt).Seconds()
	rate := func(now, last uint64) float64 { return float64(now-last) / seconds }
	return fmt.Sprintf("%6v %8d %10.0f %9.0f %11.0f %7d %11v %8d",
		at.Sub(w.began).Round(time.Second), now.Held,
		rate(now.Acquired, w.last.Acquired), rate(now.Renewed, w.last.Renewed), rate(now.HandedOff, w.last.HandedOff),
		now.Waiting, rounded(now.RenewalLag), now.Lost)
}

// rounded rounds a duration to two or three significant digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}
