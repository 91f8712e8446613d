package identity

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const some = "00000000-0000-4000-8000-000000000001"

// valuesOf returns what HMGET of Names replies for fields.
func valuesOf(fields []string) (values []string) {
	for _, name := range Names {
		value := ""
		for i := 0; i < len(fields); i += 2 {
			if fields[i] == name {
				value = fields[i+1]
			}
		}
		values = append(values, value)
	}
	return values
}

func TestRecord_Fields_ReadBack(t *testing.T) {
	r := Record{ID: some, Name: "a \n b", Program: "p", Host: "h", PID: 7, Version: "v1", Started: time.Unix(1e9, 0).UTC(), Page: "http://x"}
	got, ttl, ok := Parse(some, valuesOf(r.Fields(time.Minute)))
	require.True(t, ok)
	require.Equal(t, r, got)
	require.Equal(t, time.Minute, ttl)
	r.Page = ""
	require.NotContains(t, r.Fields(time.Minute), "page")
}

// A record may have anything in it: it is read as far as it is one, and nothing that is long.
func TestRecord_Odd_Bounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, values := range [][]string{nil, {""}, {"name"}, {"name", "p", "h", "x"}, {"", "p", "h", "7"}, {"n", "p", "h", "-7"}} {
		_, _, ok := Parse(some, values)
		require.False(t, ok, values)
	}
	r, ttl, ok := Parse(some, []string{long, long, long, "7", long, long, long, long, "further"})
	require.True(t, ok)
	require.Zero(t, ttl)
	require.Zero(t, r.Started)
	for _, text := range []string{r.Name, r.Program, r.Host, r.Version, r.Page} {
		require.Len(t, text, MaxText)
	}
	for _, field := range (&Record{Name: long, PID: 1}).Fields(0) {
		require.LessOrEqual(t, len(field), MaxText)
	}
}

// A record that was written Period and a little before its engine died lives as long as the engine's locks.
func TestTTL_OfLease_OutlivesLocks(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 30 * time.Second, 15 * time.Second: 30 * time.Second, 30 * time.Second: 45 * time.Second,
		2 * time.Minute: 135 * time.Second, 24 * time.Hour: time.Hour,
	} {
		require.Equal(t, want, TTL(lease), lease)
	}
}

func TestKey_Split(t *testing.T) {
	for _, prefix := range []string{"", "orders/", "lockwheel:engine:"} {
		got, id, ok := SplitKey(Key(prefix, some))
		require.True(t, ok)
		require.Equal(t, []string{prefix, some}, []string{got, id})
	}
	for _, key := range []string{"", "lockwheel:engine:", "lockwheel:engine:x", some} {
		_, _, ok := SplitKey(key)
		require.False(t, ok, key)
	}
}

func TestHolder_EngineOf(t *testing.T) {
	id, tenure, ok := EngineOf(some + ":17")
	require.True(t, ok)
	require.Equal(t, some, id)
	require.EqualValues(t, 17, tenure)
	for _, holder := range []string{"", some, some + ":", some + ":-1", some + ":1:2", "x:1"} {
		_, _, ok := EngineOf(holder)
		require.False(t, ok, holder)
	}
}

func TestAnswer_ReadBack(t *testing.T) {
	for _, a := range []Answer{{}, {Held: true}, {Held: true, Age: time.Hour}} {
		got, ok := ParseAnswer(a.Text())
		require.True(t, ok)
		require.Equal(t, a, got)
	}
	got, ok := ParseAnswer("held 7 and more of a later version")
	require.True(t, ok)
	require.Equal(t, Answer{Held: true, Age: 7 * time.Millisecond}, got)
	for _, text := range []string{"", "held", "held ", "held x y", "held -1 x", "held 99999999999999999 x"} {
		_, ok := ParseAnswer(text)
		require.False(t, ok, text[:min(len(text), 40)])
	}
}
