package lockwheelprom

import "github.com/lockwheel/lockwheel"

// single is a metric with one value. Its name is without the prefix lockwheel_.
type single struct {
	name, help string
	value      func(*lockwheel.Stats) float64
}

var gauges = [...]single{
	{"holds", "Holds, each re-entry counted.", func(s *lockwheel.Stats) float64 { return float64(s.Held) }},
	{"waiting_requests", "Lock requests without a result yet.", func(s *lockwheel.Stats) float64 { return float64(s.Waiting) }},
	{"longest_waiting_seconds", "For how long the oldest lock request without a result has waited.", func(s *lockwheel.Stats) float64 { return s.LongestWaiting.Seconds() }},
	{"servers_down", "Servers that the engine considers down.", func(s *lockwheel.Stats) float64 { return float64(s.ServersDown) }},
	{"in_flight_commands", "Commands on their way to the server or back.", func(s *lockwheel.Stats) float64 { return float64(s.InFlight) }},
	{"subscribed_channels", "Channels subscribed to, to be told of releases.", func(s *lockwheel.Stats) float64 { return float64(s.Subscriptions) }},
	{"timers", "Timers of locks and of requests.", func(s *lockwheel.Stats) float64 { return float64(s.Timers) }},
	{"polled_locks", "Locks waited for without a subscription.", func(s *lockwheel.Stats) float64 { return float64(s.Polling) }},
	{"renewal_lag_seconds", "How long past its due time the latest renewal of the last minute was confirmed, or had no reply.", func(s *lockwheel.Stats) float64 { return s.RenewalLag.Seconds() }},
	{"clock_skew_seconds", "This machine's clock minus the server's, as far as known.", func(s *lockwheel.Stats) float64 { return s.ClockSkew.Seconds() }},
}

var counters = [...]single{
	{"acquired_total", "Holds granted.", func(s *lockwheel.Stats) float64 { return float64(s.Acquired) }},
	{"failed_total", "Lock requests that failed.", func(s *lockwheel.Stats) float64 { return float64(s.Failed) }},
	{"shed_total", "Failed lock requests that exceeded a limit on waiters.", func(s *lockwheel.Stats) float64 { return float64(s.Shed) }},
	{"released_total", "Holds unlocked.", func(s *lockwheel.Stats) float64 { return float64(s.Released) }},
	{"lost_total", "Holds lost before they were unlocked.", func(s *lockwheel.Stats) float64 { return float64(s.Lost) }},
	{"lost_at_unlock_total", "Unlocked holds that their unlock found lost before.", func(s *lockwheel.Stats) float64 { return float64(s.LostAtUnlock) }},
	{"held_too_long_total", "Locks that an owner had for Options.HeldTooLong.", func(s *lockwheel.Stats) float64 { return float64(s.HeldTooLong) }},
	{"leaked_total", "Holds that were not unlocked and that no caller could reach any more.", func(s *lockwheel.Stats) float64 { return float64(s.Leaked) }},
	{"renewed_total", "Renewals and confirmations by the server.", func(s *lockwheel.Stats) float64 { return float64(s.Renewed) }},
	{"handed_off_total", "Grants handed off inside the engine without a release.", func(s *lockwheel.Stats) float64 { return float64(s.HandedOff) }},
	{"unpublished_releases_total", "Releases that the server executed but rejected to publish.", func(s *lockwheel.Stats) float64 { return float64(s.UnpublishedReleases) }},
	{"commands_total", "Commands sent.", func(s *lockwheel.Stats) float64 { return float64(s.Commands) }},
	{"calls_total", "Calls that carried the commands.", func(s *lockwheel.Stats) float64 { return float64(s.Batches) }},
	{"retries_total", "Commands without a reply or rejected, and calls sent again.", func(s *lockwheel.Stats) float64 { return float64(s.Retries) }},
	{"loop_turns_total", "Turns of the engine's loop.", func(s *lockwheel.Stats) float64 { return float64(s.LoopTurns) }},
	{"unwritten_records_total", "Writes of the engine's record that failed.", func(s *lockwheel.Stats) float64 { return float64(s.UnwrittenRecords) }},
	{"dropped_events_total", "Events and log records dropped because Observer or Logger was too slow.", func(s *lockwheel.Stats) float64 { return float64(s.DroppedEvents) }},
	{"panics_total", "Panics in Observer, Logger and contexts of callers.", func(s *lockwheel.Stats) float64 { return float64(s.Panics) }},
}

// buckets are the counts of a histogram and how Prometheus numbers them.
type buckets struct {
	counts []uint64
	bound  func(i int) float64
	sum    float64

	schema, first int     // of a native histogram: the schema, and the number of the first bucket in it
	zeroThreshold float64 // of a native histogram: the first bucket is that of zeros, and this is its bound; 0: it is not
}

var histograms = [...]struct {
	name, help string
	value      func(*lockwheel.Stats) buckets
}{
	{"acquire_wait_seconds", "Time from a lock request until it was granted or failed.", func(s *lockwheel.Stats) buckets { return ofDurations(&s.AcquireWaits) }},
	{"hold_seconds", "Time from the owner's first grant to the end of a hold.", func(s *lockwheel.Stats) buckets { return ofDurations(&s.HoldTimes) }},
	{"renewal_margin_seconds", "What was left of a lease when its renewal was confirmed.", func(s *lockwheel.Stats) buckets { return ofDurations(&s.RenewalMargins) }},
	{"round_trip_seconds", "Time from sending a call to handling its reply.", func(s *lockwheel.Stats) buckets { return ofDurations(&s.RoundTrips) }},
	{"turn_seconds", "Duration of a turn of the engine's loop.", func(s *lockwheel.Stats) buckets { return ofDurations(&s.TurnTimes) }},
	{"call_commands", "Commands of a call.", func(s *lockwheel.Stats) buckets { return ofSizes(&s.BatchSizes) }},
}
