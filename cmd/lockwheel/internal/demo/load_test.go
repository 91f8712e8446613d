package demo

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockwheel/lockwheel"
)

// unlockRecorder is a hold that records why the context of its Unlock has ended.
type unlockRecorder struct{ ended []error }

func (u *unlockRecorder) Unlock(ctx context.Context) error {
	u.ended = append(u.ended, context.Cause(ctx))
	return nil
}

// The run ends while workers hold their locks.
func TestWorkers_EndOfRun_HoldsReleased(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	had := &unlockRecorder{}
	l := &load{faults: &faults{}, lock: func(context.Context, lockwheel.Mutex) (hold, error) {
		end()
		return had, nil
	}}
	l.work(ctx, job{exclusion: l.newExclusionCheck("n"), took: &l.uncontended})
	assert.Equal(t, []error{nil}, had.ended, "one Unlock, and nothing has ended its context")
}
