package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

// handlerOn returns the handler of a gateway on a lock server of the test.
func handlerOn(t *testing.T, locks *lockwheeltest.Server, backend func(context.Context, string) error) http.Handler {
	log := server.NewLog(t.Output())
	t.Cleanup(log.Close)
	return (&gateway{locks.Engine(), log, 0, time.Minute, backend, false}).handler()
}

// status sends a request and returns the status of its reply.
func status(h http.Handler, method, path string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Code
}

// While one request charges an account, another one for it gets 429; one for another account is served.
func TestGateway_AccountBusy_429(t *testing.T) {
	locks := lockwheeltest.New(t)
	begun, goOn := make(chan bool), make(chan bool)
	h := handlerOn(t, locks, func(_ context.Context, account string) error {
		if account == "7" {
			begun <- true
			<-goOn
		}
		return nil
	})
	first := make(chan int)
	go func() { first <- status(h, "POST", "/accounts/7/charge") }()
	<-begun
	require.Equal(t, http.StatusTooManyRequests, status(h, "POST", "/accounts/7/charge"))
	require.Equal(t, http.StatusOK, status(h, "POST", "/accounts/8/charge"))
	goOn <- true
	require.Equal(t, http.StatusOK, <-first)
}

// Too many wait in the engine, for any account: that is no account that is busy.
func TestGateway_TooManyWait_503(t *testing.T) {
	w := httptest.NewRecorder()
	log := server.NewLog(t.Output())
	t.Cleanup(log.Close)
	(&gateway{log: log}).reply(w, "7", fmt.Errorf("lockwheel: %w", lockwheel.ErrTooManyWaiters), false, false)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
}

// The lock is lost while the backend works: the backend is told. Even if it goes on, the reply does not claim that it
// charged once.
func TestGateway_LockLost_500(t *testing.T) {
	locks := lockwheeltest.New(t)
	begun := make(chan bool)
	h := handlerOn(t, locks, func(ctx context.Context, _ string) error {
		begun <- true
		<-ctx.Done()
		return nil
	})
	reply := make(chan int)
	go func() { reply <- status(h, "POST", "/accounts/7/charge") }()
	<-begun
	locks.Lose("example/account/7")
	require.Equal(t, http.StatusInternalServerError, <-reply)
}

// Redis is away: charges and the health check say 503, and nothing is charged.
func TestGateway_RedisAway_503(t *testing.T) {
	locks := lockwheeltest.New(t)
	h := handlerOn(t, locks, func(context.Context, string) error { t.Error("charged without a lock"); return nil })
	require.Equal(t, http.StatusOK, status(h, "GET", "/healthz"))
	locks.Down()
	require.Equal(t, http.StatusServiceUnavailable, status(h, "POST", "/accounts/7/charge"))
	require.Equal(t, http.StatusServiceUnavailable, status(h, "GET", "/healthz"))
	locks.Up()
	require.Equal(t, http.StatusOK, status(h, "GET", "/healthz"))
}

// Redis goes away while the backend works, so the release is not confirmed: the charge has happened all the same.
func TestGateway_ReleaseUnconfirmed_200(t *testing.T) {
	locks := lockwheeltest.New(t, lockwheeltest.WithOptions(lockwheel.Options{CallTimeout: time.Second}))
	h := handlerOn(t, locks, func(context.Context, string) error { locks.Down(); return nil })
	require.Equal(t, http.StatusOK, status(h, "POST", "/accounts/7/charge"))
	locks.Up()
}

// The time of a request is over while the backend works. The backend is told, the client is told that nothing is known,
// and the account is free for the next request.
func TestGateway_Deadline_BackendTold(t *testing.T) {
	locks := lockwheeltest.New(t)
	log := server.NewLog(t.Output())
	t.Cleanup(log.Close)
	h := (&gateway{locks.Engine(), log, 0, 50 * time.Millisecond, func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}, false}).handler()
	require.Equal(t, http.StatusInternalServerError, status(h, "POST", "/accounts/7/charge"))
	require.Equal(t, http.StatusInternalServerError, status(h, "POST", "/accounts/7/charge"), "it had the lock again")
}

// The backend panics: the account is free for the next request.
func TestGateway_BackendPanics_Unlocked(t *testing.T) {
	locks := lockwheeltest.New(t)
	panics := true
	h := handlerOn(t, locks, func(context.Context, string) error {
		if panics {
			panic("the backend")
		}
		return nil
	})
	require.Panics(t, func() { status(h, "POST", "/accounts/7/charge") })
	panics = false
	require.Equal(t, http.StatusOK, status(h, "POST", "/accounts/7/charge"))
}

// Clients choose accounts: one that is too long is refused, and names no lock.
func TestGateway_LongAccount_400(t *testing.T) {
	locks := lockwheeltest.New(t)
	h := handlerOn(t, locks, func(context.Context, string) error { t.Error("charged"); return nil })
	require.Equal(t, http.StatusBadRequest, status(h, "POST", "/accounts/"+strings.Repeat("7", maxAccount+1)+"/charge"))
}
