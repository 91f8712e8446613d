package adv1

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func info(t *testing.T, e *lockwheel.Engine) (all []lockwheel.LockInfo) {
	for l, err := range e.Locks(t.Context()) {
		require.NoError(t, err)
		all = append(all, l)
	}
	return all
}

func TestInfoLabel(t *testing.T) {
	s := locktest.RealServer(t)
	var log bytes.Buffer
	e := s.Open(lockwheel.Options{CallSites: true, HeldTooLong: 300 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	m := e.Mutex("n")
	a := locktest.LockWith(t, lockwheel.WithLabel(t.Context(), "A"), m)
	b := locktest.LockWith(t, lockwheel.WithLabel(context.WithoutCancel(a.Context()), "B"), m)
	a.Unlock(t.Context())
	t.Log(info(t, e)[0].Label, info(t, e)[0].Holds, info(t, e)[0].CallSite)
	time.Sleep(500 * time.Millisecond)
	b.Unlock(t.Context())
	e.Close()
	t.Log(log.String())
}

func TestInfoDeadline(t *testing.T) {
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	a := locktest.Lock(t, m, lockwheel.Lease(2*time.Second))
	b := locktest.LockWith(t, a.Context(), m, lockwheel.Lease(time.Minute))
	b.Unlock(t.Context())
	i := info(t, e)[0]
	t.Log(i.Deadline.Sub(a.Deadline()), i.Holds, time.Until(i.Deadline), a.Err())
	a.Unlock(t.Context())
	c := locktest.Lock(t, m)
	require.NoError(t, c.Extend(t.Context(), time.Second))
	t.Log(info(t, e)[0].Deadline.Sub(c.Deadline()), info(t, e)[0].Watched)
	c.Unlock(t.Context())
	e2 := s.Open(lockwheel.Options{MaxHold: 5 * time.Second})
	c = locktest.Lock(t, e2.Mutex("x"))
	t.Log(info(t, e2)[0].Deadline.Sub(c.Deadline()), info(t, e2)[0].Watched, time.Until(c.Deadline()))
	c.Unlock(t.Context())
}

type ptrTracer struct{ lock, unlock, extend *lockwheel.Hold }

func (p *ptrTracer) CallStart(ctx context.Context, c lockwheel.TracedCall) context.Context {
	return ctx
}
func (p *ptrTracer) CallEnd(ctx context.Context, c lockwheel.TracedCall, h *lockwheel.Hold, err error) {
	switch c.Op {
	case "lock":
		p.lock = h
	case "unlock":
		p.unlock = h
	case "extend":
		p.extend = h
	}
}

func TestTracerPointer(t *testing.T) {
	s := locktest.RealServer(t)
	for _, find := range []bool{false, true} {
		tr := &ptrTracer{}
		e := s.Open(lockwheel.Options{Tracer: tr, FindLeaks: find})
		h := locktest.Lock(t, e.Mutex("n"))
		h.Extend(t.Context(), 0)
		h.Unlock(t.Context())
		t.Log(find, tr.lock == h, tr.extend == h, tr.unlock == h)
		m, err := e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(t.Context())
		require.NoError(t, err)
		m.Extend(t.Context(), 0)
		m.Unlock(t.Context())
		t.Log(find, tr.lock == m, tr.extend == m, tr.unlock == m)
	}
}
