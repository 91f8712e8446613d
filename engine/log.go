package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
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

// logLost logs the locks lost in a turn, in one line.
func (e *Engine) logLost(ended []actor.HoldEnd) {
	if e.log == nil {
		return
	}
	count, last := 0, -1
	for i := range ended {
		if ended[i].Err == actor.ErrLost {
			count, last = count+1, i
		}
	}
	if count > 0 {
		about := []any{"count", count, "last", e.nameOf(ended[last].Key), "cause", ended[last].Cause}
		e.log.Warn("lockwheel: locks lost", append(about, noteAttrs(ended[last].Hold)...)...)
	}
}

// nameOf returns the name of a key, as its callers know it.
func (e *Engine) nameOf(key string) string { return key[e.hooks.PrefixLen:] }

// maxNotices is the maximum number of holds that the records of a turn name, so that very many do not displace all
// other records.
const maxNotices = 8

// logNotices logs holds that need a look.
func (e *Engine) logNotices(what string, notices []actor.HoldNotice) {
	if e.log == nil {
		return
	}
	for i, n := range notices {
		if i == maxNotices {
			e.log.Warn(what, "more", len(notices)-i)
			return
		}
		e.log.Warn(what, append([]any{"lock", e.nameOf(n.Key), "held", n.Held.Round(time.Millisecond)}, noteAttrs(n.Hold)...)...)
	}
}

// noteAttrs returns what is known of a hold for a log record.
func noteAttrs(h *actor.Hold) (attrs []any) {
	n := h.Note()
	if n == nil {
		return nil
	}
	if n.Label != "" {
		attrs = append(attrs, "label", n.Label)
	}
	if n.Site != nil {
		if site := n.Site.String(); site != "" {
			attrs = append(attrs, "site", site)
		}
	}
	return attrs
}

// logHealth logs when a server is considered down, and when it is no longer.
func (e *Engine) logHealth() {
	if e.log != nil {
		e.logSilence()
		e.logRefusal()
	}
}

// logRefusal logs when a server replies but rejects what changes a lock, and when it accepts that again.
func (e *Engine) logRefusal() {
	refusing, cause := e.coordinator.FirstRefusing()
	if (refusing != nil) == e.serverRefuses {
		return
	}
	e.serverRefuses = refusing != nil
	if refusing == nil {
		e.log.Info("lockwheel: the server accepts again what changes a lock")
		return
	}
	e.log.Warn("lockwheel: the server rejects what changes a lock; trying again", aboutServer(refusing, cause)...)
}

// aboutServer returns the attributes of a record about a server.
func aboutServer(n *coordinator.Node, cause error) []any {
	about := []any{"cause", cause}
	if n.Address != "" {
		about = append(about, "node", n.Address)
	}
	return about
}

// logSilence logs when the server does not reply and when it replies again.
func (e *Engine) logSilence() {
	down := e.coordinator.FirstDown()
	if (down != nil) == e.serverDown {
		return
	}
	e.serverDown = down != nil
	if down == nil {
		e.log.Info("lockwheel: the server replies again")
		return
	}
	e.log.Warn("lockwheel: the server does not reply; trying again", aboutServer(down, down.Breaker.Cause)...)
}
