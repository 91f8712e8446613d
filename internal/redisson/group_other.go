//go:build !unix

package redisson

import "os/exec"

// ownGroup does nothing, because process groups exist only on Unix.
func ownGroup(*exec.Cmd) {}
