// Package loopback finds ports of 127.0.0.1 for servers of tests that go away and have to come back on the same port.
package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
)

// Ports below those that systems give to outgoing connections (Linux from 32768, others from 49152). A client that keeps
// dialling a port of that higher range while nobody listens there is sooner or later given this very port as its own
// end, is then connected to itself, and the server can never come back.
const (
	lowest = 20000
	above  = 32000
)

// turn counts the ports that were tried: a process tries none a second time before all others, so that who went
// away from one finds it free again.
var turn atomic.Uint32

var first = rand.Uint32N(above - lowest)

// Listen listens on a free port. The listener is the caller's to close.
func Listen() (net.Listener, error) {
	for range 100 {
		l, err := ListenOn(int(lowest + (first+turn.Add(1))%(above-lowest)))
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
