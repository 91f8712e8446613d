package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/examples/internal/exampletest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// fetch sends a request and returns the status and the text of its reply, or the error.
func fetch(method, url string, header ...string) string {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		return err.Error()
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	r, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return r.Status + " " + string(text)
}

// SIGTERM while a request is served: it ends with 200, then the process ends without an error, and no key is left.
func TestGateway_SIGTERM_RequestEndsNoKeyLeft(t *testing.T) {
	redis := redistest.Start(t)
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), envArgs+"=-redis redis://"+redis.Addr()+" -listen 127.0.0.1:0 -ops 127.0.0.1:0 -takes 500ms -wait 10s")
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill() })
	lines := bufio.NewScanner(out)
	await := func(pattern string) string {
		for wanted := regexp.MustCompile(pattern); lines.Scan(); {
			if found := wanted.FindStringSubmatch(lines.Text()); found != nil {
				return found[1]
			}
		}
		require.FailNow(t, "the process did not say it", pattern)
		return ""
	}
	url := await(`serves on (.*)`)
	reply := make(chan string, 1)
	go func() { reply <- fetch("POST", url+"/accounts/7/charge") }()
	await(`(account 7): charges`)
	require.Equal(t, 1, redis.Int(t, "EXISTS", "example/account/7"))
	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	require.Equal(t, "200 OK charged\n", <-reply)
	await(`(has ended)`)
	require.NoError(t, process.Wait())
	require.Zero(t, redis.Int(t, "DBSIZE"))
}

// Redis is away when the service starts: it says 503, and charges as soon as Redis is there.
func TestGateway_StartsWithoutRedis_503(t *testing.T) {
	redis := redistest.Start(t)
	require.NoError(t, redis.Stop())
	e := exampletest.Start(t, run, "-redis", "redis://"+redis.Addr(), "-listen", "127.0.0.1:0", "-ops", "", "-takes", "1ms")
	url := e.Await(`serves on (.*)`)[0]
	require.Contains(t, fetch("POST", url+"/accounts/7/charge"), "503 ")
	require.Contains(t, fetch("GET", url+"/healthz"), "503 ")
	require.NoError(t, redis.Restart())
	require.Eventually(t, func() bool { return strings.HasPrefix(fetch("POST", url+"/accounts/7/charge"), "200 ") }, 20*time.Second, 50*time.Millisecond)
	e.Interrupt()
}

// The second port has the metrics of requests and of locks, and the page; the first one has neither. Spans of locks
// are below those of requests, and these below the caller's.
func TestGateway_Operators_SeeRequestsAndLocks(t *testing.T) {
	spans := t.TempDir() + "/spans.json"
	e := exampletest.Start(t, run, "-listen", "127.0.0.1:0", "-ops", "127.0.0.1:0", "-takes", "1ms", "-wait", "10s", "-traces", spans)
	url := e.Await(`serves on (.*)`)[0]
	ops := e.Await(`for operators: (.*)/metrics`)[0]
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	require.Contains(t, fetch("POST", url+"/accounts/7/charge", "traceparent", "00-"+traceID+"-00f067aa0ba902b7-01"), "200 ")

	require.Contains(t, fetch("GET", ops+"/metrics"), `gateway_request_seconds_count{code="200"} 1`)
	require.Contains(t, fetch("GET", ops+"/metrics"), `lockwheel_acquired_total{engine="gateway"} 1`)
	require.Contains(t, fetch("GET", ops+"/debug/locks/"), "example/account/7")
	require.Contains(t, fetch("GET", url+"/metrics"), "404 ")
	require.Contains(t, fetch("GET", url+"/debug/locks/"), "404 ")

	e.Interrupt()
	text, err := os.ReadFile(spans)
	require.NoError(t, err)
	for _, name := range []string{"POST /accounts/{id}/charge", "lockwheel lock", "lockwheel unlock"} {
		require.Regexp(t, `"Name":"`+regexp.QuoteMeta(name)+`","SpanContext":{"TraceID":"`+traceID, string(text))
	}
}

// envArgs makes this test binary a gateway with these arguments.
const envArgs = "LOCKWHEEL_TEST_GATEWAY"

// serveArgs runs the gateway as main does.
func serveArgs(args string) {
	os.Args = append(os.Args[:1], strings.Fields(args)...)
	main()
}
