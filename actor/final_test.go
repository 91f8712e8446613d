package actor_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The result of a request that is rejected because of another holder tells whether one of its commands may still be
// granted.
func TestRejection_TellsIfFinal(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  bool
	}{
		{"no acquire in flight", []string{
			"0s  B locks          → acquire #1 30s",
			"1ms #1 taken 5s x:1  → listen",
			"2ms B cancels        → B not acquired",
		}, true},
		{"a question is under way", []string{
			"0s  B locks          → acquire #1 30s",
			"1ms #1 taken 5s x:1  → listen",
			"2ms subscribed       → acquire #2 30s",
			"3ms B cancels        → B not acquired",
		}, false},
		{"it was tried once", []string{
			"0s  B locks once     → acquire #1 30s",
			"1ms #1 taken 5s x:1  → B not acquired",
		}, true},
		{"another has it here", []string{
			"0s  A locks          → acquire #1 30s",
			"1ms #1 granted       → A granted",
			"2ms B locks          → listen",
			"3ms B cancels        → B not acquired",
		}, true},
		{"an earlier question had no answer", []string{
			"0s  B locks          → acquire #1 30s",
			"1ms #1 unanswered x  → nothing",
			"2ms #1 taken 5s x:1  → listen",
			"3ms B cancels        → B not acquired",
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newHarness(t, defaultConfig())
			said := s.play(c.lines...)
			require.Contains(t, said, "B lock not acquired")
			require.Equal(t, c.want, s.callers["B"].last.request.Final)
		})
	}
}
