package redistest

import (
	"os/exec"
	"syscall"
)

// setPdeathsig has the system kill the process when the thread that starts it ends. The process gets a group of its
// own. So a Ctrl-C meant for the test or the command reaches only that one, which then ends its servers in its own
// order.
func setPdeathsig(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
