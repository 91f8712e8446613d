package scripts_test

import "testing"

// A force frees any hash, whichever client holds it, and leaves keys of other types alone.
func TestForceScript_FreesOnlyLocks(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s b:t2:100s → 1 1
			HSET forever f 1 g 1 → 2
			SET string x → OK
			RPUSH list x → 1
			force a string free b list forever → 1 [WRONGTYPE… -1 string] 0 1 [WRONGTYPE… -1 list] 1
			EXISTS a free b forever → 0
			GET string → x
			LRANGE list 0 -1 → [x]
			heard → redisson_lock__channel:{a} 0, redisson_lock__channel:{b} 0, redisson_lock__channel:{forever} 0
		`)
	})
}

// The second copy finds nothing. A late one frees the lock of its holder at that moment, so the engine does not resend
// it.
func TestForceScript_SentTwice_FindsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s → 1
			force a a → 1 0
			heard → redisson_lock__channel:{a} 0
			force a → 0
			heard → nothing
			acquire a:t2:100s → 1
			force a → 1
			heard → redisson_lock__channel:{a} 0
			# the former holder learns it from its next command
			renew a:t1:100s a:t2:100s → 0 0
			release a:t1 a:t2 → 0 0
			heard → nothing
		`)
	})
}
