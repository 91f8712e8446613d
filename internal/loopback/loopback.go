// Package loopback finds ports of 127.0.0.1 for servers of tests that go away and have to come back on the same port.
package loopback

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on a free port. The listener is the caller's to close.
func Listen() (net.Listener, error) {
	for range 100 {
		port, err := process.next()
		if err != nil {
			return nil, err
		}
		l, err := ListenOn(port)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return nil, fmt.Errorf("loopback: no free port found between %d and %d", lowest, above)
}

// ListenOn listens on the port named.
func ListenOn(port int) (net.Listener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
}

// Port returns a port that was free a moment ago. Somebody else may take it before the caller does: expect it, and ask again.
func Port() (int, error) {
	l, err := Listen()
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
