//go:build race

package lockwheel_test

// raceEnabled is true under the race detector, where large tests are smaller.
const raceEnabled = true
