package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Start starts a server for a test, with arguments as in the server's manual ("--maxmemory", "1mb"), and ends it
// with the test. Without a server on PATH the test is skipped, or fails with LOCKWHEEL_REQUIRE_SERVER=1. The
// server's log is shown if the test fails.
//
// Start and every method with a testing.TB parameter must be called from the goroutine of the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	binary := binaryFor(t)
	// The folder is created first, so that it is removed last.
	s, err := Launch(t.Context(), Config{Binary: binary, Dir: t.TempDir(), Args: args})
	if err != nil {
		t.Fatal(err)
	}
	closeWithTest(t, s)
	return s
}

// binaryFor finds the program. Otherwise it skips the test or fails it.
func binaryFor(t testing.TB) string {
	t.Helper()
	binary, err := Find()
	switch {
	case err == nil:
	case errors.Is(err, exec.ErrNotFound) && os.Getenv(EnvRequire) != "1":
		t.Skipf("needs a real server: %v", err)
	default:
		t.Fatal(err)
	}
	return binary
}

func closeWithTest(t testing.TB, s *Server) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("ending the server: %v", err)
		}
		if t.Failed() {
			t.Logf("the end of the log of the server at %s:\n%s", s.Addr(), s.Log())
		}
	})
}

// Do sends a command on a connection kept for this purpose and returns the reply as Conn.Do does. An error of the
// server is a value like the others, of type Error. A broken connection ends the test.
func (s *Server) Do(t testing.TB, args ...any) any {
	t.Helper()
	reply, err := s.do(args)
	if serverErr := Error(""); errors.As(err, &serverErr) {
		return serverErr
	}
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

func (s *Server) do(args []any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.probe == nil {
		probe, err := dial(s.Addr(), s.password, dialWait)
		if err != nil {
			return nil, err
		}
		s.probe = probe
	}
	reply, err := s.probe.Do(args...)
	if serverErr := Error(""); err != nil && !errors.As(err, &serverErr) {
		s.forgetProbe() // a late reply must not be taken for that of the next command
	}
	return reply, err
}

// Int sends a command and returns its reply, an integer or the text of one. Any other reply ends the test.
func (s *Server) Int(t testing.TB, args ...any) int {
	t.Helper()
	reply := s.Do(t, args...)
	switch v := reply.(type) {
	case int64:
		return int(v)
	case string:
		if n, err := strconv.Atoi(v); err == nil {
			return n
		}
	}
	t.Fatalf("%v: not an integer: %#v", args, reply)
	return 0
}

// String sends a command and returns its reply, which must be text, or "" for nil. Any other reply ends the test.
func (s *Server) String(t testing.TB, args ...any) string {
	t.Helper()
	switch v := s.Do(t, args...).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		t.Fatalf("%v: not text: %#v", args, v)
		return ""
	}
}

// Strings sends a command and returns the elements of its reply, an array, as text, nil as "". Any other reply ends
// the test.
func (s *Server) Strings(t testing.TB, args ...any) []string {
	t.Helper()
	reply := s.Do(t, args...)
	array, ok := reply.([]any)
	if !ok {
		t.Fatalf("%v: not an array: %#v", args, reply)
	}
	texts := make([]string, len(array))
	for i, v := range array {
		if v != nil {
			texts[i] = fmt.Sprint(v)
		}
	}
	return texts
}

// Hash returns the fields and values of a hash, an empty map if there is no such key.
func (s *Server) Hash(t testing.TB, key string) map[string]string {
	t.Helper()
	pairs := s.Strings(t, "HGETALL", key)
	hash := make(map[string]string, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		hash[pairs[i]] = pairs[i+1]
	}
	return hash
}

// CommandCalls returns how often the named commands have run since the server started, or since CONFIG RESETSTAT.
// It includes calls within scripts, and failed ones: CommandCalls(t, "eval", "evalsha"). A subcommand is named
// "script|load".
func (s *Server) CommandCalls(t testing.TB, commands ...string) int {
	t.Helper()
	stats := s.String(t, "INFO", "commandstats")
	total := 0
	for line := range strings.Lines(stats) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		for _, command := range commands {
			if !strings.EqualFold(name, command) {
				continue
			}
			count, _, _ := strings.Cut(rest, ",")
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatalf("INFO commandstats: %q", line)
			}
			total += n
		}
	}
	return total
}

// Conn returns a new connection for the test, which ends with it.
func (s *Server) Conn(t testing.TB) *Conn {
	t.Helper()
	c, err := dial(s.Addr(), s.password, dialWait)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Message is a published message.
type Message struct{ Channel, Payload string }

// Subscribe listens to channels until the test ends, on a connection of its own. The subscription is active when
// Subscribe returns. The result is closed with the connection. If more than 4096 messages wait to be read, the
// server waits, too.
func (s *Server) Subscribe(t testing.TB, channels ...string) <-chan Message {
	t.Helper()
	c, err := dial(s.Addr(), s.password, dialWait)
	if err != nil {
		t.Fatal(err)
	}
	args := []any{"SUBSCRIBE"}
	for _, channel := range channels {
		args = append(args, channel)
	}
	if err := c.Send(args...); err != nil {
		t.Fatal(err)
	}
	for range channels {
		if _, err := c.Receive(probeWait); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	messages := make(chan Message, 4096)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.deliver(ctx, messages)
	}()
	t.Cleanup(func() {
		stop()
		c.Close()
		<-ended
	})
	return messages
}

// deliver forwards published messages until the connection or ctx ends.
func (c *Conn) deliver(ctx context.Context, to chan<- Message) {
	defer close(to)
	for {
		reply, err := c.Receive(noTimeout)
		if err != nil {
			return
		}
		push, ok := reply.([]any)
		if !ok || len(push) != 3 || push[0] != "message" {
			continue
		}
		select {
		case to <- Message{Channel: fmt.Sprint(push[1]), Payload: fmt.Sprint(push[2])}:
		case <-ctx.Done():
			return
		}
	}
}
