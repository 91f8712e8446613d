package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/rediserr"
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

// slowPool is a client with a first connection that comes late.
type slowPool struct {
	rueidis.Client
	asked int
}

func (p *slowPool) Dedicate() (rueidis.DedicatedClient, func()) {
	if p.asked++; p.asked == 1 {
		time.Sleep(time.Second)
	}
	return nil, func() {}
}

// The engine's own client has connections enough: one that does not come in time is slow to make.
func TestLender_OwnClient_SaysSlow(t *testing.T) {
	for _, own := range []bool{false, true} {
		require.Equal(t, own, (&Engine{server: &Server{reuseBuffers: own}}).lender().own)
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLender(nil, onGoroutine)
		l.own = true
		_, err := l.lend(&slowPool{}, time.Millisecond)
		require.NotErrorIs(t, err, coordinator.ErrPoolExhausted)
		var failed *rediserr.ClientError
		require.ErrorAs(t, err, &failed)
		require.True(t, failed.Dial)
		l.abandon()
		time.Sleep(2 * time.Second)
	})
}

// A late connection that was returned, because none asked for it in time, is not lent. The next request has another.
func TestLender_LateConnReturned_NextIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, l := &slowPool{}, newLender(nil, onGoroutine)
		_, err := l.lend(pool, time.Millisecond)
		require.ErrorIs(t, err, coordinator.ErrPoolExhausted)
		time.Sleep(2*time.Second + lateConnLifetime)
		lent, err := l.lend(pool, time.Second)
		require.NoError(t, err)
		require.NotNil(t, lent.release)
		require.Equal(t, 2, pool.asked)
	})
}

// A worker that ends no longer wants the connection that it waited for: it is returned when it comes.
func TestWorkers_EndWithoutConn_Returned(t *testing.T) {
	for name, run := range map[string]func(rueidis.Client){
		"replica sender": func(client rueidis.Client) {
			batches := make(chan *coordinator.Batch, 1)
			batches <- acquireBatch()
			close(batches)
			s := &replicaSender{nodeConn: &nodeConn{client: client}, lender: newLender(nil, onGoroutine), poolTimeout: time.Millisecond}
			s.run(batches, mpsc.NewMailbox[any]())
		},
		"subscriber": func(client rueidis.Client) {
			orders := make(chan *coordinator.Order, 1)
			orders <- &coordinator.Order{Channels: []string{"a"}}
			close(orders)
			s := newListener(client)
			s.orders, s.box = orders, mpsc.NewMailbox[any]()
			s.run()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := &exhaustedClient{free: make(chan struct{}), returned: make(chan struct{})}
				run(pool)
				close(pool.free)
				requireReturned(t, pool)
			})
		})
	}
}

// Who no longer waits for a connection, because its context has ended, returns the one that comes.
func TestBorrow_ContextEnds_LateConnReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := &exhaustedClient{free: make(chan struct{}), returned: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		_, err := borrow(ctx, pool, false, time.Hour)
		require.ErrorIs(t, err, coordinator.ErrPoolExhausted)
		require.Zero(t, time.Since(began))
		close(pool.free)
		requireReturned(t, pool)
	})
}

// requireReturned requires that the connection of a pool has been returned, in a bubble of synctest.
func requireReturned(t *testing.T, pool *exhaustedClient) {
	t.Helper()
	synctest.Wait()
	select {
	case <-pool.returned:
	default:
		t.Error("it is kept")
		time.Sleep(2 * lateConnLifetime) // until it is returned all the same
	}
}
