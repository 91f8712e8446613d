package lockwheelprom_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheelprom"
)

// metricsPage is the reference of all metrics.
const metricsPage = "../docs/operate/metrics.md"

// dashboard is what the tests read of dashboard.json.
type dashboard struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	require.NotEmpty(t, d.Panels)
	return d
}

var metricName = regexp.MustCompile(`\blockwheel_[a-z_]+`)

// metricsOf returns the metrics that a text names. Buckets, sums and counts are those of their histogram.
func metricsOf(text string, exported map[string]*dto.MetricFamily) (names []string) {
	for _, name := range metricName.FindAllString(text, -1) {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base := strings.TrimSuffix(name, suffix)
			if f := exported[base]; f != nil && f.GetType() == dto.MetricType_HISTOGRAM {
				name = base
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func exportedMetrics(t *testing.T) (exported map[string]*dto.MetricFamily, names []string) {
	t.Helper()
	exported = gather(t, lockwheelprom.NewCollector(&fixed{}, "e"))
	for name := range exported {
		names = append(names, name)
	}
	slices.Sort(names)
	return exported, names
}

// describedMetrics returns those and the ones of single locks.
func describedMetrics(t *testing.T) (exported map[string]*dto.MetricFamily, names []string) {
	t.Helper()
	exported, names = exportedMetrics(t)
	one := listed{locks: []lockwheel.LockInfo{{Name: "n"}}}
	for name, family := range gather(t, lockwheelprom.NewLockCollector(one, "e", regexp.MustCompile(``))) {
		exported[name], names = family, append(names, name)
	}
	slices.Sort(names)
	return exported, names
}

// The dashboard and the rules name only metrics that exist. The dashboard shows all of an engine. The page describes
// those of single locks, too.
func TestFiles_Metrics_AllExist(t *testing.T) {
	t.Parallel()
	for file, all := range map[string]bool{"dashboard.json": true, metricsPage: true, "alerts.yml": false, "testdata/alerts_test.yml": false} {
		exported, names := exportedMetrics(t)
		if file == metricsPage {
			exported, names = describedMetrics(t)
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		named := metricsOf(string(text), exported)
		require.NotEmpty(t, named, file)
		require.Subset(t, names, named, file)
		if all {
			require.Equal(t, names, named, file)
		}
	}
}

// Each alert is on the page, and has a test in which it fires.
func TestFiles_Alerts_AllDescribed(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("alerts.yml")
	require.NoError(t, err)
	page, err := os.ReadFile(metricsPage)
	require.NoError(t, err)
	tests, err := os.ReadFile("testdata/alerts_test.yml")
	require.NoError(t, err)
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1)
	require.NotEmpty(t, alerts)
	for _, alert := range alerts {
		require.Contains(t, string(page), "`"+alert[1]+"`")
		require.Contains(t, string(tests), `alertname="`+alert[1]+`"`)
	}
}

// Each alert has the address of the text that says what to do. The page and the heading exist, and a runbook names the
// alert.
func TestFiles_Alerts_RunbookExists(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("alerts.yml")
	require.NoError(t, err)
	_, all, _ := strings.Cut(string(rules), "- alert: ")
	for alert := range strings.SplitSeq(all, "- alert: ") {
		name, _, _ := strings.Cut(alert, "\n")
		found := regexp.MustCompile(`runbook_url: 'https://github\.com/lockwheel/lockwheel/blob/main/(\S+)#(\S+)'`).FindStringSubmatch(alert)
		require.NotNil(t, found, name)
		page, err := os.ReadFile("../" + found[1])
		require.NoError(t, err, name)
		var headings []string
		for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(page), -1) {
			headings = append(headings, strings.ReplaceAll(strings.ToLower(h[1]), " ", "-"))
		}
		require.Contains(t, headings, found[2], name)
		if strings.Contains(found[1], "runbooks") {
			require.Contains(t, string(page), "`"+name+"`", "the runbook names the alert")
		}
	}
}

// metricRow matches a row of the page's tables: name, type, unit, meaning, and what to alert on.
var metricRow = regexp.MustCompile("(?m)^\\| `(lockwheel_\\w+)` \\| (counter|gauge|histogram), ([^|]+) \\| [^|]+ \\| ([^|]+) \\|$")

// The page says the type, the unit, the meaning and what to alert on of each metric. The alerts that it names exist.
func TestMetricsPage_EachMetric_UnitAndAlert(t *testing.T) {
	t.Parallel()
	exported, names := describedMetrics(t)
	page, err := os.ReadFile(metricsPage)
	require.NoError(t, err)
	rules, err := os.ReadFile("alerts.yml")
	require.NoError(t, err)
	var described []string
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		name, kind, unit, alert := row[1], row[2], row[3], row[4]
		described = append(described, name)
		require.EqualValues(t, strings.ToUpper(kind), exported[name].GetType().String(), name)
		require.Equal(t, strings.HasSuffix(name, "_seconds"), unit == "s", name)
		for _, named := range regexp.MustCompile(`Lockwheel\w+`).FindAllString(alert, -1) {
			require.Contains(t, string(rules), "- alert: "+named+"\n", name)
		}
	}
	slices.Sort(described)
	require.Equal(t, names, described)
}

// Panels have ids of their own, do not overlap, and each but the headings shows something.
func TestDashboard_Panels_InTheirPlaces(t *testing.T) {
	t.Parallel()
	ids, taken := make(map[int]bool), make(map[[2]int]string)
	for _, p := range readDashboard(t).Panels {
		require.False(t, ids[p.ID], p.Title)
		ids[p.ID] = true
		require.NotEmpty(t, p.Title)
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Empty(t, taken[at], p.Title)
				taken[at] = p.Title
			}
		}
	}
}
