package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Kill ends the server as a crash does: it saves nothing, and closes no connection in an orderly way. The server is
// gone when Kill returns. Kill does nothing if the server is down.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

// Stop asks the server to end, as an administrator does. If it has not ended within 15 s, Stop kills it and returns
// an error. Nothing is saved unless its arguments say so. Stop does nothing if the server is down.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end(s.run.terminate)
}

// Restart stops the server if it is up, and starts it on the same port with the data it had. Time has continued for
// its TTLs. After Kill it starts with what it had on disk, which is nothing without "--appendonly", "yes". On
// failure the server is down.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run.ended() {
		return s.start(context.Background())
	}
	if err := s.end(s.save); err != nil {
		return err
	}
	if err := s.start(context.Background()); err != nil {
		return err
	}
	// The server has read the file. If the file stayed, its data would come back after a later Kill.
	return os.Remove(filepath.Join(s.config.Dir, snapshot))
}

// RestartEmpty kills the server and starts it on the same port without any data. On failure the server is down.
func (s *Server) RestartEmpty() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.kill(); err != nil {
		return err
	}
	for _, data := range []string{snapshot, "appendonlydir", "appendonly.aof"} {
		if err := os.RemoveAll(filepath.Join(s.config.Dir, data)); err != nil {
			return err
		}
	}
	return s.start(context.Background())
}

// Pause freezes the server (SIGSTOP): its connections stay open, the system accepts new ones, and there are no
// replies.
func (s *Server) Pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
	return s.run.pause()
}

// Continue wakes a server that Pause froze. The server then runs the commands that arrived meanwhile.
func (s *Server) Continue() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = false
	return s.run.unpause()
}

// Running reports whether the server is up and not paused.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.paused && !s.run.ended()
}

// Close kills the server, and removes its folder if that is a temporary one of Launch. A second call does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.kill()
	if s.ownsDir {
		err = errors.Join(err, os.RemoveAll(s.config.Dir))
	}
	return err
}

// kill does what Kill does. mu is held.
func (s *Server) kill() error {
	s.forgetProbe()
	if s.run == nil {
		return nil // it never started
	}
	return s.run.kill()
}

// end asks the server to end with ask, waits, and kills it if it does not end. mu is held.
func (s *Server) end(ask func() error) error {
	if s.run.ended() {
		return nil
	}
	s.forgetProbe()
	_ = s.run.unpause() // a frozen server reads no request; where freezing is not supported, there is nothing to undo
	if err := ask(); err != nil {
		return errors.Join(err, s.run.kill())
	}
	select {
	case <-s.run.done:
		return nil
	case <-time.After(stopWait):
		return errors.Join(fmt.Errorf("redistest: the server did not end in %v:\n%s", stopWait, s.Log()), s.run.kill())
	}
}

// save asks the server to write its data and end.
func (s *Server) save() error {
	c, err := dial(s.Addr(), s.password, dialWait)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Do("SHUTDOWN", "SAVE")
	if serverErr := Error(""); errors.As(err, &serverErr) {
		return serverErr
	}
	return nil // success is a connection that ends without a reply
}

// forgetProbe closes the connection of Do. The next Do makes a new one. mu is held.
func (s *Server) forgetProbe() {
	if s.probe != nil {
		s.probe.Close()
		s.probe = nil
	}
}
