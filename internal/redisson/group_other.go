//go:build !unix

package redisson

import "os/exec"

// ownGroup does nothing: it is a thing of Unix.
func ownGroup(*exec.Cmd) {}
