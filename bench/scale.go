package bench

import (
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// ScaleResult is what lockwheel needs to hold a number of watched locks, and nothing else. Figures of several runs are
// medians, except Latest, which is the longest, and Lost, which is the sum.
type ScaleResult struct {
	Keep     HoldPlan
	Taken    time.Duration // to acquire them all
	Heap     float64       // live bytes of the client per lock, with its name and its hold
	Memory   float64       // bytes of the server per lock
	Renewals float64       // per second
	Keys     float64       // locks that one call renews
	Client   time.Duration // processor time of a renewal
	Server   time.Duration
	In, Out  float64       // bytes of a renewal that the server received and sent
	Latest   time.Duration // the longest from when a renewal was due to its confirmation
	Slack    time.Duration // from when a renewal is due to the end of the hold that it renews
	Lost     int
	Failure  string

	Runs []ScaleResult `json:",omitempty"` // empty: there was one run
}

// Used returns the part of the slack that the latest renewal has used.
func (r *ScaleResult) Used() float64 { return float64(r.Latest) / float64(r.Slack) }

// Scale holds locks for a lease, after a first interval in which renewals are spread.
func Scale(s *Server, p Plan, keep HoldPlan) (*ScaleResult, error) {
	var runs []ScaleResult
	times := p.runs()
	if keep.Once {
		times = 1
	}
	for range times {
		r := ScaleResult{Keep: keep}
		if err := r.measure(s, p); err != nil {
			r.Failure = err.Error()
		}
		runs = append(runs, r)
		if err := s.Clear(); err != nil {
			return nil, err
		}
		if r.Failure != "" {
			break
		}
	}
	return combineScale(runs), nil
}

// combineScale returns the result of several runs: of a run that failed, its failure alone.
func combineScale(runs []ScaleResult) *ScaleResult {
	all := runs[len(runs)-1]
	if len(runs) == 1 || all.Failure != "" {
		return &all
	}
	all.Runs = runs
	setMedians(&all, runs,
		func(r *ScaleResult) *float64 { return &r.Heap },
		func(r *ScaleResult) *float64 { return &r.Memory },
		func(r *ScaleResult) *float64 { return &r.Renewals },
		func(r *ScaleResult) *float64 { return &r.Keys },
		func(r *ScaleResult) *float64 { return &r.In },
		func(r *ScaleResult) *float64 { return &r.Out })
	setMedians(&all, runs,
		func(r *ScaleResult) *time.Duration { return &r.Taken },
		func(r *ScaleResult) *time.Duration { return &r.Client },
		func(r *ScaleResult) *time.Duration { return &r.Server },
		func(r *ScaleResult) *time.Duration { return &r.Slack })
	all.Latest, all.Lost = 0, 0
	for i := range runs {
		all.Latest = max(all.Latest, runs[i].Latest)
		all.Lost += runs[i].Lost
	}
	return &all
}

func (r *ScaleResult) measure(s *Server, p Plan) error {
	ours, err := peers.OpenLockwheel(peers.Config{Addr: s.Addr, Lease: r.Keep.Lease, RenewInterval: r.Keep.Every, Callers: acquireWorkers})
	if err != nil {
		return err
	}
	defer closeWithTimeout(ours)
	validity, err := measureValidity(ours)
	if err != nil {
		return err
	}
	r.Slack = validity - r.Keep.RenewInterval()
	memory, err := s.number("memory", "used_memory")
	if err != nil {
		return err
	}
	hold := HoldResult{Name: r.Keep.contestantName(), Keep: r.Keep}
	locks := newHeldLocks(heldName, r.Keep.Locks)
	acquired := r.watchUntil(ours)
	err = hold.acquire(locks, ours, p)
	acquired()
	if err != nil {
		return err
	}
	r.Taken, r.Heap = hold.Taken, hold.Heap
	memoryThen, err := s.number("memory", "used_memory")
	if err != nil {
		return err
	}
	r.Memory = (memoryThen - memory) / float64(r.Keep.Locks)
	p.logf("%d locks, acquired in %.1f s; the first interval passes", r.Keep.Locks, r.Taken.Seconds())
	r.watch(ours, r.Keep.RenewInterval())
	p.logf("%d locks; a lease passes", r.Keep.Locks)
	if err := r.renew(s, ours); err != nil {
		return err
	}
	if r.Lost = hold.Lost + locks.lost(); r.Lost > 0 {
		return nil // not all can be released
	}
	return locks.release()
}

// lagReading is the interval between two readings of Stats.RenewalLag, which is that of the last minute.
const lagReading = 20 * time.Second

// watch waits, and notes the latest renewal meanwhile.
func (r *ScaleResult) watch(ours *peers.LockwheelClient, d time.Duration) {
	for end := time.Now().Add(d); ; {
		r.Latest = max(r.Latest, ours.Engine.Stats().RenewalLag)
		left := time.Until(end)
		if left <= 0 {
			return
		}
		time.Sleep(min(left, lagReading))
	}
}

// watchUntil notes the latest renewal until the function that it returns is called.
func (r *ScaleResult) watchUntil(ours *peers.LockwheelClient) (end func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-time.After(lagReading):
				r.watch(ours, 0)
			case <-stop:
				r.watch(ours, 0)
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// renew measures the renewals of a lease.
func (r *ScaleResult) renew(s *Server, ours *peers.LockwheelClient) error {
	before, err := readUsage(servers{s}, ours)
	if err != nil {
		return err
	}
	r.watch(ours, r.Keep.Lease)
	after, err := readUsage(servers{s}, ours)
	if err != nil {
		return err
	}
	renewed := after.renewed - before.renewed
	if renewed == 0 || after.batches == before.batches {
		return errors.New("no lock was renewed in a lease")
	}
	cost := after.costSince(before, renewed)
	r.Client, r.Server, r.In, r.Out = cost.Client, cost.Server, cost.In, cost.Out
	r.Renewals = float64(renewed) / after.at.Sub(before.at).Seconds()
	r.Keys = float64(renewed) / float64(after.batches-before.batches)
	return nil
}

// usage is what a client and its servers have done until a time.
type usage struct {
	at               time.Time
	renewed, batches uint64
	client           measure.Usage
	loop             time.Duration // of the turns of the client's loop
	server           time.Duration
	in, out          float64 // bytes that the servers received and sent
}

func readUsage(on servers, ours *peers.LockwheelClient) (u usage, err error) {
	for _, s := range on {
		in, err := s.number("stats", "total_net_input_bytes")
		if err != nil {
			return u, err
		}
		out, err := s.number("stats", "total_net_output_bytes")
		if err != nil {
			return u, err
		}
		u.in, u.out = u.in+in, u.out+out
	}
	if u.server, err = on.CPU(); err != nil {
		return u, err
	}
	stats := ours.Engine.Stats()
	u.renewed, u.batches, u.client, u.at = stats.Renewed, stats.Batches, measure.Used(), time.Now()
	u.loop = time.Duration(stats.TurnTimes.Sum * float64(time.Second))
	return u, nil
}

// costSince returns what each of n pairs or renewals has cost since an earlier reading.
func (u *usage) costSince(earlier usage, n uint64) SizingCost {
	each := float64(n)
	return SizingCost{
		Client: time.Duration(float64(u.client.Minus(earlier.client).CPU) / each),
		Server: time.Duration(float64(u.server-earlier.server) / each),
		Loop:   time.Duration(float64(u.loop-earlier.loop) / each),
		In:     (u.in - earlier.in) / each, Out: (u.out - earlier.out) / each,
	}
}
