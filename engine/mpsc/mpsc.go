// Package mpsc is the lock-free queue of the loop: many producers, one consumer.
//
// A [Queue] is a stack that the consumer takes whole and reverses, so that values leave it in the order in which they
// came. A [Mailbox] is a queue with a consumer that may sleep while there is nothing to take:
//
//	for {
//		for n := box.TakeAll(); n != nil; n = n.Next {
//			handle(n.Value)
//		}
//		if box.PrepareSleep() {
//			<-box.Wakeup // or box.CancelSleep() after another event
//		}
//	}
//
// Post, PostSilently, PostChain and Empty are safe for concurrent use and never block. All other methods are for the
// consumer only.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package mpsc

import "sync/atomic"

// Node is a value in a queue. Its producer owns it until Post, then the consumer does. It is the element of the list,
// so posting allocates nothing in addition.
type Node[T any] struct {
	Next  *Node[T] // for the consumer: the node that was posted after this one
	Value T
}

// Queue is a queue without a limit. The zero Queue is empty and open.
type Queue[T any] struct {
	head   atomic.Pointer[Node[T]]
	closed Node[T] // its address is the head of a closed queue
}

// Post adds a node. Once the queue is closed, it returns false and keeps nothing.
func (q *Queue[T]) Post(n *Node[T]) bool { return q.PostChain(n, n) }

// PostChain adds nodes that are to be taken together, linked from the last to the first. Once the queue is closed, it
// returns false and keeps nothing.
func (q *Queue[T]) PostChain(last, first *Node[T]) bool {
	for {
		newest := q.head.Load()
		if newest == &q.closed {
			return false
		}
		first.Next = newest
		if q.head.CompareAndSwap(newest, last) {
			return true
		}
	}
}

// Empty reports whether there is nothing to take.
func (q *Queue[T]) Empty() bool { return q.head.Load() == nil }

// Has reports whether there are at least n nodes to take. It looks at n of them at most.
func (q *Queue[T]) Has(n int) bool {
	for node := q.head.Load(); n > 0; node = node.Next {
		if node == nil {
			return false
		}
		n--
	}
	return true
}

// TakeAll returns all nodes, oldest first, or nil. The queue must not be closed.
func (q *Queue[T]) TakeAll() *Node[T] {
	if q.head.Load() == nil {
		return nil
	}
	return oldestFirst(q.head.Swap(nil))
}

// Close closes the queue, and returns the nodes that were in it, oldest first. It may be called once.
func (q *Queue[T]) Close() *Node[T] { return oldestFirst(q.head.Swap(&q.closed)) }

func oldestFirst[T any](newest *Node[T]) (oldest *Node[T]) {
	for newest != nil {
		newest.Next, oldest, newest = oldest, newest, newest.Next
	}
	return oldest
}
