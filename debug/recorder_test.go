package debug

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A recorder keeps the last 200 events of each sort: very many grants do not push out a loss.
func TestRecorder_ManyGrants_LossStays(t *testing.T) {
	var r Recorder
	observer := r.Observer()
	observer.Lost("orders/7", errors.New("gone"))
	for i := range 1000 {
		observer.Acquired(fmt.Sprint(i), time.Millisecond)
	}
	require.Len(t, r.lost.last(), 1)
	assert.Equal(t, "gone", r.lost.last()[0].err)
	grants := r.acquired.last()
	require.Len(t, grants, maxEvents)
	assert.Equal(t, "999", grants[0].name)
	assert.Equal(t, "800", grants[maxEvents-1].name)
}

// A duration says what it is of. A loss has none: no observer learns how long a lost hold was held.
func TestRecorder_Views_DurationsNamed(t *testing.T) {
	var r Recorder
	observer := r.Observer()
	observer.Lost("n", errors.New("gone"))
	observer.Rejected("n", time.Second, errors.New("no"))
	observer.SlowTurn(time.Second)
	observer.Acquired("n", time.Second)
	observer.Released("n", time.Second)
	var took []string
	for _, v := range r.views(time.Now()) {
		took = append(took, v.Took)
	}
	assert.Equal(t, []string{"", "waited 1s", "took 1s", "waited 1s", "held 1s"}, took)
}

// The page shows the last 20 events of each sort, and /events.json all that the recorder has, with all fields.
func TestRecorder_ManyEvents_PageShowsTwenty(t *testing.T) {
	t.Parallel()
	var r Recorder
	for i := range 30 {
		r.Rejected(fmt.Sprint(i), time.Duration(i)*time.Second, errors.New("no"))
	}
	views := r.views(time.Now())
	require.Len(t, views, 20)
	assert.Equal(t, "29", views[0].Name)
	var out eventsJSON
	require.NoError(t, json.Unmarshal([]byte(serve(t, Options{Recorder: &r}).get("events.json")), &out))
	require.Len(t, out.Events, 30)
	last := out.Events[0]
	assert.WithinDuration(t, time.Now(), last.At, time.Hour)
	last.At = time.Time{}
	assert.Equal(t, eventJSON{What: "rejected", Name: "29", Took: 29 * time.Second, Error: "no"}, last)
}

// Goroutines record and read at the same time. Afterwards exactly the last events are there.
func TestRecorder_Concurrent_LastEventsStay(t *testing.T) {
	var r Recorder
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2000 {
				r.Released("n", time.Second)
			}
		})
		wg.Go(func() {
			for range 100 {
				for _, e := range r.released.last() {
					assert.Equal(t, "n", e.name)
				}
			}
		})
	}
	wg.Wait()
	last := r.released.last()
	require.Len(t, last, maxEvents)
	for i, e := range last {
		assert.Equal(t, uint64(8000-i), e.number)
	}
}

// Names and errors of any length take little memory.
func TestRecorder_LongTexts_AreCut(t *testing.T) {
	var r Recorder
	long := strings.Repeat("\xff", 64<<10)
	r.Rejected(long, 0, errors.New(long))
	e := r.rejected.last()[0]
	assert.Less(t, len(e.name), 5*maxShown)
	assert.Less(t, len(e.err), 5*maxShown)
}
