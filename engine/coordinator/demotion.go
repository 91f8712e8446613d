package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// demotion tracks whether the server reports that it is a replica. The zero value means that it has not. Owned by the
// coordinator.
type demotion struct {
	reported bool          // it reported so since its connections were last closed, and has written nothing
	since    time.Duration // time of the first such report
	pause    time.Duration // minimum time between two closes of its connections; 0: there was none yet
	until    time.Duration // end of that time
}

// maxPauseTimeouts bounds the time between two closes of the connections, in multiples of Config.CallTimeout.
const maxPauseTimeouts = 8

// onReadOnly notes that the server reported that it is a replica.
func (d *demotion) onReadOnly(now time.Duration) {
	if !d.reported {
		d.reported, d.since = true, now
	}
}

// shouldRedial reports whether to close the connections, after a reply. It does if the server has reported for more
// than timeout that it is a replica. The pause between two closes doubles, because an address may lead to a replica
// forever.
func (d *demotion) shouldRedial(now, timeout time.Duration) bool {
	if !d.reported || now-d.since <= timeout || now < d.until {
		return false
	}
	d.pause = min(2*max(d.pause, timeout), maxPauseTimeouts*timeout)
	d.reported, d.until = false, now+d.pause
	return true
}

// trackDemotion updates demotion from the result of a batch.
func (c *Coordinator) trackDemotion(now time.Duration, said evidence) {
	if !c.CanRedial {
		return
	}
	switch {
	case said.wrote:
		c.demotion = demotion{}
	case said.refused != nil && isReplicaError(said.refused):
		c.demotion.onReadOnly(now)
	}
	if c.demotion.shouldRedial(now, c.Fx.Config.CallTimeout) {
		c.Redial = true
	}
}

// isStateVerb reports whether a verb only reads.
func isStateVerb(verb actor.Verb) bool { return slices.Contains(Priorities[len(Priorities)-1], verb) }

// isReplicaError reports whether a server rejected a command because it is not a master.
func isReplicaError(err error) bool {
	text := err.Error()
	return actor.HasPrefixFold(text, "READONLY") || actor.HasPrefixFold(text, "MASTERDOWN")
}
