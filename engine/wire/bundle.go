package wire

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// RedisClient is a client, or one of its connections.
type RedisClient interface {
	B() rueidis.Builder
	DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult
}

// SendBundle sends several batches in one pipeline, with an ASKING before each that needs it, followed by the commands
// in more. It decodes the replies of the batches and returns the results of more.
func (w *Encoder) SendBundle(client RedisClient, first *coordinator.Batch, more ...rueidis.Completed) []rueidis.RedisResult {
	commands := make([]rueidis.Completed, 0, 2*coordinator.MaxBundleBatches)
	for b := first; b != nil; b = b.Next {
		if b.Asking {
			commands = append(commands, client.B().Asking().Build())
		}
		commands = append(commands, w.Encode(client, b))
	}
	results := client.DoMulti(context.Background(), append(commands, more...)...)
	for b := first; b != nil; b = b.Next {
		if b.Asking {
			results = results[1:]
		}
		DecodeResult(results[0], b)
		results = results[1:]
	}
	return results
}
