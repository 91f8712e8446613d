package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// trackWrites learns from the result of a batch whether its server is a master, and accepts what changes a lock.
func (c *Coordinator) trackWrites(now time.Duration, b *Batch) {
	if b.NoReply {
		return
	}
	said := c.evidenceOf(b)
	c.trackDemotion(now, said)
	c.trackRefusal(now, b, said)
}

// evidence is what a batch with a reply shows about its server. It is immutable. The zero value shows nothing.
type evidence struct {
	wrote    bool  // it did what only a master does
	accepted bool  // it did what a command wants that changes a lock
	refused  error // why it rejected a command, as it would others; an error of a replica rather than another one
}

// evidenceOf returns what a batch with a reply shows. wrote is false for these batches, which do not prove a master:
//   - batches followed by WAIT, which use other connections
//   - state queries, which only read
//   - renewals, which may find nothing to write
func (c *Coordinator) evidenceOf(b *Batch) (said evidence) {
	if b.Failed != nil {
		said.note(b.Failed)
		return said
	}
	reads := isStateVerb(b.Verb)
	proves := !reads && !c.WaitsForReplicas(b.Verb) && !IsRenewal(b.Verb)
	for i := range b.Replies {
		switch reply := &b.Replies[i]; reply.Status {
		case actor.OK:
			if proves {
				return evidence{wrote: true, accepted: true}
			}
			said.accepted = !reads
		case actor.Rejected:
			said.note(reply.Err)
		}
	}
	return said
}

// note notes that the server rejected a command.
func (e *evidence) note(err error) {
	if isRefusal(err) && (e.refused == nil || isReplicaError(err)) {
		e.refused = err
	}
}
