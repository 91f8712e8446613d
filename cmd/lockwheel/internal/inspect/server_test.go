package inspect

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

// A key that has another type by now, or is at another node, is left out of what is listed. Other errors are told.
func TestRefused_KeyElsewhere_NoError(t *testing.T) {
	t.Parallel()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}, ForceSingleClient: true, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	for text, passes := range map[string]bool{
		"WRONGTYPE x": true, "MOVED 1 a:1": true, "ASK 1 a:1": true, "TRYAGAIN x": true, "NOPERM x": false, "LOADING x": false,
	} {
		reply := client.Do(t.Context(), client.B().Eval().Script("return redis.error_reply(ARGV[1])").Numkeys(0).Arg(text).Build())
		require.ErrorContains(t, reply.Error(), text)
		assert.Equal(t, passes, (&Server{}).refused(reply) == nil, text)
	}
	require.NoError(t, (&Server{}).refused(client.Do(t.Context(), client.B().Get().Key("none").Build())))
}
