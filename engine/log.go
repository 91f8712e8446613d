package engine

import (
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// logClockSkew logs when this machine's clock and a server's differ by more than MaxClockSkew, and when they agree
// again.
func (e *Engine) logClockSkew() {
	ahead := e.coordinator.LargestClockSkew()
	apart := ahead.Abs() > coordinator.MaxClockSkew
	if e.log == nil || apart == e.clockSkewed {
		return
	}
	e.clockSkewed = apart
	if apart {
		e.log.Warn("lockwheel: this machine's clock is not the server's; fair locks compare clocks", "ahead", ahead)
	} else {
		e.log.Info("lockwheel: this machine's clock is the server's again")
	}
}
