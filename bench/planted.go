package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
)

// PlantedResult is what a TryLock costs the server if another program has stored very much under the lock's name.
type PlantedResult struct {
	Kind    string // what is stored
	Stored  int    // how many fields, or places of a queue
	Tries   int
	Longest time.Duration // the longest command that the server executed for one of them
	Failure string
}

const (
	plantedName  = "lockwheel-bench-planted"
	plantedBatch = 10_000 // fields or places that are stored in one script
	plantedTries = 50
)

// planted is what another program stores: a script for the places from ARGV[1] to ARGV[2], and the lock that is tried.
type planted struct {
	kind, script string
	stored       []int
	mutex        func(*lockwheel.Engine) lockwheel.Mutex
}

var allPlanted = []planted{
	{"plain lock: fields of its hash", `
for i = ARGV[1], ARGV[2] do redis.call('HSET', KEYS[1], 'another-holder:' .. string.format('%d', i), '1') end
redis.call('PEXPIRE', KEYS[1], '600000')`,
		[]int{1, 1000, 1_000_000}, func(e *lockwheel.Engine) lockwheel.Mutex { return e.Mutex(plantedName) }},
	{"read/write lock: readers in its hash, a writer tries", `
redis.call('HSET', KEYS[1], 'mode', 'read')
for i = ARGV[1], ARGV[2] do redis.call('HSET', KEYS[1], 'another-holder:' .. string.format('%d', i), '1') end
redis.call('PEXPIRE', KEYS[1], '600000')`,
		[]int{1, 1000, 1_000_000}, func(e *lockwheel.Engine) lockwheel.Mutex { return e.RWMutex(plantedName).Writer() }},
	{"fair lock: dead places in its queue", `
for i = ARGV[1], ARGV[2] do
  local id = 'another-holder:' .. string.format('%d', i)
  redis.call('RPUSH', 'redisson_lock_queue:{' .. KEYS[1] .. '}', id)
  redis.call('ZADD', 'redisson_lock_timeout:{' .. KEYS[1] .. '}', string.format('%d', i), id)
end`,
		[]int{1, 1000, 300_000}, func(e *lockwheel.Engine) lockwheel.Mutex { return e.FairMutex(plantedName) }},
}

// Planted tries locks after another program has stored very much under their names. It needs a server of its own, as it
// records the server's slowest commands and empties the server.
func Planted(s *Server, p Plan) ([]*PlantedResult, error) {
	if s.launched == nil {
		return nil, errors.New("needs a server of its own, not that of -redis")
	}
	var all []*PlantedResult
	for _, what := range allPlanted {
		for _, n := range what.stored {
			n = min(n, p.PlantedMost)
			r := &PlantedResult{Kind: what.kind, Stored: n, Tries: plantedTries}
			all = append(all, r)
			if err := r.measure(s, what); err != nil {
				r.Failure = err.Error()
			}
			if err := s.Clear(); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

func (r *PlantedResult) measure(s *Server, what planted) error {
	engine, err := lockwheel.Open(context.Background(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}}})
	if err != nil {
		return err
	}
	defer engine.Close()
	for at := 0; at < r.Stored; at += plantedBatch {
		if _, err := s.do("EVAL", what.script, "1", plantedName, at, min(at+plantedBatch, r.Stored)-1); err != nil {
			return fmt.Errorf("planting: %w", err)
		}
	}
	if err := s.watchSlowest(); err != nil {
		return err
	}
	for range r.Tries {
		hold, err := what.mutex(engine).TryLock(context.Background())
		switch {
		case err == nil:
			err = hold.Unlock(context.Background())
		case errors.Is(err, lockwheel.ErrNotAcquired), errors.Is(err, lockwheel.ErrKindMismatch):
			err = nil
		}
		if err != nil {
			return err
		}
	}
	r.Longest, err = s.slowest()
	return err
}

// watchSlowest has the server record every command from now on, of which slowest reads the longest.
func (s *Server) watchSlowest() error {
	for _, command := range [][]any{
		{"CONFIG", "SET", "slowlog-log-slower-than", "0"}, {"CONFIG", "SET", "slowlog-max-len", "10000"}, {"SLOWLOG", "RESET"},
	} {
		if _, err := s.do(command...); err != nil {
			return err
		}
	}
	return nil
}

// slowest returns the longest command since watchSlowest, and ends the recording.
func (s *Server) slowest() (longest time.Duration, err error) {
	reply, err := s.do("SLOWLOG", "GET", "10000")
	if err != nil {
		return 0, err
	}
	entries, _ := reply.([]any)
	for _, entry := range entries {
		fields, _ := entry.([]any)
		if len(fields) < 4 {
			return 0, fmt.Errorf("SLOWLOG GET: unexpected entry %v", entry)
		}
		micros, _ := fields[2].(int64)
		longest = max(longest, time.Duration(micros)*time.Microsecond)
	}
	if longest == 0 {
		return 0, errors.New("SLOWLOG GET: no command was recorded")
	}
	_, err = s.do("CONFIG", "SET", "slowlog-log-slower-than", "10000")
	return longest, err
}
