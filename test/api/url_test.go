package api_test

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// malformedURLs returns URLs with a password that is misplaced or cannot be parsed.
func malformedURLs() []string {
	urls := []string{
		"redis://u:" + locktest.MarkedPassword + "%22@h:1",
		"redis://u@" + locktest.MarkedPassword + "@h:1/x",
		"redis://u:" + locktest.MarkedPassword + "@h:port",
		"redis://u:" + locktest.MarkedPassword + "@h:99999",
		"redis://u:" + locktest.MarkedPassword + "@h:1/" + "x",
		"redis://u:" + locktest.MarkedPassword + "@h:1/0/1",
		"redis://u:" + locktest.MarkedPassword + "@h:1?db=x",
		"redis://u:" + locktest.MarkedPassword + "@h:1?dial_timeout=x",
		"redis://u:" + locktest.MarkedPassword + "@[::1",
		"redis://u:" + locktest.MarkedPassword + "@lo cal",
		"redis://u:" + locktest.MarkedPassword + "@h\x7f",
		"redis://u:" + locktest.MarkedPassword,
		"redis://" + locktest.MarkedUser + ":" + locktest.MarkedPassword + ":6379",
		"rediss://:" + locktest.MarkedPassword + ":6379/0",
		"redis://h:1?addr=" + locktest.MarkedUser + ":" + locktest.MarkedPassword + ":2",
		"redis://h:1?password=" + locktest.MarkedPassword,
		"redis://h:1#" + locktest.MarkedPassword,
		"redis://:" + locktest.MarkedPassword,
		"redis:/u:" + locktest.MarkedPassword + "@h:1",
		"redis:u:" + locktest.MarkedPassword + "@h:1",
		"//u:" + locktest.MarkedPassword + "@h:1",
		"http://u:" + locktest.MarkedPassword + "@h:1",
		locktest.MarkedUser + ":" + locktest.MarkedPassword + "@h:1",
		locktest.MarkedUser + "://" + locktest.MarkedPassword + "@h:1",
		locktest.MarkedPassword + "@h:1",
		"unix://u:" + locktest.MarkedPassword + "#@/tmp/redis.sock",
		"redis://h:1?addr=u:" + locktest.MarkedPassword + "@h:2",
		"redis://h:1?addr=u%3A" + locktest.MarkedPassword + "%40h:2",
	}
	for _, special := range []string{"#", "/", "?", "\\", "%", "%zz", " ", "\n", "[", "\"", "<", "@/", "@#", "@?"} {
		for _, password := range []string{locktest.MarkedPassword + special, special + locktest.MarkedPassword, "s3cr3t" + special + "PW", locktest.MarkedDigits + special + locktest.MarkedPassword} {
			urls = append(urls, "redis://"+locktest.MarkedUser+":"+password+"@h:1", "rediss://:"+password+"@h:1/0")
		}
		urls = append(urls, "redis://"+locktest.MarkedUser+special+"@h:1", "redis://6379"+special+locktest.MarkedUser+":p@h:1")
	}
	return urls
}

// With a nil context, Dial makes no connection for URLs that can be parsed.
func TestDial_Error_NoPartOfPassword(t *testing.T) {
	t.Parallel()
	for _, url := range malformedURLs() {
		for _, err := range []error{locktest.Second(lockwheel.Dial(locktest.NoContext, url)), locktest.Second(lockwheel.ParseURL(url))} {
			for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
				require.Empty(t, locktest.Leaked(text), "%q", url)
			}
		}
	}
}

// A / behind the host is common. It is no database.
func TestURL_TrailingSlash_NoDatabase(t *testing.T) {
	t.Parallel()
	for url, database := range map[string]int{
		"redis://u:p%2F@h:1/": 0, "rediss://h:1/": 0, "valkey://h:1/?db=2": 2, "redis://h:1": 0, "redis://h:1/3": 3,
	} {
		option, err := lockwheel.ParseURL(url)
		require.NoError(t, err, url)
		require.Equal(t, []string{"h:1"}, option.InitAddress, url)
		require.Equal(t, database, option.SelectDB, url)
		if strings.Contains(url, "@") {
			require.Equal(t, "p/", option.Password)
		}
	}
}

// rueidis combines an address without a port with the default port 6379, and ignores what it cannot parse.
func TestURL_Ambiguous_Rejected(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://h:1?addr=k:2,l:3", "redis://h:1?addr=k", "redis://h:1?addr=::1", "redis://h:1?addr=[::1]", "redis://h:1?addr=", "redis://h:1?addr=:2",
		"redis://h:1?addr=k:", "redis://h:1?addr=redis://k:2", "redis://h:1?addr=k:2;addr=l:3", "redis://h:1?addr=k:2&amp;addr=l:3", "redis://h:1?%zz",
		"redis://::1", "redis://::1:6380", "redis://u:p@2001:db8::1:6380/3", "redis://1:2:3:4:5:6:7:8:6380", "redis://h:0", "redis://h:99999", "redis://h:1?addr=k:99999", "redis:h:1", "redis:/h:1",
		"unix://tmp/x.sock", "unix:///tmp/x.sock?addr=h:1", "unix:///tmp/x.sock?master_set=m", "unix://",
		"redis://h:1?db=1&db=2", "redis://h:1/3?db=1", "redis://h:1/-3", "redis://h:1?db=-3", "redis://h:1?protocol=9", "redis://h:1?client_cache=no",
		"redis://h:1?max_retries=abc", "redis://h:1?master_set=", "redis://h:1?skip_verify=true",
		"valkey://h:1?skip_verify=true", "redis://h:1?max_retries=2147483648", "redis://h:1?max_retries=-1", "redis://h:1?client_cache=4294967296",
		"redis://h:1?addr=a%20b:2", "redis://h:1?addr=a%0a:2", "redis://h:1?addr=%09a:2",
	} {
		option, err := lockwheel.ParseURL(url)
		require.Error(t, err, "%q was taken for %q", url, option.InitAddress)
		require.Contains(t, slices.Collect(wordsOfParseURL()), err.Error(), url)
	}
	for url, addresses := range map[string][]string{
		"redis://h:1?addr=k:2&addr=[::1]:3&protocol=2&max_retries=0&client_cache=0": {"h:1", "k:2", "[::1]:3"},
		"redis://": {"localhost:6379"}, "redis://h": {"h:6379"}, "redis://[::1]": {"[::1]:6379"}, "redis://:7000/?db=1": {"localhost:7000"},
		"unix:///tmp/x.sock?db=1": {"/tmp/x.sock"}, "unix://u:p@/tmp/x.sock": {"/tmp/x.sock"}, "rediss://h:1?skip_verify": {"h:1"}, "valkeys://h:1?skip_verify=true": {"h:1"},
		"redis://h:1?max_retries=2147483647": {"h:1"},
	} {
		option, err := lockwheel.ParseURL(url)
		require.NoError(t, err, url)
		require.Equal(t, addresses, option.InitAddress, url)
	}
}

// Each certificate is checked against the host of its own connection.
func TestURL_SeveralHosts_NoCommonServerName(t *testing.T) {
	t.Parallel()
	for url, name := range map[string]string{
		"rediss://h:1": "h", "rediss://h:1?addr=h:2": "h", "rediss://h:1?addr=k:2": "", "valkeys://h:1?addr=k:2&addr=h:3&master_set=m": "",
	} {
		option, err := lockwheel.ParseURL(url)
		require.NoError(t, err, url)
		require.Equal(t, name, option.TLSConfig.ServerName, url)
		if option.Sentinel.MasterSet != "" {
			require.NotNil(t, option.Sentinel.TLSConfig, url)
		} else {
			require.Nil(t, option.Sentinel.TLSConfig, url)
		}
	}
}

// A text that is parsed as an address appears in connection errors.
func TestURL_Credentials_OnlyInTheirFields(t *testing.T) {
	t.Parallel()
	read := 0
	for _, url := range malformedURLs() {
		option, err := lockwheel.ParseURL(url)
		if err != nil {
			continue
		}
		read++
		require.Empty(t, locktest.Leaked(said(option)), "%q", url)
	}
	require.NotZero(t, read, "some can be read")
}

// Every error of ParseURL is one of a few fixed ones, so it cannot contain a part of the URL.
func FuzzURL_Error_NoPartOfURL(f *testing.F) {
	for _, url := range malformedURLs() {
		user, rest, _ := strings.Cut(strings.TrimPrefix(url, "redis://"), "@") // fuzzing removes what is marked in rest
		f.Add("redis://", user, rest)
	}
	f.Add("unix://", "u:p", "/tmp/redis.sock?db=1")
	f.Add("rediss://", "u:p", "h:1/0?addr=h:2&skip_verify=x")
	f.Add("", "localhost:6379", "")
	f.Add("redis://", "", "h:1?addr=k:2;addr=l:3&protocol=9")
	f.Fuzz(func(t *testing.T, scheme, user, rest string) {
		if strings.Contains(rest, locktest.MarkedUser) || strings.Contains(rest, locktest.MarkedPassword) {
			t.Skip("a host of that name may be said")
		}
		url := scheme + locktest.MarkedPassword + user + locktest.MarkedUser + "@" + rest
		option, err := lockwheel.ParseURL(url)
		if err != nil {
			require.Contains(t, slices.Collect(wordsOfParseURL()), err.Error(), "%q", url)
			return
		}
		require.NotContains(t, said(option), locktest.MarkedUser, "%q", url)
		require.NotContains(t, said(option), locktest.MarkedPassword, "%q", url)
	})
}

// said returns the parts of the options that a connection error may contain.
func said(option rueidis.ClientOption) string {
	text := fmt.Sprintf("%q %q %q", option.InitAddress, option.ClientName, option.Sentinel.MasterSet)
	if option.TLSConfig != nil {
		text += option.TLSConfig.ServerName
	}
	return text
}

func wordsOfParseURL() func(yield func(string) bool) {
	return slices.Values([]string{
		"lockwheel: URL: it cannot be read, want redis://host:port",
		"lockwheel: URL: it cannot be read, want redis://user:password@host:port; in a user and a password write % / ? # [ ] and what is no letter or digit as %25 %2F %3F %23 %5B %5D and so on",
		"lockwheel: URL: an @ stands behind the host: in a user and a password write / ? # as %2F %3F %23, and behind the host @ as %40",
		"lockwheel: URL: its scheme is none of redis, rediss, valkey, valkeys and unix, want redis://host:port",
		"lockwheel: URL: its database is no number, want redis://host:port/0",
		"lockwheel: URL: its path is more than a database, want redis://host:port/0",
		"lockwheel: URL: its dial_timeout is no duration as 3s",
		"lockwheel: URL: its write_timeout is no duration as 3s",
		"lockwheel: URL: its skip_verify is neither true nor false",
		"lockwheel: URL: an address in it is not host:port; an IPv6 address stands in [ ], and a user and a password before an @",
		"lockwheel: URL: it has a setting behind the ? that is not known: those of rueidis.ParseURL are",
		"lockwheel: URL: it has a # in it: in a user and a password write it as %23",
		"lockwheel: URL: what stands behind the ? cannot be read, want ?name=value&name=value, with % and ; as %25 and %3B",
		"lockwheel: URL: it names no socket, or a host as well, want unix:///path/to/redis.sock",
		"lockwheel: URL: it has a setting twice that can be there once, or two databases",
		"lockwheel: URL: one of client_cache, max_retries, protocol and master_set has a value that makes no sense",
		"lockwheel: URL: it has skip_verify but no TLS, want rediss://host:port",
	})
}

// A server that does not know a command repeats it with its arguments: for HELLO and AUTH these are the user and the
// password. (Redis before 6, proxies, rename-command)
func TestOpen_PasswordRepeated_NotInError(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"its arguments":         "ERR unknown command '%s', with args beginning with: '" + locktest.MarkedUser + "' '" + locktest.MarkedPassword + "' ",
		"all of it":             "ERR do not understand %s " + locktest.MarkedUser + " " + locktest.MarkedPassword,
		"all of the sentinel's": "ERR do not understand %s " + locktest.MarkedUser + " " + locktest.MarkedPassword,
		"of the sentinel":       "ERR unknown command '%s', with args beginning with: 'sentinel" + locktest.MarkedPassword + "' ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := rueidis.ClientOption{InitAddress: []string{echoServer(t, reply)}, Username: locktest.MarkedUser, Password: locktest.MarkedPassword}
			if name == "of the sentinel" {
				redis.Sentinel = rueidis.SentinelOption{MasterSet: "m", Username: locktest.MarkedUser, Password: "sentinel" + locktest.MarkedPassword}
			}
			if name == "all of the sentinel's" {
				redis.Sentinel = rueidis.SentinelOption{MasterSet: "m", Username: locktest.MarkedUser, Password: locktest.MarkedPassword}
				redis.Username, redis.Password = "", ""
			}
			var log locktest.LogBuffer
			_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: redis, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.ErrorContains(t, err, "lockwheel: open: ")
			require.Empty(t, locktest.Leaked(err.Error()), err)
			require.Empty(t, locktest.Leaked(log.String()))
			t.Log(err)
		})
	}
}

// echoServer is a server that replies to every command with an error that repeats the command.
func echoServer(t *testing.T, reply string) (addr string) {
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
			go locktest.Repeat(conn, reply)
		}
	}()
	return l.Addr().String()
}

// Some users give a URL, or the connection string of another client, as an address.
func TestOpen_PasswordInAddress_NotInError(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{
		"redis://" + locktest.MarkedUser + ":" + locktest.MarkedPassword + "@127.0.0.1:1", locktest.MarkedUser + ":" + locktest.MarkedPassword + "@127.0.0.1:1",
		"127.0.0.1:1,password=" + locktest.MarkedPassword, "127.0.0.1:1?password=" + locktest.MarkedPassword, "127.0.0.1:1/" + locktest.MarkedPassword,
		locktest.MarkedPassword + "@127.0.0.1", "127.0.0.1:1 " + locktest.MarkedPassword, "127.0.0.1:1#" + locktest.MarkedPassword,
	} {
		for _, redis := range []rueidis.ClientOption{
			{InitAddress: []string{addr}},
			{InitAddress: []string{"127.0.0.1:1", addr}, Sentinel: rueidis.SentinelOption{MasterSet: "m"}},
		} {
			_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: redis, CallTimeout: time.Second})
			require.ErrorContains(t, err, "want host:port")
			require.Empty(t, locktest.Leaked(err.Error()), err)
		}
	}
}

// A printed engine, lock or hold contains no password.
func TestEngine_Printed_NoPassword(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t, "--requirepass", locktest.MarkedPassword)
	e, err := lockwheel.Dial(t.Context(), "redis://:"+locktest.MarkedPassword+"@"+s.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	hold := locktest.Lock(t, e.Mutex("n"))
	var log locktest.LogBuffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("who", "engine", e, "lock", e.Mutex("n"), "hold", hold, "stats", e.Stats())
	slog.New(slog.NewJSONHandler(&log, nil)).Info("who", "engine", e, "lock", e.Mutex("n"), "hold", hold, "stats", e.Stats())
	for _, what := range []any{e, e.Mutex("n"), hold} {
		fmt.Fprintf(&log, "%v %+v %#v", what, what, what)
	}
	require.Empty(t, locktest.Leaked(log.String()))
	locktest.Unlock(t, hold)
}
