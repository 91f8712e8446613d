package lockwheeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// stopTimeout is how long code under test may take to unlock after the end of the test.
	stopTimeout = 2 * time.Second
	// tokenPrefix begins the keys that count fencing tokens. They never expire.
	tokenPrefix = "redisson_lock_token:"
)

// close ends the engines and the server, and fails the test if it left something.
func (s *Server) close() {
	s.t.Helper()
	defer s.redis.Close()
	if s.settings.allowLeftovers || s.t.Failed() {
		for _, p := range *s.processes.Load() {
			p.engine.Close()
		}
		return
	}
	s.redis.Up() // releases that wait for it go through
	if err := errors.Join(s.shutdown(), s.leftovers()); err != nil {
		s.t.Errorf("lockwheeltest: the test left locks: %v", err)
	}
}

// shutdown waits until every hold is unlocked, for stopTimeout in all, and closes the engines.
func (s *Server) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var all []error
	for _, p := range *s.processes.Load() {
		all = append(all, p.engine.Shutdown(ctx))
	}
	return errors.Join(all...)
}

// leftovers returns an error that names the keys in the server that should have gone.
func (s *Server) leftovers() error {
	left := slices.DeleteFunc(s.redis.Keys(), func(key string) bool { return strings.HasPrefix(key, tokenPrefix) })
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("keys in the server: %q", left)
}
