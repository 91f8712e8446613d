package inspect

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// A server that had hardly any time for a reply, because others took it, is not named as silent. One that had it is.
func TestAttempts_CutShort_NotNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tried := newAttempts()
		dial := tried.watch(func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for address, had := range map[string]time.Duration{"late:1": minSilence - 1, "silent:1": minSilence} {
			ctx, cancel := context.WithTimeout(t.Context(), had)
			_, err := dial(ctx, address, nil, nil)
			require.Error(t, err)
			cancel()
		}
		require.Equal(t, " (silent:1 does not reply)", tried.text("", &rueidis.ClientOption{}))
	})
}
