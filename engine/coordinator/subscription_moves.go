package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// moveSubscriptions moves subscriptions to the nodes that own their slots now. It looks at some of the channels, and at
// the others in the turns that follow at once: there may be very many. Until then a channel stays where it was, also if
// its locks send their commands to another node.
func (c *Coordinator) moveSubscriptions(now time.Duration) {
	left := c.intake.lockBudget
	for _, n := range c.Nodes {
		for s := n.Subscriptions; s.movesLeft > 0; left-- {
			if left <= 0 {
				c.movesSubscriptions = true
				return
			}
			s.movesLeft--
			c.moveChannel(now, n, s.all[s.movesLeft])
		}
	}
	c.movesSubscriptions = false
}

// moveChannel moves the listeners of a channel to the node that owns its slot now.
func (c *Coordinator) moveChannel(now time.Duration, n *Node, ch *channel) {
	owner := c.nodeForKey(ch.name)
	if owner == n {
		return
	}
	for _, l := range ch.listeners.all() {
		n.Subscriptions.removeListener(l, ch.name)
		l.SubscriptionLost()
		if news := owner.Subscriptions.addListener(l, ch.name); news != 0 { // it was still subscribed there, or rejected
			c.step(now, l, &actor.Message{Event: news})
		}
	}
}

// removeListener removes a lock from the listeners of its channel, at the node of its slot or where the channel still
// is.
func (c *Coordinator) removeListener(l *actor.Lock, channel string) {
	if c.nodeForKey(l.Key()).Subscriptions.removeListener(l, channel) || !c.movesSubscriptions {
		return
	}
	for _, n := range c.Nodes {
		if n.Subscriptions.removeListener(l, channel) {
			return
		}
	}
}
