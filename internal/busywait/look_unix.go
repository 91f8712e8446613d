//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package busywait

import "syscall"

// CanLook says that a look does not block on this system.
const CanLook = true

// readable reports whether a read of a socket would not block. b has room for a byte.
func readable(fd uintptr, b []byte) bool {
	_, _, err := syscall.Recvfrom(int(fd), b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err != syscall.EAGAIN && err != syscall.EINTR
}
