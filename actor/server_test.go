package actor_test

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// server is one key as an honest server keeps it. Others acquire it, too.
type server struct {
	holder string // "" when free
	ends   time.Duration
	late   []actor.Command // got no reply: may run at any later time, and twice
}

func (s *server) expire(now time.Duration) {
	if s.holder != "" && now >= s.ends {
		s.holder = ""
	}
}

// run runs a command as its script does.
func (s *server) run(now time.Duration, id string, c *actor.Command) actor.Reply {
	s.expire(now)
	me := fmt.Sprint(id, ":", c.Tenure)
	done := actor.Reply{Status: actor.OK, Listeners: -1}
	switch c.Verb {
	case actor.SendAcquire:
		for _, orphan := range c.Orphans {
			if s.holder == fmt.Sprint(id, ":", orphan) {
				s.holder = ""
			}
		}
		switch s.holder {
		case "":
			s.holder, s.ends = me, now+c.Lease.Truncate(time.Millisecond)
		case me:
			s.ends = max(s.ends, now+c.Lease.Truncate(time.Millisecond))
		default:
			return actor.Reply{Status: actor.HeldByOther, TTL: (s.ends - now).Truncate(time.Millisecond), Holder: s.holder}
		}
	case actor.SendForce:
		if s.holder == "" {
			return actor.Reply{Status: actor.NotFound}
		}
		s.holder = ""
	default:
		if s.holder != me {
			return actor.Reply{Status: actor.NotFound}
		}
		if c.Verb == actor.SendRelease {
			s.holder = ""
		} else if c.Lease != 0 {
			s.ends = now + max(c.Lease.Truncate(time.Millisecond), time.Millisecond)
		}
	}
	return done
}

// checkExclusive requires that the lock is held during its validity: then it can have no other holder.
func (p *simulation) checkExclusive() {
	if p.server == nil {
		return
	}
	p.server.expire(p.now)
	for h := range p.until {
		if p.now < h.Until() && p.server.holder != fmt.Sprint("me:", h.Tenure) {
			p.t.Errorf("%v: %s believes to hold #%d for %v more, and the server has %q",
				p.now, p.names[h], h.Tenure, h.Until()-p.now, p.server.holder)
			p.fail()
		}
	}
}
