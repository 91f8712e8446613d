//go:build race

package locktest

// RaceEnabled is true under the race detector, where large tests are smaller.
const RaceEnabled = true

const patienceFactor = 3
