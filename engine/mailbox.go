package engine

import (
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

// mail is one message to the loop. The poster owns it until post, then the loop does. It is the list node of the
// mailbox, so posting allocates nothing in addition.
type mail struct {
	next *mail
	what any // a *actor.Request that is new, a *batch that came back, or one of the following
}

// The other messages to the loop. In those of a subscriber, node is the subscriber's node, or nil when there is one
// server.
type (
	inspects struct { // fill in stats, then complete the request
		request *actor.Request
		stats   *Stats
	}
	givesUp struct { // the caller cancelled the request
		request *actor.Request
		cause   error
	}
	giveUp struct { // the callers cancelled these requests together
		requests []*actor.Request
		cause    error
	}
	alarms struct{} // a timer is due
	// Messages about a node's pub/sub connections, which are numbered in the order of their creation.
	subscribes struct { // the channel is subscribed
		node    *node
		channel string
		on      int // number of the connection
	}
	hears struct { // a message arrived on the channel
		node    *node
		channel string
	}
	silenced struct { // the server unsubscribed the channel, because its slot moved
		node    *node
		channel string
		on      int
	}
	orderDone struct { // the subscriber is free again; err if its order failed
		node *node
		on   int // the connection that the order used
		gone int // connections up to this number no longer exist
		err  error
	}
	deaf struct { // a connection broke, and the others were closed with it
		node *node
		gone int
	}
	replaced struct { // Sentinel names another master
		address string
	}
	charts struct { // a topology, or err if no node sent one
		chart *chart
		err   error
	}
)

// shut marks a closed mailbox.
var shut = &mail{}

// mailbox is a lock-free queue with many producers and one consumer. It is a stack that the consumer takes whole and
// reverses.
type mailbox struct {
	newest atomic.Pointer[mail]
	asleep atomic.Bool   // the consumer sleeps or is about to; the goroutine that clears it sends on bell
	bell   chan struct{} // capacity 1, so that a wakeup is not lost before the consumer waits
}

func newMailbox() *mailbox { return &mailbox{bell: make(chan struct{}, 1)} }

// post adds a message and wakes the consumer if it sleeps. It never blocks. Once the mailbox is closed, it returns
// false and keeps nothing. Safe for concurrent use.
func (b *mailbox) post(m *mail) bool { return b.postChain(m, m) }

// postChain posts messages that are to be taken together, linked from the newest to the oldest.
func (b *mailbox) postChain(last, first *mail) bool {
	for {
		newest := b.newest.Load()
		if newest == shut {
			return false
		}
		first.next = newest
		if b.newest.CompareAndSwap(newest, last) {
			break
		}
	}
	if b.asleep.Load() && b.asleep.CompareAndSwap(true, false) {
		b.bell <- struct{}{}
	}
	return true
}

// take returns all messages, oldest first. For the consumer only.
func (b *mailbox) take() *mail {
	if b.newest.Load() == nil {
		return nil
	}
	return oldestFirst(b.newest.Swap(nil))
}

// shutDown closes the mailbox and returns the messages that were in it. For the consumer only.
func (b *mailbox) shutDown() *mail { return oldestFirst(b.newest.Swap(shut)) }

func oldestFirst(newest *mail) (oldest *mail) {
	for newest != nil {
		newest.next, oldest, newest = oldest, newest, newest.next
	}
	return oldest
}

// lieDown announces that the consumer is about to wait on bell. It returns false if there is a message; then the
// announcement is withdrawn.
func (b *mailbox) lieDown() bool {
	b.asleep.Store(true)
	if b.newest.Load() == nil {
		return true
	}
	b.getUp()
	return false
}

// getUp withdraws the announcement. If a producer has cleared it already, getUp consumes the wakeup.
func (b *mailbox) getUp() {
	if !b.asleep.CompareAndSwap(true, false) {
		<-b.bell
	}
}
