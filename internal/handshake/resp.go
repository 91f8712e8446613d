package handshake

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	maxText  = 4096 // maximum bytes kept of a line or a string
	maxWords = 32   // maximum texts kept of one value
)

// respReader parses commands or replies of the Redis protocol from chunks of any size.
type respReader struct {
	text []byte // of the current line or string
	size int    // length of the current string, plus one; 0 in a line
	rest int    // bytes of the string still to come, including its end of line; 0 in a line
	open int    // parts of the current value still to come
	now  respValue
	bad  bool // the input was malformed, so the rest cannot be parsed
}

// respValue is a command or a reply: its type byte and its texts.
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

// read parses the next chunk, and passes each complete value to next until that returns false. It reports whether the
// input was well-formed.
func (r *respReader) read(data []byte, next func(respValue) (more bool)) (readable bool) {
	for len(data) > 0 && !r.bad {
		end, whole := r.fill(data)
		r.text = append(r.text, data[:min(end, max(maxText-len(r.text), 0))]...)
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

// fill returns how much of data belongs to the current line or string, and whether that is then complete.
func (r *respReader) fill(data []byte) (end int, whole bool) {
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

// take handles a complete line or string.
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

// begin handles the first line of a value.
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

// keep completes a value that has a text.
func (r *respReader) keep(text string) {
	if len(r.now.words) < maxWords {
		r.now.words = append(r.now.words, text)
	}
	r.open--
}
