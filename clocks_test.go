package lockwheel_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// ahead is a connection of a machine with a clock that is ahead. Times that it sends are later by that much. Times of
// the server are earlier, as that machine would see them.
type ahead struct {
	net.Conn
	by time.Duration
}

var saidTime, heardTime = regexp.MustCompile(`\$13\r\n1[0-9]{12}\r\n`), regexp.MustCompile(`:1[0-9]{12}\r\n`)

func (c ahead) Write(p []byte) (int, error) {
	_, err := c.Conn.Write(saidTime.ReplaceAllFunc(p, func(said []byte) []byte {
		return append([]byte("$13\r\n"), later(said[5:], c.by)...)
	}))
	return len(p), err
}

func (c ahead) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	copy(p, heardTime.ReplaceAllFunc(p[:n], func(heard []byte) []byte {
		return append([]byte(":"), later(heard[1:], -c.by)...)
	}))
	return n, err
}

// later adds to each line that is a number of thirteen digits.
func later(line []byte, by time.Duration) []byte {
	ms, _ := strconv.ParseInt(string(line[:13]), 10, 64)
	return []byte(strconv.FormatInt(ms+by.Milliseconds(), 10) + "\r\n")
}

// OpenAhead opens an engine with a clock that is ahead.
func (s *Server) OpenAhead(by time.Duration, opts lockwheel.Options) *lockwheel.Engine {
	s.T.Helper()
	opts.Redis.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		conn, err := d.DialContext(ctx, "tcp", addr)
		return ahead{conn, by}, err
	}
	return s.Open(opts)
}

// Callers with clocks that are equally wrong are served in the order in which they came.
func TestFairOrderIsUnaffectedByClocksThatAreEquallyAhead(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	engines := []*lockwheel.Engine{s.OpenAhead(time.Minute, lockwheel.Options{}), s.OpenAhead(time.Minute, lockwheel.Options{})}
	hold := Lock(t, engines[0].FairMutex("n"))
	var waiting []<-chan Outcome
	for i := range 6 {
		waiting = append(waiting, s.QueueUp(engines[i%2].FairMutex("n")))
	}
	for _, at := range s.Places("n") {
		require.Greater(t, at, time.Now().Add(time.Minute+30*time.Second).UnixMilli(), "the clock is not ahead")
	}
	Unlock(t, hold)
	for i, next := range waiting {
		hold := Granted(t, next)
		require.Equal(t, len(waiting)-i-1, s.Waiting("n"))
		Unlock(t, hold)
	}
}

// An engine with a clock that is a minute ahead or behind reports that; others do not.
func TestAClockThatIsAheadIsNoticed(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	s.HoldAsOther("n", time.Hour)
	for _, by := range []time.Duration{time.Minute, -time.Minute, 0} {
		var log LogBuffer
		e := s.OpenAhead(by, lockwheel.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		Eventually(t, "an answer within the wait", func() bool {
			_, err := e.FairMutex("n").TryLock(t.Context(), lockwheel.Wait(100*time.Millisecond))
			if !errors.Is(err, lockwheel.ErrUnavailable) {
				require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			}
			return errors.Is(err, lockwheel.ErrNotAcquired)
		})
		require.InDelta(t, by, e.Stats().ClockSkew, float64(4*time.Second))
		told := func() bool { return strings.Contains(log.String(), "clock is not the server's") }
		if by != 0 {
			Eventually(t, "told", told)
		}
		require.NoError(t, e.Close()) // Close waits until all events are delivered
		require.Equal(t, by != 0, told(), log.String())
	}
}
