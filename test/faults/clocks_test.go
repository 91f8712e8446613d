package faults_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Callers with clocks that are equally wrong are served in the order in which they came.
func TestFairQueue_ClocksEquallyAhead_InOrder(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	engines := []*lockwheel.Engine{s.OpenAhead(time.Minute, lockwheel.Options{}), s.OpenAhead(time.Minute, lockwheel.Options{})}
	hold := locktest.Lock(t, engines[0].FairMutex("n"))
	var waiting []<-chan locktest.Outcome
	for i := range 6 {
		waiting = append(waiting, s.QueueUp(engines[i%2].FairMutex("n")))
	}
	for _, at := range s.Places("n") {
		require.Greater(t, at, time.Now().Add(time.Minute+30*time.Second).UnixMilli(), "the clock is not ahead")
	}
	locktest.Unlock(t, hold)
	for i, next := range waiting {
		hold := locktest.Granted(t, next)
		require.Equal(t, len(waiting)-i-1, s.Waiting("n"))
		locktest.Unlock(t, hold)
	}
}

// An engine with a clock that is a minute ahead or behind reports that; others do not.
func TestClock_AheadOrBehind_Noticed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.HoldAsOther("n", time.Hour)
	for _, by := range []time.Duration{time.Minute, -time.Minute, 0} {
		var log locktest.LogBuffer
		e := s.OpenAhead(by, lockwheel.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		locktest.Eventually(t, "an answer within the wait", func() bool {
			_, err := e.FairMutex("n").TryLock(t.Context(), lockwheel.Wait(100*time.Millisecond))
			if !errors.Is(err, lockwheel.ErrUnavailable) {
				require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			}
			return errors.Is(err, lockwheel.ErrNotAcquired)
		})
		require.InDelta(t, by, e.Stats().ClockSkew, float64(4*time.Second))
		told := func() bool { return strings.Contains(log.String(), "clock is not the server's") }
		if by != 0 {
			locktest.Eventually(t, "told", told)
		}
		require.NoError(t, e.Close()) // Close waits until all events are delivered
		require.Equal(t, by != 0, told(), log.String())
	}
}
