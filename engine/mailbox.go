package engine

import (
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

// mailKind says what a piece of mail is.
type mailKind uint8

const (
	asks       mailKind = iota // Request is new
	inspects                   // Request wants Stats filled in
	givesUp                    // Request's caller left, for Err
	returns                    // Batch came back
	hears                      // a message on Channel
	subscribes                 // Channel is listened to
	orderDone                  // the subscriber is free again; Err if its order failed
	alarms                     // something is due
	deaf                       // the pub/sub connection broke
	silenced                   // Channel is not listened to any more, unasked: its slot moved
	replaced                   // Sentinel names another master
	charts                     // Chart of the cluster, or Err if nobody told
)

// mail is one message to the loop: the poster's until post, then the loop's. It is the mailbox's own
// list node, so posting allocates nothing that the poster did not have already.
type mail struct {
	next    *mail
	kind    mailKind
	request *actor.Request
	batch   *batch
	channel string
	err     error
	stats   *Stats
	node    *node // whose subscriber writes; nil when there is one server
	chart   *chart
}

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
func (b *mailbox) post(m *mail) bool {
	for {
		newest := b.newest.Load()
		if newest == shut {
			return false
		}
		m.next = newest
		if b.newest.CompareAndSwap(newest, m) {
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
