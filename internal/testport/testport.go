// Package testport finds ports of 127.0.0.1 for test servers that stop and have to restart on the same port.
package testport

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on a free port. The caller closes the listener.
func Listen() (net.Listener, error) {
	for range 100 {
		port, err := processPool.next()
		if err != nil {
			return nil, err
		}
		l, err := ListenOn(port)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return nil, fmt.Errorf("testport: no free port found between %d and %d", minPort, maxPort)
}

// ListenOn listens on the given port.
func ListenOn(port int) (net.Listener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
}

// Close closes a listener at once. A child process that is being started has a copy of it until it runs its program:
// for so long, the port would be in use, and the system would accept connections to it. On systems other than Unix it
// only closes the listener.
func Close(l net.Listener) error {
	stopListening(l)
	return l.Close()
}

// Port returns a port that was free a moment ago. Another process may take it first, so callers must be prepared to
// call Port again.
func Port() (int, error) {
	l, err := Listen()
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, Close(l)
}
