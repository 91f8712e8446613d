package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Gateway measures the requests of every library and those without a lock. All take at least as long as the backend.
func TestGateway_AllContestants_Measured(t *testing.T) {
	results, err := Gateway(openServer(t, ""), tiny)
	require.NoError(t, err)
	require.Len(t, results, 7)
	for _, r := range results {
		require.Empty(t, r.Failure, r.Name)
		require.Len(t, r.Rounds, 1, r.Name)
		require.GreaterOrEqual(t, r.Rounds[0].P50, gatewayBackend, r.Name)
		require.Len(t, r.Added(FindGateway(results, peers.Unlocked.Name)), 1, r.Name)
	}
}

// fakeLocks are locks with functions that the test sets.
type fakeLocks struct{ fakeWorker }

func (fakeLocks) Close()                                   {}
func (f fakeLocks) Worker(string, int) peers.Worker        { return f.fakeWorker }
func freeLocks(lock func(context.Context) error) fakeLocks { return fakeLocks{fakeWorker{lock}} }

// visitsTo starts a service with these locks.
func visitsTo(t *testing.T, service *gateway) *gatewayVisits {
	v, err := startVisits("ours", service)
	require.NoError(t, err)
	t.Cleanup(v.close)
	return v
}

// A library that cannot lock, or lets two requests hold the lock of one account, has a failure in place of figures.
func TestGateway_LockFailsOrOverlaps_Failure(t *testing.T) {
	turn := func(service *gateway) string {
		v := visitsTo(t, service)
		v.turn(50*time.Millisecond, rand.New(rand.NewPCG(1, 1)))
		v.endRound(true)
		require.Equal(t, v.Failure != "", len(v.Rounds) == 0)
		return v.Failure
	}
	free := freeLocks(func(context.Context) error { return nil })
	broken := freeLocks(func(context.Context) error { return errors.New("broken") })
	waits := func() { time.Sleep(100 * time.Millisecond) }
	require.Empty(t, turn(&gateway{locks: free, wait: time.Minute, backend: func() {}}))
	require.Equal(t, "a request was answered with 503", turn(&gateway{locks: broken, wait: time.Minute, backend: func() {}}))
	overlapping := &gateway{locks: free, wait: time.Minute, backend: waits, exclusive: true}
	overlapping.inside[7].Store(1)
	overlapping.overlaps.Store(2)
	require.Equal(t, "2 times two requests held the lock of an account at once", turn(overlapping))
}

// Requests begin on time though all earlier ones still wait, and each counts from when it was due.
func TestGatewayLoad_ServiceStuck_ArrivalsGoOn(t *testing.T) {
	const requests = 40
	arrived, goOn := make(chan bool, requests), make(chan bool)
	stuck := freeLocks(func(context.Context) error { arrived <- true; <-goOn; return nil })
	v := visitsTo(t, &gateway{locks: stuck, wait: time.Minute, backend: func() {}})
	go func() {
		for range requests {
			<-arrived
		}
		close(goOn) // only when all have arrived
	}()
	began := time.Now()
	visits, err := v.site.load(requests, 5*time.Millisecond, rand.New(rand.NewPCG(1, 1)))
	took := time.Since(began)
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, (requests-1)*5*time.Millisecond)
	for i, v := range visits {
		require.NoError(t, v.err)
		require.GreaterOrEqual(t, v.took, time.Duration(requests-1-i)*5*time.Millisecond, "request %d waited for the last one", i)
	}
}

// What a lock adds is a difference within a round, and nothing without a contestant to compare with.
func TestGatewayAdded_RoundByRound(t *testing.T) {
	ours := &GatewayResult{Rounds: []measure.Quantiles{{P50: 5, P99: 9, P999: 20}, {P50: 7, P99: 8, P999: 9}, {P50: 8, P99: 8, P999: 9}}}
	none := &GatewayResult{Rounds: []measure.Quantiles{{P50: 4, P99: 4, P999: 4}, {P50: 4, P99: 9, P999: 4}, {P50: 4, P99: 4, P999: 4}}}
	require.Equal(t, measure.Quantiles{P50: 1, P99: 5, P999: 16}, ours.Added(none)[0])
	require.Equal(t, measure.Quantiles{P50: 3, P99: -1, P999: 5}, ours.Added(none)[1])
	require.Equal(t, measure.Quantiles{P50: 3, P99: 4, P999: 5}, MedianQuantiles(ours.Added(none)))
	require.Nil(t, ours.Added(nil))
}

// The server does not reply for 5 s. Every request is answered within its deadline, with 503 unless its lock was had
// before. When the server replies again so does the service, and no key, hold, waiter or goroutine is left.
func TestGateway_ServerStops_AnswersInTime(t *testing.T) {
	const (
		deadline = 4 * time.Second        // of a request: shorter than the server is stopped
		lock     = time.Second            // of its lock
		call     = 500 * time.Millisecond // of the unlock
		stopped  = 5 * time.Second
		every    = 2 * time.Millisecond
	)
	goroutines := runtime.NumGoroutine()
	t.Cleanup(func() { // after all others
		for ends := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines; time.Sleep(10 * time.Millisecond) {
			require.True(t, time.Now().Before(ends), "%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	})
	server := redistest.Start(t)
	engine, err := lockwheel.Open(t.Context(), lockwheel.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{server.Addr()}}, CallTimeout: call,
		Anonymous: true, // its record would be left until it is closed
	})
	require.NoError(t, err)
	t.Cleanup(func() { engine.Close() })
	work := startBackend(gatewayBackend)
	t.Cleanup(work.close)
	v := visitsTo(t, &gateway{locks: &peers.LockwheelClient{Engine: engine}, wait: lock, backend: work.call, exclusive: true})

	requests := make(chan []visit)
	go func() {
		visits, err := v.site.load(int((stopped+5*time.Second)/every), every, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Error(err)
		}
		requests <- visits
	}()
	require.Eventually(t, func() bool { return engine.Stats().Released > 20 }, 4*time.Second, time.Millisecond)
	require.NoError(t, server.Pause())
	time.Sleep(stopped)
	require.NoError(t, server.Continue())

	statuses := map[int]int{}
	for i, visit := range <-requests {
		require.NoError(t, visit.err, i)
		require.LessOrEqual(t, visit.took, deadline, "request %d, status %d", i, visit.status)
		statuses[visit.status]++
	}
	t.Logf("replies by status: %v", statuses)
	require.Len(t, statuses, 2)
	require.Greater(t, statuses[http.StatusServiceUnavailable], int(stopped/every)/2)
	require.Positive(t, statuses[http.StatusOK])
	require.Zero(t, v.service.overlaps.Load())
	require.Eventually(t, func() bool { status, err := v.site.request(7); return err == nil && status == http.StatusOK },
		10*time.Second, 10*time.Millisecond, "the service works again")
	require.Eventually(t, func() bool {
		s := engine.Stats()
		return s.Held == 0 && s.Waiting == 0 && s.InFlight == 0 && server.Int(t, "DBSIZE") == 0
	}, 10*time.Second, 10*time.Millisecond, "less than a lease")
}
