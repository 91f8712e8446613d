package async

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Of a count that is 0 no caller waits for a change, and otherwise until it is 0 or until the time at the latest.
func TestCount_Wait_EndsWithTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Count
		begin := time.Now()
		c.Wait(time.Time{})
		c.Wait(begin.Add(time.Hour))
		require.Zero(t, time.Since(begin), "there is nothing to wait for")

		require.EqualValues(t, 1, c.Add())
		require.EqualValues(t, 2, c.Add())
		c.Wait(begin.Add(time.Minute))
		require.Equal(t, time.Minute, time.Since(begin))
		time.AfterFunc(time.Minute, c.Done)
		time.AfterFunc(2*time.Minute, c.Done)
		c.Wait(time.Time{})
		require.Equal(t, 3*time.Minute, time.Since(begin))
		require.Zero(t, c.Load())
		c.Add()
		c.Done() // no caller waits
	})
}

// A Done that found the count at 0 wakes the waiting caller late, when there is one again: the caller waits for that,
// too.
func TestCount_LateDone_WaitsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Count
		c.Add()
		ended := false
		go func() {
			c.Wait(time.Time{})
			ended = true
		}()
		synctest.Wait()
		close(*c.idle.Swap(nil)) // the end of the late Done
		synctest.Wait()
		require.False(t, ended)
		c.Done()
		synctest.Wait()
		require.True(t, ended)
	})
}
