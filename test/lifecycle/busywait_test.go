package lifecycle_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/busywait"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// After it has written, a goroutine looks for the reply, unless Options.BusyWait is negative.
func TestBusyWait_LoneCaller_OnlyIfWanted(t *testing.T) {
	if !busywait.CanLook || runtime.GOMAXPROCS(0) == 1 {
		t.Skip("no goroutine waits")
	}
	s := locktest.RealServer(t)
	seen := func(busyWait time.Duration) bool {
		locks := s.Open(lockwheel.Options{BusyWait: busyWait})
		defer locks.Close()
		stop, ended := make(chan struct{}), make(chan struct{})
		defer func() {
			close(stop)
			<-ended
		}()
		go func() {
			defer close(ended)
			for {
				hold, err := locks.Mutex("busy").Lock(t.Context())
				if err != nil || hold.Unlock(t.Context()) != nil {
					t.Error("not locked or not unlocked", err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		stacks := make([]byte, 1<<20)
		for range 50 {
			if strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "internal/busywait.") {
				return true
			}
			time.Sleep(time.Millisecond)
		}
		return false
	}
	for range 10 {
		require.False(t, seen(-1), "switched off")
	}
	for range 60 { // on a busy machine waits are in vain, and get rare
		if seen(time.Millisecond) {
			return
		}
	}
	t.Error("no goroutine was seen that looks for a reply")
}
