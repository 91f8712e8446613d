package lockwheeltest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

// report is the code under test. It works without its lock while the server is unavailable.
func report(ctx context.Context, locks *lockwheel.Engine) (string, error) {
	hold, err := locks.Mutex("report").TryLock(ctx)
	switch {
	case errors.Is(err, lockwheel.ErrUnavailable):
		return "yesterday's report", nil
	case err != nil:
		return "", err
	}
	return "today's report", hold.Unlock(ctx)
}

// Work survives an outage of the server.
func ExampleServer_Down() {
	t := &testT{} // in a test: its *testing.T
	defer t.end() // in a test: not needed
	server := lockwheeltest.New(t)

	server.Down()
	fmt.Println(report(t.Context(), server.Engine()))
	server.Up()
	fmt.Println(report(t.Context(), server.Engine()))
	// Output:
	// yesterday's report <nil>
	// today's report <nil>
}
