package coordinator

import (
	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/mpsc"
)

// LoopMessage is one message to the loop. Its Value is a *actor.Request that is new, a *Batch that came back, or one of
// the following.
type LoopMessage = mpsc.Node[any]

// The other messages to the loop. A message is immutable once it is posted. What it points to then belongs to the
// coordinator, until the request of the message has its result. The zero value of a field says that there is none.
//
// In those of a subscriber, Node is the subscriber's node; nil means the only server. Pub/sub connections of a node are
// numbered from 1, in the order of their creation.
type (
	// StatsRequest asks to fill in Stats, and then to complete the request.
	StatsRequest struct {
		Request *actor.Request
		Stats   *Stats
	}
	// SnapshotRequest asks for the next page of a snapshot, and then to complete the request. It is completed with
	// actor.ErrClosed if the engine is closed before.
	SnapshotRequest struct {
		Request  *actor.Request
		Snapshot *Snapshot
	}
	// StatusRequest asks to fill in Nodes, and then to complete the request. It is completed with actor.ErrClosed if the
	// engine is closed before.
	StatusRequest struct {
		Request *actor.Request
		Nodes   *[]NodeStatus
	}
	// CancelRequest says that the caller canceled the request.
	CancelRequest struct {
		Request *actor.Request
		Cause   error
	}
	// CancelAllRequest says that the callers canceled these requests together.
	CancelAllRequest struct {
		Requests []*actor.Request
		Cause    error
	}
	// TimersDue says that a timer is due.
	TimersDue struct{}
	// ChannelSubscribed says that the server confirmed a channel on connection Conn.
	ChannelSubscribed struct {
		Node    *Node
		Channel string
		Conn    int
	}
	// ChannelMessage says that a message arrived on the channel.
	ChannelMessage struct {
		Node    *Node
		Channel string
	}
	// ChannelUnsubscribed says that the server unsubscribed the channel, because its slot moved.
	ChannelUnsubscribed struct {
		Node    *Node
		Channel string
		Conn    int
	}
	// OrderDone says that the subscriber is free again. Err is set if its order failed. Conn is the connection that the
	// order used. Connections up to GoneConn no longer exist.
	OrderDone struct {
		Node     *Node
		Conn     int
		GoneConn int
		Err      error
	}
	// PubsubDown says that a connection broke. The connections up to GoneConn were closed with it.
	PubsubDown struct {
		Node     *Node
		GoneConn int
	}
	// LockForced says that another client took the lock of a key away from this engine. It is a hint: it may be late, and
	// any client can send it.
	LockForced struct{ Key string }
	// HolderQuery asks since when this engine has a tenure of a lock. An Answer is the reply.
	HolderQuery struct {
		Asker  string // where the answer goes; the coordinator only passes it on
		Key    string
		Tenure uint64
	}
	// WaiterQuery asks how many callers of this engine wait for the lock of a key. An Answer is the reply.
	WaiterQuery struct {
		Asker string // where the answer goes; the coordinator only passes it on
		Key   string
	}
	// LeakedHold says that no caller can unlock the hold any more. What was requested of it before is handled before.
	LeakedHold struct{ Hold *actor.Hold }
	// ConnectFailed says why an engine that was opened without a server still has none.
	ConnectFailed struct{ Cause error }
	// Connected says that an engine that was opened without a server has one.
	Connected struct {
		Topology  *Topology // nil outside a cluster
		Address   string    // of the master that Sentinel named; otherwise empty
		CanRedial bool
	}
	// MasterChanged says that Sentinel names another master.
	MasterChanged struct{ Address string }
	// TopologyResult has a topology, or Err if no node sent one.
	TopologyResult struct {
		Topology *Topology
		Err      error
	}
)
