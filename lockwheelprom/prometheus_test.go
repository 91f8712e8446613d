package lockwheelprom_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/internal/testport"
)

// program finds a program of Debian's package prometheus. Otherwise it skips the test, or fails it where everything is
// required.
func program(t *testing.T, name string) string {
	t.Helper()
	found, err := exec.LookPath(name)
	if err != nil && errors.Is(err, exec.ErrNotFound) && os.Getenv(redistest.EnvRequire) != "1" {
		t.Skipf("needs the package prometheus: %v", err)
	}
	require.NoError(t, err)
	return found
}

// promtool accepts the rules. Each alert fires in trouble, and none for a healthy engine.
func TestAlerts_Promtool_FireInTrouble(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "testdata/alerts_test.yml"}} {
		out, err := exec.Command(promtool, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "SUCCESS")
	}
}

// output is what a process prints.
type output struct{ *bufio.Reader }

// address returns the address in the first line that an expression matches. The rest of the output is dropped.
func (o output) address(t *testing.T, in *regexp.Regexp) string {
	t.Helper()
	for {
		line, err := o.ReadString('\n')
		require.NoError(t, err)
		if found := in.FindStringSubmatch(line); found != nil {
			go func() { _, _ = o.WriteTo(io.Discard) }() // ends with the process
			return found[1]
		}
	}
}

// start starts a process that ends with the test, and returns its output.
func start(t *testing.T, name string, args ...string) (*exec.Cmd, output) {
	t.Helper()
	c := exec.Command(name, args...)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	errorLog, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	c.Stderr = errorLog
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		stuck := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		stuck.Stop()
		_ = errorLog.Close()
		if text, err := os.ReadFile(errorLog.Name()); err == nil && t.Failed() {
			t.Logf("%s: %s", name, text)
		}
	})
	return c, output{bufio.NewReader(out)}
}

// build builds a command of the workspace.
func build(t *testing.T, folder string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), filepath.Base(folder))
	out, err := exec.Command("go", "build", "-o", binary, folder).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// startExample starts the example on a server of its own, and returns the address of its metrics.
func startExample(t *testing.T) (address string) {
	t.Helper()
	_, said := start(t, build(t, "./example"), "-redis", redistest.Start(t).Addr(), "-listen", "127.0.0.1:0")
	return said.address(t, regexp.MustCompile(`^http://(\S+)/metrics\n$`))
}

// startDemo starts the demo of the command, for as long as the test runs, and returns the address of its metrics.
func startDemo(t *testing.T) (address string) {
	t.Helper()
	_, said := start(t, build(t, "../cmd/lockwheel"), "demo", "-listen", "127.0.0.1:0", "-for", "10m", "-locks", "300",
		"-workers", "8", "-hot", "4", "-redis", redistest.Start(t).Addr())
	return said.address(t, regexp.MustCompile(`metrics at http://(\S+)/metrics\n$`))
}

// server is a running Prometheus.
type server struct {
	t   *testing.T
	url string
}

// startPrometheus starts a server that scrapes an address and evaluates the alert rules.
func startPrometheus(t *testing.T, binary, target string, args ...string) server {
	t.Helper()
	rules, err := filepath.Abs("alerts.yml")
	require.NoError(t, err)
	config := filepath.Join(t.TempDir(), "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs: [{job_name: orders, static_configs: [{targets: [%q]}]}]
`, rules, target), 0o600))
	for range 3 { // the port may be taken meanwhile
		port, err := testport.Port()
		require.NoError(t, err)
		s := server{t, fmt.Sprintf("http://127.0.0.1:%d", port)}
		start(t, binary, append([]string{
			"--config.file=" + config, "--storage.tsdb.path=" + t.TempDir(),
			fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port), "--log.level=warn",
		}, args...)...)
		if s.ready() {
			return s
		}
	}
	t.Fatal("prometheus does not start")
	return server{}
}

// get returns the body of a reply as JSON.
func (s server) get(path string, into any) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	reply, err := client.Get(s.url + path)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if into != nil {
		err = json.NewDecoder(reply.Body).Decode(into)
	}
	if err == nil && reply.StatusCode != http.StatusOK {
		err = errors.New(reply.Status)
	}
	return err
}

func (s server) ready() bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if s.get("/-/ready", nil) == nil {
			return true
		}
	}
	return false
}

// query evaluates an expression and returns the number of results. It fails the test if the expression is wrong.
func (s server) query(expression string) int {
	s.t.Helper()
	var reply struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := s.get("/api/v1/query?query="+url.QueryEscape(expression), &reply); reply.Status != "success" {
		s.t.Fatalf("%s: %s (%v)", expression, reply.Error, err)
	}
	return len(reply.Data.Result)
}

// awaits waits until a query has this many results: a scrape that comes late leaves all series without a value.
func (s server) awaits(n int, query string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.query(query) == n }, 60*time.Second, 100*time.Millisecond, query)
}

// eventually waits until an expression has a result.
func (s server) eventually(expression string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.query(expression) > 0 }, 60*time.Second, 100*time.Millisecond, expression)
}

// shownExpressions returns the expressions of the dashboard as Grafana sends them with all engines selected.
func shownExpressions(t *testing.T) (expressions []string) {
	t.Helper()
	fill := strings.NewReplacer("$__rate_interval", "30s", "$job", ".*", "$instance", ".*", "$engine", ".*")
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			expressions = append(expressions, fill.Replace(target.Expr))
		}
	}
	return expressions
}

// A Prometheus that scrapes the demo has every metric of both engines, and every panel shows something. It loads the
// rules.
func TestPrometheus_Scrapes_FillsTheDashboard(t *testing.T) {
	t.Parallel()
	binary := program(t, "prometheus")
	s := startPrometheus(t, binary, startDemo(t))
	for _, engine := range []string{"main", "second"} {
		s.eventually(`rate(lockwheel_acquired_total{engine="` + engine + `",job="orders"}[30s]) > 0`)
	}
	s.eventually(`rate(lockwheel_renewed_total{engine="main",job="orders"}[30s]) > 0`)
	exported, _ := exportedMetrics(t)
	for name := range exported {
		s.awaits(2, `{__name__=~"`+name+`|`+name+`_count"}`)
	}
	s.awaits(2, `count by (engine) ({__name__=~"lockwheel_.+"}) == 360`) // the number of series is on the page
	for _, expression := range shownExpressions(t) {
		require.NotRegexp(t, regexp.MustCompile(`\$`), expression)
		s.eventually(expression)
	}
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	require.Eventually(t, func() bool {
		if s.get("/api/v1/rules", &rules) != nil || len(rules.Data.Groups) != 1 {
			return false
		}
		for _, rule := range rules.Data.Groups[0].Rules {
			if rule.Health != "ok" {
				return false
			}
		}
		return len(rules.Data.Groups[0].Rules) > 0
	}, 20*time.Second, 100*time.Millisecond, "every rule evaluated: %v", &rules)
}

// A Prometheus that asks for native histograms gets them: one series each, and no buckets.
func TestPrometheus_Native_GetsNative(t *testing.T) {
	t.Parallel()
	binary := program(t, "prometheus")
	s := startPrometheus(t, binary, startExample(t), "--enable-feature=native-histograms")
	s.eventually(`histogram_count(rate(lockwheel_renewal_margin_seconds[30s])) > 0`)
	for name, family := range first(exportedMetrics(t)) {
		if family.GetType().String() == "HISTOGRAM" {
			s.eventually(`histogram_quantile(0.99, rate(` + name + `[30s])) > 0`)
			require.Zero(t, s.query(name+`_bucket`), name)
		}
	}
	s.eventually(`count({__name__=~"lockwheel_.+"}) == 34`) // the number of series is on the page
	// The example's leases are of 3 s, in the bucket that ends at 4 s. It holds most locks for some milliseconds.
	s.eventually(`histogram_quantile(1, rate(lockwheel_renewal_margin_seconds[30s])) <= 4`)
	s.eventually(`histogram_quantile(0.5, rate(lockwheel_hold_seconds[30s])) < 1`)
}

func first[A, B any](a A, _ B) A { return a }
