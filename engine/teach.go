package engine

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/scripts"
)

// teach loads the scripts, so that the first locks are not slowed down. If the server does not allow that, or is too
// slow, the first call of each script sends its text instead.
func teach(ctx context.Context, client rueidis.Client, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var loads []rueidis.Completed
	for _, script := range scripts.All() {
		loads = append(loads, client.B().ScriptLoad().Script(script.Text).Build())
	}
	client.DoMulti(ctx, loads...)
}

// teachAll loads the scripts on all known masters of a cluster. Later masters get them with the first calls.
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
