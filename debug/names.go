package debug

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxShown is how many bytes of a name or an error the page and the recorder show.
const maxShown = 300

// shown returns a name in printable form. Names are arbitrary bytes: one with invalid UTF-8, control characters or
// characters that change the direction of text is quoted as in Go. So is one that begins with a quote, so that no name
// looks like another one that is quoted.
func shown(name string) string {
	cut := shorten(name)
	if cut != name {
		return quoted(cut) + "… (" + strconv.Itoa(len(name)) + " bytes)"
	}
	return quoted(name)
}

func quoted(name string) string {
	if isPlain(name) {
		return name
	}
	return strconv.Quote(name)
}

// isPlain reports whether a name is shown as it is.
func isPlain(name string) bool {
	if strings.HasPrefix(name, `"`) || !utf8.ValidString(name) {
		return false
	}
	for _, c := range name {
		if !strconv.IsPrint(c) {
			return false
		}
	}
	return true
}

// shorten returns the first maxShown bytes of a text, or a few less so that no character is cut. The result keeps no
// longer text in memory.
func shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	end := maxShown
	for start := maxShown - 1; start > maxShown-utf8.UTFMax; start-- {
		if _, size := utf8.DecodeRuneInString(text[start:]); start+size > maxShown {
			end = start // where a character begins that does not fit
		}
	}
	return strings.Clone(text[:end])
}

// searchFor returns what finds a name, by as much of it as shown shows.
func searchFor(name string) string {
	if cut := shorten(name); cut != name {
		return strings.TrimSuffix(quoted(cut), `"`) // the name goes on
	}
	return quoted(name)
}

// encoded returns the exact bytes of a name in a form that survives URLs, forms and JSON.
func encoded(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

func decoded(name64 string) (string, error) {
	name, err := base64.RawURLEncoding.DecodeString(name64)
	return string(name), err
}
