package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
)

// holderTime is how long run looks for the holder of a lock that it did not get. It must exceed the time that the
// holder's engine has for its reply: who holds the lock is told also if that engine is dead or stopped.
const holderTime = 2 * time.Second

// withHolder adds to the error of a lock that was not acquired who holds it, if that is known soon enough.
func (r *runner) withHolder(err error) error {
	var found atomic.Pointer[string]
	atMost(holderTime, func() { r.holder(&found) })
	if text := found.Load(); text != nil {
		return fmt.Errorf("%w; %s", err, *text)
	}
	return err
}

// holder says in found who holds the lock by now, unless that is not known or it is free. At first it says the id
// alone: the engine's record may be at a node that does not reply.
func (r *runner) holder(found *atomic.Pointer[string]) {
	ctx, cancel := context.WithTimeout(context.Background(), holderTime)
	defer cancel()
	s, err := inspect.Open(ctx, r.server, r.globals.prefix)
	if err != nil {
		return
	}
	defer s.Close()
	l, err := s.Find(ctx, r.name)
	var text string
	switch {
	case err != nil:
		return
	case l.Kind == inspect.NoLock:
		text = "its key is of type " + l.Type
		found.Store(&text)
		return
	case !l.Held() || len(l.Holders) == 0:
		return
	}
	text = "held by " + holdersOf(l)
	found.Store(&text)
	l.Holders = l.Holders[:1] // only that one is named
	if s.Identify(ctx, l) == nil && l.Holders[0].Engine != nil {
		who, since := identityOf(&l.Holders[0])
		more := text + ", " + who + "; since " + since
		found.Store(&more)
	}
}

// optionForeign is what the library says of a string at a lock's key. The command has a flag for the option.
const optionForeign = "Options.Foreign waits for such a lock"

// flagged is an error with a text that names a flag and not the option of the library.
type flagged struct {
	error
	text string
}

func (f *flagged) Error() string { return f.text }

func (f *flagged) Unwrap() error { return f.error }

// withFlag says --foreign in the error for a string at the lock's key.
func withFlag(err error) error {
	if before, after, found := strings.Cut(err.Error(), optionForeign); found {
		return &flagged{err, before + "--foreign waits for such a lock" + after}
	}
	return err
}
