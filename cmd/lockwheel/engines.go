package main

import (
	"context"
	"errors"

	"github.com/lockwheel/lockwheel"
)

// engines are the two of a demo. home holds the many locks. rival competes for the hot name, as another process
// would.
type engines struct {
	home, rival *lockwheel.Engine
}

// open opens both. On failure it leaves none open.
func open(ctx context.Context, options lockwheel.Options) (engines, error) {
	home, err := lockwheel.Open(ctx, options)
	if err != nil {
		return engines{}, err
	}
	rival, err := lockwheel.Open(ctx, options)
	if err != nil {
		return engines{}, errors.Join(err, home.Close())
	}
	return engines{home, rival}, nil
}

// shutdown waits until both have left nothing in the server, or until ctx ends.
func (e engines) shutdown(ctx context.Context) error {
	return errors.Join(e.home.Shutdown(ctx), e.rival.Shutdown(ctx))
}

// stats returns the sums over both engines of what the demo shows.
func (e engines) stats() lockwheel.Stats {
	a, b := e.home.Stats(), e.rival.Stats()
	return lockwheel.Stats{
		Held:       a.Held + b.Held,
		Waiting:    a.Waiting + b.Waiting,
		Acquired:   a.Acquired + b.Acquired,
		Lost:       a.Lost + b.Lost,
		Renewed:    a.Renewed + b.Renewed,
		Handed:     a.Handed + b.Handed,
		RenewalLag: max(a.RenewalLag, b.RenewalLag),
	}
}
