//go:build unix

package topology_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// fieldsOf returns the fields of a reply that lists names and values.
func fieldsOf(reply any) map[string]string {
	fields, list := make(map[string]string), reply.([]any)
	for i := 0; i+1 < len(list); i += 2 {
		fields[fmt.Sprint(list[i])] = fmt.Sprint(list[i+1])
	}
	return fields
}

// The sentinel at which an engine is leads a failover that does not end, since a replica may not synchronize with the
// next master. It announces that at the end. The engine is there long before, and grants nothing at the old master,
// which works on.
func TestSentinel_LeaderAnnouncesLate_Followed(t *testing.T) {
	long.Only(t, "sentinels replace a master")
	t.Parallel()
	w := redistest.StartSentinels(t, 2, 3)
	for _, s := range w.Sentinels {
		require.Equal(t, "OK", s.Do(t, "SENTINEL", "SET", w.Name, "failover-timeout", 600_000))
	}
	old, leader := w.Master(t), w.Sentinels[0]
	e := locktest.OpenRetrying(t, lockwheel.Options{Redis: rueidis.ClientOption{
		InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: w.Name},
	}})
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("before")))
	for _, s := range w.Servers { // the links that there are stay
		require.Equal(t, "OK", must(t, s, "ACL", "SETUSER", "default", "-psync", "-sync"))
	}
	require.Equal(t, "OK", leader.Do(t, "SENTINEL", "FAILOVER", w.Name))
	next := w.AwaitMaster(t, old)
	locktest.Eventually(t, "the engine at the next master", func() bool { return uses(e, next) })
	require.Contains(t, fieldsOf(must(t, leader, "SENTINEL", "MASTER", w.Name))["flags"], "failover_in_progress", "the leader has not announced it")
	hold := locktest.Lock(t, e.Mutex("after"))
	require.Equal(t, 1, next.Int(t, "EXISTS", "after"))
	locktest.Unlock(t, hold)
}

// An engine is at the old master, because the only sentinel that replied has missed the failover. It goes to the next
// master when others reply, although its sentinel still names the old one.
func TestSentinel_AtOldMaster_OthersBack_Followed(t *testing.T) {
	long.Only(t, "sentinels replace a master, and one of them does not know")
	t.Parallel()
	m := startMissed(t)
	m.failOver(behindSentinelFirst(t, m.Sentinels, 0, lockwheel.Options{}))
	m.comeBack()
	knowing := m.Sentinels.Sentinels[:2]
	for _, s := range knowing {
		require.NoError(t, s.Pause())
	}
	e := behindSentinelFirst(t, m.Sentinels, 2, lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	require.Equal(t, 1, m.old.Int(t, "EXISTS", "n"))
	for _, s := range knowing {
		require.NoError(t, s.Continue())
	}
	locktest.Eventually(t, "the engine at the next master", func() bool { return uses(e, m.next) })
	require.Equal(t, m.old.Addr(), m.named(2), "its sentinel has not learned it")
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	require.Equal(t, 0, m.next.Int(t, "EXISTS", "n"))
}

// In the middle of a failover the sentinels may name a server that is a replica. The error says which.
func TestSentinel_NamesReplica_ServerNamed(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 1)
	named := w.Master(t)
	require.Equal(t, "OK", must(t, named, "REPLICAOF", "127.0.0.1", 1))
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{
		InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: w.Name},
	}})
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorContains(t, err, "connecting to "+named.Addr()+", which was found through the sentinels")
	require.ErrorContains(t, err, "role is not master")
}

// The sentinels reply, and the master does not: the error names it. If they do not know the master set, it names that.
func TestSentinel_MasterSilent_ServerNamed(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 1)
	master := w.Master(t)
	require.NoError(t, master.Pause())
	for set, text := range map[string]string{
		w.Name:  "connecting to " + master.Addr() + ", which was found through the sentinels",
		"other": fmt.Sprintf("connecting to %v for the master set %q: No such master", w.Addrs(), "other"),
	} {
		locktest.Eventually(t, text, func() bool { // once the sentinel has replied in time
			_, err := lockwheel.Open(t.Context(), lockwheel.Options{CallTimeout: time.Second, Redis: rueidis.ClientOption{
				InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: set},
			}})
			require.Error(t, err)
			return strings.Contains(err.Error(), text)
		})
	}
}

// Silent sentinels delay no engine while another one replies, whichever the options name first.
func TestSentinel_FirstSilent_OpensSoon(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 3)
	for _, s := range w.Sentinels[:2] {
		require.NoError(t, s.Pause())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // two of them would take two CallTimeouts
	defer cancel()
	e, err := lockwheel.Open(ctx, lockwheel.Options{Lease: time.Minute, CallTimeout: 20 * time.Second, Redis: rueidis.ClientOption{
		InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: w.Name},
	}})
	require.NoError(t, err)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	require.NoError(t, e.Close())
}
