// Command gateway shows an HTTP service in front of a slow backend that must not handle two requests of one account at
// once.
//
//	go run ./examples/gateway
//	curl -X POST localhost:8080/accounts/7/charge     # in another terminal
//	curl localhost:8080/healthz
//	curl -s localhost:8081/metrics | grep ^gateway
//
// What a request gets:
//
//   - 200: it had the lock of its account, and the backend has charged.
//   - 429 with Retry-After: another request, of this process or another one, had the lock, and did not unlock it within
//     -wait. Or too many requests wait already.
//   - 503: Redis did not reply within -wait, or the engine is closed. Nothing was charged.
//   - 500: the backend failed, or the lock was lost while it worked. The charge may or may not have happened.
//
// The lock lives as long as its request. If the client goes away, the context of the request ends, so does the hold's,
// and the handler stops and unlocks. The same happens after -deadline.
//
// For operators there is a second port, which must not be public: /metrics for Prometheus, and /debug/locks/ with what
// this process holds and waits for. -traces FILE writes a span for each request, with those of its lock below it; -
// is the standard output.
//
// On SIGINT and SIGTERM the service accepts no new requests, finishes those that it has, waits until their locks are
// released, and ends. It leaves no key behind.
//
//	go run ./examples/gateway load -rate 1000 -accounts 10000 -for 10s
//
// sends requests to a gateway, each at its time, also if earlier ones are not answered yet. It prints how they ended
// and how long they took. Without -url it starts the gateway in the same process.
//
// What to try:
//
//   - Send two charges for one account at once, and two for different accounts.
//   - Press Ctrl-C while a charge runs: it ends with 200.
//   - -redis redis://127.0.0.1:6379, two of them with different -listen and -ops: the lock is shared. Stop Redis:
//     /healthz and charges say 503. Start it: they work again.
//   - load -accounts 10 -takes 50ms: most requests get 429.
package main

import (
	"context"
	"io"

	"github.com/lockwheel/lockwheel/examples/internal/server"
)

func main() { server.Main(run) }

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "load" {
		return load(ctx, args[1:], out)
	}
	return serve(ctx, args, out)
}
