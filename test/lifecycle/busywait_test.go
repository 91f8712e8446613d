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

// After it has written, a goroutine looks for the reply, unless Options.BusyWait is negative or CallTimeout is short.
func TestBusyWait_LoneCaller_OnlyIfWanted(t *testing.T) {
	if !busywait.CanLook {
		t.Skip("no goroutine waits on this system")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))) // with one no goroutine waits
	s := locktest.RealServer(t)
	seen := func(options lockwheel.Options) bool {
		locks := s.Open(options)
		defer locks.Close()
		stop, ended := make(chan struct{}), make(chan struct{})
		defer func() {
			close(stop)
			<-ended
		}()
		go func() {
			defer close(ended)
			for {
				if hold, err := locks.Mutex("busy").Lock(t.Context()); err == nil {
					_ = hold.Unlock(t.Context()) // beside other work a server can take longer than a short CallTimeout
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
			if strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "busywait.(*Conn).wait(") {
				return true
			}
			time.Sleep(time.Millisecond)
		}
		return false
	}
	for range 10 {
		require.False(t, seen(lockwheel.Options{BusyWait: -1}), "switched off")
		require.False(t, seen(lockwheel.Options{CallTimeout: 99 * time.Millisecond}), "a deadline could be over meanwhile")
	}
	for range 60 { // on a busy machine waits make no round trip shorter, and get rare
		if seen(lockwheel.Options{BusyWait: time.Millisecond}) {
			return
		}
	}
	t.Error("no goroutine was seen that looks for a reply")
}
