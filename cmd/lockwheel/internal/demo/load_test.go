package demo

import (
	"context"
	"errors"
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

// Each worker but the hot ones has a name of its own, and as many callers of the other engine want the hot name.
// Otherwise the demo would not check that two engines exclude each other.
func TestLoad_Run_BothEnginesWantTheHotName(t *testing.T) {
	at := engines{new(lockwheel.Engine), new(lockwheel.Engine)}
	wanted := make(chan lockwheel.Mutex, 100)
	l := &load{faults: &faults{}, lock: func(_ context.Context, m lockwheel.Mutex) (hold, error) {
		wanted <- m
		return nil, errors.New("rejected") // ends the worker
	}}
	l.run(t.Context(), at, 5, 2)
	close(wanted)
	count := make(map[lockwheel.Mutex]int)
	for m := range wanted {
		count[m]++
	}
	assert.Equal(t, map[lockwheel.Mutex]int{
		at.main.Mutex("worker/0"): 1, at.main.Mutex("worker/1"): 1, at.main.Mutex("worker/2"): 1, at.main.Mutex(hotName): 2, at.second.Mutex(hotName): 2,
	}, count)
	assert.Len(t, l.exclusionChecks, 4)
	assert.EqualValues(t, 7, l.faults.refused.count())
}

// A server that does not reply is tried again. What it rejects for good ends the worker, and both are counted.
func TestWorkers_Errors_CountedByMeaning(t *testing.T) {
	errs := []error{lockwheel.ErrUnavailable, lockwheel.ErrLost, lockwheel.ErrUnavailable, lockwheel.ErrKindMismatch}
	l := &load{faults: &faults{}, lock: func(context.Context, lockwheel.Mutex) (hold, error) {
		err := errs[0]
		errs = errs[1:]
		return nil, err
	}}
	l.work(t.Context(), job{exclusion: l.newExclusionCheck("n"), took: &l.uncontended})
	assert.Empty(t, errs)
	assert.Equal(t, []int64{2, 1, 1}, []int64{l.faults.noReply.count(), l.faults.lost.count(), l.faults.refused.count()})
	assert.Zero(t, l.uncontended.count(), "no lock was taken")
}
