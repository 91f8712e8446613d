//go:build race

package engine

// simRaced is true under the race detector, where there are fewer seeds.
const simRaced = true
