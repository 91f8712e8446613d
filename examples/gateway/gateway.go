package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

// maxAccount is the length of the longest account. Clients choose it, and it is part of the name of a lock.
const maxAccount = 64

// gateway is the service.
type gateway struct {
	locks    *lockwheel.Engine
	log      *server.Log
	wait     time.Duration // how long a request waits for the lock of its account
	deadline time.Duration // how long a request may take until it has charged
	backend  func(ctx context.Context, account string) error
	quiet    bool // no line for each request
}

func (g *gateway) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /accounts/{id}/charge", g.charge)
	mux.HandleFunc("GET /healthz", g.healthz)
	return mux
}

// charge calls the backend under the lock of the account.
func (g *gateway) charge(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), g.deadline)
	defer cancel()
	account := r.PathValue("id")
	if len(account) > maxAccount {
		http.Error(w, "not an account", http.StatusBadRequest)
		return
	}
	begun, charged := false, false
	// Do unlocks also if the backend panics, and waits for the server's confirmation for at most Options.CallTimeout.
	err := g.locks.Mutex("example/account/"+account).Do(ctx, func(ctx context.Context) error {
		g.printf("account %s: charges", account)
		begun = true
		err := g.backend(ctx, account)
		charged = err == nil
		return err
	}, lockwheel.Wait(g.wait))
	g.reply(w, account, err, begun, charged)
}

// reply says what became of a charge: whether the backend was called, and whether it said that it has charged.
func (g *gateway) reply(w http.ResponseWriter, account string, err error, begun, charged bool) {
	switch {
	case err == nil:
		g.printf("account %s: charged", account)
		fmt.Fprintln(w, "charged")
	case charged && !errors.Is(err, lockwheel.ErrLost): // only the release is not confirmed: the lock is free after its lease
		g.printf("account %s: charged, but %v", account, err)
		fmt.Fprintln(w, "charged")
	case begun:
		g.printf("account %s: %v", account, err)
		http.Error(w, "look whether it is charged", http.StatusInternalServerError)
	case errors.Is(err, lockwheel.ErrNotAcquired):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "another request charges this account", http.StatusTooManyRequests)
	case errors.Is(err, lockwheel.ErrUnavailable), errors.Is(err, lockwheel.ErrClosed), errors.Is(err, lockwheel.ErrTooManyWaiters):
		// Too many wait in the engine, for any account: there are too many requests, or Redis does not reply.
		g.printf("account %s: %v", account, err)
		http.Error(w, "not available", http.StatusServiceUnavailable)
	default:
		g.printf("account %s: %v", account, err)
		http.Error(w, "failed", http.StatusInternalServerError)
	}
}

// healthz says whether the lock server replies.
func (g *gateway) healthz(w http.ResponseWriter, r *http.Request) {
	if err := g.locks.Ping(r.Context()); err != nil {
		http.Error(w, "the lock server does not reply", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (g *gateway) printf(format string, args ...any) {
	if !g.quiet {
		g.log.Printf(format, args...)
	}
}
