package main

// What RESULTS.md says about each chapter.
const (
	goalsText = "What a figure should be was set beforehand; the outcome is computed from the figures before they are rounded. A million locks " +
		"are held by the full set only. A bare round trip is a PING by rueidis, of one caller with a context that can end, as the lock's."
	kindsText = "Our kinds of lock, on one engine, in turn: names of their own, 2 048 goroutines. A Mutex is not re-entered without an owner " +
		"in the context, so it is Redisson's non-reentrant lock, too. Below, one caller takes ten names and gives them back, which counts as one pair."
	pairText = "Every goroutine locks and unlocks a name of its own. CPU, bytes and allocations are those of a pair. The last " +
		"column is how many times as many pairs a second ours does. One goroutine has a context that can end, so that rueidis " +
		"pipelines, as it does with many."
	ceilingText = "The server alone: prebuilt calls, pipelined over one plain TCP connection, by a client that only compares the bytes " +
		"that come back. Pair ran in the same rounds."
	hotText = "Everybody wants one name; a holder does nothing and unlocks. With two clients each has so many goroutines. Fewest and " +
		"most: grants of a goroutine in a round. Longest wait: median of the rounds, and the longest of all; waits that the " +
		"end of a round cut off count as far as they went. A round is stalled when nobody was granted the free lock during its last half. " +
		"Overlaps: two inside at once."
	wakeText = "Two clients hand one name to and fro: from just before the release to the return of the other one's Lock, which waits since " +
		"5 to 10 ms. The last row is a bare round trip after the same pause."
	aloneText = "One caller, one name, nothing else, with a context that can end, as a request's does. rueidis then hands each call to goroutines " +
		"of its own; with one that cannot end it lets a lone caller write and read by itself, which is shown beside. The ratios are those of a " +
		"lock to one bare call of a script that takes one, with a context that can end, and to such a PING."
	steadyText = "1 000 lock+unlock a second, begun on time whether earlier ones are done or not (open loop), with no lock held and " +
		"beside many. Called: from the call to the unlock's answer. From due: from when it was due, with what the process was late to begin."
	holdText = "Watched locks, held for three leases. Heap: live bytes a lock, with its name, beside 1 024 locks that the client held already; Redisson's is " +
		"by how much the Java heap is smaller once they were given back and collections make it no smaller any more, ± by how much it differed between the first lease and the last. " +
		"CPU in cores, while nothing but renewals happens. Late: from when a renewal was due to when the hold's deadline was seen to have moved, of 99 in 100 of at most 10 000 locks " +
		"that are looked at every 5 ms; latest: the engine's own, of all locks since it was opened. " +
		"Redisson's goroutines are threads, and whether it lost any is asked of the server."
	growthText = "Pairs a second of 2 048 goroutines of the same engine, with all these held, and with none: the mean of an engine before and of the same one after."
)

// hangs is what readers can see for themselves.
const hangs = `
rueidislock v1.0.79 can lose a wake-up when 64 goroutines want one name with NoLoopTracking: the rounds are bounded, a stalled one is
counted under Hot, and this shows it (try a few times): ` + "`go test -run '^$' -bench 'Hot/clients=./goroutines=64' -benchtime 1x -rounds 20 .`\n" + `
Redisson 4.7.0 can renew 1 000 locks that it took at once without any pause, 200 000 times a second and more, where 100 are due with a lease
of 30 s, and 1 000 with the 3 s of the quick set; other runs renew as often as they should. Beside that it can find none of its 64 connections
free: such a run has an error for a row under Hold, Unable to acquire connection. This shows the renewals, and with -set full, in one run of
two, the error: ` + "`go test -run '^$' -bench 'Hold/locks=1000$' -benchtime 1x -v .`\n"
