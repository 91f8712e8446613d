package scripts_test

import "testing"

// Each grant has a token greater than all before it, also after a force and an expiry.
func TestFencedScript_TokensIncrease(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			fenced_acquire a:t1:100s b:t1:100s → 1 1
			HGETALL a → [t1 1]
			GET redisson_lock_token:{a} → 1
			PTTL redisson_lock_token:{a} → -1
			# Held by another tenure: nothing is counted.
			fenced_acquire a:t2:100s → [100s t1]
			GET redisson_lock_token:{a} → 1
			release a:t1 → 1
			heard → redisson_lock__channel:{a} 0
			fenced_acquire a:t2:100s → 2
			# A force and an expiry leave the counter alone.
			force a → 1
			fenced_acquire a:t3:100s → 3
			DEL a → 1
			fenced_acquire a:t4:100s → 4
			# A name with a brace.
			fenced_acquire x{y}:t1:100s → 1
			GET redisson_lock_token:x{y} → 1
		`)
	})
}

// A fenced acquire that is sent twice has the same token.
func TestFencedScript_SentTwice_SameToken(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			fenced_acquire a:t1:100s → 1
			fenced_acquire a:t1:200s → 1
			PTTL a → 200s
			fenced_acquire a:t1:100s → 1
			PTTL a → 200s
			GET redisson_lock_token:{a} → 1
			HGETALL a → [t1 1]
			# Sent late, it is an orphan with a token that no caller has.
			release a:t1 → 1
			fenced_acquire a:t1:100s → 2
			fenced_acquire a:t2:100s orphans a:t1 → 3
			fenced_acquire a:t1:100s → [100s t2]
		`)
	})
}

// A pass that is sent twice, or late, counts the token once.
func TestFencedPass_SentTwice_CountsOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			fenced_acquire a:t1:100s b:t1:100s → 1 1
			fenced_renew a:t1:200s:1:1:1 b:t1:0:::1 → [1 1 0 2] [1 1 -1 2]
			PTTL a → 200s
			PTTL b → 100s
			# Sent twice, or late: the token that was counted.
			fenced_renew a:t1:200s:1:1:1 → [1 1 0 2]
			fenced_renew a:t1:200s::1:2 → [1 1 0 3]
			fenced_renew a:t1:200s::1:1 → [1 1 0 3]
			# It writes the count of holds, and counts the listeners.
			subscribe redisson_lock__channel:{a} → ok
			fenced_renew a:t1:200s:2:1:3 → [1 1 1 4]
			HGETALL a → [t1 2]
			# Gone: nothing is counted, and nothing created.
			fenced_renew a:t0:200s:1:1:4 c:t1:200s:1:1:4 → 0 0
			GET redisson_lock_token:{a} → 4
			EXISTS c redisson_lock_token:{c} → 0
			# A counter that was deleted starts again.
			DEL redisson_lock_token:{a} → 1
			fenced_renew a:t1:200s:::4 → [1 1 -1 1]
			DEL redisson_lock_token:{a} → 1
			fenced_acquire a:t1:100s → 1
		`)
	})
}

// If the token cannot be counted, the acquire is rejected and leaves no lock.
func TestFencedScript_TokenRejected_NoLock(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			LPUSH redisson_lock_token:{a} x → 1
			SET redisson_lock_token:{b} word → OK
			SET c x → OK
			fenced_acquire a:t1:100s b:t1:100s c:t1:100s d:t1:100s → WRONGTYPE… ERR… [WRONGTYPE… -1 string] 1
			EXISTS a b → 0
			fenced_acquire e:t1:100s → 1
			DEL redisson_lock_token:{e} → 1
			LPUSH redisson_lock_token:{e} x → 1
			fenced_acquire e:t1:100s → WRONGTYPE…
			fenced_renew e:t1:100s:1::1 c:t1:100s:1::1 → WRONGTYPE… WRONGTYPE…
		`)
	})
}

// A Lua number is exact to 2^53, and a counter that an operator seeded with the time in nanoseconds is beyond that.
func TestFencedScript_LargeTokens_Exact(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			SET redisson_lock_token:{a} 9007199254740990 → OK
			fenced_acquire a:t1:100s → 9007199254740991
			fenced_renew a:t1:0:::9007199254740991 → [1 1 -1 9007199254740992]
			fenced_renew a:t1:0:::9007199254740992 → [1 1 -1 9007199254740993]
			# Sent twice.
			fenced_renew a:t1:0:::9007199254740992 → [1 1 -1 9007199254740993]
			fenced_acquire a:t1:100s → 9007199254740993
			SET redisson_lock_token:{b} 1763800000000000000 → OK
			fenced_acquire b:t1:100s → 1763800000000000001
			release b:t1 → 1
			fenced_acquire b:t2:100s → 1763800000000000002
			fenced_acquire b:t2:100s → 1763800000000000002
			SET redisson_lock_token:{c} 9223372036854775806 → OK
			fenced_acquire c:t1:100s → 9223372036854775807
			fenced_acquire c:t1:100s → 9223372036854775807
		`)
	})
}

// A counter that is negative, full or not an integer is rejected, and left as it is.
func TestFencedScript_BadCounter_Rejected(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			SET redisson_lock_token:{a} -7 → OK
			SET redisson_lock_token:{b} -1 → OK
			SET redisson_lock_token:{c} 9223372036854775807 → OK
			SET redisson_lock_token:{d} 1.5 → OK
			SET redisson_lock_token:{e} -9223372036854775808 → OK
			fenced_acquire a:t1:100s b:t1:100s c:t1:100s d:t1:100s e:t1:100s f:t1:100s → ERR… ERR… ERR… ERR… ERR… 1
			EXISTS a b c d e → 0
			MGET redisson_lock_token:{a} redisson_lock_token:{b} redisson_lock_token:{c} redisson_lock_token:{e} → [-7 -1 9223372036854775807 -9223372036854775808]
			# A counter that became such while the lock was held.
			SET redisson_lock_token:{f} -7 → OK
			fenced_acquire f:t1:100s → ERR…
			fenced_renew f:t1:0:::-7 → ERR…
			fenced_renew f:t1:0:::1 → ERR…
			SET redisson_lock_token:{f} 12x → OK
			fenced_renew f:t1:0:::1 → ERR…
			SET redisson_lock_token:{f} 012 → OK
			fenced_renew f:t1:0:::1 → ERR…
			SET redisson_lock_token:{f} 9223372036854775808 → OK
			fenced_renew f:t1:0:::1 → ERR…
			fenced_acquire f:t1:100s → ERR…
			GET redisson_lock_token:{f} → 9223372036854775808
		`)
	})
}
