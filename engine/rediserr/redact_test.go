package rediserr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A rejection by the server is passed on without the user and the password that it repeats.
func TestRedact_HidesUserAndPassword(t *testing.T) {
	for said, kept := range map[string]string{
		"ERR unknown command 'AUTH', with args beginning with: 'me' 's3cr3t' ":                                  "ERR unknown command 'AUTH'",
		"ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `me`, `s3cr3t`, ":                  "ERR unknown command `HELLO`",
		"NOPERM User me has no permissions to run the 'evalsha' command":                                        "NOPERM this user has no permissions to run the 'evalsha' command",
		"ERR Error running script: ACL failure in script: User me has no permissions to run the 'hset' command": "ERR Error running script: ACL failure in script: this user has no permissions to run the 'hset' command",
		"NOPERM User  has no permissions to access a key":                                                       "NOPERM this user has no permissions to access a key",
		"WRONGTYPE Operation against a key holding the wrong kind of value":                                     "WRONGTYPE Operation against a key holding the wrong kind of value",
		"User ":                             "User ",
		" has no permissions to be a User ": " has no permissions to be a User ",
		"":                                  "",
	} {
		require.Equal(t, actor.ServerError(kept), RedactQuoted(said))
	}
	other := errors.New("no answer, with args beginning with: nothing")
	require.Same(t, other, RedactError(other))
	require.NoError(t, RedactError(nil))
}

// A user or a password may be a common word. The fixed phrases of servers do not count as a part of it. A short user is
// left out where it is a word, and the rest stays.
func TestRedact_SecretRepeated_LeftOut(t *testing.T) {
	login := func(user, password string) []Secret { return []Secret{{Text: user, User: true}, {Text: password}} }
	for said, secrets := range map[string][]Secret{
		"WRONGPASS invalid username-password pair or user is disabled.":                                                                login("user", "password"),
		"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?": login("default", "AUTH"),
		"NOAUTH Authentication required.":  login("", "required"),
		"ERR not by default":               login("default", ""),
		"ERR it happened, as it has to":    login("app", "s3cr3t"),
		"LOADING data_a, ä is not a1 or b": login("a", ""),
	} {
		require.EqualValues(t, said, RedactText(said, secrets...))
	}
	for said, secrets := range map[string][]Secret{
		"ERR you are pw":                  login("", "pw"),
		"ERR it happened":                 login("", "app"),
		"ERR me is told the password s3":  login("me", "s3"),
		"ERR beginning with 01234567...":  login("", "01234567890123456789"),
		"ERR none has long-tail":          login("a user with a long-tail", ""),
		"ERR longer does not log in here": login("longer", ""),
		"ERR its last part is 123456":     login("", "0123456"),
	} {
		require.Equal(t, errRepeats, RedactText(said, secrets...), said)
	}
	for said, want := range map[string]string{
		"WRONGPASS invalid username-password pair: me": "WRONGPASS invalid username-password pair: <user>",
		"ERR me,some 'me'; me":                         "ERR <user>,some '<user>'; <user>",
	} {
		require.EqualValues(t, want, RedactText(said, login("me", "x")...))
	}
}

// A timeout of a connection is not reported as the end of a context.
func TestClientError_Timeout_NoContextError(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	for _, err := range []error{context.DeadlineExceeded, fmt.Errorf("HELLO: %w", context.DeadlineExceeded), dial, &net.OpError{Op: "dial", Err: timeoutError{}}} {
		require.NotErrorIs(t, HideContextError(err), context.DeadlineExceeded, "%v", err)
	}
	var failed *ClientError
	require.ErrorAs(t, AsClientError(&net.OpError{Op: "dial", Err: timeoutError{}}), &failed)
	require.True(t, failed.Dial)
	for _, err := range []error{context.Canceled, fmt.Errorf("dial: %w", context.Canceled)} {
		require.NotErrorIs(t, HideContextError(err), context.Canceled)
		require.Contains(t, HideContextError(err).Error(), "context canceled")
	}
	require.ErrorIs(t, HideContextError(errors.Join(context.Canceled, net.ErrClosed)), net.ErrClosed)
	require.Equal(t, net.ErrClosed, HideContextError(net.ErrClosed))
}

// Of the errors of the client, those of a connection that the other side ended are known, and those of one that could
// not be made.
func TestClientError_ConnEnded_Broken(t *testing.T) {
	for _, c := range []struct {
		err          error
		dial, broken bool
	}{
		{err: io.EOF, broken: true},
		{err: fmt.Errorf("reply: %w", io.EOF), broken: true},
		{err: fmt.Errorf("reply: %w", io.ErrUnexpectedEOF), broken: true},
		{err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}, broken: true},
		{err: fmt.Errorf("send: %w", &net.OpError{Op: "write", Err: syscall.EPIPE}), broken: true},
		{err: &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}},
		{err: &net.OpError{Op: "close", Err: syscall.EPIPE}},
		{err: errors.New("other")},
		{err: &NotConnected{Err: io.EOF}, dial: true},
		{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, dial: true},
	} {
		var got *ClientError
		require.ErrorAs(t, AsClientError(c.err), &got)
		require.Equal(t, [2]bool{c.dial, c.broken}, [2]bool{got.Dial, got.Broken}, "%v", c.err)
		require.ErrorContains(t, got, c.err.Error())
	}
}

// timeoutError is like those of package net.
type timeoutError struct{}

func (timeoutError) Error() string { return "i/o timeout" }

func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
