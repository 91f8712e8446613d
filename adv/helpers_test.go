//go:build adv

package adv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func runTime(t *testing.T) time.Duration {
	if g := os.Getenv("ADV"); g != "" {
		d, _ := time.ParseDuration(g)
		return d
	}
	return 5 * time.Second
}

type slot struct {
	holder atomic.Pointer[lockwheel.Hold]
}

func (s *slot) take(h *lockwheel.Hold) error {
	b := s.holder.Swap(h)
	if b == nil || h.Err() != nil {
		return nil
	}
	if err := b.Err(); err == nil {
		return fmt.Errorf("two holders: %s beside %s", h.ID(), b.ID())
	}
	return nil
}

// tally counts the errors by text, without numbers.
type tally struct {
	mu sync.Mutex
	m  map[string]int
	ex map[string]string
}

func (c *tally) add(op string, err error) {
	if err == nil {
		c.put(op+": nil", "")
		return
	}
	kind := ""
	for n, e := range map[string]error{"NotAcquired": lockwheel.ErrNotAcquired, "Unavailable": lockwheel.ErrUnavailable, "Lost": lockwheel.ErrLost, "NotHeld": lockwheel.ErrNotHeld, "Closed": lockwheel.ErrClosed, "NotReplicated": lockwheel.ErrNotReplicated, "TooMany": lockwheel.ErrTooManyWaiters, "Kind": lockwheel.ErrKindMismatch, "Upgrade": lockwheel.ErrUpgrade} {
		if errors.Is(err, e) {
			kind += "+" + n
		}
	}
	var se lockwheel.ServerError
	if errors.As(err, &se) {
		kind += "+Server(" + string(se)[:min(len(se), 12)] + ")"
	}
	if errors.Is(err, context.Canceled) {
		kind += "+canceled"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		kind += "+deadline"
	}
	c.put(op+": "+kind, err.Error())
}

func (c *tally) put(k, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m, c.ex = map[string]int{}, map[string]string{}
	}
	c.m[k]++
	if rand.IntN(c.m[k]) == 0 {
		c.ex[k] = text[:min(len(text), 600)]
	}
}

func (c *tally) show(t *testing.T) {
	for k, n := range c.m {
		t.Logf("%6d %s\n        %s", n, k, c.ex[k])
	}
}

// use uses a hold in odd ways and ends it. It reports whether a call took too long.
func use(ctx context.Context, c *tally, h *lockwheel.Hold, inner func(context.Context) (*lockwheel.Hold, error)) {
	switch rand.IntN(9) {
	case 0:
		c.add("extend", h.Extend(ctx, time.Duration(rand.IntN(1000))*time.Millisecond))
	case 1:
		select {
		case <-h.Done():
		case <-time.After(time.Duration(rand.IntN(1500)) * time.Millisecond):
		}
	case 2: // extends beside unlocks
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				c.add("extend beside", h.Extend(ctx, time.Duration(rand.IntN(1000))*time.Millisecond))
			})
			wg.Go(func() { locktest.Pause(ctx, rand.N(2*time.Millisecond)); c.add("unlock beside", h.Unlock(ctx)) })
			wg.Go(func() { u := h.UnlockAsync(); <-u.Done(); c.add("unlockasync beside", u.Err()) })
		}
		wg.Wait()
	case 3:
		if in, err := inner(context.WithoutCancel(h.Context())); err == nil {
			c.add("inner unlock", in.Unlock(ctx))
		} else {
			c.add("inner", err)
		}
	case 4:
		cctx, cancel := context.WithTimeout(ctx, rand.N(3*time.Millisecond))
		c.add("unlock short ctx", h.Unlock(cctx))
		cancel()
	}
	c.add("unlock", h.Unlock(ctx))
}

func opts() (o []lockwheel.Option) {
	if rand.IntN(3) == 0 {
		o = append(o, lockwheel.Lease(time.Duration(1+rand.IntN(800))*time.Millisecond))
	}
	if rand.IntN(4) != 0 {
		o = append(o, lockwheel.Wait(time.Duration(rand.IntN(1500))*time.Millisecond))
	}
	return o
}

// bounded returns a context that ends at a random time, mostly soon.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	d := 3 * time.Second
	switch rand.IntN(4) {
	case 0:
		d = rand.N(2 * time.Millisecond)
	case 1:
		d = rand.N(200 * time.Millisecond)
	}
	return context.WithTimeoutCause(ctx, d, errEnded)
}

var errEnded = errors.New("my cause")
