package lockwheelprom

import (
	"cmp"
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockwheel/lockwheel"
)

const (
	// maxLocks is how many locks a scrape shows one by one.
	maxLocks = 100
	// maxName is how long the label of a lock is at most, in bytes.
	maxName = 256
	// readTimeout bounds how long a scrape reads the locks of an engine. Prometheus itself waits for 10 s.
	readTimeout = 5 * time.Second
)

// LockSource is what a collector of single locks reads: a [lockwheel.Engine].
type LockSource interface {
	// Locks lists the locks that are held or waited for. It must be safe for concurrent use.
	Locks(ctx context.Context) iter.Seq2[lockwheel.LockInfo, error]
}

// NewLockCollector returns a collector of single locks, beside that of [NewCollector]. It shows those that callers of
// the engine hold or wait for, with a name that match matches ([regexp.Regexp.MatchString]). So match says which names
// may become series: choose it such that they are few. Nil matches no name. The value of the label engine is name, and
// that of the label lock is the lock's name, cut after 256 bytes. Bytes that are no UTF-8 are replaced in both.
//
// A scrape shows at most 100 names, the first in the order of bytes, and in lockwheel_locks_left_out how many locks
// with other names match. A lock that is neither held nor waited for has no series.
//
// Each scrape reads the list of all locks as [lockwheel.Engine.Locks] does, 1024 locks a turn of the loop. It does not
// use the server. If that takes longer than 5 s, or if the engine is closed, the scrape has no single locks. The
// collector keeps the engine reachable. A collector of a nil engine exports nothing. It is safe for concurrent use.
func NewLockCollector(engine LockSource, name string, match *regexp.Regexp) prometheus.Collector {
	labels := engineLabel(name)
	c := &lockCollector{source: engine, match: match}
	if isNil(engine) {
		c.source = nil
	}
	for i, g := range lockGauges {
		c.single[i] = prometheus.NewDesc("lockwheel_lock_"+g.name, g.help, []string{"lock"}, labels)
	}
	c.leftOut = prometheus.NewDesc("lockwheel_locks_left_out", "Locks that match and have no series, because their names are too many.", nil, labels)
	return c
}

// lockCollector exports single locks of an engine. It does not change after it was made.
type lockCollector struct {
	source  LockSource // nil for a nil engine
	match   *regexp.Regexp
	single  [len(lockGauges)]*prometheus.Desc
	leftOut *prometheus.Desc
}

// lock is what is known of the locks with one label: several, if an RWMutex has many readers.
type lock struct {
	label          string
	number         int // of the locks
	holds, waiting int
	since, waits   time.Time // of the first owner and the first caller that waits; zero if there is none
}

var lockGauges = [...]struct {
	name, help string
	value      func(l *lock, now time.Time) float64
}{
	{"holds", "Holds of a lock, each re-entry counted.", func(l *lock, _ time.Time) float64 { return float64(l.holds) }},
	{"waiting_requests", "Requests for a lock without a result yet.", func(l *lock, _ time.Time) float64 { return float64(l.waiting) }},
	{"held_seconds", "For how long the owner has had a lock; 0 if callers only wait.", func(l *lock, now time.Time) float64 { return passed(l.since, now) }},
	{"waited_seconds", "For how long the first caller has waited for a lock; 0 if none waits.", func(l *lock, now time.Time) float64 { return passed(l.waits, now) }},
}

func passed(since, now time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(now.Sub(since).Seconds(), 0)
}

// Describe sends the descriptions of all metrics. They do not depend on the engine's state.
func (c *lockCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range c.single {
		to <- desc
	}
	to <- c.leftOut
}

// Collect sends the metrics of the locks that match.
func (c *lockCollector) Collect(to chan<- prometheus.Metric) {
	if c.source == nil {
		return
	}
	locks, leftOut, err := c.read()
	if err != nil {
		return
	}
	now := time.Now()
	for i := range locks {
		for n, g := range lockGauges {
			to <- prometheus.MustNewConstMetric(c.single[n], prometheus.GaugeValue, g.value(&locks[i], now), locks[i].label)
		}
	}
	to <- prometheus.MustNewConstMetric(c.leftOut, prometheus.GaugeValue, float64(leftOut))
}

// read returns the locks that match, in the order of their labels, and how many more there are.
func (c *lockCollector) read() (locks []lock, leftOut int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	for info, err := range c.source.Locks(ctx) {
		if err != nil {
			return nil, 0, err
		}
		if c.match == nil || !c.match.MatchString(info.Name) {
			continue
		}
		locks = add(locks, &info)
		if len(locks) > maxLocks {
			leftOut += locks[maxLocks].number
			locks = locks[:maxLocks]
		}
	}
	return locks, leftOut, nil
}

// add adds what is known of a lock to the list, which is in the order of labels.
func add(locks []lock, info *lockwheel.LockInfo) []lock {
	label := labelOf(info.Name)
	at, known := slices.BinarySearchFunc(locks, label, func(l lock, label string) int { return cmp.Compare(l.label, label) })
	if !known {
		locks = slices.Insert(locks, at, lock{label: label})
	}
	l := &locks[at]
	l.number++
	l.holds += info.Holds
	l.waiting += info.Waiting
	l.since, l.waits = first(l.since, info.Since), first(l.waits, info.WaitingSince)
	return locks
}

// first returns the earlier of two times. Zero is no time.
func first(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// labelOf returns the value of the label of a name. Prometheus accepts UTF-8 only.
func labelOf(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "\uFFFD")
}
