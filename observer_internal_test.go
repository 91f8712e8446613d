package lockwheel

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/embedded"
)

// A slow turn is reported. Here the callback for a result is slow, which is part of a turn.
func TestTheObserverIsToldOfSlowTurns(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	late := make(chan time.Duration, 1024)
	e, err := Open(t.Context(), Options{
		Redis:    rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true},
		Observer: Observer{SlowTurn: func(turn time.Duration) { send(late, turn) }},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	const long = 20 * time.Millisecond
	call, _, err := e.Mutex("n").request(t.Context(), nil, acquireMode{async: true})
	require.NoError(t, err)
	call.OnDone = func() {
		for began := time.Now(); time.Since(began) < long; {
		}
	}
	require.True(t, e.loop.Post(call))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		select {
		case turn := <-late: // a turn before may have taken long, too, on a busy machine
			if turn >= long {
				return
			}
		case <-ctx.Done():
			t.Fatal("a turn of 20ms was not told")
		}
	}
}

// send gives a value to a receiver that is waiting, and never blocks.
func send[T any](to chan<- T, value T) {
	select {
	case to <- value:
	default:
	}
}
