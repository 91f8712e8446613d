package engine

import "github.com/lockwheel/lockwheel/actor"

// queue is what waits to be sent to a node of one verb, first in, first out: what is asked for the first time, and apart from that what is
// asked again, because another had the lock. However many ask again, a caller of a lock that is free is not behind them. Those that are
// not to leave any more stay in it until they come first, or until there are many of them: so each costs the same,
// however many there are. It has no more memory than what waits, but for a little.
type queue struct {
	first, again chain
	spare        *piece
	spares       int
	pressing     int // all but routine renewals
	parts        int // as many more lie in calls that were refused as a whole
	stale        int // of both, those that are not to leave any more
	sweep        sweep
}

const (
	// pieceCommands is how many commands a piece of a queue has room for.
	pieceCommands = 32
	// keepPieces is how many empty pieces a queue keeps in any case.
	keepPieces = 128
	// againShare is which part of a call is for those that are asked again, while others are asked for the first time.
	againShare = 4
)

// piece is some commands, one after the other: nothing is copied when a queue grows.
type piece struct {
	next     *piece
	from, to int
	commands [pieceCommands]actor.Command
}

func (p *piece) waiting() []actor.Command { return p.commands[p.from:p.to] }

// chain is a list of commands.
type chain struct {
	head, tail *piece
	n          int
}

func (q *queue) len() int { return q.first.n + q.again.n }

// of is where a command waits.
func (q *queue) of(c *actor.Command) *chain {
	if c.Again {
		return &q.again
	}
	return &q.first
}

func (q *queue) push(c *actor.Command) {
	list := q.of(c)
	p := list.tail
	if p == nil || p.to == pieceCommands {
		p = q.extend(list)
	}
	p.commands[p.to] = *c
	p.to++
	list.n++
	if !c.Routine {
		q.pressing++
	}
}

// extend gives a list another piece.
func (q *queue) extend(list *chain) *piece {
	p := q.spare
	if p == nil {
		p = &piece{}
	} else {
		q.spare, p.next = p.next, nil
		q.spares--
	}
	if list.head == nil {
		list.head = p
	} else {
		list.tail.next = p
	}
	list.tail = p
	return p
}

// oldest is the command that comes first; nil if there is none.
func (list *chain) oldest() *actor.Command {
	if list.n == 0 {
		return nil
	}
	return &list.head.commands[list.head.from]
}

// drop lets go of the oldest.
func (q *queue) drop(list *chain) {
	p := list.head
	c := &p.commands[p.from]
	if !c.Routine {
		q.pressing--
	}
	*c = actor.Command{}
	p.from++
	list.n--
	switch {
	case p.from < p.to:
	case p == list.tail:
		p.from, p.to = 0, 0
	default:
		q.sweep.forget(p)
		list.head = p.next
		q.free(p)
	}
}

// free takes an empty piece back.
func (q *queue) free(p *piece) {
	if q.spares == keepPieces {
		return
	}
	p.next, p.from, p.to = q.spare, 0, 0
	q.spare = p
	q.spares++
}
