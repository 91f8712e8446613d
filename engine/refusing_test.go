package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// refusals lists the events that reject all waiters of one name while their acquire is in flight, and the error that
// the waiters get.
var refusals = map[string]struct {
	once   bool
	left   int64 // waiters that stay, for the release of their grant
	refuse func(k *crowd) *mail
	err    string
}{
	"the server refuses it for good": {refuse: func(k *crowd) *mail {
		return k.answers(actor.Reply{Status: actor.Refused, Err: errors.New("WRONGTYPE x")})
	}, err: "WRONGTYPE x"},
	"too few replicas have it": {refuse: func(k *crowd) *mail {
		k.c.fx.Config.Replicas = 1
		return k.answers(actor.Reply{Status: actor.Done, Listeners: -1})
	}, err: actor.ErrNotReplicated.Error(), left: 1},
	"a shutdown": {refuse: func(*crowd) *mail {
		return &mail{what: &actor.Request{Tag: AskShutdown}}
	}, err: actor.ErrClosed.Error()},
	"another has it, and they only try": {once: true, refuse: func(k *crowd) *mail {
		return k.answers(k.taken("another:1"))
	}, err: actor.ErrNotAcquired.Error()},
}

// answers returns the reply to the only call.
func (k *crowd) answers(reply actor.Reply) *mail {
	require.Len(k.t, k.c.calls, 1)
	b := k.c.calls[0]
	b.sent, b.replies = k.now, append(b.replies[:0], reply)
	return &b.mail
}

// waiting returns n waiters of one name with an acquire in flight.
func waiting(t *testing.T, n int, once bool) (k *crowd, all []*actor.Request) {
	k = newCrowd(t, granted)
	k.c.intake.share = n
	letters := make([]*mail, n)
	for i := range letters {
		all = append(all, wants(actor.Plain, 0, once))
		letters[i] = &mail{what: all[i]}
	}
	require.Empty(t, k.tellingTurn(letters...))
	return k, all
}

// However many wait for one name, a turn rejects at most a fixed number, in their order. The next turn follows at once
// until all are rejected.
func TestATurnRefusesABoundedNumberOfCallersOfOneName(t *testing.T) {
	for what, refusal := range refusals {
		t.Run(what, func(t *testing.T) {
			for _, n := range []int{2*refusedPerTurn + 1, 8 * refusedPerTurn} {
				k, all := waiting(t, n, refusal.once)
				letter := refusal.refuse(k)
				for turns := 0; k.c.stats().Waiting > refusal.left; turns++ {
					require.True(t, turns == 0 || k.wantsATurn(), "it sleeps")
					before := k.c.stats().Waiting
					if turns == 0 {
						k.tellingTurn(letter)
					} else {
						k.tellingTurn()
					}
					decided := before - k.c.stats().Waiting
					require.LessOrEqual(t, decided, int64(refusedPerTurn+1))
					require.Positive(t, decided)
					require.True(t, all[refusal.left+decided-1].Decided())
				}
				for _, r := range all[refusal.left:] {
					if r.Err == nil || !r.Decided() {
						t.Fatal("it is not refused")
					}
				}
				require.EqualError(t, all[n/2].Err, refusal.err)
				require.Empty(t, k.c.fx.Refusing)
			}
		})
	}
}

// A caller that comes while very many others are still being rejected is served at once and gets its grant.
func TestWhoComesWhileVeryManyAreRefusedIsAskedFor(t *testing.T) {
	const n = 4 * refusedPerTurn
	k, all := waiting(t, n, false)
	k.tellingTurn(k.answers(actor.Reply{Status: actor.Refused, Err: errors.New("WRONGTYPE x")}))
	require.False(t, all[n-1].Decided())
	late, later := wants(actor.Plain, 0, false), wants(actor.Plain, 0, false)
	k.now += time.Millisecond
	k.c.turn(k.now, &mail{what: late, next: &mail{what: later}})
	require.Len(t, k.c.batches, 1)
	k.c.rest()
	k.tellingTurn(k.answers(granted(nil)))
	require.True(t, late.Decided())
	require.NoError(t, late.Err)
	require.False(t, all[n-1].Decided(), "it comes too late to show anything")
	k.tellingTurn(&mail{what: &actor.Request{Tag: actor.Unlock, Hold: late.Hold}})
	require.True(t, later.Decided())
	require.NoError(t, later.Err)
	for k.wantsATurn() {
		k.tellingTurn()
	}
	for _, r := range all {
		require.EqualError(t, r.Err, "WRONGTYPE x")
	}
}

// A caller that is rejected together with very many, and cancels before its turn, gets one result. The lock is removed
// when all have theirs.
func TestWhoLeavesBeforeItsTurnToBeRefusedHasOneVerdict(t *testing.T) {
	const n = 3 * refusedPerTurn
	k, all := waiting(t, n, false)
	told := k.tellingTurn(k.answers(actor.Reply{Status: actor.Refused, Err: errors.New("WRONGTYPE x")}))
	leaves := make([]*mail, 0, n)
	for i := n - 1; i > n/2; i-- {
		leaves = append(leaves, &mail{what: givesUp{all[i], errLeft}})
	}
	told = append(told, k.tellingTurn(leaves...)...)
	for k.wantsATurn() {
		told = append(told, k.tellingTurn()...)
	}
	require.Len(t, told, n)
	times := make(map[*actor.Request]int)
	for _, r := range told {
		times[r]++
	}
	require.Len(t, times, n)
	require.Zero(t, k.c.locks.len())
}

// A close ends what a rejection in progress has not reached.
func TestACloseEndsARefusalThatIsUnderWay(t *testing.T) {
	const n = 3 * refusedPerTurn
	k, all := waiting(t, n, false)
	k.tellingTurn(k.answers(actor.Reply{Status: actor.Refused, Err: errors.New("WRONGTYPE x")}))
	for letter := (&mail{what: &actor.Request{Tag: AskClose}}); letter != nil || k.c.closesOn(); letter = nil {
		before := k.c.stats().Waiting
		if letter != nil {
			k.tellingTurn(letter)
		} else {
			k.tellingTurn()
		}
		require.LessOrEqual(t, before-k.c.stats().Waiting, int64(refusedPerTurn))
	}
	for _, r := range all {
		require.True(t, r.Decided())
	}
	require.Zero(t, k.c.stats().Timers)
}
