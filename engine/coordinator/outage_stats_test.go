package coordinator

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// statsAt returns what a request for the statistics at that time gets.
func (d *coordinatorHarness) statsAt(at time.Duration) (s Stats) {
	d.now = at
	d.queueMessage(&LoopMessage{Value: StatsRequest{&actor.Request{}, &s}})
	d.turn()
	return s
}

// While a server does not reply, the statistics say so, and for how long a renewal is overdue and a caller waits. After
// its reply they no longer do.
func TestStats_Outage_DownOverdueAndWaiting(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	require.Equal(t, "a granted", d.line("2ms 1 done"))
	require.Zero(t, d.statsAt(12*time.Second).ServersDown)
	require.Len(t, d.inFlight, 1, "a renewal")
	require.Zero(t, d.statsAt(14*time.Second).RenewalLag)
	d.line("14s 2 lost EOF")
	s := d.statsAt(14 * time.Second)
	require.EqualValues(t, 1, s.ServersDown)
	require.InDelta(t, 4*time.Second, s.RenewalLag, float64(time.Second), "it was due at about 10 s")
	require.Zero(t, s.LongestWaiting)

	d.line("15s lock b")
	require.InDelta(t, 5*time.Second, d.statsAt(20*time.Second).LongestWaiting, float64(200*time.Millisecond))
	for range 3 { // the probe, and what it lets pass
		for number := range d.inFlight {
			d.deliverBatch([]string{strconv.Itoa(number), "done"})
		}
		d.turn()
	}
	s = d.statsAt(21 * time.Second)
	require.Zero(t, s.ServersDown)
	require.Zero(t, s.LongestWaiting)
	require.GreaterOrEqual(t, s.RenewalLag, 9*time.Second, "it was confirmed that late")
}
