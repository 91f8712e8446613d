package coordinator

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/internal/long"
)

// manyEnv sets the number of holds for the tests that are counted.
const manyEnv = "LOCKWHEEL_MANY_HOLDS"

// holdCountFromEnv returns the number of holds for such a test.
func holdCountFromEnv(t *testing.T, usually int) int {
	t.Helper()
	text, set := os.LookupEnv(manyEnv)
	if !set {
		return usually
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

var kindsOfMany = map[string]actor.LockKind{"plain": actor.Plain, "fair": actor.Fair, "write": actor.Write, "read": actor.Read}

// An owner enters a lock very often, with leases of all lengths. It extends its holds, counts them, and releases them
// in any order or lets them expire. At each moment it has the holds that it should have.
func TestReentry_ManyHolds_Correct(t *testing.T) {
	n := holdCountFromEnv(t, 200)
	for name, kind := range kindsOfMany {
		t.Run(name, func(t *testing.T) { newReentrantOwner(t, kind, n).run() })
	}
}

// reentrantOwner is an owner with very many holds on one name, a server that replies at once, and the coordinator
// between them.
type reentrantOwner struct {
	t     *testing.T
	c     *Coordinator
	kind  actor.LockKind
	n     int
	now   time.Duration
	holds []*actor.Hold
}

func newReentrantOwner(t *testing.T, kind actor.LockKind, n int) *reentrantOwner {
	config := harnessConfig()
	config.MaxHold = time.Minute
	return &reentrantOwner{t: t, c: New(config, 1), kind: kind, n: n, now: time.Second}
}

func (e *reentrantOwner) run() {
	random := rand.New(rand.NewPCG(1, 2))
	for range e.n {
		lease := time.Duration(0)
		if random.IntN(3) > 0 {
			lease = 20*time.Second + time.Duration(random.IntN(e.n))*10*time.Second/time.Duration(e.n)
		}
		e.enter(lease)
		e.requireCount(len(e.holds))
	}
	for range e.n / 4 {
		e.turn(e.extension(random))
	}
	var together []*actor.Request
	for range e.n / 4 {
		together = append(together, e.extension(random))
	}
	e.turn(together...)
	for i := range e.n / 2 {
		at := []int{0, len(e.holds) - 1, random.IntN(len(e.holds))}[i%3]
		e.turn(&actor.Request{Op: actor.Unlock, Hold: e.holds[at]})
		e.holds[at] = e.holds[len(e.holds)-1]
		e.holds = e.holds[:len(e.holds)-1]
		e.requireCount(len(e.holds))
	}
	for ends := e.now + 2*time.Minute; e.now < ends && e.c.Stats().Held > 0; {
		e.now += 5 * time.Millisecond
		e.turn()
	}
	require.Zero(e.t, e.c.Stats().Held)
	require.Zero(e.t, e.c.Fx.HeldLocks)
}

func (e *reentrantOwner) enter(lease time.Duration) {
	hold := &actor.Hold{}
	r := &actor.Request{Op: actor.Acquire, Key: "k", Kind: e.kind, Hold: hold, Lease: lease}
	if len(e.holds) > 0 {
		r.Owner = e.holds[0].Owner
	}
	e.turn(r)
	require.True(e.t, r.Completed())
	require.NoError(e.t, r.Err)
	e.holds = append(e.holds, hold)
}

func (e *reentrantOwner) extension(random *rand.Rand) *actor.Request {
	return &actor.Request{Op: actor.Extend, Hold: e.holds[random.IntN(len(e.holds))], Lease: time.Duration(20+random.IntN(10)) * time.Second}
}

func (e *reentrantOwner) requireCount(want int) {
	r := &actor.Request{Op: AskCount, Key: "k", Kind: e.kind, Owner: e.holds[0].Owner}
	e.turn(r)
	if r.State == nil || r.State.Count != want {
		require.Equal(e.t, want, r.State.Count)
	}
}

// turn hands requests to the coordinator and replies to the commands that it sends.
func (e *reentrantOwner) turn(requests ...*actor.Request) {
	var first, last *LoopMessage
	for _, r := range requests {
		r.Ready = make(chan struct{}, 1)
		m := &LoopMessage{Value: r}
		if first == nil {
			first = m
		} else {
			last.Next = m
		}
		last = m
	}
	for {
		e.c.Turn(e.now, first)
		for _, hold := range e.c.Fx.HoldEnds {
			hold.Hold.End(hold.Err, hold.Cause, hold.HeldUntil)
		}
		first = nil
		for _, b := range e.c.Batches {
			b.Sent, b.Replies = e.now, b.Replies[:0]
			for range b.Commands {
				b.Replies = append(b.Replies, actor.Reply{Status: actor.OK, Listeners: -1})
			}
			b.Msg.Next = first
			first = &b.Msg
		}
		e.c.ResetOutputs()
		if first == nil {
			return
		}
		e.now += 10 * time.Microsecond
	}
}

// Ten times as many holds take about ten times as many steps, whatever is done with them: nothing visits all of them
// again and again.
func TestSteps_ManyHolds_GrowLinearly(t *testing.T) {
	long.Only(t, "it builds the tests of this package so that they count their steps")
	program := filepath.Join(t.TempDir(), "counting.test")
	const packages = "github.com/lockwheel/lockwheel/actor,github.com/lockwheel/lockwheel/engine/coordinator"
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-covermode=count", "-coverpkg="+packages, "-o", program, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	tests := map[string]string{
		"readers":                       "^TestReaders_Many_AcquiredAndRenewed$",
		"fair waiters":                  "^TestFairWaiters_Many_Served$",
		"fair waiters who leave":        "^TestFairWaiters_Many_Leave$",
		"who tries behind many":         "^TestTries_BehindManyWaiters_Rejected$",
		"who tries behind given up":     "^TestFairTries_BehindManyGivenUp_Rejected$",
		"several behind overtaken":      "^TestMultis_BehindOvertakenFlood_Wait$",
		"owners who wait twice":         "^TestOwners_WaitTwice_ReenterOnGrant$",
		"a writer beside whom many are": "^TestWriter_ManyWaitingReaders_Reads$",
	}
	for kind := range kindsOfMany {
		tests[kind] = "^TestReentry_ManyHolds_Correct$/^" + kind + "$"
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			few, many := statementCount(t, program, test, 1000), statementCount(t, program, test, 10_000)
			t.Logf("%d steps for 1000 holds, %d for 10 000", few, many)
			require.Less(t, many, 15*few)
		})
	}
}

// statementCount returns the number of statements of the product that ran for that many holds.
func statementCount(t *testing.T, program, test string, holds int) (sum int) {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	run := exec.CommandContext(t.Context(), program, "-test.run="+test, "-test.coverprofile="+profile)
	run.Env = append(os.Environ(), manyEnv+"="+strconv.Itoa(holds))
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(profile)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // the first line has the mode
		}
		statements, err := strconv.Atoi(words[1])
		require.NoError(t, err)
		times, err := strconv.Atoi(words[2])
		require.NoError(t, err)
		sum += statements * times
	}
	require.Positive(t, sum)
	return sum
}

// The memory for what ended in one turn is not kept when that was very much.
func TestResetOutputs_VeryMany_MemoryFreed(t *testing.T) {
	c := New(harnessConfig(), 1)
	c.Fx.HoldEnds, c.Fx.Results = make([]actor.HoldEnd, maxKeptOutputs+1), make([]*actor.Request, maxKeptOutputs+1)
	c.Fx.Leaks = make([]actor.HoldNotice, 3)
	c.ResetOutputs()
	require.Zero(t, cap(c.Fx.HoldEnds)+cap(c.Fx.Results))
	require.Equal(t, 3, cap(c.Fx.Leaks))
	require.Empty(t, c.Fx.Leaks)
}
