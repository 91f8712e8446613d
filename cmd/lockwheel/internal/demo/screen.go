package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// screen prints lines and, on a terminal, a progress bar that stays below the last line. Not safe for concurrent use.
type screen struct {
	to       io.Writer
	terminal bool
	bar      int  // characters of the bar that is shown
	table    bool // the last line was a row
}

func newScreen(to io.Writer) *screen {
	s := &screen{to: to}
	if file, ok := to.(*os.File); ok {
		info, err := file.Stat()
		s.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

// printf prints one or more lines.
func (s *screen) printf(format string, args ...any) {
	if s.table {
		format = "\n" + format
	}
	s.table = false
	s.print(fmt.Sprintf(format, args...))
}

// row prints a line of a table. The first row is preceded by the header.
func (s *screen) row(header, text string) {
	if !s.table {
		s.print("\n" + header)
	}
	s.table = true
	s.print(text)
}

func (s *screen) print(text string) {
	s.clear()
	fmt.Fprintln(s.to, text)
}

// progress shows which part of something is done, from 0 to 1, on a terminal only.
func (s *screen) progress(what string, done float64) {
	if !s.terminal {
		return
	}
	const width = 40
	full := int(width * min(max(done, 0), 1))
	text := fmt.Sprintf("%s [%s%s] %3.0f%%", what, strings.Repeat("#", full), strings.Repeat(".", width-full), 100*done)
	s.clear()
	fmt.Fprint(s.to, text)
	s.bar = utf8.RuneCountInString(text)
}

// clear removes the bar, using only characters that every terminal understands. It also removes a ^C that the terminal
// may have printed behind it.
func (s *screen) clear() {
	if s.bar > 0 {
		fmt.Fprintf(s.to, "\r%s\r", strings.Repeat(" ", s.bar+len("^C^C")))
		s.bar = 0
	}
}
