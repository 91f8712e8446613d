// Package inspect reads locks as they are in a server, whatever client put them there. It changes nothing, and it
// needs no engine: a lock is recognised by the shape of its hash.
package inspect

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The kinds of a lock as its hash shows them. A plain, a fair and a fenced lock have the same hash.
const (
	Free      = "free"
	Exclusive = "exclusive"
	Read      = "read"
	Write     = "write"
	NoLock    = "no lock" // the key has another type, or is a hash of another shape
)

// Holder is one field of a lock's hash.
type Holder struct {
	ID    string `json:"id"`    // the client's id, a colon and the number of the tenure or thread
	Count int64  `json:"count"` // how many times the holder has entered the lock
	Write bool   `json:"write,omitempty"`

	// What Identify found out; empty if nothing.
	Engine      *Engine `json:"engine,omitempty"`
	EngineError string  `json:"engine_error,omitempty"` // why the engine's record could not be read
	Since       string  `json:"since,omitempty"`        // when it was granted the lock, by the clock of this machine
	SinceError  string  `json:"since_error,omitempty"`  // why the engine could not be asked since when
	NotHeld     bool    `json:"not_held,omitempty"`     // the engine replied, and it does not hold the lock
	NotAsked    bool    `json:"not_asked,omitempty"`    // the engine was not asked since when: others were, and no more are
}

// Lock is a lock as it was when it was read.
type Lock struct {
	Name    string   `json:"name"`             // without the prefix
	Name64  []byte   `json:"name64,omitempty"` // the same, if it is not UTF-8, which JSON cannot express; see exact
	Kind    string   `json:"kind"`
	Holders []Holder `json:"holders,omitempty"`       // at most maxHolders
	Number  int64    `json:"holder_fields,omitempty"` // of all holders' fields; a writer that also reads has two
	TTL     int64    `json:"ttl_ms,omitempty"`        // -1: the key never expires
	Type    string   `json:"type,omitempty"`          // of the key, if it is no lock of ours
	Waiting *Waiting `json:"waiting,omitempty"`       // nil if it was not asked for
	Waiters *Waiters `json:"waiters,omitempty"`       // nil if no engine was asked for its own
	Key     string   `json:"-"`                       // with the prefix

	// LikelyOwner is the library that a string is probably a lock of: redislock, redsync or rueidislock.
	LikelyOwner string `json:"likely_owner,omitempty"`

	Token      string `json:"fencing_token,omitempty"`       // the last one; empty if the name never was a fenced lock
	TokenError string `json:"fencing_token_error,omitempty"` // why it is not known
}

// exact sets what names the lock exactly.
func (l *Lock) exact() {
	if !utf8.ValidString(l.Name) {
		l.Name64 = []byte(l.Name)
	}
}

// Held reports whether the lock has a holder.
func (l *Lock) Held() bool { return l.Kind != Free && l.Kind != NoLock }

// Count returns the sum of the holders' counts, as far as these were read.
func (l *Lock) Count() (sum int64) {
	for _, h := range l.Holders {
		sum += h.Count
	}
	return sum
}

// CountsAll reports whether the counts of all holders were read, so that Count is the whole sum.
func (l *Lock) CountsAll() bool { return int64(len(l.Holders)) >= l.Number }

// Waiting is what the server knows of a lock's waiters.
type Waiting struct {
	// Clients is the number of clients that listen to the lock's channel. A client listens once for all its callers.
	// Clients that poll and waiters of a fair lock are not among them. -1: not known, the server did not allow the
	// question or did not reply.
	Clients int64 `json:"clients"`
	// Queue is the length of the fair queue, with places of waiters that died and were not removed yet. -1: not known,
	// the user may not read its key or the server did not reply.
	Queue int64 `json:"fair_queue"`
	// Error says why a number is not known, or is that of a part of the nodes.
	Error string `json:"error,omitempty"`
}

// fail notes why something is not known.
func (w *Waiting) fail(err error) {
	if err != nil {
		w.Error = oneLine(err)
	}
}

// oneLine returns the text of an error, also of several, for a line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Total returns the number of clients and of places in the fair queue together.
func (w *Waiting) Total() int64 {
	if w == nil {
		return 0
	}
	return max(w.Clients, 0) + max(w.Queue, 0)
}

// mode is the field that a read/write lock has besides its holders.
const mode = "mode"

// suffix ends the field of a writer.
const suffix = ":write"

// holderID matches the id of a holder: a client's UUID and a number.
var holderID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}:-?\d+$`)

// holderOf reads a field of a lock's hash and its value. It reports false if they are not a holder's.
func holderOf(field, value string) (h Holder, ok bool) {
	h.ID, h.Write = strings.CutSuffix(field, suffix)
	var err error
	h.Count, err = strconv.ParseInt(value, 10, 64)
	return h, err == nil && holderID.MatchString(h.ID)
}

// globSpecial escapes the characters with a meaning in the server's patterns.
var globSpecial = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
