package engine

import "time"

const retryFirst = 10 * time.Millisecond

// link is what the coordinator knows of the way to the server. While it is down, one batch at a time
// tries it, with backoff; all else waits, so that an outage costs neither calls nor memory.
type link struct {
	down    bool
	most    time.Duration // between tries
	backoff time.Duration
	tryAt   time.Duration
	cause   error // why it is down
}

// failed takes in that a batch had no answer. Those that were under way with it say nothing new.
func (k *link) failed(now time.Duration, cause error) {
	if k.down && now < k.tryAt {
		return
	}
	k.down, k.cause = true, cause
	k.backoff = min(max(2*k.backoff, retryFirst), k.most)
	k.tryAt = now + k.backoff
}

func (k *link) answered() { k.down, k.backoff, k.cause = false, 0, nil }

// open reports whether a batch may leave while so many are out.
func (k *link) open(now time.Duration, out int) bool {
	return !k.down || out == 0 && now >= k.tryAt
}
