package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

func TestReadersOfBothSidesShareAndAWriterWaitsForTheLast(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *site) {
		s := start(t)
		c, e := s.redisson(nil), s.engine(lockwheel.Options{})
		reader, writer := c.owner("reader"), c.owner("writer")
		m := e.RWMutex("n")

		reader.lock(read, "n")
		hold := lock(t, t.Context(), m.RLocker()) // beside it
		refused(t, m.Writer())
		require.False(t, writer.tries(write, "n", 0))
		waiting := locking(t.Context(), m.Writer())
		asleep(t, e)
		unlock(t, hold)
		silent(t, waiting, 100*time.Millisecond)
		reader.unlock(read, "n")
		unlock(t, granted(t, waiting))

		hold = lock(t, t.Context(), m.RLocker())
		require.True(t, reader.tries(read, "n", 0))
		theirs := writer.locking(write, "n")
		listening(t, s, "n", theirs)
		reader.unlock(read, "n")
		silent(t, theirs, 100*time.Millisecond)
		unlock(t, hold)
		succeeded(t, theirs)
		refused(t, m.RLocker())
		require.False(t, reader.tries(read, "n", 0))
		writer.unlock(write, "n")
		nothingLeft(t, s, "n")
	})
}

// A reader that dies keeps a writer out for its lease, though another reader of the other side lives on and is renewed.
func TestAReaderThatUnlocksLeavesTheOthersTheirLease(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *site) {
		s := start(t)
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		long := lock(t, t.Context(), e.RWMutex("n").RLocker())
		o.succeed("lock", read, "n", redisson.Words{"lease": "5000"})
		require.Greater(t, s.pttl("n"), patience.Milliseconds(), "a shorter reader does not shorten it")
		o.unlock(read, "n")
		require.Greater(t, s.pttl("n"), patience.Milliseconds(), "nor by leaving")
		unlock(t, long)
		nothingLeft(t, s, "n")
	})
}

// A writer writes two times; a reader of the other side never sees one of them alone.
func TestWritersOfJavaAndReadersOfGoAreNeverInsideTogether(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(t *testing.T) *site) {
		s := start(t)
		c, e := s.redisson(nil), s.engine(lockwheel.Options{})
		defer stir(t, write, e, "{n}")()
		const times = 500
		var theirs []<-chan redisson.Answer
		for _, name := range []string{"a", "b"} {
			theirs = append(theirs, c.owner(name).send("count", write, "{n}", redisson.Words{"counter": "{n}:counter", "times": "500"}))
		}
		done := make(chan error, 4)
		ours := tally{}
		for range 2 {
			conn := s.newConn("{n}")
			go func() { done <- ours.count(t, e.RWMutex("{n}").Writer(), conn, times) }()
		}
		for range 2 {
			conn := s.newConn("{n}")
			go func() {
				done <- func() error {
					for range times {
						hold, err := e.RWMutex("{n}").RLocker().Lock(t.Context())
						if err != nil {
							return err
						}
						before, _ := conn.Do("GET", "{n}:counter")
						time.Sleep(200 * time.Microsecond)
						after, _ := conn.Do("GET", "{n}:counter")
						if before != after {
							t.Errorf("a writer was inside: %v, %v", before, after)
						}
						if err := hold.Unlock(t.Context()); err != nil {
							return err
						}
					}
					return nil
				}()
			}()
		}
		for range 4 {
			require.NoError(t, <-done)
		}
		for _, answer := range theirs {
			require.NoError(t, (<-answer).Err)
		}
		require.Equal(t, "2000", s.do("{n}", "GET", "{n}:counter"))
	})
}
