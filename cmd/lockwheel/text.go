package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
)

// printable returns a text that moves no cursor and changes no colour. A name may have any bytes.
func printable(text string) string {
	quoted := strconv.Quote(text)
	if quoted == `"`+text+`"` {
		return text
	}
	return quoted
}

// withoutUsers is where errors are printed. It leaves out the user and the password of a URL: a URL that was given in
// place of something else is in the error. It leaves out too much rather than too little, because a password can
// contain any character.
type withoutUsers struct{ to io.Writer }

func (w withoutUsers) Write(text []byte) (int, error) {
	if _, err := w.to.Write(userOfURL.ReplaceAllFunc(text, withoutUser)); err != nil {
		return 0, err
	}
	return len(text), nil
}

var userOfURL = regexp.MustCompile(`://.*@`)

// withoutUser replaces what userOfURL has found. What is not replaced is the form of a URL in an advice.
func withoutUser(found []byte) []byte {
	if string(found) == "://user:password@" {
		return found
	}
	return []byte("://...@")
}

// writeJSON writes a value as one line.
func writeJSON(to io.Writer, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

func ttl(ms int64) string {
	if ms < 0 {
		return "never"
	}
	return (time.Duration(ms) * time.Millisecond).String()
}

// holdersOf names the first holder, and how many others there are.
func holdersOf(l *inspect.Lock) string {
	if len(l.Holders) == 0 {
		return "-"
	}
	text := printable(l.Holders[0].ID)
	if more := l.Number - 1; more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return text
}

// likely says to which other library a key probably belongs.
func likely(l *inspect.Lock) string {
	if l.LikelyOwner == "" {
		return ""
	}
	return ", probably the lock of " + l.LikelyOwner
}

// kindOf says which kind a lock is known to be: a queue or a counter tells more than the hash.
func kindOf(l *inspect.Lock) string {
	kinds := []string{l.Kind}
	if l.Waiting != nil && l.Waiting.Queue > 0 {
		kinds = append(kinds, "fair")
	}
	if l.Token != "" {
		kinds = append(kinds, "fenced")
	}
	return strings.Join(kinds, ", ")
}

// describe writes a lock for a reader.
func describe(to io.Writer, l *inspect.Lock) error {
	var b bytes.Buffer
	describeIn(&b, l)
	_, err := to.Write(b.Bytes())
	return err
}

func describeIn(to *bytes.Buffer, l *inspect.Lock) {
	fmt.Fprintln(to, printable(l.Name))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(to, "  %-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	if l.Kind == inspect.NoLock {
		row("kind", "no lock, but a key of type %s%s", l.Type, likely(l))
		if l.TTL != 0 {
			row("TTL", "%s", ttl(l.TTL))
		}
		describeWaiters(l.Waiters, row)
		return
	}
	row("kind", "%s", kindOf(l))
	for _, h := range l.Holders {
		what := "holder"
		switch {
		case h.Write:
			what = "writer"
		case l.Kind != inspect.Exclusive:
			what = "reader"
		}
		row(what, "%s, count %d", printable(h.ID), h.Count)
		if h.Engine != nil {
			who, since := identityOf(&h)
			row("  engine", "%s", who)
			row("  since", "%s", since)
		} else if len(l.Holders) == 1 && h.EngineError != "" {
			row("  engine", "unknown: its record could not be read: %s", printable(h.EngineError))
		} else if len(l.Holders) == 1 { // of many readers it would be a line for each
			row("  engine", "unknown: it has no record")
		}
	}
	if more := l.Number - int64(len(l.Holders)); more > 0 {
		row("", "and %d more", more)
	}
	if l.Held() {
		row("TTL", "%s", ttl(l.TTL))
	}
	if l.Token != "" {
		row("token", "%s", printable(l.Token))
	} else if l.TokenError != "" {
		row("token", "unknown: %s", printable(l.TokenError))
	}
	if w := l.Waiting; w != nil {
		listening := "an unknown number of clients listen"
		if w.Clients >= 0 {
			listening = fmt.Sprintf("clients that listen: %d", w.Clients)
			if w.Error != "" {
				listening += "+"
			}
		}
		queue := "unknown"
		if w.Queue >= 0 {
			queue = strconv.FormatInt(w.Queue, 10)
		}
		row("waiting", "%s; in the fair queue: %s", listening, queue)
		if w.Error != "" {
			row("", "incomplete: %s", printable(w.Error))
		}
	}
	describeWaiters(l.Waiters, row)
}

// describeWaiters prints which engines have callers that wait, and what is not known of others.
func describeWaiters(w *inspect.Waiters, row func(name, format string, args ...any)) {
	if w == nil {
		return
	}
	if w.Error != "" && w.Replied == 0 {
		row("waiters", "unknown: %s", printable(w.Error))
	} else {
		row("waiters", "callers that wait: %s; engines that replied: %d", callers(w), w.Replied)
	}
	if len(w.Engines) > 0 {
		row("", waiterFormat, "WAITING", "FOR", "PID", "HOST", "PROGRAM", "NAME")
	}
	for _, e := range w.Engines {
		number, wait := strconv.Itoa(e.Waiting), "-"
		switch since, err := time.Parse(time.RFC3339Nano, e.Since); {
		case e.NoReply:
			number, wait = "unknown", "did not reply"
		case err == nil:
			wait = max(time.Since(since), 0).Round(time.Millisecond).String()
		}
		if e.AtLeast {
			number += "+"
		}
		row("", waiterFormat, number, wait, strconv.Itoa(e.Engine.PID), printable(e.Engine.Host), printable(e.Engine.Program), printable(e.Engine.Name))
	}
	if w.OtherClients > 0 {
		row("", "other clients that listen: %d", w.OtherClients)
	}
	if w.NotListening > 0 {
		row("", "engines that cannot be asked, because they do not listen: %d", w.NotListening)
	}
	if w.Unread > 0 {
		row("", "records of engines that this user may not read: %d", w.Unread)
	}
	if w.NotAsked {
		row("", "there are more engines: only %d are asked", inspect.MaxAsked)
	}
	if w.Error != "" && w.Replied > 0 {
		row("", "incomplete: %s", printable(w.Error))
	}
}

// callers returns how many callers of all engines wait. A + says that there may be more.
func callers(w *inspect.Waiters) string {
	sum, part := 0, ""
	if w.Error != "" {
		part = "+" // engines are missing
	}
	for _, e := range w.Engines {
		sum += e.Waiting
		if e.AtLeast || e.NoReply {
			part = "+"
		}
	}
	return strconv.Itoa(sum) + part
}

// waiterFormat has the texts of unknown length last.
const waiterFormat = "%-8s %-13s %7s  %-16s %-16s %s"

// rowFormat has the name last, because its length is not known before.
const rowFormat = "%-11s %6s %12s  %-45s %s\n"

func printHead(to io.Writer) error {
	_, err := fmt.Fprintf(to, rowFormat, "KIND", "COUNT", "TTL", "HOLDER", "NAME")
	return err
}

func printRow(to io.Writer, l *inspect.Lock) error {
	kind, count := l.Kind, strconv.FormatInt(l.Count(), 10)
	switch {
	case l.LikelyOwner != "":
		kind, count = l.LikelyOwner, "-"
	case !l.CountsAll():
		count += "+"
	}
	_, err := fmt.Fprintf(to, rowFormat, kind, count, ttl(l.TTL), holdersOf(l), printable(l.Name))
	return err
}
