package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// markdown is RESULTS.md.
func (r *results) markdown() string {
	var b strings.Builder
	b.WriteString("# Results\n\nWritten by `go run ./report`; not to be edited by hand.\n\n")
	b.WriteString(r.circumstances())
	for _, part := range []struct {
		title, chart, text string
		body               string
	}{
		{"Pair", "pair", pairText, r.pairTables()},
		{"Ceiling", "", ceilingText, r.ceilingTable()},
		{"Hot", "hot", hotText, r.hotTables()},
		{"Wake", "wake", wakeText, r.wakeTable()},
		{"Latency of one caller", "alone", aloneText, r.aloneTable()},
		{"Latency under a steady load", "steady", steadyText, r.steadyTable()},
		{"Hold", "", holdText, r.holdTable()},
	} {
		if part.body == "" {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", part.title, part.text)
		if part.chart != "" {
			fmt.Fprintf(&b, "![%s](charts/%s.svg)\n\n", part.title, part.chart)
		}
		b.WriteString(part.body)
	}
	return b.String()
}

const (
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
	holdText = "Watched locks, held for three leases. CPU in cores, while nothing but renewals happens. Redisson's goroutines are threads, and whether it lost any is asked of the server. Beside: pairs a second of 2048 goroutines " +
		"of the same engine, with all these held, and the ratio to none held. Latest: the latest that a renewal was confirmed past its due time."
)

func (r *results) circumstances() string {
	t, settings := newTable("", ""), newTable("contestant", "version", "settings")
	t.prose, settings.prose = true, true
	t.row("date", r.began.UTC().Format("2006-01-02 15:04 MST"))
	t.row("machine", r.machine.cpu+"; the server runs on it, too, unless `-redis` says otherwise")
	t.row("system", r.machine.system)
	t.row("server", r.machine.server)
	t.row("set", fmt.Sprintf("%s, took %v", r.set, r.took.Round(time.Second)))
	t.row("again", fmt.Sprintf("`cd bench && go run ./report -set %s`", r.set))
	for _, kind := range append(peers.All(), peers.Redisson) {
		settings.row(kind.Name, r.machine.versions[kind.Module], kind.Settings)
	}
	return t.String() + "\nContestants take turns, A B C A B C …; figures are medians of the rounds, and ratios are of medians. A lease is " +
		"30 s where nothing else is said.\n\n" + settings.String() + hangs
}

const hangs = `
rueidislock v1.0.79 can lose a wake-up when 64 goroutines want one name with NoLoopTracking: the rounds are bounded, a stalled one is
counted under Hot, and this shows it (try a few times): ` + "`go test -run '^$' -bench 'Hot/clients=./goroutines=64' -benchtime 1x -rounds 20 .`\n"

func (r *results) pairTables() string {
	var b strings.Builder
	for _, p := range r.pairs {
		fmt.Fprintf(&b, "%s\n%s\n", goroutines(p.goroutines), standingsTable(p.standings))
	}
	return b.String()
}

func goroutines(n int) string {
	if n == 1 {
		return "**1 goroutine**\n"
	}
	return fmt.Sprintf("**%s goroutines**\n", count(float64(n)))
}

func standingsTable(standings []bench.Standing) string {
	t := newTable("", "pairs/s", "ns/pair", "client CPU µs", "server CPU µs", "B", "allocs", "ours is")
	for i := range standings {
		s := &standings[i]
		if s.Failure != "" {
			t.failed(s.Name, s.Failure)
			continue
		}
		t.row(s.Name, count(s.PairsPerSecond()), count(s.NsPerPair()), micros(s.ClientCPU()), micros(s.ServerCPU()),
			count(s.BytesPerPair()), allocs(&s.Series), ratio(standings[0].PairsPerSecond(), s.PairsPerSecond()))
	}
	return t.String()
}

// allocs is a dash for those whose allocations are not counted.
func allocs(s *measure.Series) string {
	if n := s.AllocsPerPair(); n > 0 {
		return decimals(n)
	}
	return "–"
}

func (r *results) ceilingTable() string {
	c := &r.ceilings
	if c.Standings == nil {
		return ""
	}
	text := standingsTable(c.Standings)
	if pair, batched := bench.Find(c.Standings, bench.CeilingPair), bench.Find(c.Standings, bench.CeilingBatched); pair != nil && batched != nil {
		text += fmt.Sprintf("\nPair reached %s of the server alone with batched scripts, which were sent %d keys a call; Pair's calls carried %.1f.\n",
			ratio(pair.PairsPerSecond(), batched.PairsPerSecond()), c.Sent, c.Keys)
	}
	return text
}

func (r *results) hotTables() string {
	var b strings.Builder
	for _, h := range r.hots {
		who := "one client"
		if h.clients == 2 {
			who = "two clients compete"
		}
		fmt.Fprintf(&b, "**%d goroutines, %s**\n\n%s\n", h.goroutines, who, hotTable(h))
	}
	return b.String()
}

func hotTable(h hots) string {
	t := newTable("", "pairs/s", "client CPU µs", "server CPU µs", "B", "allocs", "fewest", "most", "shares", "longest wait ms", "stalled", "overlaps", "ours is")
	for i := range h.fights {
		f := &h.fights[i]
		if f.Failure != "" {
			t.failed(f.Name, f.Failure)
			continue
		}
		shares := "–"
		if h.clients == 2 {
			shares = fmt.Sprintf("%.0f : %.0f", 100*f.Shares[0], 100*f.Shares[1])
		}
		t.row(f.Name, count(f.PairsPerSecond()), micros(f.ClientCPU()), micros(f.ServerCPU()), count(f.BytesPerPair()), allocs(&f.Series),
			fmt.Sprint(f.Fewest), fmt.Sprint(f.Most), shares, millis(f.MedianLongest)+", "+millis(f.LongestWait),
			fmt.Sprintf("%d of %d", f.Stalled, len(f.Samples)), fmt.Sprint(f.Overlaps),
			ratio(h.fights[0].PairsPerSecond(), f.PairsPerSecond()))
	}
	return t.String()
}

func (r *results) wakeTable() string {
	if r.wakings == nil {
		return ""
	}
	ping := r.wakings[len(r.wakings)-1]
	t := newTable("", "p50 µs", "p99 µs", "p50 in round trips")
	for _, w := range r.wakings {
		if w.Failure != "" {
			t.failed(w.Name, w.Failure)
			continue
		}
		t.row(w.Name, micros(w.Took.Quantile(0.5)), micros(w.Took.Quantile(0.99)), times(&w.Took, &ping.Took, 0.5))
	}
	return t.String()
}

// times is the ratio of two histograms at a quantile.
func times(a, b *measure.Histogram, q float64) string {
	return ratio(float64(a.Quantile(q)), float64(b.Quantile(q)))
}

func (r *results) aloneTable() string {
	if r.alone == nil {
		return ""
	}
	t := newTable("", "lock p50 µs", "p99", "p99.9", "unlock p50 µs", "p99", "p99.9", "p50 to a script call", "p99", "p50 to a PING")
	var call, ping *bench.Alone
	for _, a := range r.alone {
		switch a.Name {
		case bench.DirectEnding:
			call = a
		case bench.PingEnding:
			ping = a
		}
	}
	for _, a := range r.alone {
		if a.Failure != "" {
			t.failed(a.Name, a.Failure)
			continue
		}
		t.row(a.Name, micros(a.Lock.Quantile(0.5)), micros(a.Lock.Quantile(0.99)), micros(a.Lock.Quantile(0.999)),
			micros(a.Unlock.Quantile(0.5)), micros(a.Unlock.Quantile(0.99)), micros(a.Unlock.Quantile(0.999)),
			times(&a.Lock, &call.Lock, 0.5), times(&a.Lock, &call.Lock, 0.99), times(&a.Lock, &ping.Lock, 0.5))
	}
	return t.String()
}

func (r *results) steadyTable() string {
	if r.loads == nil {
		return ""
	}
	t := newTable("", "held", "called p50 µs", "p99", "p99.9", "from due p50 µs", "p99", "p99.9", "called p99 to none held")
	var none *bench.Load
	for _, l := range r.loads {
		if l.Failure != "" {
			t.failed(l.Name, l.Failure)
			continue
		}
		beside := "–"
		if l.Held == 0 {
			none = l
		} else if none != nil && none.Name == l.Name {
			beside = times(&l.Called, &none.Called, 0.99)
		}
		t.row(l.Name, count(float64(l.Held)), micros(l.Called.Quantile(0.5)), micros(l.Called.Quantile(0.99)), micros(l.Called.Quantile(0.999)),
			micros(l.FromDue.Quantile(0.5)), micros(l.FromDue.Quantile(0.99)), micros(l.FromDue.Quantile(0.999)), beside)
	}
	return t.String()
}

func (r *results) holdTable() string {
	if r.keepings == nil {
		return ""
	}
	t := newTable("", "locks", "lease", "heap B a lock", "goroutines a lock", "client cores", "server cores", "renewals/s", "latest ms", "lost",
		"acquired in s", "beside pairs/s", "to none held")
	for _, k := range r.keepings {
		latest, beside := "–", "–"
		if k.Latest >= 0 {
			latest = millis(k.Latest)
		}
		if k.During > 0 {
			beside = count(k.During)
		}
		if k.Failure != "" {
			t.failed(fmt.Sprintf("%s, %s locks", k.Name, count(float64(k.Keep.Locks))), k.Failure)
			continue
		}
		t.row(k.Name, count(float64(k.Keep.Locks)), k.Keep.Lease.String(), count(k.Heap), decimals(k.Goroutines), decimals(k.Client), decimals(k.Server),
			count(k.Renewals), latest, count(float64(k.Lost)), decimals(k.Taken.Seconds()), beside, ratio(k.During, k.Before))
	}
	return t.String()
}
