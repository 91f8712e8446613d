//go:build unix

package testport

import (
	"net"
	"syscall"
)

// stopListening ends what the listener and all its copies do.
func stopListening(l net.Listener) {
	if conn, ok := l.(syscall.Conn); ok {
		if raw, err := conn.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
		}
	}
}
