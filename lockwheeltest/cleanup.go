package lockwheeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/internal/identity"
)

const (
	// stopTimeout is how long code under test may take to unlock after the end of the test, and keys to go.
	stopTimeout = 2 * time.Second
	// leftoversPause is the pause between two looks at the keys.
	leftoversPause = 2 * time.Millisecond
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
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := errors.Join(s.shutdown(ctx), s.leftovers(ctx)); err != nil {
		s.t.Errorf("lockwheeltest: the test left locks: %v", err)
	}
}

// shutdown waits until every hold is unlocked or ctx ends, and closes the engines. Those of the test are first, so that
// no call that still waits gets a lock that HoldElsewhere held.
func (s *Server) shutdown(ctx context.Context) error {
	var all []error
	for _, p := range *s.processes.Load() {
		if p.release == nil {
			all = append(all, p.engine.Shutdown(ctx))
		}
	}
	for _, p := range *s.processes.Load() {
		if p.release != nil {
			p.release()
			all = append(all, p.engine.Shutdown(ctx))
		}
	}
	return errors.Join(all...)
}

// leftovers returns an error that names the keys in the server that should have gone. It waits for them until ctx ends:
// the key of a lost hold outlives it by up to 1 % of its lease.
func (s *Server) leftovers(ctx context.Context) error {
	for {
		left := slices.DeleteFunc(s.redis.Keys(), func(key string) bool {
			_, _, record := identity.SplitKey(key) // of an engine that was closed while the server was down
			return record || strings.HasPrefix(key, tokenPrefix)
		})
		switch {
		case len(left) == 0:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("keys in the server: %q", left)
		}
		time.Sleep(leftoversPause)
	}
}
