package busywait

import "syscall"

// CanLook says that on this system a look does not block, and that a thread can yield.
const CanLook = true

// readable reports whether a read of a socket would not block. b has room for a byte.
func readable(fd uintptr, b []byte) bool {
	_, _, err := syscall.Recvfrom(int(fd), b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err != syscall.EAGAIN && err != syscall.EINTR
}

// yieldThread lets other threads run that wait for this thread's processor.
func yieldThread() { _, _, _ = syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
