package scripts_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// The example of Redisson's own arithmetic, with a lease of 30s and waits of 50s.
func TestFairQueue_MatchesRedisson(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			HGETALL a → [t0 1]
			EXISTS redisson_lock_queue:{a} redisson_lock_timeout:{a} → 0
			fair_acquire a:t1:30s:50s a:t2:30s:50s a:t3:30s:50s → [30s t0 80s] [30s t0 130s] [30s t0 180s]
			LRANGE redisson_lock_queue:{a} 0 -1 → [t1 t2 t3]
			times a → t1 80s, t2 130s, t3 180s
			PTTL redisson_lock_queue:{a} → -1
			PTTL redisson_lock_timeout:{a} → -1
			# Asked again, it keeps its place.
			fair_acquire a:t2:30s:50s → [30s t0 130s]
			times a → t1 80s, t2 130s, t3 180s
			# The second gives up, and what it added is subtracted.
			fair_release a:t2:50s → 0
			times a → t1 80s, t3 130s
			heard → nothing
			# Released, only the head is notified; no other caller gets the lock, not even one that does not queue.
			fair_release a:t0:50s → 1
			heard → redisson_lock__channel:{a}:t1 0
			fair_acquire a:t3:30s:50s a:t4:30s: → [80s '' 130s] [80s '' -1]
			times a → t1 80s, t3 130s
			fair_acquire a:t1:30s:50s → 1
			HGETALL a → [t1 1]
			times a → t3 80s
			fair_acquire a:t3:30s:50s → [30s t1 80s]
			fair_release a:t1:50s → 1
			heard → redisson_lock__channel:{a}:t3 0
			fair_acquire a:t3:30s:50s → 1
			fair_release a:t3:50s → 1
			heard → nothing
			KEYS * → []
			# A name with a brace.
			fair_acquire x{y}:t0:30s:50s x{y}:t1:30s:50s → 1 [30s t0 80s]
			LRANGE redisson_lock_queue:x{y} 0 -1 → [t1]
			fair_force x{y} → 1
			heard → redisson_lock__channel:x{y}:t1 0
		`)
	})
}

func TestFairScripts_SentTwice_Harmless(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			fair_acquire a:t0:40s:50s → 1
			PTTL a → 40s
			fair_acquire a:t0:30s:50s → 1
			PTTL a → 40s
			HGETALL a → [t0 1]
			fair_acquire a:t1:30s:50s a:t2:30s:50s a:t3:30s:50s → [40s t0 90s] [40s t0 140s] [40s t0 190s]
			fair_release a:t1:50s a:t1:50s → 0 0
			times a → t2 90s, t3 140s
			fair_release a:t0:50s a:t0:50s → 1 0
			fair_release a:t0:50s → 0
			heard → redisson_lock__channel:{a}:t2 0, redisson_lock__channel:{a}:t2 0
			fair_acquire a:t2:30s:50s a:t2:30s:50s → 1 1
			times a → t3 90s
			fair_release a:t2:50s → 1
			# Late: it queues without a waiter, until that is undone.
			fair_acquire a:t2:30s:50s → [90s '' 140s]
			fair_release a:t2:50s → 0
			times a → t3 90s
			fair_force a → 0
			fair_acquire a:t3:30s:50s → 1
			fair_force a a → 1 0
		`)
	})
}

func TestFairQueue_HeadExpired_Skipped(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s a:t2:30s:50s a:t3:30s:50s → 1 [30s t0 80s] [30s t0 130s] [30s t0 180s]
			DEL a → 1
			clock 1000060 → ok
			fair_acquire a:t3:30s:50s → [20s '' 120s]
			times a → t1 20s, t2 70s, t3 120s
			clock 1000080 → ok
			fair_acquire a:t3:30s:50s → [50s '' 100s]
			heard → redisson_lock__channel:{a}:t2 0
			times a → t2 50s, t3 100s
			fair_acquire a:t2:30s:50s → 1
			# Any release notifies the first waiter that is alive.
			fair_acquire a:t4:30s:50s → [30s t2 100s]
			clock 1000140 → ok
			fair_release a:t2:50s → 1
			heard → redisson_lock__channel:{a}:t4 0
			times a → t4 40s
		`)
	})
}

// Waiters stay alive as long as the head of their fair queue asks: all times move on together.
func TestFairWaiters_HeadAsks_StayAlive(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:80s a:t2:30s:50s a:t3:30s:50s → 1 [30s t0 110s] [30s t0 160s] [30s t0 210s]
			# The lock is renewed: what the head has beyond the lease is nearly all of its wait.
			clock 1000010 → ok
			fair_acquire a:t1:30s:80s → [30s t0 100s]
			times a → t1 100s, t2 150s, t3 200s
			# Too much of it is gone: all times move on together.
			clock 1000100 → ok
			fair_acquire a:t2:30s:50s a:t1:30s:80s → [30s t0 60s] [30s t0 110s]
			times a → t1 110s, t2 160s, t3 210s
			# Also when no call has noticed yet that the time was over.
			clock 1000250 → ok
			fair_acquire a:t1:30s:80s → [30s t0 110s]
			times a → t1 110s, t2 160s, t3 210s
			# So a new head has its own wait beyond the lease, and the arithmetic is as before.
			fair_release a:t0:50s → 1
			fair_acquire a:t1:30s:80s → 1
			times a → t2 80s, t3 130s
			# Other waiters do not keep a head alive that does not ask.
			clock 1000320 → ok
			fair_acquire a:t3:30s:50s → [30s t1 60s]
			times a → t2 10s, t3 60s
			clock 1000330 → ok
			fair_acquire a:t3:30s:50s → [30s t1 80s]
			times a → t3 80s
			# A waiter that asks keeps its place, however late; dead waiters ahead of it lose theirs.
			fair_acquire a:t4:30s:50s a:t5:30s:50s → [30s t1 130s] [30s t1 180s]
			clock 1001000 → ok
			fair_acquire a:t4:30s:50s → [30s t1 80s]
			times a → t4 80s, t5 130s
		`)
	})
}

// Consecutive waiters of one engine with equal waits share a time. The last of them to leave subtracts what they added,
// so the times behind them are as in Redisson.
func TestFairWaiters_OneEngine_ShareTime(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			fair_acquire a:t1:30s:50s a:t2:30s:50s:t1 a:t3:30s:50s:t2 → [30s t0 80s] [30s t0 80s] [30s t0 80s]
			# Behind another engine's waiter nothing is shared, nor behind one that would leave it less than its own wait.
			fair_acquire a:t4:30s:20s:t9 a:t5:30s:50s a:t6:30s:50s:t5 a:t7:30s:200s:t6 → [30s t0 100s] [30s t0 150s] [30s t0 150s] [30s t0 350s]
			# A grant to one of several, or one that leaves, changes nothing for the others.
			fair_release a:t0:50s a:t2:50s a:t6:50s → 1 0 0
			fair_acquire a:t1:30s:50s → 1
			times a → t3 80s, t4 100s, t5 150s, t7 350s
			# The last subtracts what it has left of the wait.
			fair_release a:t1:50s → 1
			fair_acquire a:t3:30s:50s → 1
			times a → t4 50s, t5 100s, t7 300s
			fair_release a:t5:50s → 0
			times a → t4 50s, t7 250s
			# A waiter that asks again keeps its time.
			fair_acquire a:t7:30s:200s:t4 → [30s t3 250s]
			# Their times move on together, and expire together.
			fair_acquire a:t8:30s:200s:t7 → [30s t3 250s]
			clock 1000060 → ok
			fair_acquire a:t9:30s:50s → [30s t3 240s]
			LRANGE redisson_lock_queue:{a} 0 -1 → [t7 t8 t9]
			fair_acquire a:t7:30s:200s → [30s t3 230s]
			times a → t7 230s, t8 230s, t9 280s
			clock 1000290 → ok
			fair_acquire a:t9:30s:50s → [30s t3 80s]
			LRANGE redisson_lock_queue:{a} 0 -1 → [t9]
		`)
	})
}

// An engine may leave a place behind that it could not give up. Its waiters that share the time of that place do not
// expire with it.
func TestFairWaiters_HeadSharingGone_Survive(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:10s:40s → 1
			fair_acquire a:t1:10s:40s a:t2:10s:40s:t1 a:t3:10s:40s:t2 a:t4:10s:40s → [10s t0 50s] [10s t0 50s] [10s t0 50s] [10s t0 90s]
			fair_release a:t0:40s → 1
			# A head has this much left and more, if it asks.
			clock 1000030 → ok
			fair_acquire a:t3:10s:40s → [20s '' 20s]
			times a → t1 20s, t2 20s, t3 20s, t4 60s
			# This one does not ask, so the times of all behind it count from its end.
			clock 1000040 → ok
			fair_acquire a:t3:10s:40s a:t2:10s:40s a:t4:10s:40s → [10s '' 50s] [10s '' 50s] [10s '' 90s]
			times a → t1 10s, t2 50s, t3 50s, t4 90s
			clock 1000050 → ok
			fair_acquire a:t4:10s:40s → [40s '' 80s]
			LRANGE redisson_lock_queue:{a} 0 -1 → [t2 t3 t4]
			# The arithmetic is as before.
			fair_acquire a:t2:10s:40s → 1
			times a → t3 40s, t4 80s
			fair_release a:t3:40s → 0
			times a → t4 40s
		`)
	})
}

// A waiter with a wait that grew has as much when those in front of it have left.
func TestFairWaiter_WaitGrew_StaysBehind(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = endless
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			fair_acquire a:t1:30s:50s a:t2:30s:20s a:t3:30s:20s:t2 a:t4:30s:20s → [30s t0 80s] [30s t0 100s] [30s t0 100s] [30s t0 120s]
			# A place with a shorter wait is shared only by those with one as short.
			fair_acquire a:t5:30s:90s:t4 → [30s t0 210s]
			# All behind move on with it, and those that share its time.
			fair_acquire a:t2:30s:50s → [30s t0 130s]
			times a → t1 80s, t2 130s, t3 130s, t4 150s, t5 240s
			# It is far enough behind now, and so is the one that shares its time.
			fair_acquire a:t2:30s:50s a:t3:30s:50s → [30s t0 130s] [30s t0 130s]
			# A wait that becomes shorter changes nothing.
			fair_acquire a:t4:30s:10s → [30s t0 150s]
			fair_release a:t1:50s → 0
			times a → t2 80s, t3 80s, t4 100s, t5 190s
			# It subtracts what it added in all.
			fair_release a:t2:20s a:t3:20s → 0 0
			times a → t4 50s, t5 140s
			# One that shares the time of the head has no place in front of it.
			fair_acquire a:t6:30s:20s → [30s t0 160s]
			fair_release a:t4:20s a:t5:90s → 0 0
			fair_acquire a:t7:30s:20s:t6 → [30s t0 50s]
			fair_acquire a:t7:30s:50s → [30s t0 50s]
			# One that is further behind than it needs stays there.
			fair_acquire a:t8:30s:20s → [30s t0 70s]
			ZADD redisson_lock_timeout:{a} XX 1000200000 t8 → 0
			fair_acquire a:t8:30s:50s → [30s t0 200s]
			times a → t6 50s, t7 50s, t8 200s
		`)
	})
}

// A waiter that comes to be right behind one of Redisson's, because the one between them left, is as far behind it as a
// new one: Redisson subtracts five minutes when the lock is granted to the one in front.
func TestFairWaiter_BehindRedissonNow_StaysAlive(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = endless
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			ZADD redisson_lock_timeout:{a} 1000300000 r1 → 1
			RPUSH redisson_lock_queue:{a} r1 → 1
			fair_acquire a:t1:30s:50s a:t2:30s:50s → [30s t0 600s] [30s t0 650s]
			# Behind one of its own kind it stays.
			fair_acquire a:t2:30s:50s → [30s t0 650s]
			fair_release a:t1:50s → 0
			times a → r1 300s, t2 350s
			fair_acquire a:t2:30s:50s → [30s t0 600s]
			fair_acquire a:t2:30s:50s → [30s t0 600s]
			# Its own wait counts if that is longer.
			fair_acquire a:t2:30s:400s → [30s t0 700s]
			# As the head it still knows what it added.
			ZREM redisson_lock_timeout:{a} r1 → 1
			LPOP redisson_lock_queue:{a} → r1
			fair_acquire a:t2:30s:50s a:t3:30s:50s → [30s t0 700s] [30s t0 750s]
			fair_release a:t2:50s → 0
			times a → t3 350s
		`)
	})
}

// A dead place in front of a waiter is removed by a call of another one. The waiter that is first then may sleep, as
// Redisson's do, until it is told that the lock is free.
func TestFairWaiter_FrontDies_Told(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s a:t2:30s:50s a:t3:30s:50s → 1 [30s t0 80s] [30s t0 130s] [30s t0 180s]
			fair_release a:t0:50s → 1
			heard → redisson_lock__channel:{a}:t1 0
			clock 1000090 → ok
			fair_acquire a:t3:30s:50s → [40s '' 90s]
			heard → redisson_lock__channel:{a}:t2 0
			# It is told once.
			fair_acquire a:t3:30s:50s → [40s '' 90s]
			heard → nothing
		`)
	})
}

// To move the times of a long queue for each waiter with a wait that grew would stop the server: a call moves 1000.
func TestFairWaiter_WaitGrew_LongQueueUnchanged(t *testing.T) {
	s := onReal(t)
	s.until = endless
	s.runTranscript(`
		clock 1000000 → ok
		fair_acquire a:t0:30s:50s a:t1:30s:20s a:t2:30s:20s a:t3:30s:20s → 1 [30s t0 50s] [30s t0 70s] [30s t0 90s]
	`)
	behind := func(from, to int) {
		for i := from; i < to; i++ {
			s.do("ZADD", scripts.RedissonKey(scripts.FairTimeoutKey, "a"), 2_000_000_000+i, fmt.Sprint("other", i))
			s.do("RPUSH", scripts.RedissonKey(scripts.FairQueueKey, "a"), fmt.Sprint("other", i))
		}
	}
	behind(0, 600)
	s.runTranscript(`
		# 601 times move for t3; for t2 they would be 602 more.
		fair_acquire a:t3:30s:50s a:t2:30s:50s → [30s t0 120s] [30s t0 70s]
		# The next call goes on with it.
		fair_acquire a:t2:30s:50s → [30s t0 100s]
	`)
	behind(600, 1000)
	s.runTranscript(`
		fair_acquire a:t2:30s:90s → [30s t0 100s]
	`)
}

// What a head with a long wait has used of it is not subtracted from those behind, which would be considered dead.
func TestFairWaiters_HeadWaitedLong_Survive(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:800s a:t2:30s:50s a:t3:30s:50s → 1 [30s t0 830s] [30s t0 880s] [30s t0 930s]
			clock 1000090 → ok
			fair_acquire a:t1:30s:800s → [30s t0 740s]
			fair_release a:t0:50s → 1
			heard → redisson_lock__channel:{a}:t1 0
			# It is granted.
			fair_acquire a:t1:30s:800s → 1
			times a → t2 50s, t3 100s
			fair_acquire a:t3:30s:50s → [30s t1 100s]
			fair_release a:t1:800s → 1
			heard → redisson_lock__channel:{a}:t2 0
			fair_acquire a:t2:30s:50s → 1
			# It gives up.
			fair_release a:t3:50s → 0
			fair_acquire a:t4:30s:800s a:t5:30s:50s → [30s t2 830s] [30s t2 880s]
			clock 1000180 → ok
			fair_acquire a:t4:30s:800s → [30s t2 740s]
			fair_release a:t4:800s → 0
			times a → t5 50s
		`)
	})
}

// A place without a time blocks no waiter, and subtracts nothing from the others.
func TestFairQueue_MissingTime_NotBlocking(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			RPUSH redisson_lock_queue:{a} lost → 1
			fair_acquire a:t1:30s:50s → 1
			EXISTS redisson_lock_queue:{a} → 0
			fair_acquire a:t2:30s:50s a:t3:30s:50s a:t4:30s:50s → [30s t1 80s] [30s t1 130s] [30s t1 180s]
			ZREM redisson_lock_timeout:{a} t2 → 1
			# Nor does it subtract from those to which it added nothing.
			fair_release a:t2:50s → 0
			times a → t3 130s, t4 180s
			ZREM redisson_lock_timeout:{a} t3 → 1
			fair_release a:t1:50s → 1
			heard → redisson_lock__channel:{a}:lost 0, redisson_lock__channel:{a}:t3 0, redisson_lock__channel:{a}:t4 0
			fair_acquire a:t3:30s:50s → [180s '' 230s]
			fair_acquire a:t4:30s:50s → 1
			times a → t3 180s
		`)
	})
}

// A waiter that leaves the queue of a free fair lock wakes the next one.
func TestFairQueue_WaiterLeaves_WakesNext(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s a:t2:30s:50s → 1 [30s t0 80s] [30s t0 130s]
			fair_release a:t0:50s → 1
			heard → redisson_lock__channel:{a}:t1 0
			fair_release a:t1:50s → 0
			heard → redisson_lock__channel:{a}:t2 0
			# An unlock of a lock that is not held returns that, and still wakes the head.
			fair_release a:t9: → 0
			heard → redisson_lock__channel:{a}:t2 0
			fair_acquire a:t2:30s:50s → 1
			fair_release a:t9: → 0
			heard → nothing
			# An orphan of the same engine goes first.
			fair_acquire a:t3:30s:50s a:t4:30s:50s → [30s t2 80s] [30s t2 130s]
			fair_acquire a:t3:30s:50s orphans a:t2 → 1
			HGETALL a → [t3 1]
			fair_acquire a:t4:30s:50s orphans a:t2 → [30s t3 80s]
		`)
	})
}

// The result is as if they left one by one: what those ahead of a leaver subtract is subtracted from it first.
func TestFairWaiters_LeaveTogether_AsOneByOne(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s a:t2:30s:90s a:t3:30s:50s a:t4:30s:50s → 1 [30s t0 80s] [30s t0 170s] [30s t0 220s] [30s t0 270s]
			clock 1000060 → ok
			fair_release a:t1:50s a:t2:90s a:t2:90s a:t9:50s → 0 0 0 0
			times a → t3 50s, t4 100s
			heard → nothing
			fair_acquire a:t5:30s:50s a:t6:30s:50s b:t0:30s:50s b:t1:30s:50s b:t2:30s:50s → [30s t0 150s] [30s t0 200s] 1 [30s t0 80s] [30s t0 130s]
			# Only the remaining head is notified, and once.
			fair_release a:t5:50s b:t1:50s a:t0:50s a:t3:50s → 0 0 1 0
			heard → redisson_lock__channel:{a}:t4 0
			times a → t4 50s, t6 100s
			times b → t2 80s
			LRANGE redisson_lock_queue:{a} 0 -1 → [t4 t6]
			fair_acquire b:t3:30s:90s b:t4:30s:50s → [30s t0 170s] [30s t0 220s]
			# Other clients count differently: the second has less than what the first and itself had added.
			ZADD redisson_lock_timeout:{b} XX 1000180000 t3 → 0
			times b → t2 80s, t3 120s, t4 220s
			fair_release b:t2:50s b:t3:90s → 0 0
			times b → t4 100s
			fair_release a:t4:50s a:t6:50s → 0 0
			heard → nothing
			EXISTS redisson_lock_queue:{a} redisson_lock_timeout:{a} → 0
		`)
	})
}

// A key of another type rejects only its own lock, and can still be released.
func TestFairScripts_Error_OnlyThatLock(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			SET a x → OK
			SET redisson_lock_queue:{b} x → OK
			SET redisson_lock_timeout:{c} x → OK
			fair_acquire a:t1:30s:50s b:t1:30s:50s c:t1:30s:50s d:t1:30s:50s → [WRONGTYPE… -1 string] WRONGTYPE… WRONGTYPE… 1
			EXISTS b c redisson_lock_queue:{a} redisson_lock_queue:{c} → 0
			fair_release a:t1:50s b:t1:50s c:t1:50s d:t1:50s → WRONGTYPE… 0 0 1
			fair_force a b c d → [WRONGTYPE… -1 string] 0 0 0
			# A lock with an overwritten queue can still be released.
			fair_acquire e:t1:30s:50s f:t1:30s:50s → 1 1
			SET redisson_lock_queue:{e} x → OK
			SET redisson_lock_queue:{f} x → OK
			fair_release e:t1:50s → 2
			fair_force f → 2
		`)
	})
}

// A key of another type makes the server reject the release, but keeps no waiter in the queue. Nothing else would
// remove it before its time is over.
func TestFairWaiter_LockOverwritten_Leaves(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t1:30s:50s a:t2:30s:50s a:t3:30s:50s → 1 [30s t1 80s] [30s t1 130s]
			SET a x → OK
			fair_release a:t2:50s → WRONGTYPE…
			LRANGE redisson_lock_queue:{a} 0 -1 → [t3]
			fair_release a:t3:50s → WRONGTYPE…
			EXISTS redisson_lock_queue:{a} redisson_lock_timeout:{a} → 0
			DEL a → 1
			fair_acquire a:t4:30s:50s → 1
		`)
	})
}

// The reply to a waiter has the server's clock.
func TestFairScript_Reply_HasServerClock(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		ask := func(id string) []any {
			return s.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", 1_000_000, "", id, 30_000, 50_000, "")
		}
		require.Equal(t, []any{int64(1)}, ask("t0"))
		before := time.Now().UnixMilli()
		row := ask("t1")[0].([]any)
		require.Len(t, row, 4)
		require.InDelta(t, before, row[3], float64(receiveTimeout.Milliseconds()))
		require.Len(t, ask("t1")[0], 4, "also when it stands there already")
	})
}

// A call with a deadline does nothing after it, and replies what the clock is then.
func TestFairScript_PastDeadline_DoesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		ask := func(latest any, ids ...string) []any {
			args := []any{"PUBLISH", time.Now().UnixMilli(), latest}
			for _, id := range ids {
				args = append(args, id, 30_000, 50_000, "")
			}
			return s.runOn(scripts.FairAcquire, []string{"a", "b"}[:len(ids)], args...)
		}
		before := time.Now().UnixMilli()
		over := before - receiveTimeout.Milliseconds()
		for _, row := range ask(over, "t0", "t0") {
			require.Len(t, row, 1)
			require.InDelta(t, before, row.([]any)[0], float64(receiveTimeout.Milliseconds()))
		}
		require.Equal(t, []any{}, s.do("KEYS", "*"))
		far := before + time.Hour.Milliseconds()
		require.Equal(t, []any{int64(1), int64(1)}, ask(far, "t0", "t0"))
		require.Len(t, ask(far, "t1")[0], 4)
		require.Len(t, ask(over, "t2")[0], 1)
		require.Equal(t, []any{"t1"}, s.do("LRANGE", "redisson_lock_queue:{a}", 0, -1))
		require.Greater(t, s.do("PTTL", "redisson_lock_places:{a}").(int64), int64(50_000))
	})
}

// A place is alive for as long as its engine keeps it alive, and no longer, whatever its time is. A place that is
// removed subtracts what it added.
func TestFairPlace_NotKeptAlive_Removed(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			fair_acquire a:t1:30s:50s a:t2:30s:50s a:t3:30s:50s a:t4:30s:50s → [30s t0 80s] [30s t0 130s] [30s t0 180s] [30s t0 230s]
			HLEN redisson_lock_places:{a} → 4
			# The clock of one caller is wrong, and no waiter expires because of that.
			clock 1000500 → ok
			fair_acquire a:t4:30s:50s → [30s t0 50s]
			clock 1000000 → ok
			LRANGE redisson_lock_queue:{a} 0 -1 → [t1 t2 t3 t4]
			# Two engines are dead.
			HSET redisson_lock_places:{a} t1 1:50000:50000 t2 1:50000:50000 → 0
			times a → t1 80s, t2 450s, t3 500s, t4 550s
			fair_acquire a:t3:30s:50s → [30s t0 400s]
			LRANGE redisson_lock_queue:{a} 0 -1 → [t3 t4]
			HKEYS redisson_lock_places:{a} → [t3 t4]
			# Behind a client of another kind a place adds as much as that client subtracts.
			ZADD redisson_lock_timeout:{a} 1000700000 other → 1
			RPUSH redisson_lock_queue:{a} other → 3
			fair_acquire a:t5:30s:50s → [30s t0 1000s]
			fair_release a:t3:50s a:t4:50s a:t5:50s a:t0:50s → 0 0 0 1
			heard → redisson_lock__channel:{a}:other 0
			EXISTS redisson_lock_places:{a} → 0
			fair_release a:other:300s → 0
			KEYS * → []
		`)
	})
}

// Even if no call came for longer than the places lived, as where the server stood still, lockwheel's places are not
// taken for Redisson's. Redisson's live for five minutes each and add as much to those behind them.
func TestFairPlace_LongOver_NotRedissons(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			PEXPIRE a 2000 → 1
		`)
		s.step(strings.Fields("fair_acquire a:t1:30s:20ms"), nil)
		s.enqueueRedisson("theirs", 1_000_380_000)
		s.do("PERSIST", queueOfA)
		s.do("PERSIST", timesOfA)
		s.do("SET", "probe", "x", "PX", 2500)
		require.Eventually(t, func() bool { return s.do("EXISTS", "probe") == int64(0) }, receiveTimeout, 5*time.Millisecond)
		s.runTranscript(`
			fair_acquire a:t2:30s: → [380s '' -1]
			LRANGE redisson_lock_queue:{a} 0 -1 → [theirs]
		`)
	})
}

// Behind a head that should have been kept alive by now the next waiters are notified too, until one is not doubtful.
func TestFairRelease_DoubtfulHead_TellsNext(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		doubtful := fmt.Sprint(time.Now().Add(25*time.Second).UnixMilli(), ":50000:50000")
		s.runTranscript(fmt.Sprintf(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			fair_acquire a:t1:30s:50s a:t2:30s:50s a:t3:30s:50s a:t4:30s:50s → [30s t0 80s] [30s t0 130s] [30s t0 180s] [30s t0 230s]
			HSET redisson_lock_places:{a} t1 %[1]s t2 %[1]s → 0
			fair_release a:t0:50s → 1
			heard → redisson_lock__channel:{a}:t1 0, redisson_lock__channel:{a}:t2 0, redisson_lock__channel:{a}:t3 0
		`, doubtful))
	})
}

// A lost list leaves times, which are no places: the next call removes all of them and notifies the waiters that had
// them.
func TestFairTime_WithoutPlace_Removed(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s a:t2:30s:50s → 1 [30s t0 80s] [30s t0 130s]
			DEL redisson_lock_queue:{a} → 1
			fair_release a:t0:50s → 1
			heard → redisson_lock__channel:{a}:t1 0, redisson_lock__channel:{a}:t2 0
			KEYS * → []
			fair_acquire a:t0:30s:50s a:t1:30s:50s a:t2:30s:50s → 1 [30s t0 80s] [30s t0 130s]
			DEL redisson_lock_queue:{a} → 1
			fair_acquire a:t2:30s:50s → [30s t0 80s]
			times a → t2 80s
			ZCARD redisson_lock_timeout:{a} → 1
			# A client of another kind came first, and knows nothing of it.
			ZADD redisson_lock_timeout:{a} 1000050000 t1 1000050000 dead → 2
			fair_acquire a:t1:30s:50s → [30s t0 130s]
			times a → t2 80s, t1 130s
			clock 1000060 → ok
			fair_acquire a:t1:30s:50s a:t2:30s:50s → [30s t0 70s] [30s t0 80s]
			ZSCORE redisson_lock_timeout:{a} dead → <nil>
			fair_release a:t1:50s a:t2:50s a:t0:50s → 0 0 1
			KEYS * → []
		`)
	})
}

// The work of a call is bounded: several calls remove a long row of dead places.
func TestFairScript_DeadPlaces_RemovalBounded(t *testing.T) {
	s := onReal(t)
	dead := 500
	for i := range dead {
		id := fmt.Sprint("d", i)
		s.do("RPUSH", "redisson_lock_queue:{a}", id)
		s.do("ZADD", "redisson_lock_timeout:{a}", 1, id)
	}
	for calls := 1; ; calls++ {
		reply := s.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", 1_000_000, "", "t1", 30_000, 50_000, "")[0]
		if reply == int64(1) {
			require.Equal(t, 3, calls)
			return
		}
		left := s.do("LLEN", "redisson_lock_queue:{a}").(int64)
		require.GreaterOrEqual(t, left, int64(dead-200*calls))
	}
}

// Also in a long queue, what moves one time moves all of them by as much.
func TestFairQueue_Long_TimesMoveTogether(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		const waiting = 600 // more than one command of the script moves
		s.runTranscript("clock 1000000 → ok\nfair_acquire a:t0:30s:50s → 1")
		queue, times := []any{"RPUSH", "redisson_lock_queue:{a}"}, []any{"ZADD", "redisson_lock_timeout:{a}"}
		for i := range waiting {
			id := fmt.Sprint("w", i)
			queue, times = append(queue, id), append(times, 1_000_010_000+i, id)
		}
		s.do(queue...)
		s.do(times...)
		s.runTranscript("fair_acquire a:w0:30s:50s → [30s t0 80s]")
		moved := s.do("ZRANGE", "redisson_lock_timeout:{a}", 0, -1, "WITHSCORES").([]any)
		require.Len(t, moved, 2*waiting)
		first, err := strconv.Atoi(moved[1].(string))
		require.NoError(t, err)
		require.Greater(t, first, 1_000_070_000)
		for i := range waiting {
			require.Equal(t, []any{fmt.Sprint("w", i), strconv.Itoa(first + i)}, moved[2*i:2*i+2])
		}
	})
}

// Behind a place of Redisson's a lockwheel place adds as much as Redisson would. When it leaves, it subtracts that,
// whatever its wait is. A place that no engine keeps alive subtracts the wait that the call names.
func TestFairWaiter_Leaves_SubtractsWait(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
			RPUSH redisson_lock_queue:{a} theirs → 1
			ZADD redisson_lock_timeout:{a} 1000080000 theirs → 1
			fair_acquire a:t1:30s:50s a:t2:30s:50s a:t3:30s:50s → [30s t0 380s] [30s t0 430s] [30s t0 480s]
			fair_release a:t1:50s → 0
			times a → theirs 80s, t2 130s, t3 180s
			HDEL redisson_lock_places:{a} t2 → 1
			fair_release a:t2:50s → 0
			times a → theirs 80s, t3 130s
		`)
	})
}

// What lockwheel's dead places added is subtracted once, when the last of them is removed. If each call that removes
// some of them did that, each would move the times of all.
func TestFairQueue_ManyDead_TimesMovedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		const dead = 500
		now := time.Now().UnixMilli()
		queue := []string{scripts.RedissonKey(scripts.FairQueueKey, "a"), scripts.RedissonKey(scripts.FairTimeoutKey, "a"), scripts.RedissonKey(scripts.FairPlacesKey, "a")}
		for i := range dead {
			id := fmt.Sprint("d", i)
			s.do("RPUSH", queue[0], id)
			s.do("ZADD", queue[1], now+1000*int64(i+1)+10_000_000, id)
			s.do("HSET", queue[2], id, fmt.Sprint(now-1000, ":1000:1000"))
		}
		s.do("PEXPIRE", queue[2], 1_000_000)
		s.do("RPUSH", queue[0], "theirs")
		s.do("ZADD", queue[1], now+1000*(dead+1)+10_000_000, "theirs")
		time := func() string { return s.do("ZSCORE", queue[1], "theirs").(string) }
		before := time()
		for calls := range 2 {
			s.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", now, now+1_000_000, "t1", 30_000, "", "")
			require.Equal(t, int64(dead+1-200*(calls+1)), s.do("LLEN", queue[0]))
			require.Equal(t, before, time())
			require.Positive(t, s.do("PTTL", queue[2]))
		}
		s.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", now, now+1_000_000, "t1", 30_000, "", "")
		require.Equal(t, []any{"theirs"}, s.do("LRANGE", queue[0], 0, -1))
		require.Equal(t, strconv.FormatInt(now+1000+10_000_000, 10), time())
		require.Equal(t, int64(0), s.do("EXISTS", queue[2]))
	})
}

// fillQueue has a lock held, and waiters of another client in its queue, of which some together have the same time.
func (s *server) fillQueue(waiting, together int) {
	s.t.Helper()
	s.runTranscript("clock 1000000 → ok\nfair_acquire a:t0:30s:50s → 1")
	queue, times := []any{"RPUSH", "redisson_lock_queue:{a}"}, []any{"ZADD", "redisson_lock_timeout:{a}"}
	for i := range waiting {
		id := fmt.Sprint("w", i)
		queue, times = append(queue, id), append(times, 1_000_100_000+100_000*(i/together), id)
	}
	s.do(queue...)
	s.do(times...)
}

// A waiter that leaves a long queue is removed wherever it is, and what it added is subtracted as in a short one.
func TestFairQueue_LongQueue_LeaverRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.fillQueue(2_500, 1250)
		// They share their times: nothing is moved.
		s.runTranscript(`
			fair_release a:w3:50s a:w1200:50s a:w2490:50s a:absent:50s → 0 0 0 0
			LLEN redisson_lock_queue:{a} → 2497
			ZCARD redisson_lock_timeout:{a} → 2497
			ZSCORE redisson_lock_timeout:{a} w2499 → 1000200000
			ZADD redisson_lock_timeout:{a} 1000150000 w900 → 0
			fair_release a:w900:50s → 0
			ZSCORE redisson_lock_timeout:{a} w899 → 1000100000
			ZSCORE redisson_lock_timeout:{a} w2499 → 1000150000
			LLEN redisson_lock_queue:{a} → 2496
		`)
	})
}

// A waiter that leaves the tail of a long queue of another client is removed without reading the queue: nothing
// behind it changes.
func TestFairQueue_TailOfLongQueue_LeavesUnread(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.fillQueue(2_500, 1)
		s.do("RPUSH", "redisson_lock_queue:{a}", "t1", "t2")
		s.do("ZADD", "redisson_lock_timeout:{a}", 1_300_000_000, "t1", 1_300_100_000, "t2")
		s.runTranscript(`
			fair_release a:t1:50s a:t2:50s → 0 0
			LLEN redisson_lock_queue:{a} → 2500
			ZCARD redisson_lock_timeout:{a} → 2500
			LINDEX redisson_lock_queue:{a} -1 → w2499
			ZSCORE redisson_lock_timeout:{a} w2499 → 1250000000
		`)
		if s.real != nil {
			require.Zero(t, s.real.CommandCalls(t, "lrange"))
		}
	})
}
