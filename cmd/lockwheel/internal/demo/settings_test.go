package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSettings_Defaults_RenewEverySecond(t *testing.T) {
	s, err := parse(nil)
	require.NoError(t, err)
	assert.Equal(t, 10_000, s.locks)
	assert.Equal(t, 30*time.Second, s.hold)
	assert.Equal(t, time.Second, s.lease/renewalsPerLease)
	assert.Less(t, s.hot, s.workers)
}

func TestSettings_Fewest_Accepted(t *testing.T) {
	s, err := parse([]string{"-locks", "1", "-workers", "1", "-hot", "0", "-for", "100ms", "-lease", "100ms"})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1, 0}, []int{s.locks, s.workers, s.hot})
}

func TestSettings_ManyLocks_LongerLease(t *testing.T) {
	for _, c := range []struct {
		args []string
		want time.Duration
	}{
		{[]string{"-redis", "host:6379", "-locks", "40000"}, 5 * time.Second},
		{[]string{"-redis", "host:6379", "-locks", "400000"}, 50 * time.Second},
		{[]string{"-redis", "host:6379", "-locks", "10000000"}, 1250 * time.Second},
		{[]string{"-locks", "120000"}, 50 * time.Second},
		{[]string{"-locks", "400000", "-lease", "1s"}, time.Second},
	} {
		s, err := parse(c.args)
		require.NoError(t, err)
		assert.Equal(t, c.want, s.lease, c.args)
	}
}

func TestSettings_Hot_AtMostWorkers(t *testing.T) {
	s, err := parse([]string{"-workers", "3"})
	require.NoError(t, err)
	assert.Equal(t, 3, s.hot)
}

func TestSettings_Server_AddressOrURL(t *testing.T) {
	for text, address := range map[string]string{
		"127.0.0.1:6379":               "127.0.0.1:6379",
		"[::1]:6379":                   "[::1]:6379",
		"redis://me:secret@host:7000/": "host:7000",
		"rediss://host":                "host:6379",
	} {
		s, err := parse([]string{"-redis", text})
		require.NoError(t, err, text)
		where, err := s.server()
		require.NoError(t, err, text)
		assert.Equal(t, address, where.address(), "and no password in it")
	}
}
