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

// protocol is what distinguishes the kinds of lock; everything else is the same for all of them. All are in the table
// protocols, which is immutable. The zero value is that of no kind.
type protocol struct {
	name string // for errors; kinds of the same name may be in use together

	// The commands. renewForNext confirms a tenure for its next owner.
	acquire, renew, renewForNext, release, force, state Verb

	perRequest bool   // each first grant is a tenure with a per-request Lock: it is never handed off
	queues     bool   // a tenure keeps its place in a queue on the server from the first acquire until it is released
	shared     bool   // several per-request locks may be held at a time
	tokens     bool   // a grant comes with a fencing token
	holdKeys   bool   // each hold has a key with its own lease
	channel    string // the prefix of its name, see scripts.RedissonKey
	ownChannel bool   // each tenure has a channel of its own
}

var protocols = [...]protocol{
	Plain: {
		name: "plain", channel: scripts.Channel,
		acquire: SendAcquire, renew: SendRenew, renewForNext: SendRenew, release: SendRelease, force: SendForce,
		state: SendState,
	},
	Fenced: {
		name: "fenced", channel: scripts.Channel, tokens: true,
		acquire: SendFencedAcquire, renew: SendRenew, renewForNext: SendFencedRenew, release: SendRelease, force: SendForce,
		state: SendState,
	},
	Read: {
		name: "read/write", channel: scripts.RWChannel, perRequest: true, shared: true, holdKeys: true,
		acquire: SendReadAcquire, renew: SendReadRenew, renewForNext: SendReadRenew, release: SendReadRelease, force: SendReadForce,
		state: SendReadState,
	},
	Write: {
		name: "read/write", channel: scripts.RWChannel,
		acquire: SendWriteAcquire, renew: SendWriteRenew, renewForNext: SendWriteRenew, release: SendWriteRelease, force: SendWriteForce,
		state: SendWriteState,
	},
	Fair: {
		name: "fair", channel: scripts.Channel, ownChannel: true, perRequest: true, queues: true,
		acquire: SendFairAcquire, renew: SendRenew, renewForNext: SendRenew, release: SendFairRelease, force: SendFairForce,
		state: SendState,
	},
}

// String returns the kind's name as errors give it.
func (k LockKind) String() string { return protocols[k].name }

// PerRequest reports whether each first grant of such a lock is a tenure with a Lock of its own. Then an engine has as
// many Locks for a name as there are requests that are no re-entries.
func (k LockKind) PerRequest() bool { return protocols[k].perRequest }

// Queues reports whether waiters for such a lock have places in a queue on the server.
func (k LockKind) Queues() bool { return protocols[k].queues }

// IsForce reports whether a command takes such locks away from their holders.
func (k LockKind) IsForce(v Verb) bool { return protocols[k].force == v }

// AcquiredInTime reports whether a successful command acquired such a lock, with the reply arriving at now within the
// validity of its lease.
func (k LockKind) AcquiredInTime(c *Command, sent, now time.Duration) bool {
	return c.Verb == protocols[k].acquire && now < sent+validity(c.Lease)
}

// Excludes reports whether a grant by c means that other, a Lock of the same key, is no longer in Redis.
func (c *Command) Excludes(other *Lock) bool {
	if c.Reader != nil && other.kind == Write && c.Reader.Writer == other.tenure {
		return false // its owner reads beside it
	}
	return !c.Lock.protocol().shared || !other.protocol().shared
}

// Shared reports whether several holders can hold such a lock at once.
func (k LockKind) Shared() bool { return protocols[k].shared }

// CompatibleWith reports whether two kinds can be in use under one name.
func (k LockKind) CompatibleWith(other LockKind) bool {
	return protocols[k].name == protocols[other].name
}

// State returns the command that reads the state of such a lock.
func (k LockKind) State() Verb { return protocols[k].state }

// Channels returns the channels of a lock's notifications, whatever its kind is. A waiter for a fair lock has a channel
// of its own, which is not one of these.
func Channels(key string) [2]string {
	return [...]string{scripts.RedissonKey(scripts.Channel, key), scripts.RedissonKey(scripts.RWChannel, key)}
}

func (l *Lock) protocol() *protocol { return &protocols[l.kind] }

// channel returns the channel of the lock's notifications, as Redisson names it.
func (l *Lock) channel(fx *Effects) string {
	p := l.protocol()
	name := scripts.RedissonKey(p.channel, l.key)
	if p.ownChannel {
		name += ":" + fx.Config.ID + ":" + strconv.FormatUint(l.tenure, 10)
	}
	return name
}
