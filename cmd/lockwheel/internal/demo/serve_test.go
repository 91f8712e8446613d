package demo

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/testport"
)

// body returns what an address serves, or "".
func body(url string) string {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for until := time.Now().Add(20 * time.Second); ; { // a busy machine can be too late for a reply
		text, err := bodyOnce(&client, url)
		if err == nil || time.Now().After(until) {
			return text
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func bodyOnce(client *http.Client, url string) (string, error) {
	reply, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if reply.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", reply.StatusCode)
	}
	return string(text), err
}

// freeAddress returns an address that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := testport.Port()
	require.NoError(t, err)
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// While a demo runs, it serves the metrics of both engines and their page. Its end closes the port.
func TestDemo_Listen_ServesPageAndMetrics(t *testing.T) {
	t.Parallel()
	where, err := embed()
	require.NoError(t, err)
	t.Cleanup(where.close)
	s := endlessDemo()
	s.listen = freeAddress(t)
	d := newDemo(s, where, nil)
	ctx, interrupt := context.WithCancel(t.Context())
	inBackground(t, func() {
		defer interrupt()
		awaitWork(t, d)
		metrics := body("http://" + s.listen + "/metrics")
		assert.Contains(t, metrics, "lockwheel_holds{engine=\"main\"} 30", "300 kept and those of workers")
		assert.Contains(t, metrics, `lockwheel_acquired_total{engine="second"}`)
		page := body("http://" + s.listen + "/")
		assert.Contains(t, page, "kept/")
		assert.Contains(t, body("http://"+s.listen+"/page.css"), "table")
		assert.NotContains(t, page, "force…", "a forced lock is no fault of the library")
	})
	good, printed := runCaptured(ctx, t, d)
	assert.True(t, good, printed)
	assert.Contains(t, printed, "page     http://"+s.listen+"/, metrics at http://"+s.listen+"/metrics\n")
	assert.Equal(t, "http://"+s.listen+"/", d.options().PageAddress, "what lockwheel engines prints")
	_, err = net.Dial("tcp", s.listen)
	assert.Error(t, err)
}

// A demo that cannot serve does not run.
func TestCommand_ListenAddressTaken_Exits1(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	status, stdout, stderr := command(t, "-listen", taken.Addr().String())
	assert.Equal(t, exitFailed, status)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "lockwheel demo: -listen: listen tcp "+taken.Addr().String())
}

// Without -listen a demo serves nothing.
func TestSite_NoAddress_ServesNothing(t *testing.T) {
	var s site
	require.NoError(t, s.listen(""))
	s.serve(engines{})
	require.Empty(t, s.url())
	s.close()
}
