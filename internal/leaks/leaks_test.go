package leaks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { Main(m) }

func TestAGoroutineThatEndsLateIsWaitedFor(t *testing.T) {
	late := make(chan struct{})
	go func() {
		time.Sleep(time.Second)
		close(late)
	}()
	require.NoError(t, await(endTimeout))
	<-late
}

func TestAGoroutineThatGoesOnIsNamed(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	go goesOn(stop)
	require.ErrorContains(t, await(0), "leaks.goesOn")
}

func goesOn(stop <-chan struct{}) { <-stop }
