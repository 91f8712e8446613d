package engine

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// leaveMost is how many channels one UNSUBSCRIBE names, and leaveWhole how many a connection may have that is closed as it is: Redis
	// leaves 300 000 channels of a connection that is closed in one go, for which all others wait for 0.2 s.
	leaveMost, leaveWhole = 2048, 4096
	// leaversMost is how many connections are left at a time; one more is closed as it is.
	leaversMost = 2
)

// leaver lets go of connections that nothing needs any more: first of their channels, so many at a time and with pauses as long as that
// took, and then of them. It does so on a goroutine for each, and one for each two commands that have no answer.
//
// rueidis v1.0.79 expects one answer for its UNSUBSCRIBE and the PING that it writes behind it, and panics when both are refused, as a
// script does that keeps the server busy. So both go as commands of their own. The answer to the first comes only if it is refused: there
// are never more answers than rueidis expects, and fewer by one for each command. What comes instead are notes, one for each channel.
// Nothing else can be asked on such a connection.
type leaver struct {
	run      func(func())
	over     <-chan struct{} // the engine is closed
	patience time.Duration   // for the notes of a command; and for all that is left from then on
	under    atomic.Int32
}

// leaving counts the notes of a server about channels that are left.
type leaving struct {
	open atomic.Int64  // that are to come
	none chan struct{} // told when there are none
}

// note is called on the goroutine of the connection.
func (l *leaving) note(kind string) {
	if (kind == "unsubscribe" || kind == "sunsubscribe") && l.open.Add(-1) == 0 {
		l.none <- struct{}{}
	}
}

// leave returns at once. From then on nothing is heard on the connection.
func (l *leaver) leave(c *connection) {
	notes := &leaving{none: make(chan struct{}, 1)}
	c.leaving.Store(notes)
	switch {
	case c.few():
		c.close()
	case l.under.Add(1) > leaversMost:
		l.under.Add(-1)
		c.close()
	default:
		l.run(func() {
			defer l.under.Add(-1)
			defer c.close()
			l.leaveAll(c, notes)
		})
	}
}

// few reports whether a connection has few channels.
func (c *connection) few() bool {
	n := 0
	for _, some := range c.joined {
		n += len(some)
	}
	return n <= leaveWhole
}

// leaveAll goes on until all is left, or a command is refused.
func (l *leaver) leaveAll(c *connection, notes *leaving) {
	late := time.NewTimer(l.patience)
	defer late.Stop()
	over, refused := l.over, make(chan struct{}, 1)
	for _, some := range c.slices() {
		began := time.Now()
		notes.open.Store(int64(len(some)))
		go c.unsubscribe(some, refused)
		select {
		case <-notes.none:
		case <-refused:
			return
		case <-c.broken:
			return
		case <-late.C:
			return
		}
		if over != nil {
			late.Reset(l.patience)
			if !l.pause(time.Since(began)) {
				over = nil
			}
		}
	}
	go c.client.Do(context.Background(), c.client.B().Arbitrary("QUIT").Build())
	select {
	case <-c.broken:
	case <-late.C:
	}
}

// pause reports whether the engine lives on.
func (l *leaver) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.over:
		return false
	case <-timer.C:
		return true
	}
}

// slices are the channels of a connection, so many at a time, and those of one slot at a time where they are of a shard.
func (c *connection) slices() (all [][]string) {
	var last []string
	for _, some := range c.joined {
		bySlot := [][]string{some}
		if c.sharded {
			bySlot = slotBySlot(some)
		}
		for _, some := range bySlot {
			if len(last)+len(some) > leaveMost || c.sharded {
				all, last = append(all, last), nil
			}
			last = append(last, some...)
		}
	}
	c.joined = nil
	all = append(all, last)
	if len(all[0]) == 0 {
		return all[1:]
	}
	return all
}

func slotBySlot(channels []string) (all [][]string) {
	bySlot := make(map[uint16][]string)
	for _, channel := range channels {
		bySlot[slotOf(channel)] = append(bySlot[slotOf(channel)], channel)
	}
	for _, some := range bySlot {
		all = append(all, some)
	}
	return all
}

// unsubscribe asks for channels to be left. It waits for the answers that are expected, two of them, and says if one is a refusal.
func (c *connection) unsubscribe(channels []string, refused chan<- struct{}) {
	b := c.client.B()
	// rueidis has no UNSUBSCRIBE without a PING of its own, so it is made of another command that has no answer if all is well. If
	// that cannot be written over any more, nothing is left, and the connection is closed.
	command, name := b.Subscribe().Channel(channels...).Build(), "UNSUBSCRIBE"
	if c.sharded {
		command, name = b.Ssubscribe().Channel(channels...).Build(), "SUNSUBSCRIBE"
	}
	command.Commands()[0] = name
	for _, result := range c.client.DoMulti(context.Background(), command, b.Ping().Build()) {
		if result.Error() != nil {
			select {
			case refused <- struct{}{}:
			default:
			}
		}
	}
}
