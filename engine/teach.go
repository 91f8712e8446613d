package engine

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/scripts"
)

// teach loads the scripts, so that no first lock pays for it. A server that does not allow that, or is too
// slow, learns them from the first call instead.
func teach(ctx context.Context, client rueidis.Client, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var loads []rueidis.Completed
	for _, script := range scripts.All() {
		loads = append(loads, client.B().ScriptLoad().Script(script.Text).Build())
	}
	client.DoMulti(ctx, loads...)
}

// teachAll teaches the masters of a cluster. Those that come later learn as slow ones do.
func teachAll(ctx context.Context, client rueidis.Client, known *chart) {
	var pupils sync.WaitGroup
	nodes := client.Nodes()
	for _, address := range known.addresses() {
		if node := nodes[address]; node != nil {
			pupils.Go(func() { teach(ctx, node, nodePatience) })
		}
	}
	pupils.Wait()
}
