package interop

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Readers of both sides share a lock, and a writer waits for the last of them.
func TestReaders_BothSides_WriterWaitsForLast(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		c, e := s.redisson(nil), s.engine(lockwheel.Options{})
		reader, writer := c.owner("reader"), c.owner("writer")
		m := e.RWMutex("n")

		reader.lock(read, "n")
		hold := locktest.Lock(t, m.RLocker()) // beside it
		locktest.StateFailed(t, m.Writer())
		require.False(t, writer.tryLock(write, "n", 0))
		waiting := locktest.Locking(t.Context(), m.Writer())
		awaitWaiting(t, e)
		locktest.Unlock(t, hold)
		locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
		reader.unlock(read, "n")
		locktest.Unlock(t, requireGranted(t, waiting))

		hold = locktest.Lock(t, m.RLocker())
		require.True(t, reader.tryLock(read, "n", 0))
		theirs := writer.lockAsync(write, "n")
		awaitListening(t, s, "n", theirs)
		reader.unlock(read, "n")
		locktest.RequireNoReply(t, theirs, 100*time.Millisecond)
		locktest.Unlock(t, hold)
		requireSuccess(t, theirs)
		locktest.StateFailed(t, m.RLocker())
		require.False(t, reader.tryLock(read, "n", 0))
		writer.unlock(write, "n")
		requireNoKeys(t, s, "n")
	})
}

// The lock lives until the longest lease of its readers, of either side, ends.
func TestReaders_OneUnlocks_OthersKeepLease(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		long := locktest.Lock(t, e.RWMutex("n").RLocker())
		o.succeed("lock", read, "n", redisson.Fields{"lease": "5000"})
		require.Greater(t, s.pttl("n"), testDeadline.Milliseconds(), "a shorter reader does not shorten it")
		o.unlock(read, "n")
		require.Greater(t, s.pttl("n"), testDeadline.Milliseconds(), "nor by leaving")
		locktest.Unlock(t, long)
		requireNoKeys(t, s, "n")
	})
}

// When a reader leaves, the lock is to end with the keys of the readers that stay. So the watchdog must have
// renewed the key of each hold.
func TestReaders_LateLeave_RenewedKeepLock(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		t.Parallel()
		for _, stays := range []string{"go", "java"} {
			t.Run(stays+" stays", func(t *testing.T) {
				t.Parallel()
				s := start(t)
				c := s.redisson(redisson.Fields{"watchdog": milliseconds(crashLease)})
				theirs, writer := c.owner("theirs"), c.owner("writer")
				m := s.engine(lockwheel.Options{Lease: crashLease}).RWMutex("n").RLocker()
				outer := locktest.Lock(t, m)
				inner := locktest.LockWith(t, outer.Context(), m)
				theirs.lock(read, "n")
				theirs.lock(read, "n")
				eventually(t, "a count of two", func() bool { return s.fields("n")[outer.ID()] == "2" })
				waiting := writer.lockAsync(write, "n")
				locktest.RequireNoReply(t, waiting, watchTime)
				require.Len(t, s.keysLeft("n"), 1+4, "the lock, and a key for each hold")

				leaving := []func(){
					func() { theirs.unlock(read, "n") }, func() { theirs.unlock(read, "n") },
					func() { locktest.Unlock(t, inner) }, func() { locktest.Unlock(t, outer) },
				}
				if stays == "java" {
					leaving = append(leaving[2:], leaving[:2]...)
				}
				for _, leave := range leaving {
					locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
					require.Positive(t, s.pttl("n"))
					leave()
				}
				requireSuccess(t, waiting)
				writer.unlock(write, "n")
				requireNoKeys(t, s, "n")
			})
		}
	})
}

// A Java reader is granted the lock at once when a Go writer that also reads unlocks the write.
func TestDowngrade_OfGo_JavaReaderAtOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		c, e := s.redisson(nil), s.engine(lockwheel.Options{})
		reader, writer := c.owner("reader"), c.owner("writer")
		m := e.RWMutex("n")
		writing := locktest.Lock(t, m.Writer())
		reading := locktest.LockWith(t, context.WithoutCancel(writing.Context()), m.RLocker())
		theirs := reader.lockAsync(read, "n")
		awaitListening(t, s, "n", theirs)
		require.Greater(t, s.pttl("n"), 2*testDeadline.Milliseconds())
		locktest.Unlock(t, writing)
		requireSuccess(t, theirs)
		require.Equal(t, map[string]string{reading.ID(): "1", reader.id(): "1"}, s.fields("n"))

		waiting := writer.lockAsync(write, "n")
		awaitListening(t, s, "n", waiting)
		locktest.Unlock(t, reading)
		locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
		reader.unlock(read, "n")
		requireSuccess(t, waiting)
		writer.unlock(write, "n")
		requireNoKeys(t, s, "n")
	})
}

// Four threads of one client wait for one message: Redisson's LockPubSub wakes as many of them as the message says.
func TestWriter_GoUnlocks_JavaReadersGranted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		c, m := s.redisson(nil), s.engine(lockwheel.Options{}).RWMutex("n")
		for _, readsOn := range []bool{false, true} {
			writing := locktest.Lock(t, m.Writer())
			var reading *lockwheel.Hold
			if readsOn {
				reading = locktest.LockWith(t, context.WithoutCancel(writing.Context()), m.RLocker())
			}
			readers, waiting := make([]*owner, 4), make([]<-chan redisson.Answer, 4)
			for i := range readers {
				readers[i] = c.owner(fmt.Sprint("reader ", i))
				waiting[i] = readers[i].lockAsync(read, "n")
				awaitListening(t, s, "n", waiting[i])
			}
			locktest.RequireNoReply(t, waiting[0], 300*time.Millisecond) // a thread that does not sleep yet would miss the message
			require.Greater(t, s.pttl("n"), 2*testDeadline.Milliseconds())
			locktest.Unlock(t, writing)
			for _, theirs := range waiting {
				requireSuccess(t, theirs)
			}
			for _, reader := range readers {
				reader.unlock(read, "n")
			}
			if readsOn {
				locktest.Unlock(t, reading)
			}
			requireNoKeys(t, s, "n")
		}
	})
}

// Redisson publishes nothing when its writer goes on reading, so no waiter is woken. A reader of ours that listens
// comes when the lease that it knows is over, although the other one reads on and renews. A reader that polls comes
// soon.
func TestDowngrade_OfJava_GoReaderGranted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		t.Parallel()
		s := start(t)
		for notify, watchdog := range map[lockwheel.Notify]time.Duration{lockwheel.PubSub: crashLease, lockwheel.Poll: 30 * time.Second} {
			o := s.redisson(redisson.Fields{"watchdog": milliseconds(watchdog)}).owner("o")
			e := s.engine(lockwheel.Options{Notify: notify})
			m := e.RWMutex("n")
			o.lock(write, "n")
			o.lock(read, "n")
			waiting := locktest.Locking(t.Context(), m.RLocker())
			eventually(t, "a request waiting", func() bool { return e.Stats().Waiting == 1 })
			locktest.RequireNoReply(t, waiting, 300*time.Millisecond)
			o.unlock(write, "n")
			hold := requireGranted(t, waiting)
			require.Equal(t, map[string]string{hold.ID(): "1", o.id(): "1"}, s.fields("n"))
			locktest.StateFailed(t, m.Writer())
			locktest.Unlock(t, hold)
			locktest.StateFailed(t, m.Writer())
			o.unlock(read, "n")
			requireNoKeys(t, s, "n")
		}
	})
}

// readsPerReader is how often a reader looks at what writers count, each time twice: with a writer inside beside it,
// the two values could differ.
const readsPerReader = 300

// readResult is the record of a reader after its looks: how many different values.
type readResult struct {
	values int
	err    error
}

// A Java writer and a Go reader never hold the lock at the same time.
func TestRWLock_JavaWritesGoReads_Excluded(t *testing.T) {
	neverTogether(t, func(s *testEnv, _ *owner, e *lockwheel.Engine) readResult {
		conn, err := redistest.Dial(s.node(s.t, "{n}"))
		if err != nil {
			return readResult{err: err}
		}
		defer conn.Close()
		values := map[any]bool{}
		for range readsPerReader {
			hold, err := e.RWMutex("{n}").RLocker().Lock(s.t.Context(), lockwheel.Wait(roundWait))
			if err != nil {
				return readResult{err: err}
			}
			before, _ := conn.Do("GET", "{n}:counter")
			time.Sleep(time.Millisecond)
			after, err := conn.Do("GET", "{n}:counter")
			if err != nil || before != after {
				return readResult{err: fmt.Errorf("a writer was inside: %v, %v, %w", before, after, err)}
			}
			values[after] = true
			if err := hold.Unlock(s.t.Context()); err != nil {
				return readResult{err: err}
			}
		}
		return readResult{values: len(values)}
	})
}

// A Go writer and a Java reader never hold the lock at the same time.
func TestRWLock_GoWritesJavaReads_Excluded(t *testing.T) {
	neverTogether(t, func(_ *testEnv, o *owner, _ *lockwheel.Engine) readResult {
		answer := <-o.send("watch", read, "{n}", redisson.Fields{"counter": "{n}:counter", "times": strconv.Itoa(readsPerReader)})
		if answer.Err != nil {
			return readResult{err: answer.Err}
		}
		values, err := strconv.Atoi(answer.Fields["values"])
		return readResult{values, err}
	})
}

// neverTogether has two readers of one side beside two writers of each. Our writers write until the readers are
// done.
func neverTogether(t *testing.T, reader func(s *testEnv, o *owner, e *lockwheel.Engine) readResult) {
	t.Helper()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		const times = 300
		s := start(t)
		c, e := s.redisson(nil), s.engine(lockwheel.Options{})
		defer keepNotifying(t, write, e, "{n}")()
		reads, done, enough := make(chan readResult, 2), make(chan error, 2), make(chan struct{})
		var counted atomic.Int64
		ours := goCounter{}
		var theirs []<-chan redisson.Answer
		for i := range 2 {
			o := c.owner(fmt.Sprint("reader ", i))
			go func() { reads <- reader(s, o, e) }()
			theirs = append(theirs, c.owner(fmt.Sprint("writer ", i)).send("count", write, "{n}", redisson.Fields{
				"counter": "{n}:counter", "times": strconv.Itoa(times),
			}))
			conn := s.newConn("{n}")
			go func() {
				for {
					select {
					case <-enough:
						done <- nil
						return
					default:
					}
					if err := ours.count(t, e.RWMutex("{n}").Writer(), conn, 1); err != nil {
						done <- err
						return
					}
					counted.Add(1)
				}
			}()
		}
		for range 2 {
			got := locktest.ReceiveWithin(t, time.Minute, reads)
			require.NoError(t, got.err)
			require.Greater(t, got.values, readsPerReader/100, "readers and writers hardly met") // mostly 40 and more; 8 once, where one side began late
			t.Logf("a reader saw %d values", got.values)
		}
		close(enough)
		for range 2 {
			require.NoError(t, locktest.ReceiveWithin(t, time.Minute, done))
		}
		for _, answer := range theirs {
			require.NoError(t, locktest.ReceiveWithin(t, time.Minute, answer).Err)
		}
		require.Equal(t, strconv.FormatInt(counted.Load()+2*times, 10), s.do("{n}", "GET", "{n}:counter"))
	})
}
