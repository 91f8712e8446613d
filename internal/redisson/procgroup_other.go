//go:build !unix

package redisson

import "os/exec"

// setProcessGroup does nothing, because process groups exist only on Unix.
func setProcessGroup(*exec.Cmd) {}
