package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockwheel/lockwheel"
)

// unlocks is a hold that records why the context of its Unlock has ended.
type unlocks struct{ ended []error }

func (u *unlocks) Unlock(ctx context.Context) error {
	u.ended = append(u.ended, context.Cause(ctx))
	return nil
}

// The run ends while workers hold their locks.
func TestWorkersReleaseWhatTheyHaveAtTheEndOfTheRun(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	had := &unlocks{}
	l := &load{faults: &faults{}, lock: func(context.Context, lockwheel.Mutex) (hold, error) {
		end()
		return had, nil
	}}
	l.work(ctx, job{gate: l.turnstile("n"), took: &l.alone})
	assert.Equal(t, []error{nil}, had.ended, "one Unlock, and nothing has ended its context")
}
