package debug

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel"
)

// figure is one line of an engine's numbers.
type figure struct {
	What, Value string
	Alarm       bool // it deserves attention
}

// figures says in words what Stats has.
func figures(s *lockwheel.Stats) []figure {
	count := func(what string, n uint64) figure { return figure{what, strconv.FormatUint(n, 10), false} }
	gauge := func(what string, n int64) figure { return figure{what, strconv.FormatInt(n, 10), false} }
	alarm := func(what string, n uint64) figure { return figure{what, strconv.FormatUint(n, 10), n > 0} }
	polling := gauge("locks that are polled for", s.Polling)
	polling.Alarm = s.Polling > 0
	return []figure{
		gauge("holds now", s.Held),
		gauge("callers that wait now", s.Waiting),
		gauge("commands in flight now", s.InFlight),
		gauge("channels subscribed to", s.Subscriptions),
		polling,
		gauge("timers", s.Timers),
		{"latest renewal of the last minute, past its due time", duration(s.RenewalLag), s.RenewalLag > lateRenewal},
		{"this machine's clock ahead of the server's", duration(s.ClockSkew), s.ClockSkew.Abs() > time.Second},
		alarm("holds lost", s.Lost),
		alarm("holds that their unlock found lost", s.LostAtUnlock),
		alarm("locks held for longer than HeldTooLong", s.HeldTooLong),
		alarm("holds that no caller could unlock any more", s.Leaked),
		count("holds granted", s.Acquired),
		count("of these handed off inside the engine", s.HandedOff),
		count("requests that ended without a hold", s.Failed),
		alarm("of these beyond MaxWaiting or MaxWaitingPerLock", s.Shed),
		count("holds unlocked", s.Released),
		count("renewals and confirmations", s.Renewed),
		count("commands sent", s.Commands),
		count("batches that carried them", s.Batches),
		count("commands without a reply or rejected, and batches sent again", s.Retries),
		count("turns of the loop", s.LoopTurns),
		alarm("releases that the server did not publish", s.UnpublishedReleases),
		count("failed writes of the engine's record", s.UnwrittenRecords),
		alarm("events and log records dropped", s.DroppedEvents),
		alarm("panics in functions of the program", s.Panics),
	}
}

// tiles are the few numbers that say whether an engine is well.
func tiles(s *lockwheel.Stats) []figure {
	median := func(what string, h *lockwheel.Histogram) figure {
		f := figure{What: what, Value: "\u2013"} // none yet
		if h.Count() > 0 {
			f.Value = atMost(h, 0.5)
		}
		return f
	}
	lost := s.Lost + s.LostAtUnlock
	return []figure{
		{"holds now", strconv.FormatInt(s.Held, 10), false},
		{"wait now", strconv.FormatInt(s.Waiting, 10), false},
		{"lost", strconv.FormatUint(lost, 10), lost > 0},
		{"renewed late by", duration(s.RenewalLag), s.RenewalLag > lateRenewal},
		median("median wait", &s.AcquireWaits),
		median("median round trip", &s.RoundTrips),
	}
}

// atMost says that a part of all durations was no longer than the bound of a bucket. The bound alone would read as one
// of the durations, and it can be longer than the longest of them.
func atMost(h *lockwheel.Histogram, part float64) string {
	if h.Quantile(part) == math.MaxInt64 {
		return "> " + duration(h.Bound(len(h.Counts)-2))
	}
	return "\u2264 " + boundOf(h, part)
}

// lateRenewal is how far past its due time a renewal deserves attention.
const lateRenewal = time.Second

// connection is a node of an engine in words.
type connection struct {
	Text  string
	Alarm bool
}

func connections(nodes []lockwheel.NodeStatus, now time.Time) []connection {
	if nodes == nil {
		return []connection{{"The engine is closed.", true}}
	}
	all := make([]connection, len(nodes))
	for i, n := range nodes {
		server := "The server"
		if n.Address != "" {
			server = "The server " + shown(n.Address)
		}
		if !n.Down {
			all[i].Text = server + " replied to the last call."
			continue
		}
		// Since is when a call failed. The server may have stopped well before, so the words do not promise more.
		what := "is considered down"
		if _, replied := n.Err.(lockwheel.ServerError); replied {
			what = "replies, but rejects calls: it is considered down"
		}
		all[i] = connection{fmt.Sprintf("%s %s since a call failed %s ago", server, what, duration(now.Sub(n.Since))), true}
		if n.Err != nil {
			all[i].Text += ": " + shown(n.Err.Error())
		}
	}
	return all
}

// duration prints a duration with three digits, from a minute on to the second and from an hour on to the minute.
func duration(d time.Duration) string {
	switch {
	case d.Abs() >= time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	case d.Abs() >= time.Minute:
		return d.Round(time.Second).String()
	}
	digits := time.Duration(1)
	for d.Abs()/digits >= 1000 {
		digits *= 10
	}
	return d.Round(digits).String()
}

// histogramJSON is a histogram without its empty buckets.
type histogramJSON struct {
	Count      uint64       `json:"count"`
	SumSeconds float64      `json:"sumSeconds"`
	P50Seconds *float64     `json:"p50Seconds,omitempty"` // nil if it is in the last bucket, which has no upper bound
	P99Seconds *float64     `json:"p99Seconds,omitempty"`
	Buckets    []bucketJSON `json:"buckets"`
}

// bucketJSON is a bucket; the last of a histogram has no upper bound, and UpToSeconds is 0.
type bucketJSON struct {
	UpToSeconds float64 `json:"upToSeconds,omitzero"`
	Count       uint64  `json:"count"`
}

func histogramOf(h *lockwheel.Histogram) histogramJSON {
	out := histogramJSON{h.Count(), h.Sum, quantileJSON(h, 0.5), quantileJSON(h, 0.99), []bucketJSON{}}
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		bucket := bucketJSON{Count: n}
		if i < len(h.Counts)-1 {
			bucket.UpToSeconds = h.Bound(i).Seconds()
		}
		out.Buckets = append(out.Buckets, bucket)
	}
	return out
}

// quantileJSON returns the bound of the bucket with a quantile in seconds, or nil if that bucket has none.
func quantileJSON(h *lockwheel.Histogram, part float64) *float64 {
	q := h.Quantile(part)
	if q == math.MaxInt64 {
		return nil
	}
	seconds := q.Seconds()
	return &seconds
}

// statsOut are lockwheel.Stats, with the histograms that histogramOf returns.
type statsOut struct {
	lockwheel.Stats
	AcquireWaits, HoldTimes, RenewalMargins, RoundTrips, TurnTimes histogramJSON
}

type nodeJSON struct {
	Address string    `json:"address,omitempty"`
	Down    bool      `json:"down"`
	Since   time.Time `json:"since,omitzero"`
	Error   string    `json:"error,omitempty"`
}

type engineJSON struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Closed bool       `json:"closed"`
	Nodes  []nodeJSON `json:"nodes"`
	Stats  statsOut   `json:"stats"` // with the names of lockwheel.Stats; durations in nanoseconds unless the name says seconds
}

type statsJSON struct {
	Process process      `json:"process"`
	Now     time.Time    `json:"now"`
	Engines []engineJSON `json:"engines"`
}

func (h *handler) statsJSON(*http.Request) *response {
	out := statsJSON{thisProcess, time.Now(), []engineJSON{}}
	for _, e := range h.engines {
		nodes, s := e.Status(), e.Stats()
		engine := engineJSON{ID: e.ID(), Name: shown(e.Name()), Closed: nodes == nil, Nodes: []nodeJSON{}, Stats: statsOut{
			s, histogramOf(&s.AcquireWaits), histogramOf(&s.HoldTimes), histogramOf(&s.RenewalMargins),
			histogramOf(&s.RoundTrips), histogramOf(&s.TurnTimes),
		}}
		for _, n := range nodes {
			node := nodeJSON{Address: n.Address, Down: n.Down, Since: n.Since}
			if n.Err != nil {
				node.Error = shown(n.Err.Error())
			}
			engine.Nodes = append(engine.Nodes, node)
		}
		out.Engines = append(out.Engines, engine)
	}
	return asJSON(out)
}

type eventJSON struct {
	What  string        `json:"what"`
	At    time.Time     `json:"at"`
	Name  string        `json:"name,omitempty"`
	Took  time.Duration `json:"tookNanoseconds,omitzero"`
	Error string        `json:"error,omitempty"`
}

type eventsJSON struct {
	Process process     `json:"process"`
	Events  []eventJSON `json:"events"`
}

func (h *handler) eventsJSON(*http.Request) *response {
	out := eventsJSON{thisProcess, []eventJSON{}}
	if h.options.Recorder != nil {
		for _, sort := range h.options.Recorder.sorts() {
			for _, e := range sort.last() {
				out.Events = append(out.Events, eventJSON{sort.what, e.at, e.name, e.took, e.err})
			}
		}
	}
	return asJSON(out)
}
