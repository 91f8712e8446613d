package leaks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { Main(m) }

// A goroutine that ends late is waited for.
func TestLeaks_LateEnd_WaitedFor(t *testing.T) {
	late := make(chan struct{})
	go func() {
		time.Sleep(time.Second)
		close(late)
	}()
	require.NoError(t, await(endTimeout))
	<-late
}

// The error names the function of a goroutine that does not end.
func TestLeaks_RunningGoroutine_Named(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	go goesOn(stop)
	require.ErrorContains(t, await(0), "leaks.goesOn")
}

func goesOn(stop <-chan struct{}) { <-stop }
