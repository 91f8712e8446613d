package engine

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/engine/slot"
)

const (
	// maxUnsubscribeChannels is the maximum number of channels per UNSUBSCRIBE. A connection with at most
	// maxChannelsToClose channels is simply closed. Closing a larger one is slow: Redis removes 300 000 channels in one go
	// and blocks all others for 0.2 s.
	maxUnsubscribeChannels, maxChannelsToClose = 2048, 4096
	// maxUnsubscribers is how many connections are unsubscribed in slices at a time; a further one is closed at once.
	maxUnsubscribers = 2
)

// unsubscriber disposes of connections that are no longer needed. It unsubscribes their channels in slices, with a
// pause after each that is as long as the slice took. Then it closes the connection. There is one goroutine per
// connection, and one for each two commands without a reply. It belongs to one subscriber; its goroutines share active,
// and the rest is immutable. run and notesTimeout must be set; without done it never hurries.
//
// rueidis v1.0.79 expects one reply for its UNSUBSCRIBE and the PING that it appends. It panics if both are rejected,
// as when a script keeps the server busy. So both are sent as commands of their own. The first has a reply only if it
// is rejected: rueidis never gets more replies than it expects, and one less per command. Instead the server confirms
// each channel with a note. The connection cannot be used for anything else.
type unsubscriber struct {
	run          func(func())
	done         <-chan struct{} // closed with the engine
	notesTimeout time.Duration   // limit for the notes of one command; once the engine is closed, for all the rest
	active       atomic.Int32
}

// unsubscribeNotes counts the notes about unsubscribed channels. retire makes one: the zero value has no channel. The
// goroutine that unsubscribes sets pending, and the goroutine of the connection counts it down.
type unsubscribeNotes struct {
	pending atomic.Int64  // outstanding notes
	done    chan struct{} // receives when there are no more
}

// note handles one note. It runs on the goroutine of the connection.
func (n *unsubscribeNotes) note(kind string) {
	if (kind == "unsubscribe" || kind == "sunsubscribe") && n.pending.Add(-1) == 0 {
		n.done <- struct{}{}
	}
}

// retire disposes of a connection. It returns at once, and ignores messages of the connection from then on.
func (u *unsubscriber) retire(c *connection) {
	notes := &unsubscribeNotes{done: make(chan struct{}, 1)}
	c.unsubscribing.Store(notes)
	switch {
	case c.hasFewChannels():
		c.close()
	case u.active.Add(1) > maxUnsubscribers:
		u.active.Add(-1)
		c.close()
	default:
		u.run(func() {
			defer u.active.Add(-1)
			defer c.close()
			u.unsubscribeAll(c, notes)
		})
	}
}

// hasFewChannels reports whether the connection has at most maxChannelsToClose channels.
func (c *connection) hasFewChannels() bool {
	n := 0
	for _, some := range c.channels {
		n += len(some)
	}
	return n <= maxChannelsToClose
}

// unsubscribeAll unsubscribes slice by slice. It stops when a command is rejected, the connection breaks, or a command
// takes too long.
func (u *unsubscriber) unsubscribeAll(c *connection, notes *unsubscribeNotes) {
	timeout := time.NewTimer(u.notesTimeout)
	defer timeout.Stop()
	done, rejected := u.done, make(chan struct{}, 1)
	for _, some := range c.chunks() {
		began := time.Now()
		notes.pending.Store(int64(len(some)))
		go c.unsubscribe(some, rejected)
		select {
		case <-notes.done:
		case <-rejected:
			return
		case <-c.broken:
			return
		case <-timeout.C:
			return
		}
		if done != nil {
			timeout.Reset(u.notesTimeout)
			if !u.pause(time.Since(began)) {
				done = nil
			}
		}
	}
	go c.client.Do(context.Background(), c.client.B().Arbitrary("QUIT").Build())
	select {
	case <-c.broken:
	case <-timeout.C:
	}
}

// pause waits. It returns false at once when the engine is closed.
func (u *unsubscriber) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-u.done:
		return false
	case <-timer.C:
		return true
	}
}

// chunks returns the channels of a connection in slices of at most maxUnsubscribeChannels. With sharded pub/sub each
// slice has the channels of one slot, and a slot as few slices as there can be: each costs a round trip.
func (c *connection) chunks() (all [][]string) {
	groups := [][]string{slices.Concat(c.channels...)}
	if c.channels = nil; c.sharded {
		groups = groupBySlot(groups[0])
	}
	for _, some := range groups {
		all = slices.AppendSeq(all, slices.Chunk(some, maxUnsubscribeChannels))
	}
	return all
}

// groupBySlot returns the channels of each slot, in no order of the slots.
func groupBySlot(channels []string) [][]string {
	bySlot := make(map[uint16][]string)
	for _, channel := range channels {
		in := slot.Of(channel)
		bySlot[in] = append(bySlot[in], channel)
	}
	return slices.Collect(maps.Values(bySlot))
}

// unsubscribe sends one slice. It waits for the two replies that rueidis expects, and reports a rejection.
func (c *connection) unsubscribe(channels []string, rejected chan<- struct{}) {
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
			case rejected <- struct{}{}:
			default:
			}
		}
	}
}
