//go:build !linux

package redistest

import "os/exec"

// dieWithUs does nothing: only Linux can do it. The process stays in our group, so that at least a Ctrl-C reaches it.
func dieWithUs(*exec.Cmd) {}
