// Package bench compares lockwheel with other ways to lock, on one server and in one run. Contestants take turns, A B C
// A B C …; figures are medians of the rounds. Ratios are of medians, so they hold on a machine with a speed that
// drifts. Hold, Scale and the steady load have no rounds, but whole runs. Compare the ratios: absolute figures are
// those of this machine.
//
//	go run ./report -set full                             # everything: figures/, RESULTS.md, charts/, README's part
//	go run ./report -set full -only flood                 # ten minutes, on an otherwise idle machine: floods of up to a million waiters
//	go run ./report -only hold,ceiling                    # two sections; the others stay as they were
//	go run ./report -link 250us                           # over a link with a delay, into links/250µs/
//	go test -run '^$' -bench . .                          # the same figures as benchmarks; a set: -set full
//	go test -run '^$' -bench Hot -redis 127.0.0.1:6379 .  # on a server of your own
//	go test -run '^$' -bench Pair -count 6 . >new.txt && benchstat -col /client new.txt
//
// A benchmark measures its rounds whatever -benchtime is, and then prints a line per contestant. The line is of the
// medians, or with -count n of each of n rounds. A pattern for -bench names parts in the order of the names that are
// printed, and the client first. The environment variable LOCKWHEEL_BENCH_REDIS is the same as -redis. A contestant
// that fails or hangs, or lets two hold a lock at once, has no line; -v prints the reason.
//
//	Pair     lock and unlock by 1 to 16384 goroutines, each with a name of its own
//	Ceiling  the limit: Pair beside the same scripts sent back to back, and a bare loop; the same of renewals
//	Kinds    the kinds of lock, ten names locked atomically, a quorum of three; each beside that of a peer
//	Hot      all goroutines lock one name, from one client or from two
//	Wake     from a release to the grant for a waiter in another client
//	Latency  one caller alone
//	Steady   a steady load while many locks are held; in the report a part of Latency
//	Gateway  what a lock adds to a request of an HTTP service
//	Flood    an unrelated lock during a flood of waiters, from their arrival to their end; "before" is without them
//	Hold     many watched locks held for a lease or some: how late renewals are, and the throughput meanwhile
//	Scale    what a renewal costs, from a thousand locks to ten million
//	Sizing   a cost model, and what it predicts for pairs beside held locks, on one server and on a cluster
//	Planted  locks under the names of which another program has stored very much
//	Before   the library beside an earlier revision of it; only in the report, and only if asked for
//
// The contestants and their settings are in package peers; RESULTS.md shows them too:
//
//	contestant   connections          asks again after   lease; renewal
//	lockwheel    1                    woken              30s; every 10s
//	direct       1                    1ms                30s; none
//	rueidislock  1                    woken              30s; every 10s
//	redislock    1 a goroutine, ≤256  1ms                30s; none
//	redsync      1 a goroutine, ≤256  1ms                30s; none
//	redisson     64                   woken              30s; every 10s
//
// Redisson takes part in Pair, Kinds, Hot, Hold and Flood. It runs in a Java process of its own, the program of
// interop/java, which is warmed up before the first round. Its CPU is that of the whole process. Without Java 17 and
// Maven it is left out, and the report says why.
//
// rueidislock has KeyMajority 1, TryNextAfter 10s (its 20ms fail under load) and NoLoopTracking, which is faster. On
// contended names NoLoopTracking can lose a wake-up in v1.0.79. There it is measured without and with it, and rounds
// that stalled are counted.
package bench
