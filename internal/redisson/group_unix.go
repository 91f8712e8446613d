//go:build unix && !linux

package redisson

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a Ctrl-C that is meant for the test from the process, which the test ends.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
