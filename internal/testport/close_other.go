//go:build !unix

package testport

import "net"

func stopListening(net.Listener) {}
