package scripts

import "strings"

// What Redisson puts before the name of a lock to name what belongs to it, for Prefixed.
const (
	Channel = "redisson_lock__channel" // where a release is published
	Token   = "redisson_lock_token"    // the counter of a fenced lock
	Queue   = "redisson_lock_queue"    // who waits for a fair lock, in order
	Times   = "redisson_lock_timeout"  // until when each of them counts as alive
	Places  = "redisson_lock_places"   // until when its engine keeps its place up; Redisson does not know it
)

// Prefixed names what belongs to a lock, in the slot of its key: Redisson adds a hash tag unless the key
// has a brace.
func Prefixed(prefix, key string) string {
	if strings.Contains(key, "{") {
		return prefix + ":" + key
	}
	return prefix + ":{" + key + "}"
}
