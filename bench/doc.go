// Package bench measures lockwheel beside other ways to lock, on one server and in one run. Contestants take
// turns, A B C A B C …, figures are medians of the rounds and ratios are of medians, so that they hold on a
// machine whose speed drifts; only what lasts long, Hold and the steady load of Latency, each does once.
// Absolute figures are this machine's; the ratios are what to compare.
//
//	go run ./report -set full                             # everything: figures/, RESULTS.md, charts/, README's part
//	go run ./report -set full -only flood                 # ten minutes, on a machine that does nothing else: floods of up to a million waiters
//	go run ./report -only hold,ceiling                    # two sections; the others stay as they were
//	go test -run '^$' -bench . -benchtime 1x .            # the same figures as benchmarks; a set: -set full
//	go test -run '^$' -bench Hot -redis 127.0.0.1:6379 .  # on a server of your own
//
// A benchmark measures its rounds whatever -benchtime says, and then gives every contestant a line. The variable
// LOCKWHEEL_BENCH_REDIS does what -redis does. Who fails or hangs has no line; -v says why.
//
//	Pair     lock and unlock of names of their own, by 1 to 16384 goroutines
//	Ceiling  what the server can do at all: raw pipelined calls, beside Pair
//	Kinds    our kinds of lock beside each other, and ten names as one
//	Hot      everybody on one name, of one client or of two
//	Wake     from a release to the grant of who waits in another client
//	Latency  one caller alone; and a steady load beside many locks held
//	Flood    an unrelated lock beside very many waiters, from their coming to their leaving; "before" is with none
//	Hold     many watched locks kept for three leases, how late their renewals are, and the throughput beside them
//
// The contestants and their settings, which RESULTS.md shows, too, are in package peers:
//
//	contestant   connections          asks again after   lease; renewal
//	lockwheel    1                    woken              30s; every 10s
//	direct       1                    1ms                30s; none
//	rueidislock  1                    woken              30s; every 10s
//	redislock    1 a goroutine, ≤256  1ms                30s; none
//	redsync      1 a goroutine, ≤256  1ms                30s; none
//	redisson     64                   woken              30s; every 10s
//
// Redisson takes part in Pair, Hot, Hold and Flood. It runs in a Java machine of its own, the program of interop/java, which
// does the work and is warmed up before the first round; its CPU is that of the whole machine. Without Java 17 and Maven
// it is left out, and the report says why.
//
// rueidislock has KeyMajority 1, TryNextAfter 10s (its 20ms fail under load) and NoLoopTracking, which is quicker.
// On contended names NoLoopTracking can lose a wake-up in v1.0.79; there it is measured without and with it,
// and rounds that stalled are counted.
package bench
