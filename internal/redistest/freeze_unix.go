//go:build unix

package redistest

import "syscall"

func (p *process) pause() error   { return p.handle.Signal(syscall.SIGSTOP) }
func (p *process) unpause() error { return p.handle.Signal(syscall.SIGCONT) }
