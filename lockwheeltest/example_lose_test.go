package lockwheeltest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

// exportRows is the code under test. It stops when its lock is lost.
func exportRows(ctx context.Context, locks *lockwheel.Engine, rows <-chan int) (exported int, err error) {
	err = locks.Mutex("export").Do(ctx, func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case _, more := <-rows:
				if !more {
					return nil
				}
				exported++
			}
		}
	})
	return exported, err
}

// Work stops when its lock is lost.
func ExampleServer_Lose() {
	t := &testT{} // in a test: its *testing.T
	defer t.end() // in a test: not needed
	server := lockwheeltest.New(t)

	rows := make(chan int) // never closed: only the loss ends the export
	done := make(chan error)
	go func() {
		_, err := exportRows(t.Context(), server.Engine(), rows)
		done <- err
	}()
	rows <- 1
	server.Lose("export")
	fmt.Println(errors.Is(<-done, lockwheel.ErrLost), server.Held("export"))
	// Output: true false
}
