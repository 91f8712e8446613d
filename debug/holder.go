package debug

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel"
)

// lookupTimeout bounds how long the form for a force waits for the descriptions of holders. A holder that does not
// reply takes a second; the server has replied to State right before.
const lookupTimeout = 5 * time.Second

// unknown begins a text in the place of what is not known. The reason follows.
const unknown = "unknown: "

// holderText describes a holder for the form that forces its lock. A person decides by it, so it never lacks: what is
// not known is named as unknown, with the reason.
type holderText struct {
	Who, Since string
	Known      bool // the program is
}

// describeHolders looks up the holders of all sides together, after their states: a slow answer delays no state.
func (h *handler) describeHolders(ctx context.Context, t target, sides []side) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for i := range sides {
		s := &sides[i]
		switch t.kind = s.Kind; {
		case s.Owner != "":
			s.Holder = h.describeHolder(ctx, t.lock(), s.Owner)
		case s.Count > 1:
			const why = unknown + "several readers have it, and the server names none of them"
			s.Holder = holderText{Who: why, Since: why}
		}
	}
}

// describeHolder looks up the program that holds a lock, and since when. The form shows the owner that State returned;
// a description of another one would be wrong.
func (h *handler) describeHolder(ctx context.Context, lock lockwheel.Mutex, owner string) holderText {
	holder, err := lock.Holder(ctx)
	switch {
	case err != nil:
		why := unknown + shown(err.Error())
		return holderText{Who: why, Since: why}
	case holder.ID != owner:
		const why = unknown + "the lock is free or has another holder by now; load the form anew"
		return holderText{Who: why, Since: why}
	}
	t := holderText{Who: h.describeEngine(owner, &holder.Engine)}
	if t.Known = t.Who != ""; !t.Known {
		t.Who = unknown + "its engine has no record, or the server did not return one in time. It is a Redisson client, an " +
			"anonymous engine or one with another prefix, it has just connected, or it died"
	}
	switch now := time.Now(); {
	case !holder.Since.IsZero():
		t.Since = fmt.Sprintf("%s (%s)", holder.Since.UTC().Format(time.RFC3339), duration(now.Sub(holder.Since)))
	case holder.NotHeld:
		t.Since = unknown + "its engine replied that it does not hold it. If it says so again some seconds later, the key was left behind"
	case holder.Engine.ID == "":
		t.Since = unknown + "an engine without a record is not asked"
	default:
		t.Since = unknown + "its engine did not say. It is stopped or hangs, it polls, or it may not use its channel"
	}
	return t
}

// describeEngine returns which program has an engine, or an empty text. Any client may have written a record, so all
// texts are shown as names are.
func (h *handler) describeEngine(owner string, e *lockwheel.EngineInfo) string {
	id, _, _ := strings.Cut(owner, ":")
	here := h.engineByID(id) != nil
	if e.ID == "" {
		if here { // anonymous, or not connected for long
			return "this process, " + thisProcess.String()
		}
		return ""
	}
	text := fmt.Sprintf("%s: program %s, host %s, pid %d", shown(e.Name), shown(e.Program), shown(e.Host), e.PID)
	if !e.Started.IsZero() {
		text += ", started " + e.Started.UTC().Format(time.RFC3339)
	}
	if e.Page != "" {
		text += ", page " + shown(e.Page)
	}
	if here {
		text += " (this process)"
	}
	return text
}
