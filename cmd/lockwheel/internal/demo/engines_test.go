package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// The demo tells its engines what its flags say, and each engine's record names the page.
func TestDemo_Options_AreThoseOfTheFlags(t *testing.T) {
	d := newDemo(settings{lease: 6 * time.Second}, server{embedded: true}, nil)
	require.NoError(t, d.site.listen("127.0.0.1:0"))
	defer d.site.close()
	options := d.options()
	assert.Equal(t, 6*time.Second, options.Lease)
	assert.Equal(t, 1200*time.Millisecond, options.RenewInterval)
	assert.Equal(t, 2*time.Second, options.CallTimeout, "the embedded server may be slow")
	assert.Equal(t, d.site.url(), options.PageAddress)
	assert.NotEmpty(t, options.PageAddress)
	assert.Equal(t, d.prefix, options.Prefix)
	d.server.embedded = false
	assert.Zero(t, d.options().CallTimeout)
}

// What the demo shows is of both engines: a loss of either fails it.
func TestEngines_Stats_AreOfBoth(t *testing.T) {
	t.Parallel()
	where, err := embed()
	require.NoError(t, err)
	t.Cleanup(where.close)
	at, err := open(t.Context(), lockwheel.Options{Redis: where.option})
	require.NoError(t, err)
	defer at.main.Close()
	defer at.second.Close()
	var renewed uint64
	for i, e := range []*lockwheel.Engine{at.main, at.second} {
		own, lost := string(rune('a'+i)), string(rune('x'+i))
		kept, err := e.Mutex(own).Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, kept.Extend(t.Context(), time.Minute))
		_, err = e.Mutex(lost).Lock(t.Context())
		require.NoError(t, err)
		_, err = e.Mutex(lost).ForceUnlock(t.Context())
		require.NoError(t, err)
		e.Mutex(own).LockAsync(t.Context())
		renewed += e.Stats().Renewed
		require.NotZero(t, e.Stats().Renewed)
	}
	s := at.stats()
	assert.Equal(t, []int64{2, 2}, []int64{s.Held, s.Waiting})
	assert.EqualValues(t, 4, s.Acquired)
	assert.EqualValues(t, 2, s.Lost)
	assert.GreaterOrEqual(t, s.Renewed, renewed)
}
