package engine

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// exhaustedClient is a client with all connections in use.
type exhaustedClient struct {
	rueidis.Client
	free     chan struct{} // closed when a connection becomes free
	returned chan struct{} // closed when a connection is returned
}

func (u *exhaustedClient) Dedicate() (rueidis.DedicatedClient, func()) {
	<-u.free
	return nil, func() { close(u.returned) }
}

// A connection from a shared pool that comes when it is no longer wanted is returned.
func TestLender_LateConnection_Returned(t *testing.T) {
	pool := &exhaustedClient{free: make(chan struct{}), returned: make(chan struct{})}
	l := newLender(nil, onGoroutine)
	_, err := l.lend(pool, time.Millisecond)
	require.ErrorIs(t, err, coordinator.ErrPoolExhausted)
	l.abandon()
	close(pool.free)
	select {
	case <-pool.returned:
	case <-time.After(10 * time.Second):
		t.Fatal("it is kept")
	}
}
