package scripts

import "strings"

// The prefixes with which Redisson names the keys and channels that belong to a lock, for RedissonKey.
const (
	Channel        = "redisson_lock__channel" // where a release is published
	TokenKey       = "redisson_lock_token"    // the counter of a fenced lock
	FairQueueKey   = "redisson_lock_queue"    // the waiters of a fair lock, in order
	FairTimeoutKey = "redisson_lock_timeout"  // until when each of them is considered alive
	FairPlacesKey  = "redisson_lock_places"   // until when its engine keeps its place alive; Redisson does not use this key
)

// RedissonKey returns the name of a key or channel that belongs to a lock, in the slot of its key. As Redisson does, it
// adds a hash tag unless the key has a brace.
func RedissonKey(prefix, key string) string {
	return prefix + ":" + hashTag(key)
}

// hashTag returns a key in braces, so that names made of it are in its slot; a key that has a brace is returned
// unchanged.
func hashTag(key string) string {
	if strings.Contains(key, "{") {
		return key
	}
	return "{" + key + "}"
}
