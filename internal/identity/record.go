// Package identity has what an engine says about itself in Redis: its record, and the messages on its own channel. The
// names and texts are part of what several versions of lockwheel exchange.
package identity

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

const (
	// keyPrefix comes before an engine's id in the key of its record, behind Options.Prefix.
	keyPrefix = "lockwheel:engine:"
	// Period is how often a record is written. It can be late by slack.
	Period, slack = 10 * time.Second, 5 * time.Second
	// minTTL and maxTTL bound how long a record lives after it was written.
	minTTL, maxTTL = 30 * time.Second, time.Hour
	// MaxText is the length, in bytes, of the longest field that is written, and that a reader believes.
	MaxText = 1024
	// maxStored is the length, in bytes, of the longest field of a record that is read at all: any client may store a
	// longer one.
	maxStored = 8 << 10
)

// Record is what an engine says about itself.
type Record struct {
	ID      string // the engine's client id; not a field, but part of the key
	Name    string // Options.Name
	Program string
	Host    string
	PID     int
	Version string    // of lockwheel
	Started time.Time // when the engine was opened, by its clock
	Page    string    // Options.PageAddress
}

// TTL returns how long the record of an engine with a lease lives after it was written. It lives as long as the watched
// locks of an engine that died, so that its holders can be named until their locks are free.
func TTL(lease time.Duration) time.Duration { return min(max(lease+Period+slack, minTTL), maxTTL) }

// Key returns the key of an engine's record.
func Key(prefix, id string) string { return prefix + keyPrefix + id }

// engineID matches an engine's client id.
var engineID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Keys returns a pattern for SCAN that the keys of records match, with any prefix. SplitKey tells them from others.
func Keys() string { return "*" + keyPrefix + "*" }

// SplitKey returns the prefix and the id of the engine that a record is of. ok is false if the key is not that of a
// record.
func SplitKey(key string) (prefix, id string, ok bool) {
	at := strings.LastIndex(key, keyPrefix)
	if at < 0 {
		return "", "", false
	}
	prefix, id = key[:at], key[at+len(keyPrefix):]
	return prefix, id, engineID.MatchString(id)
}

// EngineOf returns the id of the engine in a holder's id, and the number of its tenure. ok is false for another form.
func EngineOf(holder string) (id string, tenure uint64, ok bool) {
	id, number, _ := strings.Cut(holder, ":")
	tenure, err := strconv.ParseUint(number, 10, 64)
	return id, tenure, err == nil && engineID.MatchString(id)
}

// Fields returns the fields of the hash of a record that lives for ttl after each write: names and values in turn.
// Empty values are left out.
func (r *Record) Fields(ttl time.Duration) (fields []string) {
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, name, value[:min(len(value), MaxText)])
		}
	}
	add("name", r.Name)
	add("program", r.Program)
	add("host", r.Host)
	add("pid", strconv.Itoa(r.PID))
	add("version", r.Version)
	add("started", r.Started.UTC().Format(time.RFC3339))
	add("page", r.Page)
	add("ttl_ms", strconv.FormatInt(ttl.Milliseconds(), 10))
	return fields
}

// Names are the names of all fields of a record, for HMGET: the hash may have others.
var Names = []string{"name", "program", "host", "pid", "version", "started", "page", "ttl_ms"}

// Lengths returns the commands that ask how long the fields of a record are, for Short.
func Lengths(at rueidis.Client, key string) (commands []rueidis.Completed) {
	for _, name := range Names {
		commands = append(commands, at.B().Hstrlen().Key(key).Field(name).Build())
	}
	return commands
}

// Short reports whether a record may be read, by the replies to Lengths. It may if none of its fields is so long that
// no engine can have written it.
func Short(lengths []rueidis.RedisResult) bool {
	for _, reply := range lengths {
		if n, err := reply.AsInt64(); err != nil || n > maxStored {
			return false
		}
	}
	return true
}

// Parse returns the record of an engine from the values of Names, and how long it lived when it was written. A value
// that it does not understand counts as none. ok is false if there is no record.
func Parse(id string, values []string) (r Record, ttl time.Duration, ok bool) {
	fields := make(map[string]string)
	for i, value := range values[:min(len(values), len(Names))] {
		fields[Names[i]] = value
	}
	text := func(name string) string { return fields[name][:min(len(fields[name]), MaxText)] }
	r = Record{ID: id, Name: text("name"), Program: text("program"), Host: text("host"), Version: text("version"), Page: text("page")}
	r.PID, _ = strconv.Atoi(fields["pid"])
	r.Started, _ = time.Parse(time.RFC3339, text("started"))
	if ms, err := strconv.ParseInt(fields["ttl_ms"], 10, 32); err == nil && ms > 0 {
		ttl = time.Duration(ms) * time.Millisecond
	}
	return r, ttl, r.Name != "" && r.PID > 0
}
