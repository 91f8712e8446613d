package demo

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockwheel/lockwheel"
)

// verdictText returns the results of the checks as text.
func verdictText(e *results) string {
	var b strings.Builder
	for _, f := range e.verdict() {
		fmt.Fprintf(&b, "%v %s\n", f.good, f.text)
	}
	return b.String()
}

func TestVerdict_AllHeld_Good(t *testing.T) {
	e := &results{wanted: 5, kept: 5, faults: &faults{}, exclusionChecks: []*exclusionCheck{{name: "hot"}}}
	e.faults.record(fmt.Errorf("lock a: %w", lockwheel.ErrUnavailable))
	assert.Equal(t, `true no held lock was lost (5 kept all the time)
true never two held one name at once
true nothing is left in the server: no key, no channel
`, verdictText(e), "a call without a reply in time breaks no promise")
}

func TestVerdict_Failures_AllListed(t *testing.T) {
	exclusion := &exclusionCheck{name: "hot"}
	exclusion.enter()
	exclusion.enter()
	e := &results{
		wanted:          6,
		kept:            5,
		faults:          &faults{},
		exclusionChecks: []*exclusionCheck{{name: "fine"}, exclusion},
		shutdown:        errors.New("stuck"),
		leftovers:       leftovers{keys: []string{"left/1", "left/2"}, count: 2},
	}
	for i := range 5 {
		assert.False(t, e.faults.record(fmt.Errorf("lock kept/%d: %w", i, lockwheel.ErrLost)), "others may still be fine")
	}
	assert.True(t, e.faults.record(errors.New("no permission")), "it will not get better")
	assert.Equal(t, `false held locks lost: 5
lock kept/0: lock lost
lock kept/1: lock lost
lock kept/2: lock lost
and 2 more
false two held one name at once:
"hot": up to 2 at once, 1 in all who were not alone
false keys left in the server: 2
left/1
left/2
false only 5 of 6 locks could be taken
false calls refused for good: 1
no permission
false the engines did not come to an end: stuck
`, verdictText(e))
}

func TestVerdict_Interrupted_OnPartialRun(t *testing.T) {
	e := &results{wanted: 10_000, kept: 5, interrupted: true, faults: &faults{}}
	assert.NotContains(t, verdictText(e), "false")
}

func TestVerdict_ServerUnreadable_Bad(t *testing.T) {
	e := &results{faults: &faults{}, unreadable: errors.New("connection refused")}
	assert.Contains(t, verdictText(e), "false whether anything is left in the server is not known: connection refused")
}

func TestVerdict_ChannelsLeft_Named(t *testing.T) {
	e := &results{faults: &faults{}, leftovers: leftovers{channels: []string{"redisson_lock__channel:{hot}"}}}
	assert.Contains(t, verdictText(e), "false channels left in the server: 1\nredisson_lock__channel:{hot}")
}
