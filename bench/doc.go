// Package bench measures lockwheel beside plain rueidis calling single-lock scripts ("direct"), on one
// server and in one run: A B A B, so that ratios hold on a machine whose speed drifts.
//
//	go test -run '^$' -bench . -benchtime 3x ./...          # inside bench/
//	LOCKWHEEL_BENCH_REDIS=127.0.0.1:6379 go test -bench …   # on a server of your own
//
// Absolute figures are this machine's; the ratios are what to compare.
package bench
