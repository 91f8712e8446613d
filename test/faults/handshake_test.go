package faults_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// A server may reject new connections for any reason, and accept them again later.
func TestHandshake_ServerRejects_Outage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		redis      rueidis.ClientOption
		away, back []any
		says       string
	}{
		"it has another password": {
			rueidis.ClientOption{Password: "secret"},
			[]any{"CONFIG", "SET", "requirepass", "other"}, []any{"CONFIG", "SET", "requirepass", "secret"}, "WRONGPASS",
		},
		"the user may not select the database": {
			rueidis.ClientOption{Username: "limited", Password: "secret", SelectDB: 3},
			[]any{"ACL", "SETUSER", "limited", "-select"}, []any{"ACL", "SETUSER", "limited", "+select"}, "NOPERM this user has no permissions to run the 'select' command",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t, "--user", "limited", "on", ">secret", "~*", "&*", "+@all", "--requirepass", "secret")
			eye := s.Real.Conn(t) // is connected already
			do := func(words ...any) {
				_, err := eye.Do(words...)
				require.NoError(t, err)
			}
			e := s.Open(lockwheel.Options{Lease: time.Minute, RenewInterval: 100 * time.Millisecond, CallTimeout: 15 * time.Second, Redis: c.redis})
			hold, other := locktest.Lock(t, e.Mutex("n")), locktest.Lock(t, e.Mutex("i"))
			do(c.away...)
			do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			unavailableError(t, e.Mutex("m"), c.says)
			waiting := locktest.Locking(t.Context(), e.Mutex("w"))
			unlocking := make(chan error, 1)
			go func() { unlocking <- other.Unlock(t.Context()) }()
			for range 5 { // as many renewals as there are in this time
				unavailableError(t, e.Mutex("m"), c.says)
				require.NoError(t, hold.Err())
				require.Empty(t, waiting)
				require.Empty(t, unlocking)
			}
			do(c.back...)
			require.NoError(t, locktest.Receive(t, unlocking))
			locktest.Unlock(t, locktest.Granted(t, waiting))
			locktest.GoesOn(t, hold)
			locktest.Unlock(t, hold)
		})
	}
}

// A client that the program supplies makes its connections itself. A server that rejects them is in an outage as well.
func TestHandshake_CallersClientRejected_Outage(t *testing.T) {
	t.Parallel()
	for lost, back := range map[string]string{"-select": "+select", "off": "on"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t, "--user", "limited", "on", ">secret", "~*", "&*", "+@all")
			client, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: []string{s.Addr}, Username: "limited", Password: "secret", SelectDB: 3, ClientName: "mine", DisableCache: true,
			})
			require.NoError(t, err)
			t.Cleanup(client.Close)
			e := locktest.OpenRetrying(t, lockwheel.Options{Lease: time.Minute, RenewInterval: 100 * time.Millisecond, CallTimeout: time.Second, Client: client})
			hold := locktest.Lock(t, e.Mutex("n"))
			s.Do("ACL", "SETUSER", "limited", lost)
			s.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			waiting := locktest.Locking(t.Context(), e.Mutex("w"))
			for range 5 {
				_, err := e.Mutex("m").TryLock(t.Context())
				require.ErrorIs(t, err, lockwheel.ErrUnavailable)
				require.NoError(t, hold.Err())
				require.Empty(t, waiting)
			}
			s.Do("ACL", "SETUSER", "limited", back)
			locktest.Unlock(t, locktest.Granted(t, waiting))
			locktest.GoesOn(t, hold)
			locktest.Unlock(t, hold)
		})
	}
}

// A proxy may send any reply to a new connection. If it repeats a user and a password, no error and no log contains
// them.
func TestHandshake_PasswordRepeated_NotShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words string
		redis rueidis.ClientOption
	}{
		"both":             {"ERR %s: cannot authenticate " + locktest.MarkedUser + " " + locktest.MarkedPassword, rueidis.ClientOption{Username: locktest.MarkedUser, Password: locktest.MarkedPassword}},
		"the user":         {"ERR %s: " + locktest.MarkedUser + " is not known here", rueidis.ClientOption{Username: locktest.MarkedUser, Password: locktest.MarkedPassword}},
		"a part":           {"ERR %s: cannot authenticate with " + locktest.MarkedPassword[:8] + "...", rueidis.ClientOption{Username: "x", Password: locktest.MarkedPassword}},
		"it may pass":      {"BUSY %s with " + locktest.MarkedUser, rueidis.ClientOption{Username: locktest.MarkedUser, Password: locktest.MarkedPassword}},
		"from a function":  {"ERR %s: cannot authenticate " + locktest.MarkedUser + " " + locktest.MarkedPassword, rueidis.ClientOption{AuthCredentialsFn: markedCredentials}},
		"without RESP3":    {"ERR unknown command '%s', with args beginning with: '3' 'AUTH' '" + locktest.MarkedUser + "' '" + locktest.MarkedPassword + "' ", rueidis.ClientOption{Username: locktest.MarkedUser, Password: locktest.MarkedPassword}},
		"function, denied": {"WRONGPASS invalid username-password pair: " + locktest.MarkedPassword, rueidis.ClientOption{AuthCredentialsFn: markedCredentials}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t, "--user", locktest.MarkedUser, "on", ">"+locktest.MarkedPassword, "~*", "&*", "+@all", "--user", "x", "on", ">"+locktest.MarkedPassword, "~*", "&*", "+@all")
			f := startHandshakeProxy(t, s.Addr, c.words)
			var log locktest.LogBuffer
			opts := lockwheel.Options{Lease: time.Minute, RenewInterval: 100 * time.Millisecond, CallTimeout: time.Second, Redis: c.redis, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			opts.Redis.InitAddress = []string{f.addr}
			e := locktest.OpenRetrying(t, opts)
			hold := locktest.Lock(t, e.Mutex("n"))
			f.turn()
			_, again := lockwheel.Open(t.Context(), opts)
			for what, err := range map[string]error{
				"TryLock": locktest.Second(e.Mutex("m").TryLock(t.Context())), "Lock": locktest.Second(e.Mutex("m").Lock(t.Context(), lockwheel.Wait(300*time.Millisecond))),
				"State": locktest.Second(e.Mutex("m").State(t.Context())), "Unlock": hold.Unlock(t.Context()), "Open": again,
			} {
				require.Error(t, err, what)
				require.Empty(t, locktest.Leaked(err.Error()), "%s: %v", what, err)
				if what != "Open" {
					require.ErrorIs(t, err, lockwheel.ErrUnavailable, what)
				}
			}
			require.NoError(t, e.Close())
			require.Empty(t, locktest.Leaked(log.String()), log.String())
			t.Log(again)
		})
	}
}

// A proxy may also accept every client, and reject its commands.
func TestHandshake_CommandsRejected_NoSecret(t *testing.T) {
	t.Parallel()
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{rejectingServer(t)}, Username: locktest.MarkedUser, Password: locktest.MarkedPassword},
	})
	require.ErrorContains(t, err, "the server refuses")
	require.Empty(t, locktest.Leaked(err.Error()), err)
}

// rejectingServer is a server that accepts the handshake of every client, and rejects all other commands.
func rejectingServer(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go greetAndRefuse(conn)
		}
	}()
	return l.Addr().String()
}

// greetAndRefuse replies to each command until the other side closes.
func greetAndRefuse(conn net.Conn) {
	defer conn.Close()
	for commands := bufio.NewReader(conn); ; {
		words, err := redistest.ReadCommand(commands)
		if err != nil {
			return
		}
		reply := "-ERR who has " + locktest.MarkedPassword + " may not\r\n"
		switch {
		case words[0] == "HELLO" && len(words) > 1:
			reply = "%1\r\n$5\r\nproto\r\n:3\r\n"
		case words[0] == "CLIENT":
			reply = "+OK\r\n"
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

func markedCredentials(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	return rueidis.AuthCredentials{Username: locktest.MarkedUser, Password: locktest.MarkedPassword}, nil
}

// handshakeProxy is a proxy between client and server. Once it has turned, it closes its connections, and replies to
// commands on others with an error.
type handshakeProxy struct {
	addr   string
	turned atomic.Bool
	conns  chan net.Conn
}

func startHandshakeProxy(t *testing.T, to, words string) *handshakeProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	f := &handshakeProxy{addr: l.Addr().String(), conns: make(chan net.Conn, 1000)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if f.turned.Load() {
				go func() {
					defer conn.Close()
					locktest.Repeat(conn, words)
				}()
				continue
			}
			f.conns <- conn
			go passOn(conn, to)
		}
	}()
	return f
}

func (f *handshakeProxy) turn() {
	f.turned.Store(true)
	for len(f.conns) > 0 {
		(<-f.conns).Close()
	}
}

// passOn copies data in both directions until one side closes.
func passOn(conn net.Conn, to string) {
	defer conn.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(conn, server)
		conn.Close()
	}()
	_, _ = io.Copy(server, conn)
}
