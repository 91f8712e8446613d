//go:build !linux

package redisson

// Pause does nothing: only on Linux does a process that stands still go on when whoever started it dies.
func (s *Process) Pause() error { return nil }

// Continue does nothing.
func (s *Process) Continue() error { return nil }
