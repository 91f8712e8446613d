package async

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What was submitted before Close runs, in order, before the goroutine ends.
func TestCallbackQueue_Close_RunsWhatWaits(t *testing.T) {
	const n = 100
	q := NewCallbackQueue(n+1, nil)
	begun, goOn := make(chan bool), make(chan bool)
	q.Submit(func() { close(begun); <-goOn })
	<-begun
	var ran []int
	for i := range n {
		q.Submit(func() { ran = append(ran, i) })
	}
	q.Close()
	close(goOn)
	q.Wait(time.Now().Add(10 * time.Second))
	select {
	case <-q.done:
	default:
		t.Fatal("the goroutine has not ended")
	}
	require.Len(t, ran, n)
	require.IsIncreasing(t, ran)
	dropped, panics := q.Counts()
	require.Zero(t, dropped)
	require.Zero(t, panics)
}
