//go:build !linux

package redisson

// Pause does nothing: only on Linux does a paused process continue when its parent dies.
func (s *Process) Pause() error { return nil }

// Continue does nothing.
func (s *Process) Continue() error { return nil }
