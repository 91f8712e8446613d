package inspect

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockwheel/lockwheel/internal/identity"
)

// An engine is to blame for an answer that did not come only if it could be asked.
func TestWaiters_AskingFailed_NoEngineBlamed(t *testing.T) {
	one, other := Engine{ID: "1"}, Engine{ID: "2"}
	answers := map[string]identity.WaitersReply{"1": {Waiters: identity.Waiters{Engine: "1", Waiting: 5}}}
	for failed, want := range map[error][]string{nil: {"1", "2"}, errors.New("it broke"): {"1"}} {
		w := &Waiters{}
		w.fill([]Engine{one, other}, answers, failed)
		var got []string
		for _, e := range w.Engines {
			got = append(got, e.Engine.ID)
			assert.Equal(t, e.Engine.ID == "2", e.NoReply)
		}
		assert.Equal(t, want, got)
		assert.Equal(t, 1, w.Replied)
	}
}
