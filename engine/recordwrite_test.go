package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/wire"
	"github.com/lockwheel/lockwheel/internal/identity"
)

// A write of the record goes along with the next batch, once, in one pipeline, and its result comes back.
func TestRecordWrite_BatchSent_GoesAlong(t *testing.T) {
	for answer, fails := range map[string]bool{"": false, "-NOPERM no\r\n": true} {
		server, client := newScriptedServer(t, func(_ int, words []string) string {
			if words[0] == "EVAL" {
				return answer
			}
			return ""
		})
		a := announced(client)
		send := startSender(t, func(batches <-chan *coordinator.Batch, box *mpsc.Mailbox[any]) {
			runSender(&nodeConn{client: client}, &wire.Encoder{ID: "id"}, batches, a.write, box, nil)
		})
		require.NoError(t, send().Failed)
		require.NotContains(t, server.receivedOn(1), "EVAL ", "it was not offered")
		a.write.offered.Store(true)
		require.NoError(t, send().Failed, "the batch has its own reply")
		require.Equal(t, fails, <-a.write.results != nil)
		require.False(t, a.write.withdraw(), "it was taken")
		require.NoError(t, send().Failed)
		require.Equal(t, 1, strings.Count(server.receivedOn(1), "EVAL "))
		require.Empty(t, server.receivedOn(2), "all on one connection")
	}
}

// Each sender of a node takes the write along.
func TestRecordWrite_EngineOfServer_SendersTakeIt(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	e := newEngine(actor.Config{ID: "id", Lease: 30 * time.Second}, &Identity{Key: "record"}, Hooks{}, nil)
	e.server = &Server{client: client}
	n := e.coordinator.Fallback
	e.startWorkers(n)
	for sent := range 3 {
		e.announcer.write.offered.Store(true)
		e.workers[n].batches <- acquireBatch()
		select {
		case err := <-e.announcer.write.results:
			require.NoError(t, err)
		case <-time.After(10 * time.Second):
			t.Fatal("no sender took it")
		}
		require.Equal(t, sent+1, strings.Count(server.receivedOn(1), "EVAL "))
	}
	e.stopWorkers(n)
	e.goroutines.Wait()
}

// announced returns the record of an announcer with a client.
func announced(client rueidis.Client) *announcedRecord {
	a := newAnnouncer(&Identity{Key: "record", Fields: []string{"name", "n"}}, nil, nil)
	a.client = client
	return &announcedRecord{announcer: a}
}

// The result of a write that a sender took decides when the next one is due, however late it comes.
func TestRecordWrite_ResultComes_NextDueAfterPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		a := newAnnouncer(&Identity{Key: "record"}, nil, stopped)
		go a.run()
		for range 3 {
			synctest.Wait()
			require.True(t, a.write.withdraw(), "it is offered, and a sender takes it")
			time.Sleep(10 * identity.Period)
			require.False(t, a.write.offered.Load(), "the result may still come")
			a.write.results <- nil
			time.Sleep(identity.Period - 1)
			synctest.Wait()
			require.False(t, a.write.offered.Load())
			time.Sleep(time.Nanosecond)
		}
		a.down.Store(true) // so there is nothing to delete
		close(stopped)
		<-a.ended
	})
}

// A write that no batch takes along for a while is sent alone.
func TestRecordWrite_NoBatch_SentAlone(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	r := announced(client)
	for sent := range 3 {
		pause, ok := r.due()
		require.True(t, ok)
		require.Equal(t, batchWait, pause)
		require.Equal(t, sent, strings.Count(server.receivedOn(1), "EVAL "))
		pause, ok = r.due()
		require.True(t, ok)
		require.Equal(t, identity.Period, pause)
	}
	require.Empty(t, r.write.take(client))
}

// A write that a batch took along is not sent again, and the record is deleted after it.
func TestRecordWrite_BatchSent_NotSentAgain(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	r := announced(client)
	r.due()
	taken := r.write.take(client)
	require.Len(t, taken, 1)
	_, ok := r.due()
	require.False(t, ok, "it depends on the result")
	deleted := make(chan struct{})
	go func() {
		defer close(deleted)
		r.delete()
	}()
	r.write.done(client.DoMulti(t.Context(), taken...))
	<-deleted
	require.Regexp(t, `(?s)^EVAL .*\nDEL record\n$`, server.receivedOn(1))
	require.Equal(t, 1, strings.Count(server.receivedOn(1), "EVAL "))
}

// In a cluster a sender's server need not be the record's.
func TestRecordWrite_Cluster_SentAlone(t *testing.T) {
	_, client := newScriptedServer(t, func(int, []string) string { return "" })
	r := announced(client)
	r.alone = true
	pause, ok := r.due()
	require.True(t, ok)
	require.Equal(t, identity.Period, pause)
	require.Empty(t, r.write.take(client))
}

// A rejection that passes, as while a server loads its data, does not keep the record away. The rejection is logged and
// the record put off for long only if the server rejects it for good.
func TestRecordWrite_Rejected_TriedAgain(t *testing.T) {
	answers := map[string]time.Duration{
		"-LOADING Redis is loading the dataset in memory\r\n":                identity.Period,
		"-READONLY You can't write against a read only replica.\r\n":         identity.Period,
		"-OOM command not allowed when used memory > 'maxmemory'.\r\n":       identity.Period,
		"-NOPERM this user has no permissions to access one of the keys\r\n": rejectedPeriod,
		"-WRONGTYPE Operation against a key\r\n":                             rejectedPeriod,
	}
	for answer, want := range answers {
		_, client := newScriptedServer(t, func(int, []string) string { return answer })
		r := announced(client)
		r.alone = true
		pause, ok := r.due()
		require.True(t, ok)
		require.Equal(t, want, pause, answer)
		require.Equal(t, want == rejectedPeriod, r.logged, answer)
		require.EqualValues(t, 1, r.unwritten.Load())
	}
}

// A record that was once written is deleted at the end, also if the server has rejected a later write.
func TestRecordWrite_RejectedLater_DeletedAtTheEnd(t *testing.T) {
	for _, answer := range []string{"-OOM command not allowed when used memory > 'maxmemory'.\r\n", "-NOPERM no\r\n"} {
		writes := 0
		server, client := newScriptedServer(t, func(_ int, words []string) string {
			if words[0] == "EVAL" {
				if writes++; writes > 1 {
					return answer
				}
			}
			return ""
		})
		r := announced(client)
		r.alone = true
		for range 2 {
			_, ok := r.due()
			require.True(t, ok)
		}
		r.delete()
		require.Equal(t, 2, strings.Count(server.receivedOn(1), "EVAL "))
		require.Contains(t, server.receivedOn(1), "DEL record\n")
	}
}

// A record that the server never took is not deleted: the user may lack the permission for that, too.
func TestRecordWrite_AlwaysRejected_NotDeleted(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "-NOPERM no\r\n" })
	r := announced(client)
	r.alone = true
	r.due()
	r.delete()
	require.NotContains(t, server.receivedOn(1), "DEL record")
}

// A record that the server never takes is logged once, not with each try.
func TestRecordWrite_RejectedForGood_LoggedOnce(t *testing.T) {
	_, client := newScriptedServer(t, func(int, []string) string { return "-NOPERM no\r\n" })
	var said bytes.Buffer
	r := announcedRecord{announcer: newAnnouncer(&Identity{}, slog.New(slog.NewTextHandler(&said, nil)), nil)}
	rejected := client.Do(t.Context(), client.B().Ping().Build()).Error()
	for range 3 {
		require.Equal(t, rejectedPeriod, r.noted(rejected))
	}
	require.Equal(t, 1, strings.Count(said.String(), "does not take the engine's record"))
	require.EqualValues(t, 3, r.unwritten.Load())
}
