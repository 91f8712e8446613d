package lockwheeltest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// testT stands for the *testing.T of a test: of an example, which has none, or of a test that is to fail.
type testT struct {
	testing.TB
	cleanups []func()
	failures []string
}

func (t *testT) Helper()                  {}
func (t *testT) Context() context.Context { return context.Background() }
func (t *testT) Cleanup(f func())         { t.cleanups = append(t.cleanups, f) }
func (t *testT) Failed() bool             { return len(t.failures) > 0 }
func (t *testT) Errorf(format string, args ...any) {
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

func (t *testT) Fatal(args ...any) { t.Fatalf("%s", fmt.Sprint(args...)) }

func (t *testT) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

// end ends the test, as package testing does.
func (t *testT) end() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
	t.cleanups = nil
}

// fails runs a test and returns why it failed; "" if it did not.
func fails(test func(t *testT)) string {
	t := &testT{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.end()
		test(t)
	}()
	<-done
	return strings.Join(t.failures, "\n")
}
