package scripts_test

import "testing"

// The state script replies for every shape that a key can have, and changes nothing.
func TestStateScript_EveryKeyShape(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire held:t1:100s again:t2:200s → 1 1
			renew again:t2:200s extra again:12: → [1 1 -1]
			HSET forever t3 1 → 1
			HSET words t4 many → 1
			HSET several mode read t5 1 → 2
			PEXPIRE several 100000 → 1
			SET string x → OK
			HSET huge t6 9223372036854775807 → 1
			state huge → [-1 t6 2147483647]
			HSET odd t7 -5 → 1
			state odd → [-1 t7 0]
			HSET odd t7 nan → 0
			state odd → [-1 t7 0]
			HSET odd t7 -inf → 0
			state odd → [-1 t7 0]
			state free held string again forever words several → [-2 '' 0] [100s t1 1] [WRONGTYPE… -1 string] [200s t2 12] [-1 t3 1] [-1 t4 0] [100s '' 0]
			# and again: it changes nothing
			state free held string again forever words several → [-2 '' 0] [100s t1 1] [WRONGTYPE… -1 string] [200s t2 12] [-1 t3 1] [-1 t4 0] [100s '' 0]
			EXISTS free → 0
			heard → nothing
		`)
	})
}
