package faults_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/stretchr/testify/require"
)

// what is the kind of an operation.
type what string

const (
	took         what = "took"   // was granted the lock
	applyOptions what = "read"   // read the number that the lock guards, and held the lock afterwards
	wrote        what = "wrote"  // wrote it, and held the lock afterwards
	stray        what = "stray"  // wrote it, and did not hold the lock afterwards, or that is unknown
	left         what = "left"   // unlocked
	lost         what = "lost"   // found the lock lost, between the last successful check and this one
	wiped        what = "wiped"  // the server lost the key: not an operation of a holder
	forgot       what = "forgot" // the server lost the count of tokens: not an operation of a holder
	begun        what = "begun"  // is about to write: not part of a history
	noted        what = "noted"  // another event, for readers of a history
)

// op is one operation of a history.
type op struct {
	What     what
	Lock     string
	Hold     string // one grant; "" for wiped
	Tenure   string // the holder's id in the server: Hold.ID, which consecutive grants can share
	Token    uint64 // of a fenced lock
	Value    int    // read or written
	Note     string
	From, To int64 // in nanoseconds on the machine's clock, which processes share
	Told     int64 // for a loss: when Done was closed
}

func now() int64 { return time.Now().UnixNano() }

// record collects operations from many goroutines.
type record struct {
	mu    sync.Mutex
	deeds []op
}

func (r *record) note(d op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deeds = append(r.deeds, d)
}

// byLock returns the history of each lock, and clears the record.
func (r *record) byLock() map[string][]op {
	r.mu.Lock()
	defer r.mu.Unlock()
	histories := map[string][]op{}
	for _, d := range r.deeds {
		histories[d.Lock] = append(histories[d.Lock], d)
	}
	r.deeds = nil
	return histories
}

// model is the state of one lock in a linear history, and the number that it guards.
type model struct {
	holder, tenure string // tenure stays the last one while the lock is free: it can be handed off
	doomed         string // tenures that the server has lost with their holders, which may continue until they know: "tenure=holder;"
	token          uint64 // the greatest so far
	value          int
}

func (b model) revokedOps() map[string]string {
	doomed := map[string]string{}
	for entry := range strings.SplitSeq(b.doomed, ";") {
		if tenure, holder, ok := strings.Cut(entry, "="); ok {
			doomed[tenure] = holder
		}
	}
	return doomed
}

func (b model) withRevoked(tenure, holder string) model {
	doomed := b.revokedOps()
	doomed[tenure] = holder
	b.doomed = ""
	for _, tenure := range slices.Sorted(maps.Keys(doomed)) {
		b.doomed += tenure + "=" + doomed[tenure] + ";"
	}
	return b
}

// holds reports whether the operation's holder has the lock, or had it when the server lost it.
func (b model) holds(d op) bool {
	return b.holder == d.Hold || b.revokedOps()[d.Tenure] == d.Hold
}

// after returns the state after an operation, and whether the operation was possible.
func (b model) after(d op) (model, bool) {
	switch d.What {
	case took:
		if holder, doomed := b.revokedOps()[d.Tenure]; doomed {
			return b.withRevoked(d.Tenure, d.Hold), holder == ""
		}
		possible := b.holder == ""
		if locktest.KindOf(d.Lock) == "fenced" {
			possible = possible && d.Token > b.token
		}
		b.holder, b.tenure, b.token = d.Hold, d.Tenure, d.Token
		return b, possible
	case applyOptions:
		return b, b.holds(d) && b.value == d.Value
	case wrote, stray:
		b.value = d.Value
		return b, d.What == stray || b.holds(d)
	case left, lost:
		possible := b.holds(d)
		if b.holder != d.Hold {
			return b.withRevoked(d.Tenure, ""), possible
		}
		b.holder = ""
		return b, possible
	case wiped:
		if b.tenure != "" {
			b = b.withRevoked(b.tenure, b.holder)
		}
		b.holder, b.tenure = "", ""
		return b, true
	}
	if d.What == forgot {
		b.token = 0
		return b, true
	}
	panic("no deed: " + string(d.What))
}

var lockModel = porcupine.Model{
	Init: func() any { return model{} },
	Step: func(state, input, _ any) (bool, any) {
		next, possible := state.(model).after(input.(op))
		return possible, next
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

// checkHistory checks the history of one lock. It takes a while for long histories without such an order.
func checkHistory(deeds []op) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	clients := map[string]int{}
	var operations []porcupine.Operation
	for _, d := range deeds {
		if d.What == begun || d.What == noted {
			continue
		}
		if _, known := clients[d.Hold]; !known {
			clients[d.Hold] = len(clients)
		}
		operations = append(operations, porcupine.Operation{
			ClientId: clients[d.Hold], Input: d, Call: d.From, Return: d.To,
		})
	}
	return porcupine.CheckOperationsVerbose(lockModel, operations, time.Minute)
}

// requireLinear fails with a picture of the history if there is no such order.
func requireLinear(t *testing.T, name string, deeds []op) {
	t.Helper()
	result, info := checkHistory(deeds)
	if result == porcupine.Ok {
		return
	}
	picture, err := os.CreateTemp("", "history-*.html")
	require.NoError(t, err)
	defer picture.Close()
	require.NoError(t, porcupine.Visualize(lockModel, info, picture))
	require.NoError(t, os.WriteFile(picture.Name()+".txt", []byte(written(deeds)), 0o600))
	require.Equal(t, porcupine.Ok, result, "the history of %s: see %s, and as text %[2]s.txt", name, picture.Name())
}

// written returns a history as text, in milliseconds.
func written(deeds []op) string {
	var b strings.Builder
	slices.SortFunc(deeds, func(a, b op) int { return cmp.Compare(a.From, b.From) })
	for _, d := range deeds {
		ms := func(at int64) float64 { return float64(at-deeds[0].From) / 1e6 }
		fmt.Fprintf(&b, "%10.3f %10.3f %-6s %-14s %s %d %d %s\n", ms(d.From), ms(d.To), d.What, d.Hold, d.Tenure, d.Token, d.Value, d.Note)
	}
	return b.String()
}

// requireLosersKnew requires that after the server lost a key, its holder did not use the lock after its lease.
// Unless its process was paused, Done must have been closed by then, or as late as a timer may be.
func requireLosersKnew(t *testing.T, deeds []op, longest time.Duration) {
	t.Helper()
	slices.SortFunc(deeds, func(a, b op) int { return cmp.Compare(a.From, b.From) })
	first := map[string]int64{} // the first grant of each tenure
	for _, d := range deeds {
		if _, known := first[d.Tenure]; !known && d.What == took {
			first[d.Tenure] = d.To
		}
	}
	for _, wipe := range deeds {
		if wipe.What != wiped {
			continue
		}
		for _, d := range deeds {
			since, known := first[d.Tenure]
			if known && since < wipe.From && (d.What == applyOptions || d.What == wrote) {
				require.Less(t, d.From, wipe.To+int64(longest), "%+v goes on after %+v", d, wipe)
			}
			if known && since < wipe.From && d.What == lost && strings.HasPrefix(d.Hold, sameProcess) {
				require.Less(t, d.Told, wipe.To+int64(longest+locktest.LateTimer), "%+v comes late after %+v", d, wipe)
			}
		}
	}
}

// sameProcess begins the names of workers in the process that is never paused.
const sameProcess = "engine"

// forever is the end of an operation that may still happen: the command of a killed process.
const forever = int64(math.MaxInt64)

// Tests of the checker itself: possible histories, and impossible ones.
func TestHistory_TwoHolders_Found(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		possible bool
		deeds    []op
	}{
		"one after the other": {true, []op{
			{What: took, Hold: "a", Tenure: "1", From: 0, To: 1},
			{What: applyOptions, Hold: "a", Tenure: "1", From: 2, To: 3},
			{What: wrote, Hold: "a", Tenure: "1", Value: 1, From: 4, To: 5},
			{What: took, Hold: "b", Tenure: "2", From: 0, To: 9},
			{What: left, Hold: "a", Tenure: "1", From: 6, To: 10},
			{What: applyOptions, Hold: "b", Tenure: "2", Value: 1, From: 11, To: 12},
			{What: lost, Hold: "b", Tenure: "2", From: 12, To: 20},
		}},
		"granted beside a holder": {false, []op{
			{What: took, Hold: "a", Tenure: "1", From: 0, To: 1},
			{What: took, Hold: "b", Tenure: "2", From: 0, To: 5},
			{What: left, Hold: "a", Tenure: "1", From: 6, To: 10},
		}},
		"lost, and used afterwards": {false, []op{
			{What: took, Hold: "a", Tenure: "1", From: 0, To: 1},
			{What: took, Hold: "b", Tenure: "2", From: 0, To: 5},
			{What: applyOptions, Hold: "a", Tenure: "1", From: 6, To: 7},
			{What: lost, Hold: "a", Tenure: "1", From: 7, To: 10},
		}},
		"lost in time": {true, []op{
			{What: took, Hold: "a", Tenure: "1", From: 0, To: 1},
			{What: lost, Hold: "a", Tenure: "1", From: 1, To: 10},
			{What: took, Hold: "b", Tenure: "2", From: 0, To: 5},
		}},
		"a write that got lost": {false, []op{
			{What: took, Hold: "a", Tenure: "1", From: 0, To: 1},
			{What: wrote, Hold: "a", Tenure: "1", Value: 1, From: 2, To: 3},
			{What: left, Hold: "a", Tenure: "1", From: 4, To: 5},
			{What: took, Hold: "b", Tenure: "2", From: 6, To: 7},
			{What: applyOptions, Hold: "b", Tenure: "2", Value: 0, From: 8, To: 9},
		}},
		"a stray write": {true, []op{
			{What: took, Hold: "a", Tenure: "1", From: 0, To: 1},
			{What: lost, Hold: "a", Tenure: "1", From: 1, To: 2},
			{What: stray, Hold: "a", Tenure: "1", Value: 7, From: 1, To: forever},
			{What: took, Hold: "b", Tenure: "2", From: 6, To: 7},
			{What: applyOptions, Hold: "b", Tenure: "2", Value: 0, From: 8, To: 9},
			{What: applyOptions, Hold: "b", Tenure: "2", Value: 7, From: 10, To: 11},
		}},
		"two holders, after the server lost the key": {true, []op{
			{What: took, Hold: "a", Tenure: "1", From: 0, To: 1},
			{What: wiped, From: 2, To: 3},
			{What: took, Hold: "b", Tenure: "2", From: 4, To: 5},
			{What: wrote, Hold: "a", Tenure: "1", Value: 1, From: 6, To: 7},
			{What: left, Hold: "a", Tenure: "1", From: 8, To: 9},
			{What: took, Hold: "c", Tenure: "1", From: 8, To: 10},
			{What: lost, Hold: "c", Tenure: "1", From: 11, To: 12},
			{What: left, Hold: "b", Tenure: "2", From: 13, To: 14},
		}},
		"tokens that grow, with gaps": {true, []op{
			{What: took, Lock: "n/fenced", Hold: "a", Tenure: "1", Token: 1, From: 0, To: 1},
			{What: left, Lock: "n/fenced", Hold: "a", Tenure: "1", From: 2, To: 3},
			{What: took, Lock: "n/fenced", Hold: "b", Tenure: "1", Token: 4, From: 0, To: 5},
		}},
		"the same token again": {false, []op{
			{What: took, Lock: "n/fenced", Hold: "a", Tenure: "1", Token: 4, From: 0, To: 1},
			{What: left, Lock: "n/fenced", Hold: "a", Tenure: "1", From: 2, To: 3},
			{What: took, Lock: "n/fenced", Hold: "b", Tenure: "1", Token: 4, From: 4, To: 5},
		}},
		"a token that is less": {false, []op{
			{What: took, Lock: "n/fenced", Hold: "a", Tenure: "1", Token: 4, From: 0, To: 1},
			{What: left, Lock: "n/fenced", Hold: "a", Tenure: "1", From: 2, To: 3},
			{What: took, Lock: "n/fenced", Hold: "b", Tenure: "2", Token: 3, From: 4, To: 5},
		}},
		"a fenced lock without a token": {false, []op{
			{What: took, Lock: "n/fenced", Hold: "a", Tenure: "1", From: 0, To: 1},
		}},
		"less, after the server lost the lock, not its count": {false, []op{
			{What: took, Lock: "n/fenced", Hold: "a", Tenure: "1", Token: 4, From: 0, To: 1},
			{What: wiped, Lock: "n/fenced", From: 2, To: 3},
			{What: took, Lock: "n/fenced", Hold: "b", Tenure: "2", Token: 1, From: 4, To: 5},
		}},
		"less, after the server lost its count": {true, []op{
			{What: took, Lock: "n/fenced", Hold: "a", Tenure: "1", Token: 4, From: 0, To: 1},
			{What: wiped, Lock: "n/fenced", From: 2, To: 3},
			{What: forgot, Lock: "n/fenced", From: 2, To: 3},
			{What: took, Lock: "n/fenced", Hold: "b", Tenure: "2", Token: 1, From: 4, To: 5},
			{What: left, Lock: "n/fenced", Hold: "a", Tenure: "1", From: 6, To: 7},
		}},
		"two holders, and the key was lost before": {false, []op{
			{What: wiped, From: 0, To: 1},
			{What: took, Hold: "a", Tenure: "1", From: 2, To: 3},
			{What: took, Hold: "b", Tenure: "2", From: 4, To: 5},
			{What: left, Hold: "a", Tenure: "1", From: 6, To: 7},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, _ := checkHistory(c.deeds)
			require.Equal(t, c.possible, result == porcupine.Ok)
		})
	}
}
