package bench

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// address is the server to measure on: the one that LOCKWHEEL_BENCH_REDIS names, or one of our own.
func address(b *testing.B) string {
	if named := os.Getenv("LOCKWHEEL_BENCH_REDIS"); named != "" {
		return named
	}
	return redistest.Start(b).Addr()
}

func openEngine(b *testing.B, addr string, opts lockwheel.Options) *lockwheel.Engine {
	opts.Redis = rueidis.ClientOption{InitAddress: []string{addr}}
	e, err := lockwheel.Open(context.Background(), opts)
	require.NoError(b, err)
	b.Cleanup(func() { e.Close() })
	return e
}

// openPlain is rueidis as it comes.
func openPlain(b *testing.B, addr string) rueidis.Client {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	require.NoError(b, err)
	b.Cleanup(client.Close)
	return client
}

// median sorts what it is given.
func median(values []time.Duration) time.Duration { return quantile(values, 0.5) }
