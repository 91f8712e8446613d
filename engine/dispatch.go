package engine

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// urgency is the order in which commands leave: a flood of acquires must not delay a renewal.
var urgency = [...]actor.Verb{
	actor.SendRenew, actor.SendRelease, actor.SendForce, actor.SendAcquire, actor.SendState,
}

// errShort is for a server that answers with fewer replies than it was asked for.
var errShort = errors.New("lockwheel: the server's reply does not have the form of the script's")

func (c *coordinator) backlog() bool {
	if len(c.split) > 0 {
		return true
	}
	for i := range c.queues {
		if c.queues[i].len() > 0 {
			return true
		}
	}
	return false
}

// depart gives every free courier a batch, as long as there is anything to send.
func (c *coordinator) depart(now time.Duration) {
	for c.out-c.syncing < c.couriers && !c.closed && c.link.open(now, c.out) {
		b := c.pack(now)
		if b == nil {
			return
		}
		c.out++
		if b.verb == actor.SendRenew {
			c.renewing++
		}
		if b.synced = c.asksReplicas(b.verb); b.synced {
			c.syncing++
		}
		c.inFlight += len(b.commands)
		c.counters.batches++
		c.counters.commands += uint64(len(b.commands))
		b.sent = now
		c.batches = append(c.batches, b)
	}
}

// pack makes one batch of the most urgent commands; nil when there are none.
func (c *coordinator) pack(now time.Duration) *batch {
	for _, verb := range urgency {
		if verb == actor.SendRenew && c.renewalsWait() || c.asksReplicas(verb) && c.syncing == syncers {
			continue
		}
		if b := c.part(now, verb); b != nil {
			return b
		}
		if b := c.fill(now, verb); b != nil {
			return b
		}
	}
	return nil
}

// asksReplicas reports whether commands of that verb are to be had by replicas. They leave by couriers of their own: others
// would wait behind them.
func (c *coordinator) asksReplicas(verb actor.Verb) bool {
	return verb == actor.SendAcquire && c.fx.Config.Replicas != 0
}

// renewalsWait reports whether renewals have their half of the couriers while others wait: very many
// that are due together must not hold up everybody else for as long as they take.
func (c *coordinator) renewalsWait() bool {
	if 2*c.renewing < c.couriers {
		return false
	}
	for _, verb := range urgency {
		if verb != actor.SendRenew && c.queues[verb].len() > 0 {
			return true
		}
	}
	return false
}

// part takes a batch that is sent again. Much may have happened since it left first.
func (c *coordinator) part(now time.Duration, verb actor.Verb) *batch {
	for i := len(c.split) - 1; i >= 0; i-- {
		b := c.split[i]
		if b.verb != verb {
			continue
		}
		c.split = slices.Delete(c.split, i, i+1)
		b.commands = slices.DeleteFunc(b.commands, func(command actor.Command) bool { return !c.wanted(now, &command) })
		if len(b.commands) > 0 {
			return b
		}
		c.spares = append(c.spares, b)
	}
	return nil
}

func (c *coordinator) fill(now time.Duration, verb actor.Verb) *batch {
	q := &c.queues[verb]
	if q.len() == 0 {
		return nil
	}
	b := c.empty(verb)
	for size := 0; q.len() > 0 && len(b.commands) < batchKeys && size < batchBytes; {
		last := len(b.commands)
		b.commands = append(b.commands, q.pop())
		if c.wanted(now, &b.commands[last]) {
			size += len(b.commands[last].Key) + 64
		} else {
			b.commands = b.commands[:last]
		}
	}
	if len(b.commands) == 0 {
		c.spares = append(c.spares, b)
		return nil
	}
	return b
}

// wanted reports whether a command is still worth sending; its lock is told if it is not.
func (c *coordinator) wanted(now time.Duration, command *actor.Command) bool {
	l := command.Lock
	if l == nil {
		return !command.Request.Decided()
	}
	if l.Wants(command) {
		return true
	}
	if l.Key() != "" {
		c.step(now, l, &actor.Message{Kind: actor.Withdrawn, Command: command})
	}
	return false
}

func (c *coordinator) empty(verb actor.Verb) *batch {
	var b *batch
	if last := len(c.spares) - 1; last >= 0 {
		b = c.spares[last]
		c.spares = c.spares[:last]
	} else {
		b = newBatch()
	}
	b.reset(verb)
	return b
}

// returned takes in what a courier brought back.
func (c *coordinator) returned(now time.Duration, b *batch) {
	c.out--
	if b.verb == actor.SendRenew {
		c.renewing--
	}
	if b.synced {
		c.syncing--
	}
	c.inFlight -= len(b.commands)
	switch {
	case b.failed == nil:
		c.answered(now, b)
	case !b.lost && !b.whole && strings.HasPrefix(b.failed.Error(), "NOSCRIPT"):
		c.counters.retries++
		b.whole, b.failed = true, nil
		c.split = append(c.split, b)
		return
	case !b.lost && len(b.commands) > 1 && forOneKey(b.failed):
		c.link.answered()
		c.halve(b)
	default:
		c.unanswered(now, b)
	}
	c.spares = append(c.spares, b)
}

// answered hands every reply to its lock.
func (c *coordinator) answered(now time.Duration, b *batch) {
	c.link.answered()
	c.measure(now - b.sent)
	for len(b.replies) < len(b.commands) {
		b.replies = append(b.replies, actor.Reply{Err: errShort, Garbled: true})
	}
	for i := range b.commands {
		c.reply(now, b, &b.commands[i], &b.replies[i])
	}
}

// unanswered tells every lock that its command has no answer, or that the server refuses all for now.
func (c *coordinator) unanswered(now time.Duration, b *batch) {
	reply := actor.Reply{Status: actor.Refused, Err: b.failed}
	if b.lost {
		reply.Status = actor.Unanswered
	}
	if b.lost || !forOneKey(b.failed) {
		c.link.failed(now)
	} else {
		c.link.answered()
	}
	for i := range b.commands {
		c.reply(now, b, &b.commands[i], &reply)
	}
}

func (c *coordinator) reply(now time.Duration, b *batch, command *actor.Command, reply *actor.Reply) {
	if reply.Status == actor.Unanswered || reply.Status == actor.Refused {
		c.counters.retries++
	}
	if command.Lock == nil {
		c.read(now, command, reply)
		return
	}
	if command.Lock.Key() == "" {
		return // the lock has finished since; its tenure ended before
	}
	c.step(now, command.Lock, &actor.Message{Kind: actor.Answered, Command: command, Reply: reply, Sent: b.sent})
}

// read takes in the state of a key for whoever asked. It is asked again while its request has time.
func (c *coordinator) read(now time.Duration, command *actor.Command, reply *actor.Reply) {
	r := command.Request
	switch {
	case reply.Status == actor.Done:
		r.State = *reply
		c.fx.Decide(now, r, nil, nil)
	case reply.Status == actor.Refused && !actor.Passing(reply.Err.Error()):
		c.fx.Decide(now, r, reply.Err, nil)
	case reply.Status == actor.Refused:
		c.fx.Decide(now, r, actor.ErrUnavailable, reply.Err)
	case reply.Garbled:
		c.fx.Decide(now, r, actor.ErrUnavailable, reply.Err)
	case !r.Decided():
		c.queues[actor.SendState].push(*command)
	}
}

// forOneKey reports whether the server may have refused a batch because of one of its keys, so that the
// others can go on: for good, or while a slot migrates.
func forOneKey(refused error) bool {
	return !actor.Passing(refused.Error()) || strings.HasPrefix(refused.Error(), "TRYAGAIN")
}

// halve sends a batch again in two parts: what the server refuses for one key must not touch the others.
func (c *coordinator) halve(b *batch) {
	c.counters.retries++
	middle := len(b.commands) / 2
	for _, part := range [][]actor.Command{b.commands[:middle], b.commands[middle:]} {
		half := c.empty(b.verb)
		half.commands = append(half.commands, part...)
		c.split = append(c.split, half)
	}
}

// measure keeps the lately usual round trip.
func (c *coordinator) measure(took time.Duration) {
	if c.fx.RoundTrip == 0 {
		c.fx.RoundTrip = took
	}
	c.fx.RoundTrip += (took - c.fx.RoundTrip) / 8
}
