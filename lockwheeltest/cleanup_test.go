package lockwheeltest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

func TestCleanup_EachKindUnlocked_Passes(t *testing.T) {
	require.Empty(t, fails(func(t *testT) {
		server := lockwheeltest.New(t)
		for _, k := range kinds {
			server.HoldElsewhere("elsewhere "+k.name, k.kind)
			hold, err := k.mutex(server.Engine(), k.name).Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := hold.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}))
}

func TestCleanup_HoldLeft_FailsTest(t *testing.T) {
	for _, k := range kinds {
		synctest.Test(t, func(*testing.T) {
			said := fails(func(t *testT) {
				_, err := k.mutex(lockwheeltest.New(t).Engine(), "orders/7").Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
			})
			require.Contains(t, said, "lockwheeltest: the test left locks: ")
			require.Contains(t, said, `1 hold not unlocked: "orders/7"`)
			require.Contains(t, said, `"orders/7"`)
		})
	}
}

// An engine that the code under test has closed has no holds any more, but its keys are left.
func TestCleanup_KeyLeft_FailsTest(t *testing.T) {
	said := fails(func(t *testT) {
		server := lockwheeltest.New(t)
		if _, err := server.Engine().Mutex("orders/7").Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		server.Engine().Close()
	})
	require.Equal(t, `lockwheeltest: the test left locks: keys in the server: ["orders/7"]`, said)
}

func TestCleanup_LeftoversAllowed_Passes(t *testing.T) {
	start := time.Now()
	synctest.Test(t, func(*testing.T) {
		require.Empty(t, fails(func(t *testT) {
			lockwheeltest.New(t, lockwheeltest.AllowLeftovers()).Engine().Mutex("orders/7").Lock(t.Context())
		}))
	})
	require.Less(t, time.Since(start), 20*time.Second)
}

// A test that failed is told of that failure only.
func TestCleanup_FailedBefore_SaysNoMore(t *testing.T) {
	require.Equal(t, "its own", fails(func(t *testT) {
		lockwheeltest.New(t).Engine().Mutex("orders/7").Lock(t.Context())
		t.Fatal("its own")
	}))
}

// Work that is still stopping when the test ends has time to unlock.
func TestCleanup_StillStopping_Waits(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var stopping sync.WaitGroup
		require.Empty(t, fails(func(t *testT) {
			server := lockwheeltest.New(t)
			hold, err := server.Engine().Mutex("a").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stopping.Go(func() {
				time.Sleep(time.Second)
				hold.Unlock(t.Context())
			})
		}))
		stopping.Wait()
	})
}

// Calls that wait when the test ends leave nothing, nor do their places in a queue.
func TestCleanup_CallWaits_Passes(t *testing.T) {
	for _, k := range kinds {
		var waiting sync.WaitGroup
		require.Empty(t, fails(func(t *testT) {
			server := lockwheeltest.New(t)
			if k.kind == lockwheeltest.Reader {
				server.HoldElsewhere("a", lockwheeltest.Writer)
			} else {
				server.HoldElsewhere("a", k.kind)
			}
			waiting.Go(func() {
				k.mutex(server.Engine(), "a").Do(t.Context(), func(context.Context) error { return nil })
			})
			for server.Engine().Stats().Waiting == 0 {
				time.Sleep(time.Millisecond)
			}
		}), k.name)
		waiting.Wait()
	}
}

// A call that waits for another process when the test ends does not get the lock, also with a context that outlives the
// test.
func TestCleanup_CallWaitsForElsewhere_ErrClosed(t *testing.T) {
	for _, k := range kinds {
		var waiting sync.WaitGroup
		var err error
		ran := false
		require.Empty(t, fails(func(t *testT) {
			server := lockwheeltest.New(t)
			server.HoldElsewhere("a", lockwheeltest.Writer)
			waiting.Go(func() {
				err = k.mutex(server.Engine(), "a").Do(context.Background(), func(context.Context) error {
					ran = true
					return nil
				})
			})
			for server.Engine().Stats().Waiting == 0 {
				time.Sleep(time.Millisecond)
			}
		}), k.name)
		waiting.Wait()
		require.ErrorIs(t, err, lockwheel.ErrClosed, k.name)
		require.False(t, ran, k.name)
	}
}

// A release that an outage kept back is none of the test's faults.
func TestCleanup_Down_ReleasesGoThrough(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		require.Empty(t, fails(func(t *testT) {
			server := lockwheeltest.New(t)
			server.HoldElsewhere("b")
			hold, err := server.Engine().Mutex("a").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			server.Down()
			hold.Unlock(t.Context())
		}))
	})
}

func TestNew_InvalidOptions_FailsTest(t *testing.T) {
	for _, options := range []lockwheel.Options{
		{Lease: -1},
		{Redis: rueidis.ClientOption{InitAddress: []string{"127.0.0.1:1"}}},
		{Client: struct{ rueidis.Client }{}},
	} {
		why := fails(func(t *testT) { lockwheeltest.New(t, lockwheeltest.WithOptions(options)) })
		require.Contains(t, why, "lockwheeltest: ")
		require.Equal(t, options.Lease == 0, strings.Contains(why, "Options.Redis and Options.Client must be empty"), why)
	}
}
