package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/examples/internal/exampletest"
	"github.com/lockwheel/lockwheel/examples/internal/server"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// The server stands still for a second in the middle of a load. Each request is answered within its time, some with
// 503, those before and after with 200. When the gateway has ended, no key is left.
func TestLoad_ServerStandsStill_EachRequestAnswered(t *testing.T) {
	redis := redistest.Start(t)
	log := server.NewLog(io.Discard)
	defer log.Close()
	s, err := start(t.Context(), settings{
		redis: "redis://" + redis.Addr(), listen: "127.0.0.1:0", quiet: true,
		wait: 20 * time.Millisecond, takes: 5 * time.Millisecond, deadline: 5 * time.Second, call: 500 * time.Millisecond, grace: 20 * time.Second,
	}, log, io.Discard)
	require.NoError(t, err)

	sent := make(chan *report)
	p := plan{url: s.url, rate: 200, accounts: 1000, lasts: 4 * time.Second, deadline: 10 * time.Second}
	go func() { sent <- p.send(t.Context()) }()
	<-time.After(p.lasts / 4)
	require.NoError(t, redis.Pause())
	<-time.After(p.lasts / 4)
	require.NoError(t, redis.Continue())
	r := <-sent

	statuses := make(map[int]int)
	for _, a := range r.answers {
		statuses[a.status]++
	}
	t.Log(statuses)
	require.Len(t, r.answers, 800)
	require.Zero(t, statuses[noReply]+statuses[notSent], "requests without an answer")
	require.Positive(t, statuses[http.StatusOK])
	require.Positive(t, statuses[http.StatusServiceUnavailable])
	require.Zero(t, statuses[http.StatusInternalServerError], "a second is less than the lease: no lock was lost")
	require.NoError(t, s.stop(t.Context(), 20*time.Second))
	require.Zero(t, redis.Int(t, "DBSIZE"))
}

// silent accepts connections and never replies.
func silent(t *testing.T) (url string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return "http://" + listener.Addr().String()
}

// The gateway replies to no request: the load sends all others nonetheless, each at its time, and none is counted as
// answered.
func TestLoad_NoReplies_OthersAreSent(t *testing.T) {
	p := plan{url: silent(t), rate: 1000, accounts: 10, lasts: 100 * time.Millisecond, deadline: 500 * time.Millisecond}
	r := p.send(t.Context())
	require.Len(t, r.answers, 100)
	for _, a := range r.answers {
		require.Equal(t, noReply, a.status)
		require.GreaterOrEqual(t, a.took, p.deadline)
	}
}

// A request that could not be sent when it was due has waited since then.
func TestLoad_SentLate_TimeCountsFromDue(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	replies := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {})}
	go func() { _ = replies.Serve(listener) }()
	defer replies.Close()
	p := plan{url: "http://" + listener.Addr().String(), accounts: 1}
	a := p.request(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, time.Now().Add(-time.Minute))
	require.Equal(t, http.StatusOK, a.status)
	require.GreaterOrEqual(t, a.took, time.Minute)
}

// A load is interrupted: it prints what became of the requests that it sent.
func TestLoad_Interrupted_Prints(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	p := plan{url: silent(t), rate: 100, accounts: 1, lasts: time.Hour, deadline: 100 * time.Millisecond}
	r := p.send(ctx)
	require.NotEmpty(t, r.answers)
	require.Less(t, len(r.answers), 1000)
}

// The command starts a gateway of its own, and ends by itself.
func TestLoad_WithoutURL_StartsGateway(t *testing.T) {
	e := exampletest.Start(t, run, "load", "-rate", "100", "-for", "500ms", "-accounts", "1000", "-takes", "1ms", "-wait", "10s")
	e.End()
	require.Equal(t, 1, e.Count(`^50 requests in`), e.Said)
	require.Equal(t, 1, e.Count(`^200 charged +50 +p50 .* p99 .* p99.9 .* max`), e.Said)
}

// Loads without requests, and too large ones, are refused.
func TestLoad_BadFlags_Refused(t *testing.T) {
	for _, args := range []string{"-rate 0", "-rate NaN", "-rate 1e12", "-accounts 0", "-for -1s", "-answer 0"} {
		require.Error(t, run(t.Context(), append([]string{"load"}, strings.Fields(args)...), io.Discard), args)
	}
}

// Each quantile is a time that was measured, and as many of the times as it says are not longer.
func TestReport_Quantiles(t *testing.T) {
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(i+1)*time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 500, 0.99: 990, 0.999: 999, 1: 1000} {
		require.Equal(t, want*time.Millisecond, quantile(times, q), q)
	}
	require.Equal(t, time.Second, quantile([]time.Duration{time.Second}, 0.5))
}
