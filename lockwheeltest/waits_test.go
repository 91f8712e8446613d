package lockwheeltest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A test of a loss, of contention and of an outage waits for little, with its begin and its end. In a bubble the time
// passes by waiting alone, so it does not depend on the machine.
func TestUsage_InBubble_WaitsBriefly(t *testing.T) {
	for name, usage := range map[string]func(*testing.T){
		"loss":       TestExport_LockLost_Stops,
		"contention": TestCleanUp_HeldElsewhere_GivesUp,
		"outage":     TestReport_Outage_IsYesterdays,
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			t.Cleanup(func() { // the last one
				t.Logf("%s: %v", name, time.Since(begin))
				require.Less(t, time.Since(begin), 50*time.Millisecond, name)
			})
			usage(t)
		})
	}
}
