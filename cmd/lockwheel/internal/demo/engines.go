package demo

import (
	"context"
	"errors"

	"github.com/lockwheel/lockwheel"
)

// engines are the two of a demo. home holds the many locks. rival competes for the hot name, as another process
// would.
type engines struct {
	main, second *lockwheel.Engine
}

// open opens both. On failure it leaves none open.
func open(ctx context.Context, options lockwheel.Options) (engines, error) {
	first, err := lockwheel.Open(ctx, options)
	if err != nil {
		return engines{}, err
	}
	second, err := lockwheel.Open(ctx, options)
	if err != nil {
		return engines{}, errors.Join(err, first.Close())
	}
	return engines{first, second}, nil
}

// shutdown waits until both have left nothing in the server, or until ctx ends.
func (e engines) shutdown(ctx context.Context) error {
	return errors.Join(e.main.Shutdown(ctx), e.second.Shutdown(ctx))
}

// stats returns the sums over both engines of what the demo shows.
func (e engines) stats() lockwheel.Stats {
	a, b := e.main.Stats(), e.second.Stats()
	return lockwheel.Stats{
		Held:       a.Held + b.Held,
		Waiting:    a.Waiting + b.Waiting,
		Acquired:   a.Acquired + b.Acquired,
		Lost:       a.Lost + b.Lost,
		Renewed:    a.Renewed + b.Renewed,
		HandedOff:  a.HandedOff + b.HandedOff,
		RenewalLag: max(a.RenewalLag, b.RenewalLag),
	}
}
