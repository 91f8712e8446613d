package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// renewEvery is the interval of renewals: short, so that they are most of what the server does.
const renewEvery = time.Second

// ceilingOfRenewals compares the renewals of held locks with the same calls sent back to back. They take turns: each
// acquires the locks, renews for a while, which is measured, and releases them. The first turns do not count; in
// lockwheel's, the calls are recorded.
func ceilingOfRenewals(s *Server, p Plan) ([]Result, error) {
	ours, alone := Result{Name: CeilingPair}, Result{Name: CeilingRenewed}
	recorded, err := recordRenewals(s, p.renewedOften())
	if err != nil {
		return nil, err
	}
	for round := range p.Rounds + 1 {
		if ours.Failure == "" {
			sample, failed := measureRenewals(s, p)
			addRound(&ours, sample, failed, round > 0)
		}
		if alone.Failure == "" {
			sample, failed := recorded.measure(s, p.Round)
			addRound(&alone, sample, failed, round > 0)
		}
	}
	return []Result{ours, alone}, s.Clear()
}

func addRound(r *Result, sample measure.Sample, failed error, counts bool) {
	switch {
	case failed != nil:
		r.Failure = failed.Error()
	case counts:
		r.Add(sample)
	}
}

// renewedOften returns the plan's locks, to be renewed so often that renewals are most of what the server does.
func (p Plan) renewedOften() HoldPlan {
	return HoldPlan{Locks: p.WithHeld.Locks, Every: renewEvery}
}

// renewing holds locks with an engine that reaches the server at addr, while f runs.
func renewing(addr string, keep HoldPlan, f func(*peers.LockwheelClient) error) error {
	ours, err := peers.OpenLockwheel(peers.Config{Addr: addr, Lease: keep.Lease, RenewInterval: keep.Every, Callers: acquireWorkers})
	if err != nil {
		return err
	}
	defer closeWithTimeout(ours)
	locks := newHeldLocks(heldName, keep.Locks)
	if err := locks.acquire(ours); err != nil {
		return err
	}
	err = f(ours)
	if lost := locks.lost(); lost > 0 {
		return errors.Join(err, fmt.Errorf("%d of %d locks were lost", lost, keep.Locks))
	}
	return errors.Join(err, locks.release())
}

// recordedRenewals are renewals of locks, and what acquires and releases the same locks.
type recordedRenewals struct{ acquire, renew, release []burst }

// recordRenewals returns renewals of all these locks, which an engine has sent.
func recordRenewals(s *Server, keep HoldPlan) (r recordedRenewals, err error) {
	recorder, err := startRecorder(s.Addr)
	if err != nil {
		return r, err
	}
	defer recorder.close()
	var calls []scriptCall
	err = renewing(recorder.addr(), keep, func(ours *peers.LockwheelClient) (err error) {
		// The first of them may have been sent before the recording.
		calls, err = recorder.recorded(func() error { return awaitRenewals(ours, 2*keep.Locks, keep.RenewInterval()) })
		return err
	})
	if err != nil {
		return r, err
	}
	r.acquire, r.renew, r.release, err = renewBursts(calls)
	return r, err
}

// awaitRenewals returns when the engine has renewed this many locks, each of which is due in each interval. On a busy
// machine an interval can pass without a renewal.
func awaitRenewals(ours *peers.LockwheelClient, locks int, every time.Duration) error {
	before := ours.Engine.Stats().Renewed
	for deadline := time.Now().Add(20 * every); ours.Engine.Stats().Renewed-before < uint64(locks); {
		if time.Now().After(deadline) {
			return errors.New("the locks were not renewed in 20 intervals")
		}
		time.Sleep(every / 100)
	}
	return nil
}

// measureRenewals measures the renewals of an engine.
func measureRenewals(s *Server, p Plan) (sample measure.Sample, err error) {
	err = renewing(s.Addr, p.renewedOften(), func(ours *peers.LockwheelClient) error {
		var failed, wrong error
		sample, failed, wrong = measureRound(s, entry{name: CeilingPair, run: func() (int, time.Duration, error) {
			began, before := time.Now(), ours.Engine.Stats().Renewed
			time.Sleep(max(p.Round, 2*renewEvery))
			if ours.Engine.Stats().Renewed == before {
				if err := awaitRenewals(ours, 1, renewEvery); err != nil {
					return 0, time.Since(began), err
				}
			}
			return int(ours.Engine.Stats().Renewed - before), time.Since(began), nil
		}})
		return errors.Join(failed, wrong)
	})
	return sample, err
}

// measure measures these renewals, sent back to back. It acquires the locks before and releases them afterwards.
func (r *recordedRenewals) measure(s *Server, d time.Duration) (measure.Sample, error) {
	if err := runOnce(s.Addr, r.acquire); err != nil {
		return measure.Sample{}, err
	}
	sample, failed, err := measureRound(s, entry{name: CeilingRenewed, run: func() (int, time.Duration, error) {
		return runPipelined(s.Addr, r.renew, maxInFlight, d)
	}})
	return sample, errors.Join(failed, err, runOnce(s.Addr, r.release))
}

// serverTime returns the server's processor time for one of these renewals, sent back to back.
func (r *recordedRenewals) serverTime(s *Server, d time.Duration) (time.Duration, error) {
	sample, err := r.measure(s, d)
	if err == nil && sample.Pairs == 0 {
		err = errors.New("no renewal was sent")
	}
	if err != nil {
		return 0, err
	}
	return sample.Server / time.Duration(sample.Pairs), nil
}
