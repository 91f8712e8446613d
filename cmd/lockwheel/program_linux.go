package main

import "syscall"

// endWithParent has the system kill the program when lockwheel is killed. Without it nothing would renew the lock, nor
// end the program when it is lost. There is no TERM first, as nothing could follow it.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
