package sentinel

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// guarded is a Guard of a client with scripted sentinels.
type guarded struct {
	*Guard
	redis     rueidis.ClientOption
	replies   atomic.Pointer[map[string]*answer] // by address; a sentinel without one is silent
	asked     chan string
	closed    chan string  // addresses of connections
	opened    atomic.Int64 // connections that ask sentinels
	openNow   atomic.Int64
	heardAt   atomic.Pointer[scriptedSentinel] // the last one to which the client began to listen
	announced chan struct{}                    // one of the sentinels that are listened to announces a failover
	dialled   []string
	dialers   []net.Dialer
	stop      context.CancelFunc // ends the client
	refused   error              // of each dial; nil: they succeed
}

func newGuarded() *guarded {
	g := &guarded{asked: make(chan string, 1000), closed: make(chan string, 1000), announced: make(chan struct{})}
	g.allSilent()
	g.redis = rueidis.ClientOption{InitAddress: three, Sentinel: rueidis.SentinelOption{MasterSet: "m", Dialer: net.Dialer{KeepAlive: time.Second}}}
	g.redis.Dialer.KeepAlive = time.Second
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.Guard = New(&g.redis, func(_ context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		g.dialled, g.dialers = append(g.dialled, address), append(g.dialers, net.Dialer{KeepAlive: d.KeepAlive})
		if g.refused != nil {
			return nil, g.refused
		}
		return &scriptedConn{g: g, address: address}, nil
	}, func(context.Context) (context.Context, func()) { return context.WithCancel(ctx) })
	g.open = func(ctx context.Context, address string) (conn, *answer) {
		over, end := context.WithCancel(context.Background())
		g.opened.Add(1)
		g.openNow.Add(1)
		return &scriptedSentinel{g, address, over, end}, nil
	}
	return g
}

// scriptedSentinel is a connection to a scripted sentinel.
type scriptedSentinel struct {
	g       *guarded
	address string
	over    context.Context // ends when it is closed or broken
	end     context.CancelFunc
}

func (s *scriptedSentinel) ask(ctx context.Context) *answer {
	s.g.asked <- s.address
	if a := (*s.g.replies.Load())[s.address]; a != nil {
		return a
	}
	<-ctx.Done()
	return &answer{from: s.address}
}

func (s *scriptedSentinel) listen(ctx context.Context, switched func()) {
	s.g.heardAt.Store(s)
	for {
		select {
		case <-s.g.announced:
			switched()
		case <-s.over.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *scriptedSentinel) close() {
	s.end()
	s.g.openNow.Add(-1)
}

// scriptedConn is a connection that the client has.
type scriptedConn struct {
	net.Conn
	g       *guarded
	address string
}

func (c *scriptedConn) Close() error {
	c.g.closed <- c.address
	return nil
}

// guardedAt returns one of a client that is at a master, which two of the sentinels name.
func guardedAt(t *testing.T, master string, epoch int64) *guarded {
	t.Helper()
	g := newGuarded()
	g.says(0, master, epoch)
	g.says(1, master, epoch)
	require.NoError(t, g.toMaster(master))
	return g
}

func (g *guarded) says(from int, master string, epoch int64) {
	g.set(three[from], says(from, master, epoch))
}

func (g *guarded) set(address string, a *answer) {
	next := maps.Clone(*g.replies.Load())
	next[address] = a
	g.replies.Store(&next)
}

func (g *guarded) allSilent() { g.replies.Store(&map[string]*answer{}) }

// toMaster dials a master as rueidis does.
func (g *guarded) toMaster(address string) error {
	_, err := g.Dial(context.Background(), address, &g.redis.Dialer, nil)
	return err
}

func (g *guarded) toSentinel(address string) error {
	_, err := g.Dial(context.Background(), address, &g.redis.Sentinel.Dialer, nil)
	return err
}

// Sentinels are not asked about a sentinel, and not about the master at which the client is.
func TestGuard_SentinelOrSameMaster_NotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded()
		g.says(0, oldMaster, 0)
		g.says(1, oldMaster, 0)
		require.NoError(t, g.toSentinel(three[1]))
		require.Empty(t, g.asked)
		require.NoError(t, g.toMaster(oldMaster))
		require.NotEmpty(t, g.asked)
		began := len(g.asked)
		require.NoError(t, g.toMaster(oldMaster))
		require.Len(t, g.asked, began)
		require.Equal(t, []string{three[1], oldMaster, oldMaster}, g.dialled)
		for _, d := range g.dialers {
			require.Equal(t, time.Second, d.KeepAlive, "the mark of sentinels is not passed on")
		}
	})
}

// The master that a client waits for is the one it dialled last, until it dials a sentinel.
func TestGuard_SentinelDialled_MasterNotWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardedAt(t, oldMaster, 0)
		require.Equal(t, oldMaster, g.Wanted())
		require.NoError(t, g.toSentinel(three[1]))
		require.Empty(t, g.Wanted())
	})
}

// A client that is at the next master does not go back. The log says so once. Each refusal takes a while, since rueidis
// tries again at once.
func TestGuard_OldMaster_RefusedAndLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded()
		var log bytes.Buffer
		g.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
		g.says(0, nextMaster, 1)
		g.says(1, nextMaster, 1)
		require.NoError(t, g.toMaster(nextMaster))
		g.set(three[1], nil)
		g.says(2, oldMaster, 0)
		for range 3 {
			began := time.Now()
			err := g.toMaster(oldMaster)
			var none *rediserr.NotConnected
			require.ErrorAs(t, err, &none)
			require.ErrorContains(t, err, oldMaster+" as the master, which was replaced")
			require.Equal(t, patience+refusalPause, time.Since(began))
		}
		require.Equal(t, []string{nextMaster}, g.dialled)
		require.Equal(t, 1, strings.Count(log.String(), "names a master that was replaced"), log.String())

		g.says(0, oldMaster, 2) // it is the newest now
		g.says(2, oldMaster, 2)
		require.NoError(t, g.toMaster(oldMaster))
		g.says(1, nextMaster, 1)
		require.Error(t, g.toMaster(nextMaster), "the last one that was followed counts")
		require.Equal(t, 2, strings.Count(log.String(), "names a master that was replaced"), log.String())
	})
}

// If no sentinel that replies knows of a newer master, there is none to go on to. The dial lasts until there is.
func TestGuard_OnlyMissedLeft_DialLasts(t *testing.T) {
	for name, later := range map[string]func(g *guarded){
		"the sentinel learns it":        func(g *guarded) { g.says(2, nextMaster, 1) },
		"a sentinel that knows is back": func(g *guarded) { g.says(0, nextMaster, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := guardedAt(t, nextMaster, 1)
				g.allSilent()
				g.says(2, oldMaster, 0)
				began := len(g.asked)
				time.AfterFunc(time.Minute, func() { later(g) })
				at := time.Now()
				require.ErrorContains(t, g.toMaster(oldMaster), "was replaced")
				require.GreaterOrEqual(t, time.Since(at), time.Minute)
				require.Less(t, time.Since(at), time.Minute+2*(patience+askAgain))
				require.Less(t, len(g.asked)-began, 200, "three questions a second")
			})
		})
	}
}

// After a failover rueidis dials the old master itself. No sentinel names it, and the log does not say that one did.
func TestGuard_NoneNamesOld_NotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardedAt(t, oldMaster, 4)
		var log bytes.Buffer
		g.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
		g.says(0, nextMaster, 5)
		g.says(1, nextMaster, 5)
		require.NoError(t, g.toMaster(nextMaster))
		require.EqualError(t, g.toMaster(oldMaster), oldMaster+" is no longer the master: it was replaced")
		require.Empty(t, log.String())
	})
}

// Sentinels that do not reply have named nothing: the log does not say that they did.
func TestGuard_AllSilentLater_NotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded()
		var log bytes.Buffer
		g.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
		g.says(0, oldMaster, 0)
		g.says(1, oldMaster, 0)
		require.NoError(t, g.toMaster(oldMaster))
		g.allSilent()
		time.AfterFunc(time.Minute, func() { g.says(0, nextMaster, 1) })
		require.NoError(t, g.toMaster(nextMaster))
		require.Empty(t, log.String())
	})
}

// The same dial succeeds once most sentinels name its master.
func TestGuard_MostNameIt_DialGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardedAt(t, nextMaster, 1)
		g.allSilent()
		g.says(2, oldMaster, 0)
		time.AfterFunc(time.Minute, func() { g.says(1, oldMaster, 0) })
		require.NoError(t, g.toMaster(oldMaster))
	})
}

// If no sentinel replies, a client without a master takes the one that it was told.
func TestGuard_AllSilent_FirstMasterFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded()
		began := time.Now()
		require.NoError(t, g.toMaster(oldMaster))
		require.Equal(t, patience, time.Since(began))
	})
}

// rueidis learns of sentinels that are in no option. The one at which it is is asked.
func TestGuard_SentinelOutsideOptions_Asked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardedAt(t, oldMaster, 0)
		g.allSilent()
		require.NoError(t, g.toSentinel("new:1"))
		g.set("new:1", &answer{from: "new:1", outcome: told, master: nextMaster, epoch: 1})
		require.NoError(t, g.toMaster(nextMaster))
	})
}

// The end of the client ends a dial that asks, and one that pauses. So does End.
func TestGuard_ClientEnds_DialEnds(t *testing.T) {
	for _, after := range []time.Duration{0, patience / 2, patience + askAgain/2} {
		for _, end := range []func(g *guarded){func(g *guarded) { g.stop() }, func(g *guarded) { g.End() }} {
			synctest.Test(t, func(t *testing.T) {
				g := guardedAt(t, nextMaster, 1)
				g.allSilent()
				began := time.Now()
				time.AfterFunc(after, func() { end(g) })
				require.ErrorIs(t, g.toMaster(oldMaster), context.Canceled)
				require.Equal(t, after, time.Since(began))
			})
		}
	}
}

// The client does not wait for sentinels when it closes.
func TestGuard_End_SentinelConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded()
		g.says(0, oldMaster, 0)
		g.says(1, oldMaster, 0)
		require.NoError(t, g.toSentinel(three[0]))
		require.NoError(t, g.toMaster(oldMaster))
		g.End()
		synctest.Wait()
		require.Equal(t, three[0], <-g.closed)
		require.Empty(t, g.closed, "calls to the master may be in flight")
	})
}

// A host that is up rejects connections at once when its server is down. rueidis would dial again without a pause.
func TestGuard_MasterDown_DialTakesAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardedAt(t, oldMaster, 0)
		g.refused = errors.New("connection refused")
		began := time.Now()
		require.ErrorIs(t, g.toMaster(oldMaster), g.refused)
		require.Equal(t, refusalPause, time.Since(began))
		g.stop()
		require.ErrorIs(t, g.toMaster(oldMaster), g.refused)
		require.Equal(t, refusalPause, time.Since(began), "a client that has ended does not wait")
	})
}

// A sentinel that would be one question too many counts as silent.
func TestGuard_ManyQuestions_Bounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded()
		for range maxQuestions {
			g.slots <- struct{}{}
		}
		require.NoError(t, g.toMaster(oldMaster))
		require.Empty(t, g.asked)
		for range maxQuestions {
			<-g.slots
		}
		g.says(0, nextMaster, 1)
		g.says(1, nextMaster, 1)
		require.NoError(t, g.toMaster(nextMaster))
		synctest.Wait()
		require.Empty(t, g.slots)
	})
}

// A redis error is an answer, and anything else is none.
func TestFailed_Error_RejectedOrSilent(t *testing.T) {
	require.Equal(t, &answer{from: "a"}, failed("a", errors.New("broken")))
	require.Equal(t, &answer{from: "a"}, failed("a", rueidis.Nil))
}

// What is no answer of a sentinel is no evidence.
func TestParseAnswer_Odd_NoEvidence(t *testing.T) {
	fields := map[string]string{"config-epoch": "3", "ip": "old", "port": "1"} // of a failover that is not over
	require.Equal(t, &answer{"s", told, "[::1]:6379", 3, nil}, parseAnswer("s", fields, []string{"::1", "6379"}, nil))
	for _, odd := range []map[string]string{nil, {"config-epoch": "-1"}, {"config-epoch": "x"}} {
		require.Equal(t, rejected, parseAnswer("s", odd, []string{"a", "1"}, nil).outcome)
	}
	require.Equal(t, rejected, parseAnswer("s", fields, []string{"a"}, nil).outcome)
}

// The connections are those that rueidis makes to sentinels, and no others.
func TestQuestion_Options_AreThoseOfSentinels(t *testing.T) {
	redis := &rueidis.ClientOption{
		Username: "user", Password: "word", ClientName: "name", SelectDB: 3, TLSConfig: &tls.Config{}, Dialer: net.Dialer{Timeout: 1},
		Sentinel: rueidis.SentinelOption{
			MasterSet: "m", Username: "watcher", Password: "secret", ClientName: "w", TLSConfig: &tls.Config{}, Dialer: net.Dialer{Timeout: 2},
		},
	}
	q := newQuestion(redis, nil)
	require.Equal(t, "m", q.set)
	require.Equal(t, rueidis.ClientOption{
		Username: "watcher", Password: "secret", ClientName: "w", TLSConfig: redis.Sentinel.TLSConfig, Dialer: net.Dialer{Timeout: 2}, ForceSingleClient: true,
		RingScaleEachConn: q.option.RingScaleEachConn, ReadBufferEachConn: q.option.ReadBufferEachConn, WriteBufferEachConn: q.option.WriteBufferEachConn,
	}, q.option)
	require.Same(t, redis.Sentinel.TLSConfig, q.option.TLSConfig)
}
