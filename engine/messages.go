package engine

import (
	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/mpsc"
)

// LoopMessage is one message to the loop. Its Value is a *actor.Request that is new, a *batch that came back, or one of
// the following.
type LoopMessage = mpsc.Node[any]

// The other messages to the loop. In those of a subscriber, node is the subscriber's node, or nil when there is one
// server.
type (
	StatsRequest struct { // fill in stats, then complete the request
		request *actor.Request
		stats   *Stats
	}
	CancelRequest struct { // the caller cancelled the request
		request *actor.Request
		cause   error
	}
	CancelAllRequest struct { // the callers cancelled these requests together
		requests []*actor.Request
		cause    error
	}
	TimerFired struct{} // a timer is due
	// Messages about a node's pub/sub connections, which are numbered in the order of their creation.
	ChannelSubscribed struct { // the channel is subscribed
		node    *Node
		Channel string
		Conn    int // number of the connection
	}
	Notified struct { // a message arrived on the channel
		node    *Node
		Channel string
	}
	ChannelUnsubscribed struct { // the server unsubscribed the channel, because its slot moved
		node    *Node
		Channel string
		Conn    int
	}
	OrderDone struct { // the subscriber is free again; err if its order failed
		Node     *Node
		Conn     int // the connection that the order used
		GoneConn int // connections up to this number no longer exist
		Err      error
	}
	PubsubDown struct { // a connection broke, and the others were closed with it
		node     *Node
		GoneConn int
	}
	MasterChanged struct { // Sentinel names another master
		address string
	}
	TopologyResult struct { // a topology, or err if no node sent one
		Topology *Topology
		err      error
	}
)
