package engine

import (
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

// mail is one message to the loop: the poster's until post, then the loop's. It is the mailbox's own
// list node, so posting allocates nothing that the poster did not have already.
type mail struct {
	next *mail
	what any // a *actor.Request that is new, a *batch that came back, or one of the following
}

// What the loop is told besides. A node is whose subscriber says so, nil when there is one server.
type (
	inspects struct { // request wants stats filled in
		request *actor.Request
		stats   *Stats
	}
	givesUp struct { // the request's caller left
		request *actor.Request
		cause   error
	}
	giveUp struct { // their callers left together
		requests []*actor.Request
		cause    error
	}
	alarms struct{} // something is due
	// Of a node's pub/sub connections, which are numbered in the order in which they came to be.
	subscribes struct { // the channel is listened to
		node    *node
		channel string
		on      int // that connection
	}
	hears struct { // a message on the channel
		node    *node
		channel string
	}
	silenced struct { // the channel is not listened to any more, unasked: its slot moved
		node    *node
		channel string
		on      int
	}
	orderDone struct { // the subscriber is free again; err if its order failed
		node *node
		on   int // the connection on which channels were joined
		gone int // connections up to that one are no more
		err  error
	}
	deaf struct { // a connection broke, and with it all there were
		node *node
		gone int
	}
	replaced struct { // Sentinel names that master
		address string
	}
	charts struct { // of the cluster, or err if nobody told
		chart *chart
		err   error
	}
)

// shut marks a mailbox that takes no more mail.
var shut = &mail{}

// mailbox is a queue with many producers and one consumer, without locks: a stack that the consumer
// takes whole and turns round.
type mailbox struct {
	newest atomic.Pointer[mail]
	asleep atomic.Bool   // the consumer sleeps, or is about to; whoever clears it rings
	bell   chan struct{} // of one slot: a ring is not lost when the consumer is not there yet
}

func newMailbox() *mailbox { return &mailbox{bell: make(chan struct{}, 1)} }

// post puts mail in and wakes the consumer if it sleeps. It never blocks. It reports false, and keeps
// nothing, once the mailbox is shut. Safe for concurrent use.
func (b *mailbox) post(m *mail) bool { return b.postChain(m, m) }

// postChain is post for mail that is to be taken together: a chain from the newest to the oldest.
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

// take returns all mail, oldest first. The consumer's.
func (b *mailbox) take() *mail {
	if b.newest.Load() == nil {
		return nil
	}
	return oldestFirst(b.newest.Swap(nil))
}

// shutDown refuses all mail from now on and returns what was there. The consumer's.
func (b *mailbox) shutDown() *mail { return oldestFirst(b.newest.Swap(shut)) }

func oldestFirst(newest *mail) (oldest *mail) {
	for newest != nil {
		newest.next, oldest, newest = oldest, newest, newest.next
	}
	return oldest
}

// lieDown announces that the consumer is about to sleep on the bell. It reports false when there is
// mail, and then nobody rings.
func (b *mailbox) lieDown() bool {
	b.asleep.Store(true)
	if b.newest.Load() == nil {
		return true
	}
	b.getUp()
	return false
}

// getUp takes the announcement back. Whoever was quicker has rung: the ring is used up.
func (b *mailbox) getUp() {
	if !b.asleep.CompareAndSwap(true, false) {
		<-b.bell
	}
}
