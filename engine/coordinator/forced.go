package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// maxForced is the maximum number of keys that are kept of notices about locks that this engine has.
	maxForced = 4096
	// forcedFor is for how long after the last notice they are kept. The engine asks at once, so a hold that was forced
	// ends within a round trip.
	forcedFor = 5 * time.Second
)

// forced has the keys of this engine's locks of which a message said that they were unlocked by force. If the server
// then replies that such a key is gone, the cause of the loss says so. A message is no proof, so the cause names it as
// one. A hold that was granted after the message is not meant: it may be lost for another reason, and its holder would
// look for the wrong cause. The zero value has none. Owned by the coordinator.
type forced struct {
	keys map[string]forceNotice
	last time.Duration // when the last notice came
}

// forceNotice says which holds of a key a notice is about. The zero value is about none.
type forceNotice struct {
	last uint64        // the last tenure of the engine when it came
	came time.Duration // when it came; NoTimer if a later hold may have a tenure from before: a handed off one
}

// note notes that a notice came. A tenure that is never handed off can wait, and be granted after the notice. What is
// forgotten because there are too many lacks the hint, and a quorum acquires such a member again at once.
func (f *forced) note(now time.Duration, key string, last uint64, handedOff bool) {
	if f.keys == nil || len(f.keys) >= maxForced {
		f.keys = make(map[string]forceNotice)
	}
	notice := forceNotice{last, now}
	if handedOff {
		notice.came = NoTimer
	}
	f.keys[key], f.last = notice, now
}

// explain adds the hint to the causes of the holds that ended in this turn.
func (f *forced) explain(now time.Duration, ended []actor.HoldEnd) {
	switch {
	case len(f.keys) == 0:
		return
	case now-f.last > forcedFor:
		f.keys = nil
		return
	}
	for i := range ended {
		n, noted := f.keys[ended[i].Key]
		if noted && ended[i].Hold.Tenure <= n.last && (n.came == NoTimer || now-ended[i].Held <= n.came) {
			ended[i].Cause = actor.WithForceNotice(ended[i].Cause)
		}
	}
}
