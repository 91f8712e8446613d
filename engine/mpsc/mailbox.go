package mpsc

import "sync/atomic"

// Mailbox is a queue with a consumer that may sleep. Only [NewMailbox] makes one.
type Mailbox[T any] struct {
	queue  Queue[T]
	asleep atomic.Bool // the consumer sleeps or is about to; the goroutine that clears it sends on Wakeup
	// Wakeup receives one value after PrepareSleep returned true and a node was posted. It has a capacity of 1, so that
	// the wakeup is not lost before the consumer waits.
	Wakeup chan struct{}
}

// NewMailbox returns an empty mailbox with a consumer that is awake.
func NewMailbox[T any]() *Mailbox[T] { return &Mailbox[T]{Wakeup: make(chan struct{}, 1)} }

// Post adds a node and wakes the consumer if it sleeps. Once the mailbox is closed, it returns false and keeps nothing.
func (b *Mailbox[T]) Post(n *Node[T]) bool { return b.PostChain(n, n) }

// PostChain adds nodes as [Queue.PostChain] does, and wakes the consumer if it sleeps.
func (b *Mailbox[T]) PostChain(last, first *Node[T]) bool {
	if !b.queue.PostChain(last, first) {
		return false
	}
	if b.asleep.Load() && b.asleep.CompareAndSwap(true, false) {
		b.Wakeup <- struct{}{}
	}
	return true
}

// PostSilently adds a node and does not wake the consumer, which takes it when it is awake for another reason. It
// touches no channel, so it may also be called from outside the bubble of testing/synctest in which the mailbox was
// made. Once the mailbox is closed, it returns false and keeps nothing.
func (b *Mailbox[T]) PostSilently(n *Node[T]) bool { return b.queue.Post(n) }

// TakeAll returns all nodes, oldest first, or nil.
func (b *Mailbox[T]) TakeAll() *Node[T] { return b.queue.TakeAll() }

// Has reports whether there are at least n nodes to take. It looks at n of them at most.
func (b *Mailbox[T]) Has(n int) bool { return b.queue.Has(n) }

// Close closes the mailbox, and returns the nodes that were in it, oldest first. It may be called once.
func (b *Mailbox[T]) Close() *Node[T] { return b.queue.Close() }

// PrepareSleep announces that the consumer is about to wait on Wakeup. It returns false if there is a node to take;
// then the announcement is withdrawn.
func (b *Mailbox[T]) PrepareSleep() bool {
	// The announcement comes before the check: a node that is posted between the two would otherwise wake no consumer.
	b.asleep.Store(true)
	if b.queue.Empty() {
		return true
	}
	b.CancelSleep()
	return false
}

// CancelSleep withdraws the announcement. If a producer has cleared it already, CancelSleep consumes the wakeup.
func (b *Mailbox[T]) CancelSleep() {
	if !b.asleep.CompareAndSwap(true, false) {
		<-b.Wakeup
	}
}
