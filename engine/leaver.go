package engine

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// leaveMost is the maximum number of channels per UNSUBSCRIBE. A connection with at most leaveWhole channels is
	// simply closed. Closing a larger one is slow: Redis removes 300 000 channels in one go and blocks all others for
	// 0.2 s.
	leaveMost, leaveWhole = 2048, 4096
	// leaversMost is how many connections are unsubscribed in slices at a time; a further one is closed at once.
	leaversMost = 2
)

// leaver disposes of connections that are no longer needed. It unsubscribes their channels in slices, with a pause
// after each that is as long as the slice took. Then it closes the connection. There is one goroutine per connection,
// and one for each two commands without a reply.
//
// rueidis v1.0.79 expects one reply for its UNSUBSCRIBE and the PING that it appends. It panics if both are rejected,
// as when a script keeps the server busy. So both are sent as commands of their own. The first has a reply only if it
// is rejected: rueidis never gets more replies than it expects, and one less per command. Instead the server confirms
// each channel with a note. The connection cannot be used for anything else.
type leaver struct {
	run      func(func())
	over     <-chan struct{} // closed with the engine
	patience time.Duration   // limit for the notes of one command; once the engine is closed, for all the rest
	under    atomic.Int32
}

// leaving counts the notes about unsubscribed channels.
type leaving struct {
	open atomic.Int64  // outstanding notes
	none chan struct{} // receives when there are no more
}

// note handles one note. It runs on the goroutine of the connection.
func (l *leaving) note(kind string) {
	if (kind == "unsubscribe" || kind == "sunsubscribe") && l.open.Add(-1) == 0 {
		l.none <- struct{}{}
	}
}

// leave disposes of a connection. It returns at once, and ignores messages of the connection from then on.
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

// few reports whether the connection has at most leaveWhole channels.
func (c *connection) few() bool {
	n := 0
	for _, some := range c.joined {
		n += len(some)
	}
	return n <= leaveWhole
}

// leaveAll unsubscribes slice by slice. It stops when a command is rejected, the connection breaks, or a command takes
// too long.
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

// pause waits. It returns false at once when the engine is closed.
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

// slices returns the channels of a connection in slices of at most leaveMost. With sharded pub/sub each slice has the
// channels of one slot.
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

// unsubscribe sends one slice. It waits for the two replies that rueidis expects, and reports a rejection.
func (c *connection) unsubscribe(channels []string, refused chan<- struct{}) {
	b := c.client.B()
	// rueidis has no UNSUBSCRIBE without a PING of its own. So another command without a reply on success is renamed.
	// If rueidis no longer allows that, nothing is unsubscribed, and the connection is closed.
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
