package engine

import (
	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/mpsc"
)

// loopMessage is one message to the loop. Its Value is a *actor.Request that is new, a *batch that came back, or one of
// the following.
type loopMessage = mpsc.Node[any]

// The other messages to the loop. In those of a subscriber, node is the subscriber's node, or nil when there is one
// server.
type (
	statsRequest struct { // fill in stats, then complete the request
		request *actor.Request
		stats   *Stats
	}
	cancelRequest struct { // the caller cancelled the request
		request *actor.Request
		cause   error
	}
	cancelAllRequest struct { // the callers cancelled these requests together
		requests []*actor.Request
		cause    error
	}
	timerFired struct{} // a timer is due
	// Messages about a node's pub/sub connections, which are numbered in the order of their creation.
	channelSubscribed struct { // the channel is subscribed
		node    *node
		channel string
		conn    int // number of the connection
	}
	notified struct { // a message arrived on the channel
		node    *node
		channel string
	}
	channelUnsubscribed struct { // the server unsubscribed the channel, because its slot moved
		node    *node
		channel string
		conn    int
	}
	orderDone struct { // the subscriber is free again; err if its order failed
		node     *node
		conn     int // the connection that the order used
		goneConn int // connections up to this number no longer exist
		err      error
	}
	pubsubDown struct { // a connection broke, and the others were closed with it
		node     *node
		goneConn int
	}
	masterChanged struct { // Sentinel names another master
		address string
	}
	topologyResult struct { // a topology, or err if no node sent one
		topology *topology
		err      error
	}
)
