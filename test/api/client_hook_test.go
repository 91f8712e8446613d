package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// recordingClient is a client of the caller that records the words of each call, as hooks for logs or traces do.
type recordingClient struct {
	rueidis.Client
	mu    sync.Mutex
	words []string // the original strings
	then  []string // copies of them
}

func (c *recordingClient) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.mu.Lock()
	for _, word := range cmd.Commands() {
		c.words = append(c.words, word)
		c.then = append(c.then, strings.Clone(word))
	}
	c.mu.Unlock()
	return c.Client.Do(ctx, cmd)
}

// Strings are immutable: the words of a call that a hook of the caller's client has recorded do not change.
func TestClientHook_WordsOfCall_Unchanged(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	client := &recordingClient{Client: s.Client()}
	e := locktest.OpenRetrying(t, lockwheel.Options{Client: client})
	for i := range 50 {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex(fmt.Sprint("n", i))))
	}
	client.mu.Lock()
	defer client.mu.Unlock()
	changed := 0
	for i := range client.words {
		if client.words[i] != client.then[i] {
			if changed++; changed < 4 {
				t.Logf("%q has become %q", client.then[i], client.words[i])
			}
		}
	}
	require.Zero(t, changed)
}
