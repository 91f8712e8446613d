//go:build unix && !linux

package redisson

import (
	"os/exec"
	"syscall"
)

// setProcessGroup protects the process from a Ctrl-C that is meant for the test, because the test ends the process.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
