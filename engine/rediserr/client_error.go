package rediserr

import (
	"errors"
	"io"
	"net"
	"strings"
)

// NotConnected reports that a connection could not be made. Err is the error of the dialer, of the TLS handshake, or of
// the function that supplies credentials, or what the server replied to the handshake.
type NotConnected struct{ Err error }

// ErrNoRESP3 reports a connection that does not speak RESP3. In RESP2 rueidis has a second connection for pub/sub
// beside each one, which it dials when it is needed: a PING on the first one says nothing of the messages, and either
// can end without the other.
var ErrNoRESP3 = errors.New("the server does not speak RESP3, which an engine needs")

// LacksRESP3 reports whether a server's error reply to HELLO says that it does not know the command or the version. To
// the first rueidis reacts with RESP2.
func LacksRESP3(said string) bool {
	said = strings.ToLower(said)
	return strings.HasPrefix(said, "noproto ") || strings.Contains(said, "unknown command") && strings.Contains(said, "hello")
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
