package lockwheel_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

var (
	masterOffset  = regexp.MustCompile(`master_repl_offset:(\d+)`)
	replicaOffset = regexp.MustCompile(`slave\d+:.*state=online,offset=(\d+)`)
)

// Replicated waits until that many replicas have all data of a master. WAIT would wait only for the writes of its own
// connection.
func Replicated(t testing.TB, master *redistest.Server, replicas int) {
	t.Helper()
	offsets := func(of *regexp.Regexp) (all []int) {
		for _, found := range of.FindAllStringSubmatch(fmt.Sprint(master.Do(t, "INFO", "replication")), -1) {
			offset, _ := strconv.Atoi(found[1])
			all = append(all, offset)
		}
		return all
	}
	wanted := offsets(masterOffset)[0]
	Eventually(t, fmt.Sprintf("%d replicas at %d", replicas, wanted), func() bool {
		have := 0
		for _, offset := range offsets(replicaOffset) {
			if offset >= wanted {
				have++
			}
		}
		return have >= replicas
	})
}
