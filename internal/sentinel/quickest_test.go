package sentinel_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/sentinel"
)

// The first sentinel stays the first if it replies soon, and the next that replies comes first if it does not. Without
// any reply the order is as it was.
func TestQuickestFirst_Order_ThatOfReplies(t *testing.T) {
	const never, refuses = time.Hour, -1
	for name, c := range map[string]struct {
		after []time.Duration // of each sentinel a, b, c
		want  string
		took  time.Duration
	}{
		"all at once":             {[]time.Duration{0, 0, 0}, "abc", 0},
		"the first a little late": {[]time.Duration{100 * time.Millisecond, 0, 0}, "abc", 100 * time.Millisecond},
		"the first too late":      {[]time.Duration{200 * time.Millisecond, 50 * time.Millisecond, 0}, "bac", 125 * time.Millisecond},
		"the first two silent":    {[]time.Duration{never, never, 300 * time.Millisecond}, "cab", 300 * time.Millisecond},
		"the first refuses":       {[]time.Duration{refuses, 0, 0}, "bac", 0},
		"all silent":              {[]time.Duration{never, never, never}, "abc", time.Second},
		"all refuse":              {[]time.Duration{refuses, refuses, refuses}, "abc", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				option := rueidis.ClientOption{
					InitAddress: []string{"a", "b", "c"}[:len(c.after)],
					DialCtxFn: func(ctx context.Context, address string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
						after := c.after[address[0]-'a']
						if after == refuses {
							return nil, errors.New("connection refused")
						}
						ours, theirs := net.Pipe()
						go func() {
							defer theirs.Close()
							if _, err := theirs.Read(make([]byte, 64)); err != nil {
								return
							}
							select {
							case <-time.After(after):
								_, _ = theirs.Write([]byte("+PONG\r\n"))
							case <-ctx.Done():
							}
						}()
						return ours, nil
					},
				}
				begun := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				order := ""
				for _, address := range sentinel.QuickestFirst(ctx, &option, time.Second) {
					order += address
				}
				require.Equal(t, c.want, order)
				require.Equal(t, c.took, time.Since(begun))
			})
		})
	}
}
