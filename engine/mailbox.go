package engine

import (
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

// loopMessage is one message to the loop. The poster owns it until post, then the loop does. It is the list node of the
// mailbox, so posting allocates nothing in addition.
type loopMessage struct {
	next *loopMessage
	body any // a *actor.Request that is new, a *batch that came back, or one of the following
}

// The other messages to the loop. In those of a subscriber, node is the subscriber's node, or nil when there is one
// server.
type (
	statsRequest struct { // fill in stats, then complete the request
		request *actor.Request
		stats   *Stats
	}
	cancelRequest struct { // the caller cancelled the request
		request *actor.Request
		cause   error
	}
	cancelAllRequest struct { // the callers cancelled these requests together
		requests []*actor.Request
		cause    error
	}
	timerFired struct{} // a timer is due
	// Messages about a node's pub/sub connections, which are numbered in the order of their creation.
	channelSubscribed struct { // the channel is subscribed
		node    *node
		channel string
		conn    int // number of the connection
	}
	notified struct { // a message arrived on the channel
		node    *node
		channel string
	}
	channelUnsubscribed struct { // the server unsubscribed the channel, because its slot moved
		node    *node
		channel string
		conn    int
	}
	orderDone struct { // the subscriber is free again; err if its order failed
		node     *node
		conn     int // the connection that the order used
		goneConn int // connections up to this number no longer exist
		err      error
	}
	pubsubDown struct { // a connection broke, and the others were closed with it
		node     *node
		goneConn int
	}
	masterChanged struct { // Sentinel names another master
		address string
	}
	topologyResult struct { // a topology, or err if no node sent one
		topology *topology
		err      error
	}
)

// closedMark marks a closed mailbox.
var closedMark = &loopMessage{}

// mailbox is a lock-free queue with many producers and one consumer. It is a stack that the consumer takes whole and
// reverses.
type mailbox struct {
	head   atomic.Pointer[loopMessage]
	asleep atomic.Bool   // the consumer sleeps or is about to; the goroutine that clears it sends on bell
	wakeup chan struct{} // capacity 1, so that a wakeup is not lost before the consumer waits
}

func newMailbox() *mailbox { return &mailbox{wakeup: make(chan struct{}, 1)} }

// post adds a message and wakes the consumer if it sleeps. It never blocks. Once the mailbox is closed, it returns
// false and keeps nothing. Safe for concurrent use.
func (b *mailbox) post(m *loopMessage) bool { return b.postChain(m, m) }

// postChain posts messages that are to be taken together, linked from the newest to the oldest.
func (b *mailbox) postChain(last, first *loopMessage) bool {
	for {
		newest := b.head.Load()
		if newest == closedMark {
			return false
		}
		first.next = newest
		if b.head.CompareAndSwap(newest, last) {
			break
		}
	}
	if b.asleep.Load() && b.asleep.CompareAndSwap(true, false) {
		b.wakeup <- struct{}{}
	}
	return true
}

// takeAll returns all messages, oldest first. For the consumer only.
func (b *mailbox) takeAll() *loopMessage {
	if b.head.Load() == nil {
		return nil
	}
	return oldestFirst(b.head.Swap(nil))
}

// close closes the mailbox and returns the messages that were in it. For the consumer only.
func (b *mailbox) close() *loopMessage { return oldestFirst(b.head.Swap(closedMark)) }

func oldestFirst(newest *loopMessage) (oldest *loopMessage) {
	for newest != nil {
		newest.next, oldest, newest = oldest, newest, newest.next
	}
	return oldest
}

// prepareSleep announces that the consumer is about to wait on bell. It returns false if there is a message; then the
// announcement is withdrawn.
func (b *mailbox) prepareSleep() bool {
	b.asleep.Store(true)
	if b.head.Load() == nil {
		return true
	}
	b.cancelSleep()
	return false
}

// cancelSleep withdraws the announcement. If a producer has cleared it already, cancelSleep consumes the wakeup.
func (b *mailbox) cancelSleep() {
	if !b.asleep.CompareAndSwap(true, false) {
		<-b.wakeup
	}
}
