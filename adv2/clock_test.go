package adv2_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// clockServer starts a server with a clock that the returned function sets.
func clockServer(t *testing.T) (*locktest.Server, func(time.Duration)) {
	shim := os.Getenv("ADV2_SHIM")
	if shim == "" {
		t.Skip("needs the shim")
	}
	f := filepath.Join(t.TempDir(), "off")
	set := func(d time.Duration) {
		b := make([]byte, 8)
		binary.LittleEndian.PutUint64(b, uint64(d.Milliseconds()))
		fd, err := os.OpenFile(f, os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		fd.WriteAt(b, 0)
		fd.Close()
	}
	set(0)
	os.Setenv("LD_PRELOAD", shim)
	os.Setenv("SHIM_FILE", f)
	s := locktest.RealServer(t)
	os.Unsetenv("LD_PRELOAD")
	return s, set
}

func TestClockBack(t *testing.T) {
	for _, kind := range []string{"plain", "fenced", "fair", "write", "read"} {
		t.Run(kind, func(t *testing.T) {
			s, set := clockServer(t)
			opts := lockwheel.Options{Lease: 1500 * time.Millisecond}
			a, b := s.Open(opts), s.Open(opts)
			h := locktest.Lock(t, kindMutex(a, kind, "n"))
			set(-time.Hour)
			t.Log("ttl after the step", s.PTTL("n"))
			k := kind
			if kind == "read" {
				k = "write"
			}
			w := locktest.Locking(t.Context(), kindMutex(b, k, "n"), lockwheel.Wait(10*time.Second))
			locktest.Queued(t, b, 1)
			before := a.Stats().Renewed
			locktest.Eventually(t, "renewed", func() bool { return a.Stats().Renewed > before+1 })
			t.Log("ttl after the renewal", s.PTTL("n"), h.Err())
			a.Close() // the holder's process ends: the key is left to its lease
			at := time.Now()
			o := <-w
			t.Log(kind, o.Err, time.Since(at))
			if o.Err != nil {
				t.Log("free?", !s.Exists("n"), s.PTTL("n"))
			}
		})
	}
}
