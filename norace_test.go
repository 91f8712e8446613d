//go:build !race

package lockwheel_test

// RaceEnabled is true under the race detector, where large tests are smaller.
const RaceEnabled = false
