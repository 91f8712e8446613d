package actor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// What a request was told and why its server is down are one cause. Where one of the two is not known, the other is
// the cause.
func TestServerDownCause_OneUnknown_OtherAlone(t *testing.T) {
	own, down := errors.New("no answer"), errors.New("connection refused")
	for _, c := range []struct {
		cause, down error
		want        string
	}{
		{own, down, "no answer; connection refused"},
		{fmt.Errorf("no answer: %w", down), down, "no answer: connection refused"},
		{nil, down, "connection refused"},
		{own, nil, "no answer"},
		{actor.CallerGone{Cause: own}, down, "connection refused; no answer"},
		{actor.CallerGone{Cause: own}, nil, "no answer"},
	} {
		require.EqualError(t, actor.ServerDownCause(c.cause, c.down), c.want)
	}
	require.NoError(t, actor.ServerDownCause(nil, nil))
}
