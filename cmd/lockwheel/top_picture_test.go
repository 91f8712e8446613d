//go:build unix

package main

import (
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

var picture = flag.String("picture", "", "write what top printed as a picture to this file")

// contend has several engines hold locks, wait for some of them, and hand others around, until ctx ends.
func contend(ctx context.Context, t *testing.T, s *redistest.Server) *sync.WaitGroup {
	t.Helper()
	var callers sync.WaitGroup
	for n := range 6 {
		locks, err := lockwheel.Open(ctx, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}})
		require.NoError(t, err)
		t.Cleanup(func() { locks.Close() })
		keep := func(m lockwheel.Mutex) { // the first of the engines holds it, and the others wait
			callers.Go(func() {
				_ = m.Do(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
			})
		}
		keep(locks.Mutex("reports/nightly"))
		keep(locks.RWMutex("catalogue").RLocker())
		keep(locks.FairMutex(fmt.Sprintf("printer/%d", n%2)))
		for i := range 40 {
			keep(locks.Mutex(fmt.Sprintf("orders/%d", 4711+40*n+i)))
		}
		for range 8 {
			callers.Go(func() {
				for ctx.Err() == nil {
					_ = locks.Mutex(fmt.Sprintf("accounts/%d", rand.N(4))).Do(ctx, func(context.Context) error {
						time.Sleep(time.Millisecond)
						return nil
					})
				}
			})
		}
	}
	return &callers
}

var (
	waitedRow = regexp.MustCompile(`(?m)^ +5 exclusive .* reports/nightly$`) // by five engines of six
	hotRow    = regexp.MustCompile(`(?m)^ +[1-6] exclusive .* accounts/\d$`) // it passes on every millisecond
)

// Under contention top shows the locks that most engines wait for, and the picture of the documentation has its text:
//
//	go test -run TestTop_Contention ./cmd/lockwheel -picture docs/operate/top.svg
func TestTop_Contention_ShowsHotNames(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	callers := contend(ctx, t, s)
	var out string
	eventually(t, func() bool {
		_, out, _ = result(t, urlOf(s.Addr()), "top", "--once", "--rows", "12", "--interval", "500ms")
		return hotRow.MatchString(out) && waitedRow.MatchString(out)
	}, "the names that all want")
	cancel()
	callers.Wait()
	svg := drawn("$ lockwheel top --once --rows 12\n" + out)
	require.NoError(t, wellFormed(svg))
	require.Contains(t, svg, "reports/nightly")
	if *picture != "" {
		require.NoError(t, os.WriteFile(*picture, []byte(svg), 0o644))
	}
}

// drawn returns a text of a terminal as a picture.
func drawn(text string) string {
	const size, column, line, margin = 13, 7.83, 19, 16
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	columns := 0
	for _, l := range lines {
		columns = max(columns, utf8.RuneCountInString(l))
	}
	width, height := float64(columns)*column+2*margin, len(lines)*line+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#14171c"/>`+"\n")
	fmt.Fprintf(&b, `<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%d" fill="#e4e8ee">`+"\n", size)
	for i, l := range lines {
		style := ""
		switch {
		case i == 0:
			style = ` fill="#4ac26b"`
		case strings.Contains(l, "WAITERS"):
			style = ` fill="#9aa5b4"`
		}
		// The length keeps the columns where they belong, whatever font there is.
		if n := utf8.RuneCountInString(l); n > 0 {
			fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%.1f"%s>`, margin, margin+(i+1)*line-5, float64(n)*column, style)
			_ = xml.EscapeText(&b, []byte(strings.ReplaceAll(l, " ", "\u00a0"))) // a picture joins other spaces
			b.WriteString("</text>\n")
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func wellFormed(document string) error {
	for d := xml.NewDecoder(strings.NewReader(document)); ; {
		if _, err := d.Token(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}
