package rediserr

import (
	"errors"
	"net"
)

// NotConnected reports that a connection could not be made. Err is the error of the dialer, of the TLS handshake, or of
// the function that supplies credentials.
type NotConnected struct{ Err error }

// Error returns the text of Err.
func (e *NotConnected) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *NotConnected) Unwrap() error { return e.Err }

// ClientError is an error of the client. It may wrap an error of the program's dialer. The goroutine that made the call
// examines it; the loop does not even call its Error method.
type ClientError struct {
	error
	Dial bool
}

func (e *ClientError) Unwrap() error { return e.error }

func AsClientError(err error) error {
	var none *NotConnected
	var op *net.OpError // from a client that the program supplied
	return &ClientError{HideContextError(err), errors.As(err, &none) || errors.As(err, &op) && op.Op == "dial"}
}
