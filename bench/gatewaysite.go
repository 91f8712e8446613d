package bench

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// gateway is an HTTP service that locks the account of each request while its backend works for it. It replies with 200
// when the backend has worked, and with 503 when the lock could not be had.
type gateway struct {
	locks   peers.Contestant
	wait    time.Duration // the longest that a request waits for its lock
	backend func()

	exclusive  bool // the lock is one, and not a stand-in
	inside     [gatewayAccounts]atomic.Int32
	overlaps   atomic.Int64 // how often two requests were inside for one account
	unreleased atomic.Int64 // unlocks that failed
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	account, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil || account < 0 || account >= gatewayAccounts {
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.wait)
	defer cancel()
	lock := g.locks.Worker(nameOf(account), account)
	if err := lock.Lock(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if g.inside[account].Add(1) != 1 {
		g.overlaps.Add(1)
	}
	g.backend()
	g.inside[account].Add(-1)
	if lock.Unlock() != nil { // the backend has worked all the same
		g.unreleased.Add(1)
	}
}

// backend replies to each call after the same time. A goroutine's own timers are up to a millisecond late, and the less
// so the more its process does. With them a lock would seem to cost less than nothing. So a thread sleeps, as in paced.
type backend struct {
	takes time.Duration
	calls chan backendCall
	ended chan struct{}
}

type backendCall struct {
	due  time.Time
	done chan struct{}
}

const backendQueue = 1024 // calls at once; more of them wait to be let in

func startBackend(takes time.Duration) *backend {
	b := &backend{takes, make(chan backendCall, backendQueue), make(chan struct{})}
	go b.run()
	return b
}

func (b *backend) run() {
	defer close(b.ended)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for c := range b.calls {
		sleepUntil(c.due)
		close(c.done)
	}
}

// call returns after the time that the backend takes.
func (b *backend) call() {
	c := backendCall{time.Now().Add(b.takes), make(chan struct{})}
	b.calls <- c
	<-c.done
}

// close ends the backend. Nothing may call it any more.
func (b *backend) close() {
	close(b.calls)
	<-b.ended
}

// gatewaySite is a service that listens, and its client.
type gatewaySite struct {
	server *http.Server
	ended  chan struct{}
	url    string
	client *http.Client
}

func serveGateway(service http.Handler) (*gatewaySite, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &gatewaySite{
		server: &http.Server{Handler: service, ReadHeaderTimeout: grace}, ended: make(chan struct{}),
		url: "http://" + listener.Addr().String() + "/",
		// It keeps each connection that it opened: the service is measured, and not the opening of connections.
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: gatewayAccounts}},
	}
	go func() { defer close(s.ended); _ = s.server.Serve(listener) }()
	return s, nil
}

// close ends the service, and does not wait for its requests longer than grace.
func (s *gatewaySite) close() {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	s.client.CloseIdleConnections()
	if s.server.Shutdown(ctx) != nil {
		s.server.Close()
	}
	<-s.ended
}

// visit is a request with its reply.
type visit struct {
	took   time.Duration // from its intended start to the end of the reply
	status int
	err    error
}

// load sends requests for random accounts, each when it is due, whether earlier ones are answered or not. It returns
// when all are answered, and an error if one is not within grace.
func (s *gatewaySite) load(requests int, every time.Duration, accounts *rand.Rand) ([]visit, error) {
	visits := make([]visit, requests)
	var done sync.WaitGroup
	paced(time.Now(), requests, every, func(i int, due time.Time) bool {
		account := accounts.IntN(gatewayAccounts)
		done.Go(func() {
			status, err := s.request(account)
			visits[i] = visit{time.Since(due), status, err}
		})
		return true
	})
	err := withTimeout("a request", grace, func() error { done.Wait(); return nil })
	if err != nil {
		return nil, err // requests may still write to visits
	}
	return visits, nil
}

func (s *gatewaySite) request(account int) (status int, err error) {
	reply, err := s.client.Get(s.url + strconv.Itoa(account))
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode, errors.Join(err, reply.Body.Close())
}
