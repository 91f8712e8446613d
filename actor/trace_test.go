package actor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// Each step is traced with its event, and with the phase before and after it.
func TestTrace_NamesPhasesOfStep(t *testing.T) {
	s := newHarness(t, defaultConfig())
	var ways []string
	s.fx.OnStep = func(step actor.StepTrace) {
		require.Same(t, s.lock, step.Lock)
		ways = append(ways, fmt.Sprintf("%d %d %v → %v", step.Event, step.Op, step.Before, step.After))
	}
	s.play("0s A locks", "+1ms #1 granted", "+1ms A unlocks", "+1ms #1 released", "+1s B forces", "+1ms #2 gone")
	require.Equal(t, []string{
		fmt.Sprintf("%d %d free → acquiring", actor.Requested, actor.Acquire),
		fmt.Sprintf("%d 0 acquiring → held", actor.Replied),
		fmt.Sprintf("%d %d held → releasing", actor.Requested, actor.Unlock),
		fmt.Sprintf("%d 0 releasing → free", actor.Replied),
		fmt.Sprintf("%d %d free → forcing", actor.Requested, actor.Force),
		fmt.Sprintf("%d 0 forcing → free", actor.Replied),
	}, ways)
}
