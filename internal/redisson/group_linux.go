package redisson

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a Ctrl-C that is meant for the test from the process, which the test ends. One that stands still when
// whoever started it dies goes on, and finds its input at its end.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGCONT}
}

// Pause has the process stand still: its compiler and collector, too.
func (s *Process) Pause() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue has it go on.
func (s *Process) Continue() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
