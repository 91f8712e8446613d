package coordinator

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// sweepPieces is the maximum number of queue pieces that a turn sweeps. A sweep removes stale commands and moves those
// of other nodes.
const sweepPieces = 32

// sweep is the progress of a sweep through a queue. The zero value means that none is in progress. Owned by the
// coordinator.
type sweep struct {
	On    bool
	list  int    // the list of the queue that it has reached
	last  *piece // last piece swept; nil: continue at the head
	since int    // commands that became stale since it began
}

// forget notes that a piece is being removed.
func (s *sweep) forget(p *piece) {
	if s.last == p {
		s.last = nil
	}
}

// sweepIfStale starts a sweep if a queue has many stale commands: more than half, or more than a quarter if it has more
// than pieceCommands. So a sweep visits at most four times as many commands as it removes.
func (c *Coordinator) sweepIfStale(n *Node, verb actor.Verb) {
	q := &n.Queues[verb]
	all := q.Len() + q.InRetries
	if q.Sweep.On || 2*q.Stale <= all && (all <= pieceCommands || 4*q.Stale <= all) {
		return
	}
	c.startSweep(n, verb)
}

func (c *Coordinator) startSweep(n *Node, verb actor.Verb) {
	q := &n.Queues[verb]
	if !q.Sweep.On {
		c.activeSweeps++
	}
	q.Sweep = sweep{On: true}
	if q.InRetries > 0 {
		n.Retries = slices.DeleteFunc(n.Retries, func(b *Batch) bool { return b.Verb == verb && !c.dropStale(n, b) })
	}
}

// sweep continues the sweeps in progress.
func (c *Coordinator) sweep() {
	left := c.intake.pieceBudget
	for _, n := range c.Nodes {
		if c.activeSweeps == 0 {
			return
		}
		swept := true
		for verb := range n.Queues {
			for q := &n.Queues[verb]; q.Sweep.On && left > 0; left-- {
				c.sweepPiece(n, actor.Verb(verb))
			}
			swept = swept && !n.Queues[verb].Sweep.On
		}
		n.needsRequeue = n.needsRequeue && !swept
	}
}

// sweepPiece sweeps the next piece of a queue. If there is none, it ends the sweep, and starts another if many commands
// became stale meanwhile.
func (c *Coordinator) sweepPiece(n *Node, verb actor.Verb) {
	q := &n.Queues[verb]
	if list, p := q.next(); p != nil {
		q.keep(list, p, func(command *actor.Command) bool { return c.shouldStay(n, command) })
		return
	}
	q.Stale = min(q.Stale, q.Sweep.since)
	q.Sweep = sweep{}
	c.activeSweeps--
	c.sweepIfStale(n, verb)
}

// next returns the next piece to sweep and its list. The piece is nil at the end.
func (q *queue) next() (list *chain, p *piece) {
	s := &q.Sweep
	for {
		list = &q.lists[s.list]
		if p = s.after(list); p != nil || s.list == queueLists-1 {
			return list, p
		}
		s.list, s.last = s.list+1, nil
	}
}

// after returns the piece of a list that follows the last one swept.
func (s *sweep) after(list *chain) *piece {
	if s.last == nil {
		return list.head
	}
	return s.last.next
}

// keep removes the commands of a piece that do not stay. It merges the rest into the piece before, if that has room.
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
			q.urgent--
		}
		q.Stale = max(q.Stale-1, 0)
		list.n--
		q.n--
	}
	clear(p.commands[kept:p.to])
	p.to = kept
	before := q.Sweep.last
	switch {
	case before == nil && p.from < p.to:
		q.Sweep.last = p
	case before == nil && p == list.tail:
		p.from, p.to, q.Sweep.last = 0, 0, p // the only piece stays
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
		q.Sweep.last = p
	}
}

// shouldStay reports whether a command is still to be sent to this node. If it belongs to another node, it is moved
// there.
func (c *Coordinator) shouldStay(n *Node, command *actor.Command) bool {
	return StillWanted(command) && (!n.needsRequeue || !c.requeueElsewhere(n, command))
}

// requeueElsewhere moves a command to the node that owns its key, if that is another one.
func (c *Coordinator) requeueElsewhere(n *Node, command *actor.Command) bool {
	if c.nodeForKey(command.Key) == n {
		return false
	}
	n.Queues[command.Verb].Stale++ // its copy here is never sent
	c.enqueue(command)
	return true
}
