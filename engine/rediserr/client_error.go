package rediserr

import (
	"errors"
	"io"
	"net"
)

// NotConnected reports that a connection could not be made. Err is the error of the dialer, of the TLS handshake, or of
// the function that supplies credentials, or the server's reply to Command.
type NotConnected struct {
	Err     error
	Command string // the command of the handshake that the server rejected, such as SetName; empty if there was none
}

// SetName is the Command with which a client names its connection in the older handshake. The newer one names it by
// HELLO.
const SetName = "CLIENT SETNAME"

// RejectsName reports whether a connection could not be made only because the server does not let it be named.
func RejectsName(err error) bool {
	var none *NotConnected
	return errors.As(err, &none) && none.Command == SetName
}

// Error returns the text of Err.
func (e *NotConnected) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *NotConnected) Unwrap() error { return e.Err }

// ClientError is an error of the client. It may wrap an error of the program's dialer. The goroutine that made the call
// examines it; the loop does not even call its Error method.
type ClientError struct {
	error
	Dial   bool // no connection could be made
	Broken bool // the other side ended the connection
}

func (e *ClientError) Unwrap() error { return e.error }

// AsClientError returns an error of the client in the form that the loop may examine.
func AsClientError(err error) error {
	var none *NotConnected
	var op *net.OpError
	of := errors.As(err, &op)
	dial := errors.As(err, &none) || of && op.Op == "dial" // of "dial": from a client that the program supplied
	broken := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || of && (op.Op == "read" || op.Op == "write") && !op.Timeout()
	return &ClientError{HideContextError(err), dial, broken && !dial}
}
