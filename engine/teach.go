package engine

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/scripts"
)

// Teach loads the scripts, so that no first lock pays for it. A server that does not allow that learns
// them from the first call instead. The error is that of a server that does not answer.
func Teach(ctx context.Context, client rueidis.Client) error {
	for _, script := range scripts.All() {
		err := client.Do(ctx, client.B().ScriptLoad().Script(script.Text).Build()).Error()
		if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
			return err
		}
	}
	return nil
}
