package engine

import (
	"context"
	"sync"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/scripts"
)

// teach loads the scripts, so that no first lock pays for it. A server that does not allow that learns
// them from the first call instead. The error is that of a server that does not answer.
func teach(ctx context.Context, client rueidis.Client) error {
	for _, script := range scripts.All() {
		err := client.Do(ctx, client.B().ScriptLoad().Script(script.Text).Build()).Error()
		if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
			return err
		}
	}
	return nil
}

// teachAll teaches the masters of a cluster. One that does not answer, and one that comes later, learns
// from the first call.
func teachAll(ctx context.Context, client rueidis.Client, known *chart) {
	ctx, cancel := context.WithTimeout(ctx, nodePatience)
	defer cancel()
	var pupils sync.WaitGroup
	nodes := client.Nodes()
	for _, address := range known.addresses() {
		if node := nodes[address]; node != nil {
			pupils.Go(func() { _ = teach(ctx, node) })
		}
	}
	pupils.Wait()
}
