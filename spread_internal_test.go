package lockwheel

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// Callers that collided do not retry at the same time.
func TestRestsAreSpread(t *testing.T) {
	t.Parallel()
	const most = time.Second
	first, last := most, time.Duration(0)
	for range 100 {
		rest := jitterBackoff(most)
		first, last = min(first, rest), max(last, rest)
	}
	require.GreaterOrEqual(t, first, most/2)
	require.LessOrEqual(t, last, most)
	require.Greater(t, last-first, most/4)
}

// Engines that are opened together have different times for renewals, and each spreads the renewals of locks acquired
// together.
func TestEnginesKeepToMomentsOfTheirOwn(t *testing.T) {
	t.Parallel()
	options, err := Options{Redis: rueidis.ClientOption{InitAddress: []string{"host:1"}}}.withDefaults()
	require.NoError(t, err)
	one, other := options.config(), options.config()
	require.NotEqual(t, one.ID, other.ID)
	require.NotEqual(t, one.Seed, other.Seed)
	require.Equal(t, options.RenewInterval/2, one.RenewSpread)
}
