package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel/examples/internal/server"
)

// most is how many requests of a load there can be, and mostOpen how many of them can be unanswered at a time.
const most, mostOpen = 10_000_000, 20_000

// plan is what a load sends. Requests do not wait for the replies to earlier ones, because users do not either. A
// gateway that stands still for a second delays all requests of that second. A client that waited would send and
// measure one of them.
type plan struct {
	url      string
	rate     float64 // requests a second
	accounts int
	lasts    time.Duration
	deadline time.Duration // how long a request may wait for its reply
}

// load sends requests to a gateway, and prints how they ended.
func load(ctx context.Context, args []string, out io.Writer) error {
	var p plan
	var set settings
	flags := flag.NewFlagSet("gateway load", flag.ContinueOnError)
	set.define(flags, 5*time.Millisecond)
	flags.StringVar(&p.url, "url", "", "a gateway that runs; empty: one inside this process, which the flags above are for")
	flags.Float64Var(&p.rate, "rate", 1000, "requests a second")
	flags.IntVar(&p.accounts, "accounts", 10_000, "how many accounts the requests are for")
	flags.DurationVar(&p.lasts, "for", 10*time.Second, "how long")
	flags.DurationVar(&p.deadline, "answer", 10*time.Second, "how long a request may wait for its reply")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if n := p.rate * p.lasts.Seconds(); !(n >= 1 && n <= most) || p.accounts < 1 || p.deadline <= 0 {
		return fmt.Errorf("gateway load: %v requests for %d accounts, each within %v: 1 to %d, at least 1, more than 0", n, p.accounts, p.deadline, most)
	}
	if p.url != "" {
		return p.send(ctx).print(out)
	}
	log := server.NewLog(io.Discard)
	defer log.Close()
	set.listen, set.quiet = "127.0.0.1:0", true
	s, err := start(ctx, set, log, out)
	if err != nil {
		return err
	}
	p.url = s.url
	return errors.Join(p.send(ctx).print(out), s.stop(ctx, set.grace))
}

// send sends the requests, each at its time, until all are sent or ctx ends. It returns when all are answered or late.
func (p plan) send(ctx context.Context) *report {
	r := newReport(int(p.rate * p.lasts.Seconds()))
	transport := &http.Transport{MaxIdleConnsPerHost: mostOpen}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: p.deadline}
	open := make(chan struct{}, mostOpen)
	var all sync.WaitGroup
	sent := 0
	for r.began = time.Now(); sent < len(r.answers); sent++ {
		due := r.began.Add(time.Duration(float64(sent) / p.rate * float64(time.Second)))
		if !sleepUntil(ctx, due) {
			break
		}
		to := &r.answers[sent]
		select {
		case open <- struct{}{}:
			all.Go(func() {
				*to = p.request(client, due)
				<-open
			})
		default:
			to.status = notSent
		}
	}
	all.Wait()
	r.answers = r.answers[:sent]
	return r
}

// sleepUntil returns at that time, and then reports true, or when ctx ends.
func sleepUntil(ctx context.Context, at time.Time) bool {
	select {
	case <-time.After(time.Until(at)):
		return true
	case <-ctx.Done():
		return false
	}
}

// request sends one request. Its time counts from when it was due, not from when there was time to send it.
func (p plan) request(client *http.Client, due time.Time) answer {
	reply, err := client.Post(fmt.Sprintf("%s/accounts/%d/charge", p.url, rand.IntN(p.accounts)), "", nil)
	if err != nil {
		return answer{noReply, time.Since(due)}
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		return answer{noReply, time.Since(due)}
	}
	return answer{reply.StatusCode, time.Since(due)}
}
