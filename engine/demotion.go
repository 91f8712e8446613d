package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// A master that becomes a replica keeps its connections, and refuses all that is written there. Where its address leads to the next
// master meanwhile, a new connection is all that is needed, and nothing else ends the old one. Behind Sentinel and in a cluster the
// master is followed otherwise, and the connections of somebody else's client are not the engine's to end.

// demotion is what is known of a server that says it is a replica. Owned by the coordinator.
type demotion struct {
	told  bool          // it said so since its connections were ended last, and has written nothing
	since time.Duration // when it said so first
	pause time.Duration // between two ends of its connections, at least; 0: there was none yet
	until time.Duration // when that is over
}

// longestPause is how many Timeouts a server that stays a replica has at most between two ends of its connections.
const longestPause = 8

// refused takes in that the server says that it is a replica.
func (d *demotion) refused(now time.Duration) {
	if !d.told {
		d.told, d.since = true, now
	}
}

// ends reports whether connections to the server are to be ended, when it has answered: it said that it is a replica more than a Timeout
// ago. The pauses grow, as an address may lead to a replica for ever.
func (d *demotion) ends(now, timeout time.Duration) bool {
	if !d.told || now-d.since <= timeout || now < d.until {
		return false
	}
	d.pause = min(2*max(d.pause, timeout), longestPause*timeout)
	d.told, d.until = false, now+d.pause
	return true
}

// heed takes in what an answer tells of whether the server is a master.
func (c *coordinator) heed(now time.Duration, b *batch) {
	if !c.redials || b.lost {
		return
	}
	switch wrote, refused := c.wrote(b); {
	case wrote:
		c.demotion = demotion{}
	case refused:
		c.demotion.refused(now)
	}
	if c.demotion.ends(now, c.fx.Config.Timeout) {
		c.redial = true
	}
}

// wrote reports whether a call did what only a master does, and whether it was told that it asked a replica. The first says nothing where
// replicas are asked, on connections that others do not use. A state is read, and a renewal may find that there is nothing to write.
func (c *coordinator) wrote(b *batch) (wrote, refused bool) {
	if b.failed != nil {
		return false, ofReplica(b.failed)
	}
	tells := !c.asksReplicas(b.verb) && !renews(b.verb) && !states(b.verb)
	for i := range b.replies {
		switch reply := &b.replies[i]; reply.Status {
		case actor.Done:
			if tells {
				return true, false
			}
		case actor.Refused:
			refused = refused || ofReplica(reply.Err)
		}
	}
	return false, refused
}

// states reports whether a verb only looks.
func states(verb actor.Verb) bool { return slices.Contains(urgency[len(urgency)-1], verb) }

// ofReplica reports whether a server refused because it is no master.
func ofReplica(refused error) bool {
	said := refused.Error()
	return actor.Begins(said, "READONLY") || actor.Begins(said, "MASTERDOWN")
}
