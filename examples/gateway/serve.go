package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

// settings are the flags of the service.
type settings struct {
	redis, listen, ops, traces         string
	wait, takes, deadline, call, grace time.Duration
	quiet                              bool
}

// define defines the flags that the service and the load have in common.
func (s *settings) define(flags *flag.FlagSet, takes time.Duration) {
	flags.StringVar(&s.redis, "redis", "", "URL of a server; empty: one inside this process")
	flags.StringVar(&s.traces, "traces", "", "file for spans, - for the standard output; empty: none")
	flags.DurationVar(&s.wait, "wait", 20*time.Millisecond, "how long a request waits for the lock of its account")
	flags.DurationVar(&s.takes, "takes", takes, "how long the backend takes")
	flags.DurationVar(&s.deadline, "deadline", 5*time.Second, "how long a request may take until it has charged")
	flags.DurationVar(&s.call, "call-timeout", 500*time.Millisecond, "how long to wait for a reply of Redis, such as that to an unlock")
	flags.DurationVar(&s.grace, "grace", 10*time.Second, "how long requests may take to end on shutdown")
}

// serve runs the service until ctx ends.
func serve(ctx context.Context, args []string, out io.Writer) error {
	var set settings
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	set.define(flags, 2*time.Second)
	flags.StringVar(&set.listen, "listen", "127.0.0.1:8080", "where to serve")
	flags.StringVar(&set.ops, "ops", "127.0.0.1:8081", "where to serve metrics and the page for operators; empty: nowhere")
	flags.BoolVar(&set.quiet, "quiet", false, "no line for each request")
	if err := flags.Parse(args); err != nil {
		return err
	}
	log := server.NewLog(out)
	defer log.Close()
	s, err := start(ctx, set, log, out)
	if err != nil {
		return err
	}
	log.Printf("serves on %s", s.url)
	if s.ops != nil {
		log.Printf("for operators: http://%s/metrics and /debug/locks/", s.ops.Addr)
	}
	select {
	case err := <-s.ended:
		return errors.Join(err, s.stop(ctx, set.grace))
	case <-ctx.Done():
	}
	log.Printf("shuts down")
	err = s.stop(ctx, set.grace)
	log.Printf("has ended")
	return err
}

// service is a gateway that serves.
type service struct {
	url       string
	locks     *lockwheel.Engine
	http, ops *http.Server
	ended     chan error // gets the error of a server that ends before it is stopped
	spans     *spans
	redis     *server.Server
}

// start starts the service. The caller ends it with stop.
func start(ctx context.Context, set settings, log *server.Log, out io.Writer) (s *service, err error) {
	s = &service{ended: make(chan error, 2)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop(ctx, set.grace))
		}
	}()
	if s.redis, err = server.Start(set.redis); err != nil {
		return s, err
	}
	if s.spans, err = openSpans(set.traces, out); err != nil {
		return s, err
	}
	watch := newWatch(s.spans)
	opened, err := s.redis.Open(ctx, 1, lockwheel.Options{
		CallTimeout: set.call,
		MaxWaiting:  1000, // clients decide how many requests there are
		Lazy:        true, // the service starts also while Redis is away, and says 503
		Observer:    watch.recorder.Observer(),
		Tracer:      s.spans.lockTracer(),
	})
	if err != nil {
		return s, err
	}
	s.locks = opened[0].Locks
	g := &gateway{s.locks, log, set.wait, set.deadline, backendThatTakes(set.takes), set.quiet}
	if s.http, err = s.listen(set.listen, watch.requests(g.handler())); err != nil {
		return s, err
	}
	s.url = "http://" + s.http.Addr
	if set.ops != "" {
		s.ops, err = s.listen(set.ops, watch.operators(s.locks))
	}
	return s, err
}

// listen serves in a goroutine of its own.
func (s *service) listen(at string, handler http.Handler) (*http.Server, error) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return nil, err
	}
	h := &http.Server{Addr: listener.Addr().String(), Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.ended <- err
		}
	}()
	return h, nil
}

// stop ends what start started, within the grace. First the service, because its requests unlock. Then the engine,
// which waits until the server has confirmed that. Operators can look until then.
func (s *service) stop(ctx context.Context, grace time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if s.http != nil {
		err = s.http.Shutdown(ctx)
	}
	if s.locks != nil {
		err = errors.Join(err, s.locks.Shutdown(ctx))
	}
	if err != nil && s.http != nil {
		s.http.Close() // requests that go on in spite of the grace
	}
	if s.ops != nil {
		s.ops.Close()
	}
	if s.spans != nil {
		err = errors.Join(err, s.spans.close(ctx))
	}
	if s.redis != nil {
		s.redis.Close()
	}
	return err
}

// backendThatTakes returns a backend that takes that long, unless its context ends first.
func backendThatTakes(takes time.Duration) func(context.Context, string) error {
	return func(ctx context.Context, _ string) error {
		select {
		case <-time.After(takes):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
