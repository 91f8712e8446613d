package bench

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
)

// Result is the result of a contestant.
type Result struct {
	Name string
	measure.Series
	Failure string // why it was removed from the comparison; empty: it was not
}

// entry is a contestant of a comparison: run is one stretch of work.
type entry struct {
	name    string
	prepare func() // called before each run, and not measured; may be nil
	run     func() (pairs int, took time.Duration, err error)
	used    func() (measure.Usage, error) // what the client has used; nil: it is this process
	// setRunning resumes a client in a process of its own, which is suspended otherwise. If it always ran, it would
	// compile and collect also when it is not its turn. nil: it is this process.
	setRunning func(bool) error
}

// once runs an entry that is not measured.
func (e entry) once() (pairs int, took time.Duration, err error) {
	if e.prepare != nil {
		e.prepare()
	}
	return e.run()
}

// processorTime is a server that reports what it has used, or several.
type processorTime interface {
	CPU() (time.Duration, error)
}

// runInterleaved runs the entries one after the other, A B C A B C …, after a first round that does not count. An entry
// that fails is left out from then on.
func runInterleaved(s processorTime, rounds int, entries []entry) ([]Result, error) {
	results := make([]Result, len(entries))
	for i, e := range entries {
		results[i].Name = e.name
	}
	for round := range rounds + 1 {
		for i, e := range entries {
			result := &results[i]
			if result.Failure != "" {
				continue
			}
			sample, failed, err := runRound(s, e)
			switch {
			case err != nil:
				return nil, err
			case failed != nil:
				result.Failure = failed.Error()
			case round > 0:
				result.Add(sample)
			}
		}
	}
	return results, nil
}

// runRound runs a stretch, with a process of its own awake.
func runRound(s processorTime, e entry) (sample measure.Sample, failed, err error) {
	if e.setRunning == nil {
		return measureRound(s, e)
	}
	if err := e.setRunning(true); err != nil {
		return sample, nil, err
	}
	sample, failed, err = measureRound(s, e)
	return sample, failed, errors.Join(err, e.setRunning(false))
}

// measureRound measures one stretch. failed is the contestant's error, err that of the server's bookkeeping.
func measureRound(s processorTime, e entry) (sample measure.Sample, failed, err error) {
	runtime.GC() // no contestant pays for the garbage of another
	server, err := s.CPU()
	if err != nil {
		return sample, nil, err
	}
	used := e.used
	if used == nil {
		used = processUsage
	}
	if e.prepare != nil {
		e.prepare()
	}
	client, failed := used()
	if failed != nil {
		return sample, failed, nil
	}
	sample.Pairs, sample.Took, failed = e.run()
	clientThen, wrong := used()
	sample.Client = clientThen.Minus(client)
	after, err := s.CPU()
	sample.Server = after - server
	if err != nil {
		return sample, nil, fmt.Errorf("after %s: %w", e.name, err)
	}
	return sample, errors.Join(failed, wrong), nil
}

// Find returns the standing of a contestant, nil if it did not take part.
func Find(results []Result, name string) *Result {
	for i := range results {
		if results[i].Name == name {
			return &results[i]
		}
	}
	return nil
}
