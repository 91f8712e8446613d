//go:build race

package sim

// simRaced is true under the race detector, where fewer seeds run.
const simRaced = true
