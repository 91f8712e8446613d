package redisson

import (
	"os/exec"
	"syscall"
)

// setProcessGroup protects the process from a Ctrl-C that is meant for the test, because the test ends the process. A
// paused process continues when its parent dies, and finds its input at its end.
func setProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGCONT}
}

// Pause stops the process, including its compiler and garbage collector.
func (s *Process) Pause() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue lets a paused process run again.
func (s *Process) Continue() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
