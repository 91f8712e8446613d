//go:build !linux

package redistest

import "os/exec"

// setPdeathsig does nothing, because only Linux supports it. The process stays in our group, so that at least a Ctrl-C
// reaches it.
func setPdeathsig(*exec.Cmd) {}
