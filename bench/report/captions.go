package main

// The texts of RESULTS.md, one for each chapter.
const (
	goalsText = "A goal is met if every round, or every run of what has no rounds, meets it: the worst one decides, and the median is beside it. A ratio is that of " +
		"the same round of both, in which they took turns. The outcome is computed from the figures before they are rounded. Sums and longest waits are of all rounds; Flood and Planted have one figure each, and the cost model one of each check. " +
		"Before compares with an earlier revision of lockwheel, and more than 1 is better there. Only the full set holds a million locks. A bare round trip is a PING by rueidis with a context that can end, like that of the lock; that of Wake has one that cannot end."
	linkText = "Over a link that adds %v in each direction, to each round trip twice. A forwarder in a process of its own does so; it " +
		"competes for the processors, and its time counts as that of neither side. `go run ./report -link %v` writes this page.\n"
	pairText = "Every goroutine locks and unlocks a name of its own. CPU, bytes, allocations and sleeps are per pair; a sleep is a thread of the client that gives up the processor to wait. The last " +
		"column is the ratio of lockwheel's pairs per second to the row's. A single goroutine has a context that can end, so that rueidis " +
		"pipelines, as it does with many."
	hotText = "All goroutines lock one name; a holder does nothing and unlocks. With two clients, each has this many goroutines. Fewest and " +
		"most: grants of a goroutine in a round. Longest wait: the median of the rounds, and the longest of all; a wait that the " +
		"end of a round cut off counts with its time until then. A round is stalled if the free lock was not granted during its last half. " +
		"Overlaps: two holders at once."
	wakeText = "Two clients pass one name back and forth: from just before the release to the return of the other client's Lock, which has waited " +
		"for 5 to 10 ms. Over plain TCP one connection releases, another has the message, and a third acquires: what the protocol needs, with little in between. " +
		"The last row is a bare round trip after the same pause."
	aloneText = "One caller, one name, nothing else, with a context that can end, as that of a request. rueidis then hands each call to goroutines " +
		"of its own. With a context that cannot end, a single caller writes and reads by itself, which is shown as well. The ratios are those of a " +
		"lock to one bare call of a script that locks, with a context that can end, and to such a PING."
	steadyText = "1 000 lock+unlock a second, begun on time whether earlier ones are done or not (open loop), with no lock held and " +
		"with many. Called: from the call to the unlock's reply. From due: from when it was due, including the delay of the process."
	holdText = "Watched locks. Renewals are measured for a lease, in the quick set for three, after a first interval; of lockwheel for another one, in which it is measured how late they are.\n\n" +
		"- heap: live bytes per lock, with its name, in a client that already held 1 024 other locks. Redisson's is by how much the Java heap shrinks when the locks are released, " +
		"after collections no longer make it smaller, ± by how much it differed between the first lease and the last.\n" +
		"- cores: while nothing but renewals happens. A renewal: the processor time of one. Server alone: that of the same renewals, recorded and sent back to back after each run.\n" +
		"- late: from when a renewal was due to when the hold's deadline was seen to have moved, of 99 in 100 of at most 10 000 locks that are checked every 5 ms.\n" +
		"- latest: the longest of that sample, and of the engine's own figure of its last minute.\n" +
		"- Redisson's goroutines are threads, and the server shows whether it lost any lock."
	growthText = "Pairs a second of 2 048 goroutines of the same engine, with all these locks held, and with none: the mean of a new engine before and of the same engine after."
	// slowestText follows growthText for figures that have a slowest second, and crestText for those measured before.
	slowestText = " Beside them it is the mean of a whole renewal interval: locks that were acquired together are renewed in one part of it, which has the slowest second."
	crestText   = " Beside them it is the median of rounds of a second, all of one part of the renewal interval, with more or fewer renewals than the whole has."
)

// peerIssuesText describes failures of peers that readers can reproduce.
const peerIssuesText = `
rueidislock v1.0.79 can lose a wake-up when 64 goroutines lock one name with NoLoopTracking. The rounds are bounded, and Hot counts a
stalled one. This shows it (try a few times): ` + "`go test -run '^$' -bench 'Hot/./clients=./goroutines=64' -rounds 20 .`\n" + `
Redisson 4.7.0 can renew 1 000 locks that it acquired at once without a pause: 200 000 times a second and more, where 100 are due with a lease
of 30 s, and 1 000 with the 3 s of the quick set. Other runs renew as often as they should. Meanwhile it can find none of its 64 connections
free: the row of such a run under Hold is the error Unable to acquire connection. This shows the renewals and, with -set full, in one run of
two, the error: ` + "`go test -run '^$' -bench 'Hold/./locks=1000$' -v .`\n"
