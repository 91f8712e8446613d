package lockwheel

import (
	"context"
	"errors"
)

// do runs f while the lock is held, and unlocks it however f ends: by a panic or runtime.Goexit too.
func (h *Hold) do(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		err = h.besides(err, h.Unlock(context.WithoutCancel(ctx)))
	}()
	return f(h.Context())
}

// besides joins what Unlock returned to what the function returned, unless the function returned that very loss, or end of the engine,
// which it has from its context.
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
