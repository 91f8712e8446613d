package server

import (
	"fmt"
	"io"
	"time"
)

// Log writes lines from any goroutine, one after the other, each with the time since it was made.
type Log struct {
	lines chan string
	done  chan struct{}
	begin time.Time
}

// NewLog returns a Log that writes to out. The caller ends it with Close after the last call of Printf.
func NewLog(out io.Writer) *Log {
	l := &Log{make(chan string), make(chan struct{}), time.Now()}
	go func() {
		defer close(l.done)
		for line := range l.lines {
			fmt.Fprintln(out, line)
		}
	}()
	return l
}

// Printf writes a line. It returns when the line is on its way to the writer, so lines of one goroutine keep their
// order.
func (l *Log) Printf(format string, args ...any) {
	l.lines <- fmt.Sprintf("%6.2fs  ", time.Since(l.begin).Seconds()) + fmt.Sprintf(format, args...)
}

// Close returns when all lines are written.
func (l *Log) Close() {
	close(l.lines)
	<-l.done
}
