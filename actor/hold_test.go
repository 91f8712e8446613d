package actor_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// Done costs nothing while no caller asks for it, and is closed for a caller that asks after the end.
func TestHold_Ended_DoneClosedAfterwards(t *testing.T) {
	why := errors.New("why")
	for _, err := range []error{actor.ErrNotHeld, actor.ErrLost, actor.ErrClosed} {
		h := &actor.Hold{}
		require.Nil(t, h.Signal())
		require.False(t, h.HasContext())
		h.End(err, why, 0)
		signal := h.Signal()
		require.Same(t, err, signal.Err)
		requireClosed(t, signal.Done)
		require.False(t, h.Install(nil, &actor.HoldSignal{Done: make(chan struct{})}), "an end must not be replaced")
	}
}

// The end of a hold with a context is published at once. The caller of End finishes its context and Done, because that
// may run users' code.
func TestHold_End_LeavesContextToCaller(t *testing.T) {
	h := &actor.Hold{}
	done := &actor.HoldSignal{Done: make(chan struct{})}
	require.True(t, h.Install(nil, done))
	require.False(t, h.HasContext(), "no user needs a reason yet")
	ctx := t.Context()
	require.True(t, h.Install(done, &actor.HoldSignal{Done: done.Done, Context: ctx}))
	require.True(t, h.HasContext())
	remaining := h.End(actor.ErrLost, errors.New("gone"), 0)
	require.Same(t, remaining, h.Signal())
	require.Same(t, actor.ErrLost, remaining.Err)
	require.EqualError(t, remaining.Cause, "gone")
	require.Equal(t, ctx, remaining.Context, "the context stays the hold's")
	select {
	case <-remaining.Done:
		t.Fatal("closed before the context has ended")
	default:
	}
	require.Nil(t, h.End(actor.ErrClosed, nil, 0), "it ends once")
	require.Same(t, remaining, h.Signal())
}

// The end leaves a hold's context to the caller of End, with Done closed, if no user has asked for Done.
func TestHold_ContextAlone_LeftToCaller(t *testing.T) {
	h := &actor.Hold{}
	ctx := t.Context()
	require.True(t, h.Install(nil, &actor.HoldSignal{Context: ctx}))
	remaining := h.End(actor.ErrLost, errors.New("gone"), time.Second)
	require.Same(t, remaining, h.Signal())
	require.Equal(t, ctx, remaining.Context)
	require.Same(t, actor.ErrLost, remaining.Err)
	require.Equal(t, time.Second, remaining.HeldUntil)
	requireClosed(t, remaining.Done)
}

// If Done is asked for while the hold ends, every waiter is notified once.
func TestHold_DoneDuringEnd_NotifiedOnce(t *testing.T) {
	for range 2000 {
		h := &actor.Hold{}
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				for {
					seen := h.Signal()
					if seen == nil {
						h.Install(nil, &actor.HoldSignal{Done: make(chan struct{})})
						continue
					}
					select {
					case <-seen.Done:
					case <-time.After(10 * time.Second):
						t.Error("the end was not told")
					}
					return
				}
			})
		}
		h.End(actor.ErrLost, nil, 0)
		group.Wait()
	}
}

func requireClosed(t *testing.T, c chan struct{}) {
	t.Helper()
	select {
	case <-c:
	default:
		t.Fatal("not closed")
	}
}

// These are replies of Redis that say "not now"; anything else is for good.
func TestServerError_Temporary_Recognized(t *testing.T) {
	for _, text := range []string{
		"MOVED 1 127.0.0.1:6379", "ASK 1 127.0.0.1:6379", "TRYAGAIN Multiple keys", "CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading", "BUSY Redis is busy running a script", "READONLY You can't write", "MASTERDOWN Link",
		"NOREPLICAS Not enough", "OOM command not allowed", "NOAUTH Authentication required.", "WRONGPASS invalid", "MISCONF Redis",
		"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
		"ERR Client sent AUTH, but no password is set", "ERR invalid password", "ERR DB index is out of range", "ERR invalid DB index",
		// As a client of the caller returns them: rueidis takes ERR off.
		"AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
		"DB index is out of range", "max number of clients reached",
		"NOPERM this user has no permissions to run the 'select' command", "NOPERM User x has no permissions to run the 'client|setname' command",
		"ERR Script attempted to access a non local key in a cluster node",
		"ERR Attempted to access a non local key in a cluster node script: 1, on @user_script:1.", // Valkey 9
	} {
		for _, same := range []string{text, strings.ToUpper(text), strings.ToLower(text)} {
			require.True(t, actor.Transient(same), same)
		}
	}
	for _, text := range []string{
		"WRONGTYPE Operation", "NOPERM this user", "ERR unknown command", "ERR wrong number of arguments", "", "OK", "m",
		"CROSSSLOT Keys", "ERR value is not an integer or out of range",
	} {
		require.False(t, actor.Transient(text), text)
	}
}
