//go:build unix && !linux

package redisson

import (
	"os/exec"
	"syscall"
)

// ownGroup protects the process from a Ctrl-C that is meant for the test, because the test ends the process.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
