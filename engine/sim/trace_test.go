package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// simTrace is a history as text: when, who, what. Only a seed that is examined has one.
type simTrace struct{ lines []string }

func (t *simTrace) add(now time.Duration, who, format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf("%12.6f  %-3s %s", (now-simStart).Seconds(), who, fmt.Sprintf(format, args...)))
}

func (t *simTrace) String() string { return strings.Join(t.lines, "\n") }

// brief returns the beginning and the end of a history that is too long to be read.
func (t *simTrace) brief() string {
	const first, last = 10, 190
	if len(t.lines) <= first+last {
		return t.String()
	}
	begin, end := t.lines[:first], t.lines[len(t.lines)-last:]
	return fmt.Sprintf("%s\n… (%d lines)\n%s", strings.Join(begin, "\n"), len(t.lines)-first-last, strings.Join(end, "\n"))
}

var simVerbs = [...]string{
	actor.SendAcquire:       "acquire",
	actor.SendRenew:         "renew",
	actor.SendRelease:       "release",
	actor.SendForce:         "force",
	actor.SendFencedAcquire: "fenced acquire",
	actor.SendFencedRenew:   "fenced renew",
	actor.SendFairAcquire:   "fair acquire",
	actor.SendFairRelease:   "fair release",
	actor.SendFairForce:     "fair force",
	actor.SendState:         "state",
	actor.SendReadAcquire:   "read acquire",
	actor.SendReadRenew:     "read renew",
	actor.SendReadRelease:   "read release",
	actor.SendReadForce:     "read force",
	actor.SendReadState:     "read state",
	actor.SendWriteAcquire:  "write acquire",
	actor.SendWriteRenew:    "write renew",
	actor.SendWriteRelease:  "write release",
	actor.SendWriteForce:    "write force",
	actor.SendWriteState:    "write state",
	actor.SendMultiAcquire:  "multi acquire",
}

var simOps = map[actor.Op]string{
	actor.Acquire:           "lock",
	actor.Unlock:            "unlock",
	actor.Extend:            "extend",
	actor.Force:             "force",
	coordinator.AskState:    "state",
	coordinator.AskCount:    "count",
	coordinator.AskShutdown: "shutdown",
	coordinator.AskConfirm:  "confirm",
	coordinator.AskClose:    "close",
}

func (c *simCaller) String() string { return fmt.Sprintf("c%d", c.number) }

func (h *simHold) String() string {
	text := fmt.Sprintf("%s:%d", h.e.w.plan.names[h.name], tenureOf(&h.grant))
	if h.reads {
		text += " (read)"
	}
	return text
}

func (a *simRequest) String() string {
	what := simOps[a.Op] + " " + a.Key
	for _, h := range a.parts[min(1, len(a.parts)):] {
		what += "+" + h.e.w.plan.names[h.name]
	}
	switch {
	case a.Op == actor.Unlock || a.Op == actor.Extend:
		what = fmt.Sprintf("%s %s", simOps[a.Op], a.hold)
	case a.Owner != 0:
		what += fmt.Sprintf(" as %d", a.Owner&^actor.ThreadOwner)
	}
	if a.Kind == actor.Read {
		what += " to read"
	}
	if a.Lease != 0 || a.Op == actor.Extend {
		what += fmt.Sprintf(" for %v", a.Lease)
	}
	if a.Wait != 0 {
		what += fmt.Sprintf(" waiting %v", a.Wait)
	}
	if a.Once {
		what += " once"
	}
	return what
}

func simResultText(r *actor.Request) string {
	switch {
	case r.Err == nil && r.Multi != nil:
		return fmt.Sprintf("granted as tenure %d", tenureOf(r.Multi.Parts[0].Hold))
	case r.Err == nil && r.Op == actor.Acquire:
		return fmt.Sprintf("granted to owner %d as tenure %d until %v", r.Hold.Owner&^actor.ThreadOwner, tenureOf(r.Hold), r.Hold.Until())
	case r.Err == nil:
		return "done"
	case r.Cause == nil:
		return r.Err.Error()
	}
	return fmt.Sprintf("%v (%v)", r.Err, r.Cause)
}

func simBatchText(b *coordinator.Batch) string {
	parts := []string{simVerbs[b.Verb]}
	for i := range b.Commands {
		parts = append(parts, simCommandText(&b.Commands[i]))
	}
	if b.SendText {
		parts = append(parts, "with the script's text")
	}
	return strings.Join(parts, " ")
}

func simCommandText(c *actor.Command) string {
	text := fmt.Sprintf("%s:%d", c.Key, c.Tenure)
	if c.Parts != nil {
		text += fmt.Sprint(" of ", c.Parts)
	}
	if c.Lease != 0 {
		text += fmt.Sprintf(" for %v", c.Lease)
	}
	if c.Count != 0 {
		text += fmt.Sprintf(" count %d", c.Count)
	}
	if c.CountListeners {
		text += " listeners?"
	}
	if c.Wait != 0 {
		text += fmt.Sprintf(" waiting %v", c.Wait)
	}
	if c.Reader != nil {
		text += fmt.Sprintf(" reads %+v", *c.Reader)
	}
	if len(c.Orphans) > 0 {
		text += fmt.Sprintf(" orphans %v", c.Orphans)
	}
	return text
}

func simKeys(call *simCall) string {
	var parts []string
	for i := range call.commands {
		parts = append(parts, simCommandText(&call.commands[i]))
	}
	return strings.Join(parts, " ")
}

var simStatuses = [...]string{
	actor.NoReply: "no reply", actor.OK: "ok", actor.NotFound: "not found", actor.HeldByOther: "held by other", actor.Rejected: "rejected",
}

func simReplies(replies []actor.Reply) string {
	var parts []string
	for i := range replies {
		r := &replies[i]
		text := simStatuses[r.Status]
		if r.Status == actor.HeldByOther {
			text += fmt.Sprintf(" by …%s for %v", r.Holder[max(0, len(r.Holder)-6):], r.TTL)
		}
		if r.QueueTTL > 0 {
			text += fmt.Sprintf(", alive for %v", r.QueueTTL)
		}
		if r.Err != nil {
			text += " " + r.Err.Error()
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func simOutcome(b *coordinator.Batch) string {
	if b.Failed != nil {
		return b.Failed.Error()
	}
	return simReplies(b.Replies)
}

// traceCall records what the server did.
func (w *simWorld) traceCall(e *simEngine, call *simCall, how string) {
	if w.trace == nil {
		return
	}
	outcome := simReplies(call.replies)
	if call.failed != nil {
		outcome = call.failed.Error()
	}
	w.tracef("server runs %s's %s %s%s: %s", e.name, simVerbs[call.verb], simKeys(call), how, outcome)
}

// simCauseIs reports whether the text of a cause contains a word.
func simCauseIs(cause error, word string) bool {
	return cause != nil && strings.Contains(cause.Error(), word)
}
