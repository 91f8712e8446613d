package debug

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// confirmText returns the form that forces a lock, as text.
func (s *site) confirmText(e *lockwheel.Engine, name, kind string) string {
	s.t.Helper()
	return html.UnescapeString(s.get("confirm?" + url.Values{"engine": {e.ID()}, "kind": {kind}, "name64": {encoded(name)}}.Encode()))
}

// The page and its JSON say of which process they are. Each engine says on which server it is, and under which name the
// command lists it.
func TestPage_Process_IsNamed(t *testing.T) {
	t.Parallel()
	server := locktest.AnyServer(t)
	e := server.Open(lockwheel.Options{Name: "<billing>@b"})
	s := serve(t, Options{AllowForce: true}, e)
	host, err := os.Hostname()
	require.NoError(t, err)
	program := filepath.Base(os.Args[0])
	head := fmt.Sprintf(`<p id="process">%s on %s, pid %d</p>`, program, host, os.Getpid())
	assert.Contains(t, s.get(""), head)
	assert.Contains(t, s.get(""), "The server "+server.Addr+" replied to the last call.")
	assert.Contains(t, s.get(""), "Engine <bdi>&lt;billing&gt;@b</bdi> <code>")
	assert.Contains(t, s.get(""), `<option value="`+e.ID()+`">&lt;billing&gt;@b `+e.ID()+`</option>`)
	assert.Contains(t, s.get(""), "<h3><bdi>&lt;billing&gt;@b</bdi> "+e.ID()+"</h3>")
	for _, path := range []string{"locks.json", "stats.json", "events.json"} {
		var out struct{ Process process }
		require.NoError(t, json.Unmarshal([]byte(s.get(path)), &out))
		assert.Equal(t, process{program, host, os.Getpid()}, out.Process, path)
	}
	var stats statsJSON
	require.NoError(t, json.Unmarshal([]byte(s.get("stats.json")), &stats))
	assert.Equal(t, server.Addr, stats.Engines[0].Nodes[0].Address)
	assert.Equal(t, "<billing>@b", stats.Engines[0].Name)
}

// Before an operator forces a lock, the form says which program has it, on which host, and since when.
func TestForce_HolderElsewhere_Described(t *testing.T) {
	t.Parallel()
	server := locktest.RealServer(t)
	there, here := server.Open(lockwheel.Options{Name: "<billing>", PageAddress: "http://there/"}), server.Open(lockwheel.Options{})
	locktest.Lock(t, there.Mutex("n"))
	s := serve(t, Options{AllowForce: true}, here)
	want := fmt.Sprintf("<billing>: program %s, host %s, pid %d, started ", thisProcess.Program, thisProcess.Host, os.Getpid())
	locktest.Eventually(t, "the record and the answer", func() bool {
		h, err := here.Mutex("n").Holder(t.Context())
		return err == nil && !h.Since.IsZero()
	})
	h, err := here.Mutex("n").Holder(t.Context())
	require.NoError(t, err)
	var text string
	locktest.Eventually(t, "an answer in time", func() bool {
		text = s.confirmText(here, "n", "plain")
		return !strings.Contains(text, unknown)
	})
	assert.Contains(t, text, want)
	assert.Contains(t, text, "page http://there/")
	assert.Regexp(t, `<dt>since</dt><dd>`+fmt.Sprint(h.Since.UTC().Year())+`-.*\(.+s\)</dd>`, text)
	assert.NotContains(t, text, "(this process)")
	page := serve(t, Options{AllowForce: true}, here, there)
	assert.Contains(t, page.confirmText(here, "n", "plain"), "page http://there/ (this process)")
	assert.NotContains(t, s.get("confirm?"+url.Values{"engine": {here.ID()}, "kind": {"plain"}, "name64": {encoded("n")}}.Encode()), "<billing>")
}

// What is not known of a holder is said to be unknown, with the reason.
func TestForce_HolderUnknown_SaysWhy(t *testing.T) {
	t.Parallel()
	server := locktest.RealServer(t)
	e := server.Open(lockwheel.Options{Lease: 30 * time.Second})
	s := serve(t, Options{AllowForce: true}, e)
	server.HoldAsOther("redisson", time.Minute)
	text := s.confirmText(e, "redisson", "plain")
	assert.Contains(t, text, "unknown: its engine has no record")
	assert.Contains(t, text, "unknown: an engine without a record is not asked")

	poll := server.Open(lockwheel.Options{Name: "polls", Notify: lockwheel.Poll})
	locktest.Lock(t, poll.Mutex("polls"))
	locktest.Eventually(t, "a record", func() bool { return server.Exists("lockwheel:engine:" + poll.ID()) })
	text = s.confirmText(e, "polls", "plain")
	assert.Contains(t, text, "polls: program ")
	assert.Contains(t, text, "unknown: its engine did not say")

	there := server.Open(lockwheel.Options{Name: "there"})
	locktest.Lock(t, there.Mutex("held"))
	locktest.Eventually(t, "an answer", func() bool {
		h, err := e.Mutex("held").Holder(t.Context())
		return err == nil && !h.Since.IsZero()
	})
	server.Do("HSET", "left", there.ID()+":4711", "1")
	server.Do("PEXPIRE", "left", "60000")
	locktest.Eventually(t, "its answer", func() bool {
		text = s.confirmText(e, "left", "plain")
		assert.Contains(t, text, "there: program ")
		return strings.Contains(text, "unknown: its engine replied that it does not hold it")
	})

	for range 2 {
		locktest.Lock(t, e.RWMutex("r").RLocker())
	}
	assert.Contains(t, s.confirmText(e, "r", "reader"), "unknown: several readers have it")

	locktest.Lock(t, e.Mutex("own"))
	assert.Contains(t, s.confirmText(e, "own", "plain"), "this process, "+thisProcess.String())
}

// A description is that of the owner that the form shows, or none.
func TestForce_HolderChanged_NotDescribed(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.Lock(t, e.Mutex("n"))
	text := (&handler{engines: []*lockwheel.Engine{e}}).describeHolder(t.Context(), e.Mutex("n"), e.ID()+":0")
	assert.False(t, text.Known)
	assert.Contains(t, text.Who, "another holder by now")
}
