package identity

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
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
	for _, text := range []string{"0", "-5", "x", "1.5", "99999999999999"} {
		_, ttl, ok := Parse(some, []string{"n", "p", "h", "7", "", "", "", text})
		require.True(t, ok)
		require.Zero(t, ttl, text)
	}
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

// An engine understands what others send, whatever is in the key, and nothing else: any client may send a message.
func TestMessage_ReadBack(t *testing.T) {
	for _, key := range []string{"orders/7", "a b  c", "\xff\n", strings.Repeat("k", 64<<10)} {
		m, ok := ParseMessage(Question(some, 1<<63, key))
		require.True(t, ok)
		require.Equal(t, Message{Asker: some, Tenure: 1 << 63, Key: key}, m)
		m, ok = ParseMessage(WaitersQuestion(some, key))
		require.True(t, ok)
		require.Equal(t, Message{Waiters: true, Asker: some, Key: key}, m)
		m, ok = ParseMessage("forced " + key)
		require.True(t, ok)
		require.Equal(t, Message{Forced: true, Key: key}, m)
	}
	for _, text := range []string{
		"", "forced", "forced ", "force k", "since", "since " + some, "since " + some + " 1", "since " + some + " 1 ", "since " + some + " -1 k",
		"since " + some + " x k", "since  1 k", "since x 1 k", "since " + some + "x 1 k", "waiters", "waiters k",
		"waiters " + some, "waiters " + some + " ", "waiters x k", "waiters  k", "waiters " + some + " " + strings.Repeat("k", MaxMessage), "forced " + strings.Repeat("k", MaxMessage),
	} {
		_, ok := ParseMessage(text)
		require.False(t, ok, text[:min(len(text), 80)])
	}
}

// What a program says about itself fits into a record, and is not cut in silence.
func TestNames_TooLong_AreErrors(t *testing.T) {
	require.NoError(t, CheckName(strings.Repeat("n", 256)))
	require.EqualError(t, CheckName(strings.Repeat("n", 257)), "Options.Name of 257 bytes: want at most 256")
	require.NoError(t, CheckPage("http://h/"+strings.Repeat("p", MaxText-9)))
	require.ErrorContains(t, CheckPage("http://h/"+strings.Repeat("p", MaxText-8)), "Options.PageAddress of 1025 bytes")
	for _, page := range []string{"http://me:secret@h/", "http://h/?mail=me@h", "@"} {
		require.ErrorContains(t, CheckPage(page), "it must not have a user or a password in it")
		require.NotContains(t, CheckPage(page).Error(), "secret")
	}
}

// The name of an engine that has none fits into a record as well, and keeps what tells processes apart.
func TestDefaultName_LongProgram_EndsWithHostAndPID(t *testing.T) {
	args := os.Args
	defer func() { os.Args = args }()
	end := fmt.Sprintf("@%s:%d", hostName(), os.Getpid())
	os.Args = []string{"/usr/bin/prog"}
	require.Equal(t, "prog"+end, DefaultName())
	os.Args = []string{"/usr/bin/" + strings.Repeat("x", 300)}
	require.Len(t, DefaultName(), 256)
	require.NoError(t, CheckName(DefaultName()))
	require.True(t, strings.HasSuffix(DefaultName(), "x"+end))
	os.Args = nil
	require.Equal(t, "unknown"+end, DefaultName())
}

func TestConnectionName_OddCharacters_Replaced(t *testing.T) {
	require.Equal(t, "a_b_c!~_d_", ConnectionName("a b\nc!~éd\x7f"))
}

func TestLibraryVersion_EachBuild_Found(t *testing.T) {
	ours := &debug.Module{Path: modulePath, Version: "v1.2.3"}
	other := &debug.Module{Path: "example.com/other", Version: "v9.9.9"}
	for want, info := range map[string]*debug.BuildInfo{
		"v1.2.3":  {Main: *other, Deps: []*debug.Module{other, ours}},
		"v1.2.4":  {Main: debug.Module{Path: modulePath, Version: "v1.2.4"}, Deps: []*debug.Module{other}},
		"(devel)": {Main: *other, Deps: []*debug.Module{{Path: modulePath}}},
	} {
		require.Equal(t, want, libraryVersion(info, true))
	}
	require.Equal(t, "(devel)", libraryVersion(&debug.BuildInfo{Main: *other}, true))
	require.Equal(t, "(unknown)", libraryVersion(nil, false))
}

func TestAnswer_ReadBack(t *testing.T) {
	for _, a := range []Answer{{}, {Held: true}, {Held: true, Age: time.Hour}} {
		got, ok := ParseAnswer(a.Text())
		require.True(t, ok)
		require.Equal(t, a, got)
	}
	require.Equal(t, "held 0", (&Answer{Held: true, Age: -time.Hour}).Text(), "a clock was set back")
	got, ok := ParseAnswer("held 7 and more of a later version")
	require.True(t, ok)
	require.Equal(t, Answer{Held: true, Age: 7 * time.Millisecond}, got)
	for _, text := range []string{"", "held", "held ", "held x y", "held -1 x", "held 99999999999999999 x", "held 99999999999999"} {
		_, ok := ParseAnswer(text)
		require.False(t, ok, text[:min(len(text), 40)])
	}
}

// An answer about waiters is read back, also one of a later version that says more. Of numbers that no engine sends it
// makes none that overflow.
func TestWaiters_ReadBack(t *testing.T) {
	for want, w := range map[string]Waiters{
		"waiters " + some + " 0 0 0":            {Engine: some},
		"waiters " + some + " 7 61000 1":        {Engine: some, Waiting: 7, Age: 61 * time.Second, Subscriptions: 1},
		"waiters " + some + " 1024 5 0 more":    {Engine: some, Waiting: 1024, Age: 5 * time.Millisecond, More: true},
		"waiters " + some + " 1 3600000 2 more": {Engine: some, Waiting: 1, Age: time.Hour, Subscriptions: 2, More: true},
	} {
		require.Equal(t, want, w.Text())
		for _, text := range []string{want, want + " and others of a later version"} {
			got, ok := ParseWaiters(text)
			require.True(t, ok)
			require.Equal(t, w, got)
		}
	}
	require.Equal(t, "waiters "+some+" 1 0 0", (&Waiters{Engine: some, Waiting: 1, Age: -time.Hour}).Text(), "a clock was set back")
	w, ok := ParseWaiters("waiters " + some + " 4398046511103 4398046511103 4398046511103")
	require.True(t, ok)
	require.Equal(t, math.MaxInt32, w.Waiting)
	require.Equal(t, math.MaxInt32, w.Subscriptions)
	require.Greater(t, w.Age, time.Duration(0))
	for _, text := range []string{
		"", "waiters", "waiters " + some, "waiters " + some + " 1 2", "waiters  1 2 3", "waiters " + some + " -1 2 3", "waiters " + some + " 1 -2 3",
		"waiters " + some + " 1 2 -3", "waiters " + some + " x 2 3", "waiters " + some + " 1 99999999999999 3", "held 1 2 3 4",
		"waiters " + some + " 1 2 3 " + strings.Repeat("m", MaxMessage),
	} {
		_, ok := ParseWaiters(text)
		require.False(t, ok, text[:min(len(text), 80)])
	}
}
