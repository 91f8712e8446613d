package coordinator

import (
	"iter"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// queue holds the commands of one verb that wait to be sent to a node, in three FIFO lists. So a caller that blocks
// does not wait behind those that do not, behind what is tried again or behind routine renewals, however many these
// are. Stale commands stay until they reach the head, or until there are many of them and a sweep removes them. So the
// cost per stale command is constant, however long the queue is. The queue uses little more memory than its commands.
// The zero value is empty. Owned by the coordinator.
type queue struct {
	lists      [queueLists]chain
	n          int // commands in the lists
	freePieces *piece
	freeCount  int
	first      int  // the list that the next batch begins with
	passedOver bool // that list got nothing of the last batch
	urgent     int  // commands other than routine renewals
	InRetries  int  // further commands of the verb, in retry batches
	Stale      int  // commands in the lists and in retry batches that are no longer to be sent
	Sweep      sweep
}

// The lists of a queue.
const (
	awaited   = iota // first attempts and releases that a caller waits for, renewals that are not routine
	unawaited        // other first attempts and releases, routine renewals
	repeated         // repeated attempts for locks that were held
	queueLists
)

const (
	// pieceCommands is the capacity of a piece, in commands.
	pieceCommands = 32
	// maxKeptPieces is the maximum number of empty pieces that a queue keeps.
	maxKeptPieces = 128
	// backgroundShare divides a batch: of the lists after awaited, each has one part in backgroundShare while
	// commands wait in the lists before it.
	backgroundShare = 4
)

// piece is a fixed-size block of commands, so that growing a queue copies nothing. The commands from index from to
// index to wait; the zero value has none. It belongs to one queue, in a chain or spare.
type piece struct {
	next     *piece
	since    time.Duration // when the first command of those from index from on was appended, or before that
	from, to int
	commands [pieceCommands]actor.Command
}

func (p *piece) waiting() []actor.Command { return p.commands[p.from:p.to] }

// chain is a FIFO list of commands, as a linked list of pieces. The zero value is empty. It belongs to one queue.
type chain struct {
	head, tail *piece
	n          int
}

// Len returns the number of commands.
func (q *queue) Len() int { return q.n }

// listFor returns the list that a command belongs to.
func (q *queue) listFor(c *actor.Command) *chain {
	switch {
	case c.Retry:
		return &q.lists[repeated]
	case c.Async, c.Routine:
		return &q.lists[unawaited]
	}
	return &q.lists[awaited]
}

func (q *queue) push(now time.Duration, c *actor.Command) {
	list := q.listFor(c)
	p := list.tail
	if p == nil || p.to == pieceCommands {
		p = q.extend(list)
	}
	if p.from == p.to {
		p.since = now
	}
	p.commands[p.to] = *c
	p.to++
	list.n++
	q.n++
	if !c.Routine {
		q.urgent++
	}
}

// extend appends a piece to a list.
func (q *queue) extend(list *chain) *piece {
	p := q.freePieces
	if p == nil {
		p = &piece{}
	} else {
		q.freePieces, p.next = p.next, nil
		q.freeCount--
	}
	if list.head == nil {
		list.head = p
	} else {
		list.tail.next = p
	}
	list.tail = p
	return p
}

// oldest returns the first command, or nil.
func (list *chain) oldest() *actor.Command {
	if list.n == 0 {
		return nil
	}
	return &list.head.commands[list.head.from]
}

// waited returns how long the first command has waited, or longer, as others were appended to its piece before it.
func (list *chain) waited(now time.Duration) time.Duration {
	if list.n == 0 {
		return 0
	}
	return now - list.head.since
}

// drop removes the first command.
func (q *queue) drop(list *chain) {
	p := list.head
	c := &p.commands[p.from]
	if !c.Routine {
		q.urgent--
	}
	*c = actor.Command{}
	p.from++
	list.n--
	q.n--
	switch {
	case p.from < p.to:
	case p == list.tail:
		p.from, p.to = 0, 0
	default:
		q.Sweep.forget(p)
		list.head = p.next
		q.free(p)
	}
}

// free keeps an empty piece for reuse, up to maxKeptPieces.
func (q *queue) free(p *piece) {
	if q.freeCount == maxKeptPieces {
		return
	}
	p.next, p.from, p.to = q.freePieces, 0, 0
	q.freePieces = p
	q.freeCount++
}

// All iterates over the waiting commands, each list in its order.
func (q *queue) All() iter.Seq[*actor.Command] {
	return func(yield func(*actor.Command) bool) {
		for list := range q.lists {
			for p := q.lists[list].head; p != nil; p = p.next {
				for i := range p.waiting() {
					if !yield(&p.waiting()[i]) {
						return
					}
				}
			}
		}
	}
}
