//go:build race

package engine

// simRaced is true under the race detector, where fewer seeds run.
const simRaced = true
