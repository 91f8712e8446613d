package adv2_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestQ2(t *testing.T) {
	p := locktest.NewServerSet(t, 3)
	es := p.Client(lockwheel.Options{})
	other := p.Client(lockwheel.Options{})
	q := func(es []*lockwheel.Engine, kinds ...string) lockwheel.Multi {
		var ls []lockwheel.Mutex
		for i, k := range kinds {
			ls = append(ls, kindMutex(es[i], k, "n"))
		}
		return lockwheel.Quorum(ls...)
	}
	show := func(what string, err error) {
		t.Log(what, err, "| up", errors.Is(err, lockwheel.ErrUpgrade), "kind", errors.Is(err, lockwheel.ErrKindMismatch), "na", errors.Is(err, lockwheel.ErrNotAcquired), "un", errors.Is(err, lockwheel.ErrUnavailable))
	}
	ctx := t.Context()
	r, err := q(es, "read", "read", "read").Lock(ctx)
	show("read", err)
	_, err = q(es, "write", "write", "write").Lock(r.Context(), lockwheel.Wait(time.Second))
	show("upgrade", err)
	_, err = q(es, "plain", "plain", "plain").Lock(ctx, lockwheel.Wait(time.Second))
	show("kind", err)
	w := make(chan error, 1)
	go func() {
		h, err := q(other, "write", "write", "write").Lock(ctx, lockwheel.Wait(5*time.Second))
		if err == nil {
			err = h.Unlock(ctx)
		}
		w <- err
	}()
	time.Sleep(100 * time.Millisecond)
	show("unlock", r.Unlock(ctx))
	show("other's write", <-w)
	// downgrade
	wr, err := q(es, "write", "write", "write").Lock(ctx)
	show("write", err)
	rd, err := q(es, "read", "read", "read").Lock(context.WithoutCancel(wr.Context()), lockwheel.Wait(time.Second))
	show("read beside", err)
	show("unlock w", wr.Unlock(ctx))
	r2, err := q(other, "read", "read", "read").Lock(ctx, lockwheel.Wait(2*time.Second))
	show("other's read", err)
	_, err = q(other, "write", "write", "write").Lock(ctx, lockwheel.Wait(300*time.Millisecond))
	show("other's write", err)
	show("", rd.Unlock(ctx))
	show("", r2.Unlock(ctx))
	// a minority is of another kind
	m := locktest.Lock(t, es[0].FairMutex("n"))
	h, err := q(es, "plain", "plain", "plain").Lock(ctx, lockwheel.Wait(time.Second))
	show("minority kind", err)
	if err == nil {
		locktest.Unlock(t, m)
		time.Sleep(100 * time.Millisecond)
		show("", h.Unlock(ctx))
	}
	// re-entry of a quorum: itself and members, nested other order
	h, err = q(es, "fenced", "fair", "write").Lock(ctx)
	show("mixed", err)
	h2, err := q(es, "fenced", "fair", "write").Lock(h.Context(), lockwheel.Wait(time.Second))
	show("again", err)
	h3, err := es[1].FairMutex("n").Lock(h2.Context(), lockwheel.Wait(time.Second))
	show("member", err)
	rd2, err := es[2].RWMutex("n").RLocker().Lock(h2.Context(), lockwheel.Wait(time.Second))
	show("member read", err)
	show("", h.Unlock(ctx))
	show("", h2.Unlock(ctx))
	show("", h3.Unlock(ctx))
	show("", rd2.Unlock(ctx))
	// force while others wait
	h, err = q(es, "plain", "plain", "plain").Lock(ctx)
	show("", err)
	go func() {
		h, err := q(other, "plain", "plain", "plain").Lock(ctx, lockwheel.Wait(5*time.Second))
		if err == nil {
			err = h.Unlock(ctx)
		}
		w <- err
	}()
	time.Sleep(100 * time.Millisecond)
	for _, e := range es[:2] {
		_, err := e.Mutex("n").ForceUnlock(ctx)
		show("force", err)
	}
	time.Sleep(20 * time.Millisecond)
	show("forced", h.Err())
	show("other", <-w)
	show("", h.Unlock(ctx))
	for _, e := range append(es, other...) {
		locktest.RequireIdle(t, e)
	}
	for _, s := range p {
		t.Log(s.Do("KEYS", "*"))
	}
}
