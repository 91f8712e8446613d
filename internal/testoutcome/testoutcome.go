// Package testoutcome tests helpers that skip or fail a test.
package testoutcome

import (
	"fmt"
	"runtime"
	"testing"
)

// Of runs f with a fake test and returns how it ended: otherwise, if f did not end it.
func Of(t *testing.T, f func(testing.TB), otherwise string) string {
	fake := &fakeTest{TB: t, outcome: otherwise}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(fake)
	}()
	<-done
	return fake.outcome
}

// fakeTest is a test that only records its skip or failure.
type fakeTest struct {
	testing.TB
	outcome string
}

func (f *fakeTest) Skipf(format string, args ...any) { f.end("skipped: "+format, args...) }
func (f *fakeTest) Fatal(args ...any)                { f.end("failed: %v", args...) }
func (f *fakeTest) end(format string, args ...any) {
	f.outcome = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
