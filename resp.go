package lockwheel

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	mostText  = 4096 // bytes that are kept of a line or a string
	mostWords = 32   // texts that are kept of one value
)

// respReader reads commands or replies of Redis' protocol as they come, in whatever pieces.
type respReader struct {
	text []byte // of the line or the string that is being read
	size int    // of the string
	rest int    // bytes of it that are still to come, with the end of its line; 0 in a line
	open int    // values that are still to come of the one that is being read
	now  respValue
	bad  bool // something came that cannot be read, so nothing can that comes behind it
}

// respValue is a command or a reply: its kind, and the texts in it.
type respValue struct {
	kind  byte
	words []string
}

func (v *respValue) word(i int) string {
	if i < len(v.words) {
		return v.words[i]
	}
	return ""
}

// read takes in what came next, and hands over each value that is complete until it is told to stop. It reports whether it could be read.
func (r *respReader) read(data []byte, next func(respValue) (more bool)) (readable bool) {
	for len(data) > 0 && !r.bad {
		end, whole := r.piece(data)
		r.text = append(r.text, data[:min(end, max(mostText-len(r.text), 0))]...)
		data = data[end:]
		if !whole {
			return true
		}
		if r.bad = !r.take(); r.bad {
			break
		}
		if r.open > 0 || r.rest > 0 {
			continue
		}
		value := r.now
		r.now = respValue{}
		if !next(value) {
			break
		}
	}
	return !r.bad
}

// piece is how much of data belongs to the line or the string that is being read, and whether that is then complete.
func (r *respReader) piece(data []byte) (end int, whole bool) {
	if r.rest > 0 {
		end = min(r.rest, len(data))
		r.rest -= end
		return end, r.rest == 0
	}
	at := bytes.IndexByte(data, '\n')
	if at < 0 {
		return len(data), false
	}
	return at + 1, true
}

// take takes in a line or a string that is complete.
func (r *respReader) take() (readable bool) {
	text := string(r.text)
	r.text = r.text[:0]
	if r.size > 0 {
		r.keep(text[:min(r.size-1, len(text))])
		r.size = 0
		return true
	}
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return false
	}
	return r.begin(text[0], text[1:])
}

// begin takes in the first line of a value.
func (r *respReader) begin(kind byte, text string) (readable bool) {
	if r.open == 0 {
		r.now.kind, r.open = kind, 1
	}
	r.open--
	n, err := strconv.Atoi(text)
	if strings.IndexByte("$=!*~>%|", kind) >= 0 && (err != nil || n > 1<<29) {
		return false
	}
	n = max(n, 0)
	switch kind {
	case '$', '=', '!':
		if text != "-1" {
			r.size, r.rest, r.open = n+1, n+2, r.open+1
			return true
		}
	case '*', '~', '>':
		r.open += n
	case '%':
		r.open += 2 * n
	case '|':
		r.open += 2*n + 1
	default:
		r.keep(text)
		r.open++
	}
	return true
}

// keep ends a value that has a text.
func (r *respReader) keep(text string) {
	if len(r.now.words) < mostWords {
		r.now.words = append(r.now.words, text)
	}
	r.open--
}
