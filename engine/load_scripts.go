package engine

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/scripts"
)

// loadScripts loads the scripts, so that the first locks are not slowed down. If the server does not allow that, or is
// too slow, the first batch of each script sends its text instead.
func loadScripts(ctx context.Context, client rueidis.Client, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var loads []rueidis.Completed
	for _, script := range scripts.All() {
		loads = append(loads, client.B().ScriptLoad().Script(script.Text).Build())
	}
	client.DoMulti(ctx, loads...)
}

// loadScriptsEverywhere loads the scripts on all known masters of a cluster. Later masters get them with the first
// calls.
func loadScriptsEverywhere(ctx context.Context, client rueidis.Client, known *coordinator.Topology) {
	var loading sync.WaitGroup
	nodes := client.Nodes()
	for _, address := range known.Addresses() {
		if node := nodes[address]; node != nil {
			loading.Go(func() { loadScripts(ctx, node, nodeTimeout) })
		}
	}
	loading.Wait()
}
