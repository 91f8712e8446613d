package lockwheel

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/histogram"
	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/redisurl"
)

// Options are an engine's settings. A zero field has its default; Open returns an error for an invalid value.
// Durations are between 1 ms and 10 years, unless their text says otherwise.
type Options struct {
	// Redis says where to connect: addresses, credentials, TLS. With Sentinel.MasterSet the addresses are those of
	// sentinels, and the engine follows the master. In a cluster the engine finds the other nodes itself.
	//
	// A failover loses what the old master had not replicated. The holders of such locks get ErrLost when the engine
	// asks the new master, immediately or at the next renewal. Until then another caller may acquire the lock.
	//
	// The engine sets these fields: PipelineMultiplex, DisableAutoPipelining, BlockingPipeline, DisableCache,
	// DisableRetry, ConnLifetime, ConnWriteTimeout, and Timeout and KeepAlive of Dialer and of Sentinel.Dialer. It sets
	// ClusterOption.ShardsRefreshInterval if it is zero, and ClusterOption.MaxMovedRedirections if it is not positive.
	// It raises a BlockingPoolSize of 1 to 3 to 4. It clears OnInvalidations, RingScaleEachConn, which rueidis does not
	// check, Sentinel.TopologyRefreshInterval, because the engine asks the sentinels itself, Standalone.EnableRedirect,
	// because no server redirects the engine's scripts, and, because only masters grant locks, SendToReplicas,
	// ReplicaSelector, ReadNodeSelector, ReplicaOnly and Standalone.ReplicaAddress.
	//
	// It clears AlwaysRESP2 as well, which protocol=2 in a URL sets: an engine speaks RESP3, to servers and to sentinels.
	// In RESP2 rueidis listens on further connections, and the loss of one can go unnoticed. Every supported server knows
	// RESP3. A server that does not is rejected when the engine connects, as with a wrong password.
	//
	// A single server, neither in a cluster nor behind Sentinel, may reply READONLY for longer than CallTimeout. The
	// engine then closes all connections to it and dials again, because its address may lead to another master
	// meanwhile. If the server stays a replica, the engine repeats this after 2 CallTimeouts, then 4, and then every 8.
	//
	// Each connection attempt has CallTimeout for DialCtxFn or DialFn with the TLS handshake, and for AuthCredentialsFn;
	// the context ends then. A function that has not returned keeps its goroutine, and a connection that it makes later is
	// closed. The same applies to functions of TLSConfig and Dialer, and to Close of a connection that a custom dialer
	// made. Read and Write of such a connection must end at their deadlines. While 1024 of these functions have not
	// returned, the engine makes no further attempt. A function that ends its goroutine has failed.
	//
	// AuthCredentialsFn provides the credentials of each new connection. The engine ignores their RefreshAfter and never
	// authenticates again on a running connection. Some servers do not reply to an AUTH that fails there, and every later
	// reply would be taken for that of another command. When credentials expire, the server closes the connection, and the
	// next one asks for new ones.
	Redis rueidis.ClientOption

	// Client is an open client to use instead of Redis. The caller keeps it and closes it after the engine. It should
	// have these settings:
	//
	//   - no AlwaysRESP2: Open rejects a client that speaks RESP2, also with Lazy if the server replies
	//   - PipelineMultiplex: -1, for one ordered connection
	//   - DisableRetry, and no ConnLifetime: at its end rueidis sends calls twice
	//   - no RefreshAfter from AuthCredentialsFn: some servers do not reply to an AUTH that fails on a running connection.
	//     Every later reply is then taken for another command's, so a lock can be granted that another client holds
	//   - ConnWriteTimeout and Dialer.Timeout of one CallTimeout, and Dialer.KeepAlive of half a CallTimeout, so that it
	//     notices a dead connection within two
	//   - behind Sentinel, the same Timeout and KeepAlive in Sentinel.Dialer: without KeepAlive rueidis never
	//     notices a sentinel that does not reply
	//
	// Behind Sentinel it must not send to replicas (SendToReplicas): the engine could not tell which node is the master,
	// and would follow none. It follows any sentinel that it connects to. A sentinel that missed a failover names the old
	// master, which may grant locks that are held at the next one. Options.Replicas prevents that. With Redis the engine
	// asks the sentinels which master is the newest, before it follows and once a second.
	//
	// If a server replies READONLY, the engine keeps that client's connections. If the server's address leads to
	// another master meanwhile (a virtual address, the endpoint of a managed service), the caller must close them.
	//
	// The engine takes connections from the client's pool (BlockingPoolSize): at most 2 to each master, with Replicas at
	// most 4. It takes up to 2 more for a while when it unsubscribes from very many channels. Each call of [Mutex.Holder]
	// uses one for up to 1 s. While the program uses the whole pool, waiters poll, and with Replicas no lock is granted.
	Client rueidis.Client

	// Lazy lets Open return an engine although the server is down, does not reply, or rejects the credentials: a service
	// can start before its Redis. Open itself connects once. If that fails, a goroutine of the engine tries again after 10
	// to 250 ms, until the engine is connected or closed. The pause is up to 1 s if the server rejects the engine.
	// Meanwhile calls behave as in an outage in which no connection can be made. TryLock returns ErrUnavailable at once.
	// Lock waits until its context or Wait ends, and then returns ErrUnavailable. The error has the cause, as
	// [Engine.Status] does.
	//
	// Lazy covers a single server, Sentinel, a cluster, and Client. Until the engine knows that its server is no cluster,
	// it rejects the names that a cluster rejects ([Engine.Mutex]).
	Lazy bool

	// Lease is how long a watched lock lives in Redis without renewal, and so how long other callers wait for a
	// process that died. Default 30s, Redisson's lockWatchdogTimeout; at least 100ms.
	Lease time.Duration

	// RenewInterval is the interval after its last confirmation at which a watched lock is renewed. Default Lease/3, at
	// most Lease/2. The first renewal comes up to half an interval earlier, so that locks acquired together are not always
	// renewed together.
	RenewInterval time.Duration

	// CallTimeout bounds one round trip. If the server does not reply, TryLock, Unlock and Extend return after it. A dead
	// connection is noticed within two CallTimeouts. Default the smaller of 3s and Lease/6; at most Lease/3.
	CallTimeout time.Duration

	// BusyWait bounds how long a goroutine that has written to the server looks for the reply before its thread may go
	// to sleep. On the server's host, with processors to spare, replies come within some ten microseconds, and waking a
	// thread takes as long: a lone caller is about twice as fast then. Where it makes round trips no shorter, it would
	// only take processor time. So the engine tries both again and again, and busy-waits where the median is more than
	// an eighth shorter: not for a server that is farther away, and mostly not beside other work for the processors. It
	// does so only while 1 to 32 commands are in flight, and on one goroutine of the process at a time. Other
	// goroutines run meanwhile, however long they take, and end the wait if that is over 10 µs. What is written next to
	// the same connection leaves after the wait. While it lasts and all other processors compute, input of other
	// connections of the process can be noticed up to 10ms later.
	//
	// BusyWait is ignored with Client, with a CallTimeout below 100ms, with GOMAXPROCS of 1 when the engine connects,
	// on systems other than Linux, and on a connection of a custom dialer, unless that returns a *net.TCPConn, a
	// *net.UnixConn or a *tls.Conn on one. Default 100µs, at most 1ms, and as little as wanted; negative: never.
	BusyWait time.Duration

	// MaxHold bounds how long an owner's watched lock is renewed, counted from its first grant. After that the lock
	// is lost. A re-entry without a [Lease] then gets ErrLost, even while another hold of the owner has its own
	// lease. Zero: no bound.
	MaxHold time.Duration

	// HeldTooLong is the time after which the Logger receives a record of a lock that its owner still holds, once for each
	// owner. The record has the lock's name, its label and, if CallSites is set, where it was locked. Stats.HeldTooLong
	// counts these locks; of several held as one, each counts. The lock stays held. Zero: no record.
	HeldTooLong time.Duration

	// FindLeaks makes the engine find holds that were not unlocked and that no caller can reach any more. A caller reaches
	// a hold by the hold itself, its context, a context made from it, its Locker or its Pending. The engine stops renewing
	// such a hold. It ends with its lease, so that others get the lock. The Logger receives a record of it, and
	// Stats.Leaked counts it. Finding it takes two garbage collections and up to RenewInterval. With FindLeaks a lock and
	// its unlock cost about 160 bytes and three allocations more, and a held lock 150 bytes.
	FindLeaks bool

	// CallSites makes the engine record where each hold was locked, for [LockInfo] and for the Logger's records of holds.
	// A lock and its unlock then cost about 1 µs, 330 bytes and three allocations more.
	CallSites bool

	// Prefix is put before every name on the wire, as Redisson's NameMapper would, for the key patterns of an ACL.
	// Default none.
	Prefix string

	// FairWaitTimeout is how long a place in the queue of a FairMutex lives without being refreshed. The engine refreshes
	// it each time a third of that has elapsed. So the waiters of a process that died block the callers behind them for at
	// most the life of their places: FairWaitTimeout, or longer if very many of them waited, see below.
	//
	// The place of a caller with a shorter Wait lives for that Wait. If more callers of the engine wait than 1666 for each
	// second of FairWaitTimeout, places live longer: up to 1.6 ms for each caller. Engines that share a FairMutex should
	// have the same FairWaitTimeout: behind a dead place a caller waits for a third of that of its own engine, if this is
	// longer. Default Lease; at least 100ms.
	FairWaitTimeout time.Duration

	// Handoff bounds how often and how long the engine hands a lock off locally while other processes wait for it.
	Handoff Handoff

	// Notify says how callers learn that a lock held elsewhere may be free. Default PubSub.
	Notify Notify

	// Foreign takes a string at a lock's key for the lock of another library, such as redislock, redsync or rueidislock.
	// So both can run during a migration. Default false: such a key is an error, WRONGTYPE.
	//
	// With it a Lock waits until the string expires or is deleted. These libraries publish nothing, so the engine polls:
	// after 1 ms, 2 ms and so on up to 128 ms. It polls sooner while other clients repeatedly take the lock first, and
	// less often when thousands of locks are polled. One caller asks on behalf of all callers of the engine that wait for
	// a lock. TryLock returns ErrNotAcquired, and State reports the string. The engine never changes or deletes it;
	// ForceUnlock returns WRONGTYPE.
	//
	// It applies to Mutex and FencedMutex, and to Multi and Quorum of these. A FairMutex or RWMutex still gets
	// WRONGTYPE. Every string counts, also one that is no lock: a key without TTL is waited for until it is deleted.
	// All engines of a name need the same setting. docs/migrate has what each of these libraries does beside it.
	Foreign bool

	// Replicas makes a grant count only if replicas have it, too. The zero Replicas requires none.
	Replicas Replicas

	// MaxWaiting is the maximum number of locks that callers of this engine request at a time, whether they wait or
	// try once. One request of a Multi for several locks counts each of them. A further call gets ErrTooManyWaiters
	// immediately, and nothing is sent for it. Only a call that re-enters a held lock exceeds the limit, and a
	// Quorum that waits in its queue, or requests a lock again that it has lost.
	//
	// The engine counts a request when its loop takes it. Calls of LockAsync can come faster than that. So LockAsync
	// itself rejects a call while MaxWaiting + 4096 others have no result. If its context carries an owner, as that of a
	// hold does, the limit is MaxWaiting + 8192.
	//
	// A waiter of LockAsync costs up to 1.1 kB of memory, with its name; one for a fair lock or a reader up to 1.5 kB.
	// So the default bounds them to about 3 GiB. Default 2097152 (1<<21); at least 1.
	MaxWaiting int

	// MaxWaitingPerLock is the maximum number of callers of this engine that wait for one name. For an RWMutex it
	// applies to readers and to writers separately. A further call gets ErrTooManyWaiters, as with MaxWaiting.
	// Default 1048576 (1<<20); at least 1.
	//
	// What counts:
	//
	//   - A Multi that waits for several names counts at the lock in the queue of which it waits. It may exceed the
	//     limit when it moves on to another lock.
	//   - Callers that wait until a grant without enough replicas is undone do not count, nor do those that gave up.
	//   - The request of a Quorum for a lock that it is missing does not count against a caller with the context of its
	//     hold.
	//   - A Quorum that is not acquired at once gets ErrTooManyWaiters if too many callers wait for one of its
	//     locks. Once it has waited for one of them, it may exceed both limits at the others.
	MaxWaitingPerLock int

	// Name says which program an engine belongs to, for those that look at locks from elsewhere ([Mutex.Holder], the
	// command lockwheel). The server shows it as the name of the engine's connections (CLIENT LIST), with _ for characters
	// that a server does not take there. With Client, or Redis.ClientName, those connections have the name that the caller
	// gave them. Default the program, host and process, such as billing@host-7:4711. At most 256 bytes.
	Name string

	// PageAddress is the address of a page about this process, such as that of package debug, for those that look at its
	// locks from elsewhere. It is shown as it is, so it must not have a user or a password in it. An @ is rejected, and
	// written as %40 elsewhere. Default none. At most 1024 bytes.
	PageAddress string

	// Anonymous switches off what an engine says about itself:
	//
	//   - its record in Redis, at the key Prefix + lockwheel:engine: + [Engine.ID]: host, process, program, Name, version,
	//     time of Open and PageAddress. It is written every 10 s, and expires [Options].Lease and 15 s after the last
	//     time, but not before 30 s nor after an hour. Close deletes it. Stats.UnwrittenRecords counts the writes that
	//     failed; a lock needs none of them
	//   - its channel lockwheel:engine: + Engine.ID, to which it subscribes after its first grant, or once a caller waits
	//     for another client, unless Notify is Poll. A ForceUnlock elsewhere says there that it took a lock away,
	//     [Mutex.Holder] asks there since when it is held, and the command how many callers wait
	//   - the name of its connections
	//
	// A ForceUnlock of an anonymous engine tells no other engine; these learn of it at their next renewal.
	Anonymous bool

	// Observer is notified of what locks do, on its own goroutine.
	Observer Observer

	// Tracer follows the calls that lock, unlock, extend and force. Nil costs nothing.
	Tracer Tracer

	// Logger receives what is reported nowhere else: lost locks, an unreachable server, a server that became a replica. It
	// also receives a sentinel that names a replaced master, and a clock skew that impairs fair locks. Nil is silent. Its
	// handler runs on its own goroutine, as an Observer does, behind a queue of 256 records.
	Logger *slog.Logger
}

// Handoff bounds how long an engine hands a lock off from one local caller to the next while callers elsewhere wait for
// it. A handoff takes no round trip. The zero Handoff is 64 grants or 5ms, whichever ends first. A negative MaxGrants
// disables handing off: every unlock is a release that all callers can compete for. Callers that wait for the same name
// in another database of the server count as elsewhere, because databases share channels.
type Handoff struct {
	MaxGrants   int           // grants in a row; 0 is 64, negative disables handing off
	MaxDuration time.Duration // since the first of them; 0 is 5ms
}

// Notify is how waiting callers learn that a lock may be free.
type Notify uint8

const (
	// PubSub listens to the lock's channel: there is no traffic while nothing happens. If SUBSCRIBE is rejected, or
	// gets no connection, the engine polls the lock every 100 to 200 ms until it works again; of more than 1000 locks,
	// each less often, in proportion. Stats.Polling counts these locks. A release without a message, such as that of
	// Redisson's spin lock or a key that is deleted by hand, is noticed at the latest when the last lease that the
	// server reported expires.
	PubSub Notify = iota

	// Poll never subscribes. The engine asks again after 1 ms, 2 ms and so on up to 128 ms. It asks less often when
	// thousands of callers wait, and sooner while other processes repeatedly take the lock first.
	//
	// One caller asks on behalf of all callers of the engine that wait for a lock. Callers of a FairMutex, which have
	// their own places, and readers of an RWMutex each ask for themselves, in batches with other commands.
	//
	// Use it for servers and proxies without Pub/Sub, and if other holders publish no messages.
	Poll
)

// Replicas is the number of replicas that must have a lock before it counts as granted, and how long they have for
// that. It applies to every kind of lock. In a cluster these are the replicas of the slot's master, behind Sentinel
// those of the current master.
//
// If too few replicas confirm in time, the engine undoes the grant, and the caller gets ErrNotReplicated, even if it
// may wait. All callers of this engine that wait for the name get ErrNotReplicated with it, so that each waits for
// replicas only once. Later callers have another try. If the master becomes a replica during the request, that counts
// as no reply: a caller that may wait continues at the next master.
//
// A failover to one of the confirming replicas keeps the lock, until the wall clock time at which its lease ends. So
// the clocks of masters and replicas must agree to well below 1 % of the shortest lease. On a replica with a clock that
// is further ahead, a lease that is not renewed before can expire early. Another caller can then acquire the lock while
// its holder still has it. In a cluster, a failover of a master while one of its slots moves loses the keys that were
// moved already: its replicas do not have them either.
//
// Each acquire is followed by a WAIT on a dedicated connection. At most two such batches are in flight per master, so
// other commands are not delayed. If the server does not reply, TryLock returns after CallTimeout plus Timeout. A
// FencedMutex that is handed off within the engine also waits for replicas, for the next token. Renewals, re-entries,
// releases and other local hand-offs do not wait: replicas have the lock already.
//
// So a failover during a hold can still shorten its lease. A failover to a replica that did not confirm can lose the
// lock. A write that must never happen twice needs a check at the store that receives it.
//
// Open fails if the server does not reply to WAIT, or the program uses all connections of Options.Client. With
// Options.Lazy the second is an error of TryLock only. With fewer replicas than Min no lock is ever granted.
type Replicas struct {
	Min     int           // required replicas; 0 or less: none, and no WAIT is ever sent
	Timeout time.Duration // for their confirmation; default and at most half of Options.CallTimeout; ignored without Min
}

// Observer is a set of functions that are notified of what locks do. Nil functions are skipped. They are called one
// at a time, in the order of the events, on their own goroutine and so a little later. They may block and may call
// the engine, its locks and its holds.
//
// At most 8192 events wait behind a function that blocks; further ones are dropped and counted in Stats.DroppedEvents.
// A panic is logged and counted in Stats.Panics, and the next event follows. Close and Shutdown wait until all events
// are delivered, for at most Options.CallTimeout; an Observer function that calls them waits for that long.
//
// Released and Lost follow after the hold's context has ended and its Done is closed. For a Multi or a Quorum they
// report each lock. Lost of a Multi's lock follows after the end of the Multi's context. If a Multi is lost, Released
// of its other locks may come before that, and so may all that report a lost Quorum; Err says by then that it is lost.
type Observer struct {
	// Acquired: a hold was granted.
	Acquired func(name string, waited time.Duration)
	// Rejected: a request ended without a hold. It is not called if nothing was requested, because the context had
	// already ended, the engine was closed, or a name or an option is invalid.
	Rejected func(name string, waited time.Duration, err error)
	// Released: a hold was unlocked. held is the time since its owner's first grant.
	Released func(name string, held time.Duration)
	// Lost: a hold ended without Unlock, including by Close (ErrClosed). It also follows Released if Unlock found
	// that the lock had been lost before.
	Lost func(name string, err error)
	// SlowTurn: a turn of the loop took longer than 5ms.
	SlowTurn func(turn time.Duration)
}

// Stats is a snapshot of an engine. Gauges are current values; counters count since Open.
type Stats struct {
	Held          int64 // gauge: holds, each re-entry counted
	Waiting       int64 // gauge: lock requests without a result yet
	InFlight      int64 // gauge: commands on their way to the server or back
	Subscriptions int64 // gauge: channels subscribed to
	Timers        int64 // gauge: timers on the wheel
	Polling       int64 // gauge: locks that are polled for: Options.Notify, a string (Options.Foreign), or no subscription: SUBSCRIBE is rejected, the server is down

	// Counters: holds granted, rejected, unlocked, lost; several locks held as one count each. A hold that is found
	// lost only by its Unlock counts in Released and in LostAtUnlock, and Observer.Lost reports it. A hold that Close
	// ends counts in none of these, and Observer.Lost reports it, too.
	Acquired, Failed, Released, Lost uint64
	Renewed                          uint64 // counter: renewals and confirmations by the server
	HandedOff                        uint64 // counter: grants that were handed off inside the engine, without a release
	Commands, Batches, LoopTurns     uint64 // counters: commands sent, batches that carried them, turns of the loop (none while nothing is due)
	Retries                          uint64 // counter: commands without a reply or rejected, most of which are sent again; batches sent again as a whole or in parts
	UnpublishedReleases              uint64 // counter: releases that the server executed but rejected to publish
	LostAtUnlock                     uint64 // counter: holds of Released that their Unlock found lost before
	Shed                             uint64 // counter: requests of Failed that exceeded Options.MaxWaiting or Options.MaxWaitingPerLock
	Leaked                           uint64 // counter: holds that Options.FindLeaks found
	HeldTooLong                      uint64 // counter: locks that an owner had for Options.HeldTooLong
	UnwrittenRecords                 uint64 // counter: writes of the engine's record that failed or were rejected ([Options].Anonymous)
	// Counters: events and log records dropped because Observer or Logger was too slow. Panics in these, and in contexts
	// of callers from which the engine unregistered.
	DroppedEvents, Panics uint64

	// Gauge: how long past its due time the most delayed renewal of the last minute (60 to 70 s) was confirmed, or had
	// no reply or was rejected for now. So it also rises during an outage. 0: no renewal was late, or none was due.
	RenewalLag time.Duration
	// Gauge: for how long the oldest of the Waiting requests has waited at least. It is up to 67 ms less than the
	// truth, or up to a 64th of the longest wait since no request waited.
	LongestWaiting time.Duration
	// Gauge: how many servers the engine considers down, as in [Engine.Status]. It learns that from its calls, so it
	// notices neither the beginning nor the end of an outage while no lock is held or waited for.
	ServersDown int64
	// Gauge: by how much at least this machine's clock was ahead of the server's when a caller last queued for a
	// FairMutex. Negative: behind. 0: no skew is known. In a cluster it is the skew to the node with the largest.
	ClockSkew time.Duration

	// Counters: histograms. AcquireWaits has the time from a lock request until it was granted or failed. A Multi that one
	// command acquires counts once. One that is acquired sequentially counts each of its requests, and a Quorum each
	// request at its engine. HoldTimes has the time from the owner's first grant to the end of a hold, also of one that
	// was lost or ended by Close. RenewalMargins has what was left of a lease when a renewal counted in Renewed was
	// confirmed. RoundTrips has the time from the turn that sent a batch to the turn that received its replies, with the
	// WAIT of Options.Replicas. A batch without a reply does not count. TurnTimes has the turns of the loop, except the
	// turn that returns this snapshot: during a turn, all other callers of the engine wait.
	AcquireWaits, HoldTimes, RenewalMargins, RoundTrips, TurnTimes Histogram
	// Counters: commands of each of Batches. Its Sum is Commands.
	BatchSizes SizeHistogram
}

// Histogram counts durations in buckets that never change. Their upper bounds are 3.814 µs, 5.394 µs, 7.629 µs and so
// on up to 4096 s, each √2 times the one before. It is a plain value: a copy does not change. So counts of several
// engines can be added, and those of an earlier snapshot subtracted. Field Counts has the number of durations in each
// bucket, not cumulative; the last bucket counts all beyond 4096 s. Field Sum has the sum in seconds.
//
// Histogram.Bound returns the upper bound of a bucket. Histogram.Quantile returns the bound that a given part of all
// durations did not exceed. Histogram.Count returns the number of durations. Histogram.Since subtracts an earlier
// snapshot. Histogram.Add counts a duration, in this copy only.
type Histogram = histogram.Durations

// SizeHistogram counts sizes in buckets with the upper bounds 1, 2, 4 and so on up to 256. The last bucket counts all
// beyond. It is otherwise like Histogram.
//
// SizeHistogram.Bound returns the upper bound of a bucket. SizeHistogram.Quantile returns the bound that a given part
// of all sizes did not exceed. SizeHistogram.Count returns the number of sizes. SizeHistogram.Add counts a size, in
// this copy only.
type SizeHistogram = histogram.Sizes

const (
	minDuration = time.Millisecond
	maxDuration = 10 * 365 * 24 * time.Hour

	defaultLease         = 30 * time.Second
	minWatchedLease      = 100 * time.Millisecond
	defaultCallTimeout   = 3 * time.Second
	defaultBusyWait      = 100 * time.Microsecond
	maxBusyWait          = time.Millisecond
	minBusyCallTimeout   = 100 * time.Millisecond
	defaultHandoffGrants = 64
	defaultHandoffTime   = 5 * time.Millisecond
	minFairWait          = 100 * time.Millisecond

	defaultMaxWaiting        = 1 << 21
	defaultMaxWaitingPerLock = 1 << 20
)

// withDefaults sets defaults for zero fields and validates the others.
func (o Options) withDefaults() (Options, error) {
	if o.Client == nil && len(o.Redis.InitAddress) == 0 {
		return o, errors.New("no server: Options.Redis.InitAddress and Options.Client are empty")
	}
	if o.Client != nil && len(o.Redis.InitAddress) != 0 {
		return o, errors.New("two servers: use either Options.Redis or Options.Client")
	}
	if err := o.checkAddresses(); err != nil {
		return o, err
	}
	o.Lease = cmp.Or(o.Lease, defaultLease)
	if err := checkRange("Options.Lease", o.Lease, minWatchedLease, maxDuration); err != nil {
		return o, err // the defaults of the others follow from it
	}
	o.RenewInterval = cmp.Or(o.RenewInterval, o.Lease/3)
	o.BusyWait = cmp.Or(o.BusyWait, defaultBusyWait)
	o.CallTimeout = cmp.Or(o.CallTimeout, min(defaultCallTimeout, o.Lease/6))
	o.FairWaitTimeout = cmp.Or(o.FairWaitTimeout, o.Lease)
	if o.Handoff.MaxGrants == 0 {
		o.Handoff.MaxGrants = defaultHandoffGrants
	}
	o.Handoff.MaxDuration = cmp.Or(o.Handoff.MaxDuration, defaultHandoffTime)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, defaultMaxWaiting)
	o.MaxWaitingPerLock = cmp.Or(o.MaxWaitingPerLock, defaultMaxWaitingPerLock)
	o.Replicas = o.Replicas.withDefaults(o.CallTimeout)
	o.Name = cmp.Or(o.Name, identity.DefaultName())
	return o, errors.Join(
		checkRange("Options.RenewInterval", o.RenewInterval, minDuration, o.Lease/2),
		checkRange("Options.CallTimeout", o.CallTimeout, minDuration, o.Lease/3),
		checkBusyWait(o.BusyWait),
		checkRange("Options.Handoff.MaxDuration", o.Handoff.MaxDuration, minDuration, maxDuration),
		checkRange("Options.FairWaitTimeout", o.FairWaitTimeout, minFairWait, maxDuration),
		checkRange("Options.Replicas.Timeout", cmp.Or(o.Replicas.Timeout, minDuration), minDuration, max(o.CallTimeout/2, minDuration)),
		checkRange("Options.HeldTooLong", cmp.Or(o.HeldTooLong, minDuration), minDuration, maxDuration),
		checkRange("Options.MaxHold", cmp.Or(o.MaxHold, minDuration), minDuration, maxDuration),
		checkPositive("Options.MaxWaiting", o.MaxWaiting),
		checkPositive("Options.MaxWaitingPerLock", o.MaxWaitingPerLock),
		checkRefresh(o.Redis.ClusterOption.ShardsRefreshInterval),
		checkPrefix(o.Prefix),
		identity.CheckName(o.Name),
		identity.CheckPage(o.PageAddress),
		o.Notify.check(),
	)
}

// checkRefresh rejects what rueidis would reject only once a node of a cluster has replied.
func checkRefresh(interval time.Duration) error {
	if interval < 0 {
		return fmt.Errorf("Options.Redis.ClusterOption.ShardsRefreshInterval of %s: it must not be negative", interval)
	}
	return nil
}

// checkAddresses rejects an invalid address without repeating it, because it may be a URL with a password. With a
// custom dialer an address can be anything but a URL.
func (o *Options) checkAddresses() error {
	custom := o.Redis.DialCtxFn != nil || o.Redis.DialFn != nil
	for i, address := range o.Redis.InitAddress {
		if strings.Contains(address, "://") || !custom && redisurl.IsOddAddress(address) {
			return fmt.Errorf("Options.Redis.InitAddress: number %d is no address, want host:port; for a URL use ParseURL", i+1)
		}
	}
	return nil
}

func (r Replicas) withDefaults(timeout time.Duration) Replicas {
	if r.Min <= 0 {
		return Replicas{}
	}
	r.Timeout = cmp.Or(r.Timeout, max(timeout/2, minDuration))
	return r
}

func checkRange(what string, d, lowest, highest time.Duration) error {
	if d < lowest || d > highest {
		return fmt.Errorf("%s of %v: want %v to %s", what, d, lowest, years(highest))
	}
	return nil
}

// busyWait returns how long to look for a reply. Where goroutines compute, a wait can take some ten milliseconds, which
// is much of a short CallTimeout.
func (o *Options) busyWait() time.Duration {
	if o.CallTimeout < minBusyCallTimeout {
		return 0
	}
	return o.BusyWait
}

func checkBusyWait(d time.Duration) error {
	if d > maxBusyWait {
		return fmt.Errorf("Options.BusyWait of %v: want at most %v", d, maxBusyWait)
	}
	return nil
}

func checkPositive(what string, n int) error {
	if n < 1 {
		return fmt.Errorf("%s of %d: want 1 or more", what, n)
	}
	return nil
}

// years prints the longest duration as the documents do.
func years(d time.Duration) string {
	if d == maxDuration {
		return "10 years"
	}
	return d.String()
}

func (w Notify) check() error {
	if w > Poll {
		return fmt.Errorf("Options.Notify of %d: want PubSub or Poll", w)
	}
	return nil
}

func checkPrefix(prefix string) error {
	if len(prefix) >= maxNameLen {
		return fmt.Errorf("Options.Prefix of %d bytes: it must leave room for a name in %d", len(prefix), maxNameLen)
	}
	return nil
}

func (o *Options) config() actor.Config {
	id := newID()
	return actor.Config{
		ID:               id,
		Lease:            o.Lease,
		RenewInterval:    o.RenewInterval,
		RenewSpread:      o.RenewInterval / 2,
		CallTimeout:      o.CallTimeout,
		MaxHold:          o.MaxHold,
		HeldTooLong:      o.HeldTooLong,
		FindLeaks:        o.FindLeaks,
		Foreign:          o.Foreign,
		MaxHandoffGrants: o.Handoff.MaxGrants,
		MaxHandoffTime:   o.Handoff.MaxDuration,
		FairWaitTimeout:  o.FairWaitTimeout,
		Poll:             o.Notify == Poll,
		Replicas:         o.Replicas.Min,
		ReplicaTimeout:   o.Replicas.Timeout,
		Seed:             seedOf(id),

		MaxWaiting:        o.MaxWaiting,
		MaxWaitingPerLock: o.MaxWaitingPerLock,
	}
}

// seedOf derives a seed from the id, so that engines have different jitter.
func seedOf(id string) (seed uint64) {
	for _, b := range []byte(id) {
		seed = seed*31 + uint64(b)
	}
	return seed
}

// Option is a setting of one call. The zero Option changes nothing.
type Option struct {
	kind optionKind
	d    time.Duration
}

// optionKind says which setting an Option is.
type optionKind uint8

const (
	noOption optionKind = iota // the zero Option changes nothing
	waitOption
	leaseOption
)

// Wait bounds how long a call waits for a lock that is held, and for a server that does not reply. In the second case
// the call returns [ErrUnavailable]. Zero or less tries once, which Options.CallTimeout bounds: for what is left of a
// budget, ask whether there is any first. A positive d below 1 ms counts as 1 ms. With one above 10 years the call
// returns an error. Wait bounds neither the hold nor its unlock.
func Wait(d time.Duration) Option { return Option{kind: waitOption, d: d} }

// Lease sets a lease of d without renewal: the lock is lost d after its grant. Without this option, or after Extend
// made the lock watched, it is renewed until it is unlocked. With a d below 1 ms (including zero and negative values)
// or above 10 years, the call returns an error, and nothing is sent.
//
// A lease that expires before the server's reply can arrive is never held. Such a call tries again, less and less
// often, until its [Wait] or its context ends. Callers of the engine with a longer lease then go first.
func Lease(d time.Duration) Option { return Option{kind: leaseOption, d: d} }
