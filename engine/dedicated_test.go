package engine

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// usedUp is a client all of whose connections are in use.
type usedUp struct {
	rueidis.Client
	free     chan struct{} // until it is closed
	returned chan struct{} // closed when a connection is given back
}

func (u *usedUp) Dedicate() (rueidis.DedicatedClient, func()) {
	<-u.free
	return nil, func() { close(u.returned) }
}

// A pool that others share gets a connection back that came when it was not wanted any more.
func TestAConnectionThatComesTooLateGoesBackAtOnce(t *testing.T) {
	pool := &usedUp{free: make(chan struct{}), returned: make(chan struct{})}
	l := newLender(nil, onGoroutine)
	_, err := l.lend(pool, time.Millisecond)
	require.ErrorIs(t, err, errNoneFree)
	l.leave()
	close(pool.free)
	select {
	case <-pool.returned:
	case <-time.After(10 * time.Second):
		t.Fatal("it is kept")
	}
}
