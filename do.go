package lockwheel

import (
	"context"
	"errors"
)

// do runs f while the lock is held, and then unlocks it, even if f panics or calls runtime.Goexit.
func (h *Hold) do(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		err = h.besides(err, h.Unlock(context.WithoutCancel(ctx)))
	}()
	return f(h.Context())
}

// besides joins the errors of f and of Unlock. It omits Unlock's error if f returned the same loss or end of the
// engine, which f has from its context.
func (h *Hold) besides(err, unlocked error) error {
	if unlocked == nil {
		return err
	}
	var returned *lockError
	if errors.As(err, &returned) && returned.name == h.name && (returned.err == ErrLost || returned.err == ErrClosed) && errors.Is(unlocked, returned.err) {
		return err
	}
	return errors.Join(err, unlocked)
}
