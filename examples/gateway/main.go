// Command gateway shows an HTTP service in front of a slow backend that must not handle two requests of one account at
// once.
//
//	go run ./examples/gateway
//	curl -X POST localhost:8080/accounts/7/charge     # in another terminal
//	curl localhost:8080/healthz
//
// What a request gets:
//
//   - 200: it had the lock of its account, and the backend has charged.
//   - 429 with Retry-After: another request, of this process or another one, had the lock, and did not unlock it within
//     -wait.
//   - 503: Redis did not reply, or the engine is closed. Nothing was charged.
//   - 500: the backend failed, or the lock was lost while it worked. The charge may or may not have happened.
//
// The lock lives as long as its request. If the client goes away, the context of the request ends, so does the hold's,
// and the handler stops and unlocks.
//
// On SIGINT and SIGTERM the service accepts no new requests, finishes those that it has, waits until their locks are
// released, and ends. It leaves no key behind.
//
// What to try:
//
//   - Send two charges for one account at once, and two for different accounts.
//   - Press Ctrl-C while a charge runs: it ends with 200.
//   - -redis redis://127.0.0.1:6379, two of them with different -listen: the lock is shared. Stop Redis: /healthz and
//     charges say 503.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

func main() { server.Main(run) }

// gateway is the service.
type gateway struct {
	locks   *lockwheel.Engine
	log     *server.Log
	wait    time.Duration
	backend func(ctx context.Context, account string) error
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	url := flags.String("redis", "", "URL of a server; empty: one inside this process")
	listen := flags.String("listen", "127.0.0.1:8080", "where to serve")
	wait := flags.Duration("wait", 20*time.Millisecond, "how long a request waits for the lock of its account")
	takes := flags.Duration("takes", 2*time.Second, "how long the backend takes")
	grace := flags.Duration("grace", 10*time.Second, "how long requests may take to end on shutdown")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := server.Start(*url)
	if err != nil {
		return err
	}
	defer s.Close()
	log := server.NewLog(out)
	defer log.Close()
	opened, err := s.Open(ctx, 1, lockwheel.Options{})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	backend := func(ctx context.Context, account string) error {
		select {
		case <-time.After(*takes):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	g := &gateway{opened[0].Locks, log, *wait, backend}
	service := &http.Server{Handler: g.handler(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(listener) }()
	log.Printf("serves on http://%s", listener.Addr())

	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	log.Printf("shuts down")
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), *grace)
	defer cancel()
	// First the service, because its requests unlock. Then the engine, which waits until the server has confirmed that.
	err = errors.Join(service.Shutdown(last), g.locks.Shutdown(last))
	if err != nil {
		service.Close() // requests that go on in spite of the grace
	}
	log.Printf("has ended")
	return err
}

func (g *gateway) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /accounts/{id}/charge", g.charge)
	mux.HandleFunc("GET /healthz", g.healthz)
	return mux
}

// charge calls the backend under the lock of the account.
func (g *gateway) charge(w http.ResponseWriter, r *http.Request) {
	account := r.PathValue("id")
	begun, charged := false, false
	err := g.locks.Mutex("example/account/"+account).Do(r.Context(), func(ctx context.Context) error {
		g.log.Printf("account %s: charges", account)
		begun = true
		err := g.backend(ctx, account)
		charged = err == nil
		return err
	}, lockwheel.Wait(g.wait))
	switch {
	case err == nil:
		g.log.Printf("account %s: charged", account)
		fmt.Fprintln(w, "charged")
	case charged && !errors.Is(err, lockwheel.ErrLost): // only the release is not confirmed: the lock is free after its lease
		g.log.Printf("account %s: charged, but %v", account, err)
		fmt.Fprintln(w, "charged")
	case begun:
		g.log.Printf("account %s: %v", account, err)
		http.Error(w, "look whether it is charged", http.StatusInternalServerError)
	case errors.Is(err, lockwheel.ErrNotAcquired), errors.Is(err, lockwheel.ErrTooManyWaiters):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "another request charges this account", http.StatusTooManyRequests)
	case errors.Is(err, lockwheel.ErrUnavailable), errors.Is(err, lockwheel.ErrClosed):
		g.log.Printf("account %s: %v", account, err)
		http.Error(w, "not available", http.StatusServiceUnavailable)
	default:
		g.log.Printf("account %s: %v", account, err)
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
