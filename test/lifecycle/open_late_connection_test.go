package lifecycle_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A dialer that ignores its context delays no Open, and the connection that it returns after Open is closed. This test
// is not parallel: it counts goroutines.
func TestOpen_ConnectionAfterReturn_Closed(t *testing.T) {
	s := locktest.RealServer(t)
	s.Do("PING")
	running := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancelCause(t.Context())
	gate, made := make(chan struct{}), make(chan net.Conn, 1)
	opened := make(chan error, 1)
	go func() {
		_, err := lockwheel.Open(ctx, lockwheel.Options{Lease: 20 * locktest.TestDeadline, CallTimeout: 5 * locktest.TestDeadline, Redis: rueidis.ClientOption{
			InitAddress: []string{s.Addr}, ForceSingleClient: true,
			DialCtxFn: func(_ context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				cancel(locktest.ErrTest)
				<-gate
				conn, err := d.Dial("tcp", address)
				made <- conn
				return conn, err
			},
		}})
		opened <- err
	}()
	require.ErrorIs(t, locktest.Receive(t, opened), locktest.ErrTest)
	close(gate)
	conn := locktest.Receive(t, made)
	require.NotNil(t, conn)
	locktest.Eventually(t, "the connection to be closed", func() bool { return conn.SetDeadline(time.Time{}) != nil })
	locktest.Eventually(t, "no goroutine left", func() bool { return goleak.Find(running) == nil })
}
