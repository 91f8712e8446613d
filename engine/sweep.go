package engine

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// sweepPieces is how many pieces of queues a turn goes through at most, to find what is not to leave any more, or not to this node.
const sweepPieces = 32

// sweep is how far a queue has been gone through.
type sweep struct {
	on    bool
	again bool   // it is at those that are asked again
	last  *piece // that it has been through; nil: none of the list that is still there
	since int    // commands that were taken back since it began
}

// forget takes in that a piece is let go of.
func (s *sweep) forget(p *piece) {
	if s.last == p {
		s.last = nil
	}
}

// thin has a queue gone through when many of it are not to leave any more: more than a quarter, or of few more than half. So going through
// all of it costs no more than four times what it is rid of.
func (c *coordinator) thin(n *node, verb actor.Verb) {
	q := &n.queues[verb]
	all := q.len() + q.parts
	if q.sweep.on || 2*q.stale <= all && (all <= pieceCommands || 4*q.stale <= all) {
		return
	}
	c.startSweep(n, verb)
}

func (c *coordinator) startSweep(n *node, verb actor.Verb) {
	q := &n.queues[verb]
	if !q.sweep.on {
		c.sweeps++
	}
	q.sweep = sweep{on: true}
	if q.parts > 0 {
		n.split = slices.DeleteFunc(n.split, func(b *batch) bool { return b.verb == verb && !c.pare(n, b) })
	}
}

// sweep goes through some of the queues that are to be gone through.
func (c *coordinator) sweep() {
	left := c.intake.pieces
	for _, n := range c.nodes {
		if c.sweeps == 0 {
			return
		}
		swept := true
		for verb := range n.queues {
			for q := &n.queues[verb]; q.sweep.on && left > 0; left-- {
				c.sweepPiece(n, actor.Verb(verb))
			}
			swept = swept && !n.queues[verb].sweep.on
		}
		n.unsettled = n.unsettled && !swept
	}
}

// sweepPiece goes through the next piece of a queue, and ends the sweep when there is none. Much may have been taken back meanwhile.
func (c *coordinator) sweepPiece(n *node, verb actor.Verb) {
	q := &n.queues[verb]
	if list, p := q.next(); p != nil {
		q.keep(list, p, func(command *actor.Command) bool { return c.stays(n, command) })
		return
	}
	q.stale = min(q.stale, q.sweep.since)
	q.sweep = sweep{}
	c.sweeps--
	c.thin(n, verb)
}

// next is the piece that a sweep comes to, and the list that it is in; nil when it has been through all.
func (q *queue) next() (list *chain, p *piece) {
	s := &q.sweep
	if !s.again {
		if p = s.after(&q.first); p != nil {
			return &q.first, p
		}
		s.again, s.last = true, nil
	}
	return &q.again, s.after(&q.again)
}

// after is the piece of a list that comes after the last that it has been through.
func (s *sweep) after(list *chain) *piece {
	if s.last == nil {
		return list.head
	}
	return s.last.next
}

// keep lets go of the commands of a piece that are not to stay, and of the piece if the one before has room for the rest.
func (q *queue) keep(list *chain, p *piece, stays func(*actor.Command) bool) {
	kept := p.from
	for i := p.from; i < p.to; i++ {
		command := &p.commands[i]
		if stays(command) {
			if kept < i {
				p.commands[kept] = *command
			}
			kept++
			continue
		}
		if !command.Routine {
			q.pressing--
		}
		q.stale = max(q.stale-1, 0)
		list.n--
	}
	clear(p.commands[kept:p.to])
	p.to = kept
	before := q.sweep.last
	switch {
	case before == nil && p.from < p.to:
		q.sweep.last = p
	case before == nil && p == list.tail:
		p.from, p.to, q.sweep.last = 0, 0, p // the only one: it stays
	case before == nil:
		list.head = p.next
		q.free(p)
	case p.to-p.from <= pieceCommands-before.to:
		before.to += copy(before.commands[before.to:], p.waiting())
		clear(p.waiting())
		if before.next = p.next; p == list.tail {
			list.tail = before
		}
		q.free(p)
	default:
		q.sweep.last = p
	}
}

// stays reports whether a command is still to leave, and for this node. If it is for another one it waits there from now on.
func (c *coordinator) stays(n *node, command *actor.Command) bool {
	return wanted(command) && (!n.unsettled || !c.divert(n, command))
}

// divert has a command wait at the node that its key is at now, if that is another one.
func (c *coordinator) divert(n *node, command *actor.Command) bool {
	if c.nodeOf(command.Key) == n {
		return false
	}
	n.queues[command.Verb].stale++ // it is counted as one that does not leave here
	c.send(command)
	return true
}
