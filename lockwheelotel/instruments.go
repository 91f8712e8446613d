package lockwheelotel

import (
	"time"

	"github.com/lockwheel/lockwheel"
)

// numbers are the instruments with whole numbers: counters, and current values that add up over several engines.
var numbers = [...]struct {
	name, unit, description string
	counter                 bool
	value                   func(*lockwheel.Stats) int64
}{
	{"lockwheel.hold.count", "{hold}", "Holds, each re-entry counted.", false, func(s *lockwheel.Stats) int64 { return s.Held }},
	{"lockwheel.request.waiting", "{request}", "Lock requests without a result yet.", false, func(s *lockwheel.Stats) int64 { return s.Waiting }},
	{"lockwheel.server.down", "{server}", "Servers that the engine considers down.", false, func(s *lockwheel.Stats) int64 { return s.ServersDown }},
	{"lockwheel.command.in_flight", "{command}", "Commands on their way to the server or back.", false, func(s *lockwheel.Stats) int64 { return s.InFlight }},
	{"lockwheel.channel.subscribed", "{channel}", "Channels subscribed to, to be notified of releases.", false, func(s *lockwheel.Stats) int64 { return s.Subscriptions }},
	{"lockwheel.timer.count", "{timer}", "Timers of locks and of requests.", false, func(s *lockwheel.Stats) int64 { return s.Timers }},
	{"lockwheel.lock.polled", "{lock}", "Locks waited for without a subscription.", false, func(s *lockwheel.Stats) int64 { return s.Polling }},

	{"lockwheel.hold.acquired", "{hold}", "Holds granted.", true, func(s *lockwheel.Stats) int64 { return int64(s.Acquired) }},
	{"lockwheel.hold.released", "{hold}", "Holds unlocked.", true, func(s *lockwheel.Stats) int64 { return int64(s.Released) }},
	{"lockwheel.hold.lost", "{hold}", "Holds lost before they were unlocked.", true, func(s *lockwheel.Stats) int64 { return int64(s.Lost) }},
	{"lockwheel.hold.lost_at_unlock", "{hold}", "Unlocked holds that their unlock found lost before.", true, func(s *lockwheel.Stats) int64 { return int64(s.LostAtUnlock) }},
	{"lockwheel.hold.too_long", "{hold}", "Locks that an owner had for Options.HeldTooLong.", true, func(s *lockwheel.Stats) int64 { return int64(s.HeldTooLong) }},
	{"lockwheel.hold.leaked", "{hold}", "Holds that were not unlocked and that no caller could reach any more.", true, func(s *lockwheel.Stats) int64 { return int64(s.Leaked) }},
	{"lockwheel.hold.handed_off", "{hold}", "Grants handed off inside the engine without a release.", true, func(s *lockwheel.Stats) int64 { return int64(s.HandedOff) }},
	{"lockwheel.request.failed", "{request}", "Lock requests that failed.", true, func(s *lockwheel.Stats) int64 { return int64(s.Failed) }},
	{"lockwheel.request.shed", "{request}", "Failed lock requests that exceeded a limit on waiters.", true, func(s *lockwheel.Stats) int64 { return int64(s.Shed) }},
	{"lockwheel.renewal.confirmed", "{renewal}", "Renewals and confirmations by the server.", true, func(s *lockwheel.Stats) int64 { return int64(s.Renewed) }},
	{"lockwheel.release.unpublished", "{release}", "Releases that the server executed but rejected to publish.", true, func(s *lockwheel.Stats) int64 { return int64(s.UnpublishedReleases) }},
	{"lockwheel.command.sent", "{command}", "Commands sent.", true, func(s *lockwheel.Stats) int64 { return int64(s.Commands) }},
	{"lockwheel.command.retried", "{retry}", "Commands without a reply or rejected, and calls sent again.", true, func(s *lockwheel.Stats) int64 { return int64(s.Retries) }},
	{"lockwheel.call.sent", "{call}", "Calls that carried the commands.", true, func(s *lockwheel.Stats) int64 { return int64(s.Batches) }},
	{"lockwheel.loop.turned", "{turn}", "Turns of the engine's loop.", true, func(s *lockwheel.Stats) int64 { return int64(s.LoopTurns) }},
	{"lockwheel.record.unwritten", "{record}", "Writes of the engine's record that failed.", true, func(s *lockwheel.Stats) int64 { return int64(s.UnwrittenRecords) }},
	{"lockwheel.event.dropped", "{event}", "Events and log records dropped because Observer or Logger was too slow.", true, func(s *lockwheel.Stats) int64 { return int64(s.DroppedEvents) }},
	{"lockwheel.panic.recovered", "{panic}", "Panics in Observer, Logger and contexts of callers.", true, func(s *lockwheel.Stats) int64 { return int64(s.Panics) }},
}

// times are the gauges of durations, in seconds. They do not add up over several engines.
var times = [...]struct {
	name, description string
	value             func(*lockwheel.Stats) time.Duration
}{
	{"lockwheel.request.longest_waiting", "For how long the oldest lock request without a result has waited.", func(s *lockwheel.Stats) time.Duration { return s.LongestWaiting }},
	{"lockwheel.renewal.lag", "How long past its due time the latest renewal of the last minute was confirmed, or had no reply.", func(s *lockwheel.Stats) time.Duration { return s.RenewalLag }},
	{"lockwheel.clock.skew", "This machine's clock minus the server's, as far as known.", func(s *lockwheel.Stats) time.Duration { return s.ClockSkew }},
}
