package lockwheeltest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

// cleanUp is the code under test. It leaves the work to another process that does it already.
func cleanUp(ctx context.Context, locks *lockwheel.Engine) (did bool, err error) {
	hold, err := locks.Mutex("clean-up").TryLock(ctx)
	if errors.Is(err, lockwheel.ErrNotAcquired) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, hold.Unlock(ctx)
}

// Work gives up when another process holds its lock.
func ExampleServer_HoldElsewhere() {
	t := &testT{} // in a test: its *testing.T
	defer t.end() // in a test: not needed
	server := lockwheeltest.New(t)

	release := server.HoldElsewhere("clean-up")
	fmt.Println(cleanUp(t.Context(), server.Engine()))
	release()
	fmt.Println(cleanUp(t.Context(), server.Engine()))
	// Output:
	// false <nil>
	// true <nil>
}
