package actor

import "time"

// NextBackoff returns the pause that follows a pause of last: twice as long, at least first and at most longest. The
// zero last is that of the first failure.
func NextBackoff(last, first, longest time.Duration) time.Duration {
	return min(max(2*last, first), longest)
}
