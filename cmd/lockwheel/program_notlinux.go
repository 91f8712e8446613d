//go:build unix && !linux

package main

import "syscall"

// endWithParent does nothing: only Linux ends a program with the one that started it.
func endWithParent(*syscall.SysProcAttr) {}
