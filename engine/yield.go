package engine

import "runtime"

// yieldForBatching yields to other runnable goroutines while at least two bundles are in flight. The server has work
// then, and messages that arrive together share a turn and make larger batches. It runs once a turn and waits for
// nothing. A lone caller never pays for it.
//
// Measured: with 2048 callers a turn handles 45 messages instead of 1.5, and a pair costs 4.4 µs of processor time
// instead of 5.2 µs. With 16 callers there are 1.6 times as many pairs.
func (e *Engine) yieldForBatching() {
	if e.coordinator.InFlightBundles() >= 2 {
		runtime.Gosched()
	}
}
