package locktest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/embedded"
	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/internal/testport"
)

// TestDeadline is a deadline for what takes milliseconds. It is shorter than the default lease (30s) and its first
// renewal (10s), so neither of these can cause what arrives in time.
const TestDeadline = 8 * time.Second

// patience is how long the functions of this package wait for what they wait for: TestDeadline, and longer under the
// race detector, where a busy machine may take that long. It is shorter than the default lease. Without the race
// detector a renewal that comes to the rescue is still noticed.
const patience = patienceFactor * TestDeadline

// ProcessRoles are what a process of this test binary does instead of running tests, by the variable that selects it.
// The value of the variable is the argument.
var ProcessRoles = map[string]func(argument string) error{EnvHolder: holdUntilKilled}

// EnvHolder makes this test binary a process that holds the lock n on the given server until it is killed. It prints
// its id, and for each line that it reads whether it still holds the lock.
const EnvHolder = "LOCKWHEEL_TEST_HOLDER"

// HolderLease is the lease of holders that die.
const HolderLease = ShortLease

func holdUntilKilled(addr string) error {
	opts := SteadyOptions
	opts.Redis.InitAddress = []string{addr}
	e, err := lockwheel.Open(context.Background(), opts)
	for isBusy(err) { // as opened does, until the parent ends
		e, err = lockwheel.Open(context.Background(), opts)
	}
	if err != nil {
		return err
	}
	hold, err := e.Mutex("n").Lock(context.Background())
	if err != nil {
		return err
	}
	fmt.Println(hold.ID())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); { // until the parent ends, at the latest
		fmt.Println(hold.Err())
	}
	return nil
}

// Server is the server of one test, with a connection for inspection that does not belong to the library.
type Server struct {
	T    testing.TB
	Addr string
	Real *redistest.Server // nil: the embedded server
	conn *redistest.Conn   // to the embedded server
}

// RealServer starts a real server, or skips the test if there is none.
func RealServer(t testing.TB, args ...string) *Server {
	t.Helper()
	s := redistest.Start(t, args...)
	return &Server{T: t, Addr: s.Addr(), Real: s}
}

// AnyServer starts a real server if there is one, otherwise the embedded one.
func AnyServer(t testing.TB) *Server {
	t.Helper()
	if _, err := redistest.Find(); !errors.Is(err, exec.ErrNotFound) || os.Getenv(redistest.EnvRequire) == "1" {
		return RealServer(t)
	}
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	conn, err := redistest.Dial(server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &Server{T: t, Addr: server.Addr(), conn: conn}
}

// Amount returns how much a test does: less under the race detector, and on the embedded server, which takes many
// times as long.
func (s *Server) Amount(all, slow int) int {
	if RaceEnabled || s.Real == nil {
		return slow
	}
	return all
}

// Do sends a command. An error reply is returned as a redistest.Error.
func (s *Server) Do(args ...any) any {
	s.T.Helper()
	if s.Real != nil {
		return s.Real.Do(s.T, args...)
	}
	reply, err := s.conn.Do(args...)
	if refusal, ok := err.(redistest.Error); ok {
		return refusal
	}
	require.NoError(s.T, err)
	return reply
}

// Exists reports whether the key exists.
func (s *Server) Exists(key string) bool {
	s.T.Helper()
	return s.Do("EXISTS", key) == int64(1)
}

// Hash returns the hash of a key: for a lock, one field and its count.
func (s *Server) Hash(key string) map[string]string {
	s.T.Helper()
	pairs, ok := s.Do("HGETALL", key).([]any)
	require.True(s.T, ok)
	hash := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		hash[pairs[i].(string)] = pairs[i+1].(string)
	}
	return hash
}

// PTTL returns the TTL of a key, -1ms without expiry, -2ms without a key.
func (s *Server) PTTL(key string) time.Duration {
	s.T.Helper()
	ms, ok := s.Do("PTTL", key).(int64)
	require.True(s.T, ok)
	return time.Duration(ms) * time.Millisecond
}

// HoldAsOther makes an absent client hold a lock for that time; 0 is without expiry.
func (s *Server) HoldAsOther(name string, lease time.Duration) {
	s.T.Helper()
	require.Equal(s.T, int64(1), s.Do("HSET", name, "00000000-0000-4000-8000-000000000000:1", 1))
	if lease > 0 {
		require.Equal(s.T, int64(1), s.Do("PEXPIRE", name, lease.Milliseconds()))
	}
}

// Channels returns the lock channels that have a subscription.
func (s *Server) Channels() []any {
	s.T.Helper()
	channels, ok := s.Do("PUBSUB", "CHANNELS", "redisson_*").([]any)
	require.True(s.T, ok)
	return channels
}

// Scripts returns the number of scripts that the server has run. Only on a real server.
func (s *Server) Scripts() int {
	s.T.Helper()
	return s.Real.CommandCalls(s.T, "evalsha", "eval")
}

// Subscribers returns the number of connections with subscriptions. Only on a real server.
func (s *Server) Subscribers() int {
	s.T.Helper()
	return strings.Count(s.Real.String(s.T, "CLIENT", "LIST", "TYPE", "pubsub"), "\n")
}

// Subscriptions returns the number of SUBSCRIBE commands that the server has run. Only on a real server.
func (s *Server) Subscriptions() int {
	s.T.Helper()
	return s.Real.CommandCalls(s.T, "subscribe")
}

// Clients returns the ids of all connections without subscriptions, oldest first. Only on a real server.
func (s *Server) Clients() (ids []string) {
	s.T.Helper()
	for line := range strings.Lines(s.Real.String(s.T, "CLIENT", "LIST", "TYPE", "normal")) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		ids = append(ids, id)
	}
	return ids
}

// SlowTimeouts is for load tests that do not concern outages: a busy machine may reply late.
var SlowTimeouts = lockwheel.Options{CallTimeout: 10 * time.Second}

// Open opens an engine on the server. It is closed at the end of the test.
func (s *Server) Open(opts lockwheel.Options) *lockwheel.Engine {
	s.T.Helper()
	return s.OpenAt(s.Addr, opts)
}

// OpenAt opens an engine on the server through another address.
func (s *Server) OpenAt(addr string, opts lockwheel.Options) *lockwheel.Engine {
	s.T.Helper()
	opts.Redis.InitAddress = []string{addr}
	opts.Redis.ForceSingleClient = s.Real == nil
	if Polls(s.T) {
		opts.Notify = lockwheel.Poll
	}
	if opts.CallTimeout == 0 && opts.Lease > 0 {
		opts.CallTimeout = min(3*time.Second, opts.Lease/3) // the maximum, for a busy machine
	}
	return OpenRetrying(s.T, opts)
}

// isBusy reports whether an Open failed because a connection, or its first reply, took longer than CallTimeout.
func isBusy(err error) bool {
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return err != nil
	}
	for _, text := range []string{
		"no reply within", "had no reply in time", "took longer than Options.CallTimeout", "i/o timeout",
		context.DeadlineExceeded.Error(), // not that of Open's context, and so only its text matches
	} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// OpenRetrying opens an engine that is closed at the end of the test. It retries, because no test concerns a machine
// that is too busy for a short CallTimeout. An engine without a Name is anonymous: most tests count keys, calls or
// connections, and those about the record name their engines.
func OpenRetrying(t testing.TB, opts lockwheel.Options) (e *lockwheel.Engine) {
	t.Helper()
	opts.Anonymous = opts.Anonymous || opts.Name == ""
	Eventually(t, "an engine", func() bool {
		var err error
		e, err = lockwheel.Open(t.Context(), opts)
		if !isBusy(err) {
			require.NoError(t, err)
		}
		return err == nil
	})
	t.Cleanup(func() { e.Close() })
	return e
}

// Client returns a rueidis client of the caller, which is closed after the engines of the test.
func (s *Server) Client() rueidis.Client {
	s.T.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{s.Addr},
		ForceSingleClient: true,
		DisableCache:      true,
		DisableRetry:      true,
		PipelineMultiplex: -1,
	})
	require.NoError(s.T, err)
	s.T.Cleanup(client.Close)
	return client
}

func (s *Server) Empty(t testing.TB) {
	t.Helper()
	Eventually(t, "nothing is left", func() bool { return s.Do("DBSIZE") == int64(0) })
}

// Unused returns an address without a listener.
func Unused(t *testing.T) string {
	t.Helper()
	port, err := testport.Port() // not in use by any other process
	require.NoError(t, err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func Monitored(t *testing.T, c *redistest.Conn) string {
	t.Helper()
	line, err := c.Receive(patience)
	require.NoError(t, err)
	return line.(string)
}

// Pause pauses a server, until the end of the test at most.
func (s *Server) Pause(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Real.Pause())
	t.Cleanup(func() { _ = s.Real.Continue() })
}

// Remember records all data of a server. comesBack restores exactly these data.
func (s *Server) Remember() (comesBack func()) {
	s.T.Helper()
	type entry struct {
		key, value string
		ttl        int
	}
	var all []entry
	for _, key := range s.Real.Strings(s.T, "KEYS", "*") {
		all = append(all, entry{key, s.Real.String(s.T, "DUMP", key), s.Real.Int(s.T, "PTTL", key)})
	}
	return func() {
		s.T.Helper()
		require.Equal(s.T, "OK", s.Do("FLUSHALL"))
		for _, k := range all {
			require.Equal(s.T, "OK", s.Do("RESTORE", k.key, max(k.ttl, 0), k.value))
		}
	}
}

// As opens an engine as a user with the given rules of ACL SETUSER.
func (s *Server) As(opts lockwheel.Options, rules string) *lockwheel.Engine {
	s.T.Helper()
	user := []any{"ACL", "SETUSER", "limited", "reset", "on", ">secret"}
	for _, rule := range strings.Fields(rules) {
		user = append(user, rule)
	}
	require.Equal(s.T, "OK", s.Do(user...))
	opts.Redis.Username, opts.Redis.Password = "limited", "secret"
	return s.Open(opts)
}

// RulesOf returns the rules of ACL SETUSER that README gives for a kind of lock, for names that begin with orders/.
func RulesOf(t *testing.T, kind string) string {
	t.Helper()
	section := Contents(t, "docs/acl.md")
	places := []string{"(?s)```sh\nredis-cli ACL SETUSER locks on '>secret' (.*?)```"}
	if kind != "plain" {
		places = append(places, "(?m)^redis-cli ACL SETUSER locks (.*?) +# "+kind)
	}
	var rules []string
	for _, place := range places {
		given := regexp.MustCompile(place).FindStringSubmatch(section)
		require.NotNil(t, given, place)
		rules = append(rules, strings.NewReplacer("'", "", "\\\n", "").Replace(given[1]))
	}
	return strings.Join(rules, " ")
}

// BothWait waits until two requests wait: on the server, each with its own channel, or in the engine.
func BothWait(t *testing.T, e *lockwheel.Engine, fair bool) {
	t.Helper()
	if fair {
		RequireWaiting(t, e, 2, 2)
	} else {
		Queued(t, e, 2)
	}
}

// Engines returns the connections that are not those of the test itself. Only on a real server.
func (s *Server) Engines() (lines []string) {
	s.T.Helper()
	me := fmt.Sprintf("id=%d ", s.Do("CLIENT", "ID"))
	for line := range strings.Lines(s.Real.String(s.T, "CLIENT", "LIST")) {
		if !strings.HasPrefix(line, me) {
			lines = append(lines, line)
		}
	}
	return lines
}

func Second[T any](_ T, err error) error { return err }

// RequireTTL waits until the TTL of "n" has fallen to what is needed, which is well above a tenth of it.
func (s *Server) RequireTTL(t *testing.T, need time.Duration, holds ...*lockwheel.Hold) {
	t.Helper()
	Eventually(t, "a TTL of "+need.String(), func() bool {
		ttl := s.PTTL("n")
		return ttl > need/2 && ttl <= need+need/20+time.Second
	})
	for _, hold := range holds {
		require.NoError(t, hold.Err())
	}
}

// UsedUp returns a client of the program with an exhausted pool. UnlockHold returns the connections to the pool.
func (s *Server) UsedUp(size int) (client rueidis.Client, giveBack func()) {
	s.T.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Real.Addr()}, PipelineMultiplex: -1, DisableRetry: true, DisableCache: true, BlockingPoolSize: size,
	})
	require.NoError(s.T, err)
	s.T.Cleanup(client.Close)
	var releases []func()
	for range size {
		_, release := client.Dedicate()
		releases = append(releases, release)
	}
	return client, func() {
		for _, release := range releases {
			release()
		}
	}
}

// Contents returns the text of a file, given by its path from the root of the module.
func Contents(t *testing.T, path string) string {
	t.Helper()
	root, err := filepath.Abs(".")
	for ; err == nil; root = filepath.Dir(root) {
		if _, missing := os.Stat(filepath.Join(root, "go.mod")); missing == nil || root == filepath.Dir(root) {
			break
		}
	}
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(content)
}
