package actor

import (
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel/scripts"
)

// LockKind is a kind of lock. In one engine a name has one kind while it is in use.
type LockKind uint8

// The kinds of lock.
const (
	Plain  LockKind = iota
	Fenced          // plain, and each owner gets a fencing token greater than all before
	Fair            // first come, first served, across all processes
	Read            // one of many readers, with no writer or with its own owner's
	Write           // the writer of a read/write lock
)

// protocol is what distinguishes the kinds of lock; everything else is the same for all of them.
type protocol struct {
	name string // for errors; kinds of the same name may be in use together

	// The commands. pass confirms a tenure for its next owner.
	acquire, renew, pass, release, force, state Verb

	claims  bool // each first grant is a tenure with a per-request Lock: it is never handed off
	queues  bool // a tenure keeps its place in a queue on the server from the first acquire until it is released
	shared  bool // several per-request locks may be held at a time
	tokens  bool // a grant comes with a fencing token
	stamps  bool // each hold has a key with its own lease
	channel string
	private bool // each tenure has a channel of its own
}

var protocols = [...]protocol{
	Plain: {
		name: "plain", channel: scripts.Channel,
		acquire: SendAcquire, renew: SendRenew, pass: SendRenew, release: SendRelease, force: SendForce,
		state: SendState,
	},
	Fenced: {
		name: "fenced", channel: scripts.Channel, tokens: true,
		acquire: SendFencedAcquire, renew: SendRenew, pass: SendFencedPass, release: SendRelease, force: SendForce,
		state: SendState,
	},
	Read: {
		name: "read/write", channel: scripts.ReadWriteChannel, claims: true, shared: true, stamps: true,
		acquire: SendReadAcquire, renew: SendReadRenew, pass: SendReadRenew, release: SendReadRelease, force: SendReadForce,
		state: SendReadState,
	},
	Write: {
		name: "read/write", channel: scripts.ReadWriteChannel,
		acquire: SendWriteAcquire, renew: SendWriteRenew, pass: SendWriteRenew, release: SendWriteRelease, force: SendWriteForce,
		state: SendWriteState,
	},
	Fair: {
		name: "fair", channel: scripts.Channel, private: true, claims: true, queues: true,
		acquire: SendFairAcquire, renew: SendRenew, pass: SendRenew, release: SendFairRelease, force: SendFairForce,
		state: SendState,
	},
}

// String returns the kind's name as errors give it.
func (k LockKind) String() string { return protocols[k].name }

// Claims reports whether each first grant of such a lock is a tenure with a Lock of its own. Then an engine has as many
// Locks for a name as there are requests that are no re-entries.
func (k LockKind) Claims() bool { return protocols[k].claims }

// Queues reports whether waiters for such a lock have places in a queue on the server.
func (k LockKind) Queues() bool { return protocols[k].queues }

// Forces reports whether a command takes such locks away from their holders.
func (k LockKind) Forces(v Verb) bool { return protocols[k].force == v }

// Granted reports whether a successful command acquired such a lock, with the reply arriving at now within the validity
// of its lease.
func (k LockKind) Granted(c *Command, sent, now time.Duration) bool {
	return c.Verb == protocols[k].acquire && now < sent+believed(c.Lease)
}

// Displaces reports whether a grant by c means that other, a Lock of the same key, is no longer in Redis.
func (c *Command) Displaces(other *Lock) bool {
	if c.Reads != nil && other.kind == Write && c.Reads.Writer == other.tenure {
		return false // its owner reads beside it
	}
	return !c.Lock.protocol().shared || !other.protocol().shared
}

// Shared reports whether several holders can hold such a lock at once.
func (k LockKind) Shared() bool { return protocols[k].shared }

// Suits reports whether two kinds can be in use under one name.
func (k LockKind) Suits(other LockKind) bool { return protocols[k].name == protocols[other].name }

// State returns the command that reads the state of such a lock.
func (k LockKind) State() Verb { return protocols[k].state }

func (l *Lock) protocol() *protocol { return &protocols[l.kind] }

// channel returns the channel of the lock's notifications, as Redisson names it.
func (l *Lock) channel(fx *Effects) string {
	p := l.protocol()
	name := scripts.Prefixed(p.channel, l.key)
	if p.private {
		name += ":" + fx.Config.ID + ":" + strconv.FormatUint(l.tenure, 10)
	}
	return name
}
