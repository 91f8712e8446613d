//go:build !linux

package redistest

import "os/exec"

// dieWithUs does nothing, because only Linux supports it. The process stays in our group, so that at least a Ctrl-C
// reaches it.
func dieWithUs(*exec.Cmd) {}
