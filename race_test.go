//go:build race

package lockwheel_test

// raced is true under the race detector, where large tests are smaller.
const raced = true
