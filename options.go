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
	"github.com/lockwheel/lockwheel/engine"
)

// Options are an engine's settings. A zero field is its default; a negative or absurd one is an error of
// Open. Durations are between 1 ms and 10 years.
type Options struct {
	// Redis says where to connect: address, credentials, TLS. With Sentinel.MasterSet the addresses are
	// those of sentinels, and the engine follows the master; nodes of a cluster are found out. What a
	// master had not passed on to its replicas when it died is lost: its holders get ErrLost when the engine
	// asks its successor, at once or at the next renewal, and somebody else may have been let in before.
	//
	// The engine sets PipelineMultiplex, DisableAutoPipelining, BlockingPipeline, DisableCache, DisableRetry,
	// ConnLifetime, ConnWriteTimeout, Timeout and KeepAlive of Dialer and of Sentinel.Dialer, and where they are
	// zero ClusterOption.ShardsRefreshInterval and ClusterOption.MaxMovedRedirections; a BlockingPoolSize below 4 becomes 4. Leave Sentinel.TopologyRefreshInterval at zero:
	// with it rueidis piles up goroutines while there is no master. SendToReplicas, ReplicaOnly and Standalone.ReplicaAddress are
	// left out: locks are the master's.
	//
	// Where it is one server, neither of a cluster nor behind Sentinel, and it has answered READONLY for longer than Timeout, all connections to it
	// are ended and made anew: its address may lead to the next master meanwhile. They are left to a server that stays a replica for 2 Timeouts then, 4, and 8 from then on.
	//
	// A DialCtxFn or DialFn, with the handshake of TLS, and an AuthCredentialsFn has Timeout for each attempt; the context ends then. One that has not
	// returned is left behind on its goroutine, and what it connects too late is closed; so it is with functions of TLSConfig and
	// Dialer, and with the Close of a connection that such a dialer made: its Read and Write must end at their deadlines. With 1024 of them that have not returned no further attempt is made. One that ends its goroutine has failed.
	Redis rueidis.ClientOption

	// Client is an open client to use instead of Redis. It stays the caller's, to be closed after the
	// engine. It should keep one ordered connection (PipelineMultiplex: -1) without a ConnLifetime, at whose end
	// rueidis sends calls twice, and with DisableRetry for the same reason. It should notice a dead one within two
	// Timeouts (ConnWriteTimeout and Dialer.Timeout of one, Dialer.KeepAlive of half of it, and behind Sentinel
	// Sentinel.Dialer as Dialer: rueidis never notices a silent sentinel without its KeepAlive). Behind Sentinel it must not
	// send to replicas (SendToReplicas): which of its nodes is the master could not be told, so none would be followed.
	// A server that answers READONLY keeps that client's connections: where its address leads to another master meanwhile (a virtual address,
	// the endpoint of a managed service), it is the caller's to end them, as the engine does with its own.
	// The engine takes connections of its own from the client's pool (BlockingPoolSize), 2 to each master at most, with Replicas 4, and for a while up to 2
	// more where it leaves very many channels. While
	// the program uses all of them, who waits polls, and with Replicas nothing is granted.
	Client rueidis.Client

	// Lease is how long a watched lock lives in Redis without renewal: how long others wait for a process
	// that died. Default 30s, Redisson's lockWatchdogTimeout; at least 100ms.
	Lease time.Duration

	// Renew is how long after its last confirmation a watched lock is renewed. Default Lease/3, at most
	// Lease/2. The first renewal is up to half of that earlier, so that locks that were taken together are
	// not renewed together for ever.
	Renew time.Duration

	// Timeout bounds one round trip: TryLock, Unlock and Extend on a silent server end after it, and a
	// dead connection is noticed within two. Default the smaller of 3s and Lease/6; at most Lease/3.
	Timeout time.Duration

	// MaxHold bounds how long an owner's watched lock is renewed, counted from its first grant; then it
	// is lost. A re-entry without a [Lease] after that time gets ErrLost, also while a hold with a lease of its own goes on.
	// Zero: no bound.
	MaxHold time.Duration

	// Prefix is put before every name on the wire, as Redisson's NameMapper would, for key patterns of an
	// ACL. Default none.
	Prefix string

	// FairWait is how long a place in the queue of a FairMutex lives unless its engine keeps it up, which that does
	// three times as often: so for how long those who waited in a process that died hold up all behind them. A caller
	// with a shorter Wait has a place that lives for that. Default Lease; at least 100ms.
	FairWait time.Duration

	// Handoff bounds handing a lock on inside this engine while others wait for it elsewhere.
	Handoff Handoff

	// Wake says how callers who wait for another engine's lock learn that it may be free. Default PubSub.
	Wake Wake

	// Replicas makes a grant count only when replicas have it, too. The zero Replicas asks nobody.
	Replicas Replicas

	// MaxWaiting is how many locks callers of this engine may ask for at a time without an answer yet, whether they wait or try
	// once; of a Multi each lock counts, as long as one request is for it. One more gets ErrTooManyWaiters at once, and nothing
	// is sent for it. Only who holds the lock already, and would re-enter, is let in beyond it. A waiter of LockAsync costs
	// up to 1.1 kB of memory, so the default bounds them to about 2.2 GiB. Default 2097152 (1<<21); at least 1.
	MaxWaiting int

	// MaxWaitingPerLock is how many callers of this engine may wait for one name at a time; of an RWMutex so many may wait to
	// read, and so many to write. One more gets ErrTooManyWaiters as with MaxWaiting. A Multi that waits for several names counts
	// at the one where it stands, and is let in beyond it when it comes from another. Callers who wait for replicas
	// (Replicas) to have undone a grant are not counted, and of a FairMutex or RWMutex those who gave up are, until the server has
	// answered that, and for a quarter of a second more. A Quorum that cannot be had at once, and for one lock of which too many wait, is
	// refused; one that has waited for any of them is let in at the others beyond both bounds. Default 1048576 (1<<20); at least 1.
	MaxWaitingPerLock int

	// Observer is told what locks do, on a goroutine of its own.
	Observer Observer

	// Logger gets what nobody was told otherwise: lost locks, an unreachable server, one that became a replica, a clock with which fair locks
	// do not work well. Nil is silent. Its handler runs on a goroutine of its own, as an Observer does, behind 256 records.
	Logger *slog.Logger
}

// Handoff bounds how long an engine may pass a lock from one of its own callers to the next without a
// round trip while callers elsewhere listen for it. The zero Handoff is 64 grants or 5ms, whichever ends
// first. A negative Max turns handing on off: every unlock is a release that all can compete for.
type Handoff struct {
	Max int           // grants in a row; 0 is 64
	For time.Duration // since the first of them; 0 is 5ms
}

// Wake is how waiting callers learn that a lock may be free.
type Wake uint8

const (
	// PubSub listens to the lock's channel: no traffic while nothing happens. If SUBSCRIBE is refused, or gets
	// no connection, the lock is polled every 100 to 200 ms until it works again; Stats.Polling counts those.
	// Whoever releases without a message, as Redisson's spin lock does, is noticed when the lease ends that
	// the server told of last.
	PubSub Wake = iota

	// Poll never subscribes: it asks again after 1 ms, 2 ms and so on up to 128 ms, less often when thousands
	// wait, and sooner while others have its turn again and again. One asks for all callers of the engine that wait for a lock; only for a FairMutex, where each has a
	// place of its own, and to read an RWMutex each caller asks for itself, in calls with the others. It is for
	// servers and proxies without pub/sub, and beside holders that publish nothing.
	Poll
)

// Replicas is how many replicas must have a lock before it counts as granted, and how long they have for that.
// Otherwise it is undone, and the caller gets ErrNotReplicated, also one that may wait: a failover to one of these
// replicas then keeps the lock, until the time of day at which its lease ends. So clocks of masters and replicas are to agree to well below
// 1 % of the shortest lease: on a replica with a clock that is further ahead, a lease that is not renewed before can end, and another caller be
// granted the lock, while its holder still has it. With it all who wait for the name in this engine get ErrNotReplicated, so that each
// waits for replicas once and not for those before it as well; who comes after that has another try. A master that
// becomes a replica while it is asked has not answered: whoever may wait goes on at the next one. It holds for every kind of lock. In a cluster they are the replicas of the slot's master, behind
// Sentinel those of whoever is the master.
//
// Each call that acquires sends a WAIT besides, at most two such calls at a time to each master, on connections of
// their own: nobody else waits behind them. TryLock on a silent server ends later by as much as Timeout. A
// FencedMutex that passes to the next owner within the engine waits as well, for the next token. Renewals,
// re-entries, releases, and other locks that pass from owner to owner within the engine are not waited for:
// replicas have the lock already. So a failover in the middle of a hold can still shorten its lease, and one to
// a replica that is not among those that answered can lose the lock: what must never happen twice needs a check
// where it is written.
//
// Open fails if the server does not answer WAIT. With fewer replicas than Min no lock is ever granted.
type Replicas struct {
	Min     int           // how many; 0 or less: none are asked, no WAIT is ever sent
	Timeout time.Duration // for their answer; default and at most half of Options.Timeout
}

// Observer is functions that are told what locks do. Nil ones are skipped. They are called one at a time and in the order of what
// happened, on a goroutine of their own, and so a little later: they may block and may call the engine, its locks and its
// holds. Behind one that blocks 8192 events wait; those beyond are left out and counted in Stats.Untold. A panic is logged and
// counted in Stats.Panics, and the next event follows. Close and Shutdown wait until all has been told, for Options.Timeout
// at most; called by an Observer they wait for that long.
//
// Released and Lost come after the hold's context has ended and its Done is closed. Of a Multi or a Quorum they are
// told of each lock.
type Observer struct {
	Acquired func(name string, waited time.Duration)            // a hold was granted
	Refused  func(name string, waited time.Duration, err error) // a request ended without one; not told of calls for which nothing was asked: their context had ended before, or a name or an option makes no sense
	Released func(name string, held time.Duration)              // a hold was unlocked; held since its owner's first grant
	Lost     func(name string, err error)                       // a hold ended without Unlock, by Close too (ErrClosed), or its Unlock, after Released, found it lost before
	Late     func(turn time.Duration)                           // a turn of the loop took longer than 5ms
}

// Stats is a snapshot of an engine.
type Stats struct {
	Held          int64 // gauge: holds, each re-entry counted
	Waiting       int64 // gauge: lock requests that have no verdict yet
	InFlight      int64 // gauge: commands on their way to the server or back
	Subscriptions int64 // gauge: channels listened to
	Timers        int64 // gauge: timers on the wheel
	Polling       int64 // gauge: locks waited for by asking again and again: by choice (Wake), or because the server refuses SUBSCRIBE

	Acquired, Refused, Released, Lost uint64 // counters, since Open: holds granted, refused, unlocked, lost, of several locks each; one that only its Unlock found lost is in Released and in LostAtUnlock, and Observer.Lost is told, as it is of holds that Close ends, which are in none of these
	Renewed                           uint64 // counter: renewals and confirmations given by the server
	Handed                            uint64 // counter: grants that passed from owner to owner inside the engine, without a release
	Commands, Batches, Turns          uint64 // counters: commands sent, calls that carried them, turns of the loop (none while nothing is due)
	Retries                           uint64 // counter: commands sent again, and calls sent again in parts
	Muted                             uint64 // counter: releases that the server did but refused to publish
	LostAtUnlock                      uint64 // counter: of those in Released, the ones of which their Unlock found that they had been lost before
	Shed                              uint64 // counter: of those in Refused, the ones for whom as many waited as may (Options.MaxWaiting, Options.MaxWaitingPerLock)
	Untold, Panics                    uint64 // counters: events and log lines left out because Observer or Logger were too slow; panics in these, and in contexts that were left

	RenewalLag time.Duration // gauge: how long past its due time the latest renewal of the last minute (60 to 70 s) was confirmed; 0: none was late, or none was due
	ClockAhead time.Duration // gauge: by how much at least this machine's clock was ahead of the server's when a caller last queued for a FairMutex; negative: behind; 0: not known to be; in a cluster, of the node it is the furthest from

	TurnTimes TurnTimes // counters: turns of the loop by how long they took, but for the one that answers
}

// TurnTimes counts turns of the loop by how long they took: 10, 20 or 50 µs at most, 100, 200 or 500 µs, and so on up to a second, and in
// the last of 17 buckets those that took longer. While a turn lasts, all other callers of the engine wait. TurnTimes.Bound says how long the
// turns of a bucket took at most, TurnTimes.Quantile within which bound a part of all of them were, and TurnTimes.Turns how many have been
// counted.
type TurnTimes = engine.TurnTimes

const (
	shortest = time.Millisecond
	longest  = 10 * 365 * 24 * time.Hour

	defaultLease   = 30 * time.Second
	shortestWatch  = 100 * time.Millisecond
	defaultTimeout = 3 * time.Second
	defaultMax     = 64
	defaultFor     = 5 * time.Millisecond
	shortestFair   = 100 * time.Millisecond

	defaultWaiting        = 1 << 21
	defaultWaitingPerLock = 1 << 20
)

// withDefaults fills in what is zero and checks the rest.
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
	o.Lease = orElse(o.Lease, defaultLease)
	if err := within("Options.Lease", o.Lease, shortestWatch, longest); err != nil {
		return o, err // the defaults of the others follow from it
	}
	o.Renew = orElse(o.Renew, o.Lease/3)
	o.Timeout = orElse(o.Timeout, min(defaultTimeout, o.Lease/6))
	o.FairWait = orElse(o.FairWait, o.Lease)
	if o.Handoff.Max == 0 {
		o.Handoff.Max = defaultMax
	}
	o.Handoff.For = orElse(o.Handoff.For, defaultFor)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, defaultWaiting)
	o.MaxWaitingPerLock = cmp.Or(o.MaxWaitingPerLock, defaultWaitingPerLock)
	o.Replicas = o.Replicas.withDefaults(o.Timeout)
	return o, errors.Join(
		within("Options.Renew", o.Renew, shortest, o.Lease/2),
		within("Options.Timeout", o.Timeout, shortest, o.Lease/3),
		within("Options.Handoff.For", o.Handoff.For, shortest, longest),
		within("Options.FairWait", o.FairWait, shortestFair, longest),
		within("Options.Replicas.Timeout", orElse(o.Replicas.Timeout, shortest), shortest, max(o.Timeout/2, shortest)),
		within("Options.MaxHold", orElse(o.MaxHold, shortest), shortest, longest),
		atLeastOne("Options.MaxWaiting", o.MaxWaiting),
		atLeastOne("Options.MaxWaitingPerLock", o.MaxWaitingPerLock),
		prefixFits(o.Prefix),
		o.Wake.check(),
	)
}

// checkAddresses refuses what is no address without repeating it: it may be a URL, with a password. With a way of its own to
// connect an address can be anything but that.
func (o *Options) checkAddresses() error {
	custom := o.Redis.DialCtxFn != nil || o.Redis.DialFn != nil
	for i, address := range o.Redis.InitAddress {
		if strings.Contains(address, "://") || !custom && oddAddress(address) {
			return fmt.Errorf("Options.Redis.InitAddress: number %d is no address, want host:port; for a URL use ParseURL", i+1)
		}
	}
	return nil
}

func (r Replicas) withDefaults(timeout time.Duration) Replicas {
	if r.Min <= 0 {
		return Replicas{}
	}
	r.Timeout = orElse(r.Timeout, max(timeout/2, shortest))
	return r
}

func orElse(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return d
}

func within(what string, d, least, most time.Duration) error {
	if d < least || d > most {
		return fmt.Errorf("%s of %v: want %v to %s", what, d, least, years(most))
	}
	return nil
}

func atLeastOne(what string, n int) error {
	if n < 1 {
		return fmt.Errorf("%s of %d: want 1 or more", what, n)
	}
	return nil
}

// years says how long the longest duration is as the documents do.
func years(d time.Duration) string {
	if d == longest {
		return "10 years"
	}
	return d.String()
}

func (w Wake) check() error {
	if w > Poll {
		return fmt.Errorf("Options.Wake of %d: want PubSub or Poll", w)
	}
	return nil
}

func prefixFits(prefix string) error {
	if len(prefix) >= longestName {
		return fmt.Errorf("Options.Prefix of %d bytes: it must leave room for a name in %d", len(prefix), longestName)
	}
	return nil
}

func (o *Options) config() actor.Config {
	id := newID()
	return actor.Config{
		ID:         id,
		Lease:      o.Lease,
		Renew:      o.Renew,
		Spread:     o.Renew / 2,
		Timeout:    o.Timeout,
		MaxHold:    o.MaxHold,
		HandoffMax: o.Handoff.Max,
		HandoffFor: o.Handoff.For,
		FairWait:   o.FairWait,
		Poll:       o.Wake == Poll,
		Replicas:   o.Replicas.Min,
		ReplicaFor: o.Replicas.Timeout,
		Seed:       seedOf(id),

		MaxWaiting:        o.MaxWaiting,
		MaxWaitingPerLock: o.MaxWaitingPerLock,
	}
}

// seedOf makes engines jitter differently.
func seedOf(id string) (seed uint64) {
	for _, b := range []byte(id) {
		seed = seed*31 + uint64(b)
	}
	return seed
}

// Option is one setting of one call.
type Option struct {
	kind optionKind
	d    time.Duration
}

type optionKind uint8

const (
	noOption optionKind = iota // the zero Option changes nothing
	waitOption
	leaseOption
)

// Wait bounds how long a call waits for a lock that others hold. Zero or less tries once; with a d between zero
// and 1 ms or above 10 years the call returns an error.
func Wait(d time.Duration) Option { return Option{kind: waitOption, d: d} }

// Lease makes the lock end d after its grant, without renewal: then it is lost. Without this option, or
// made watched by Extend, a lock is renewed until it is unlocked. With a d below 1 ms, zero and less too, or
// above 10 years the call returns an error, and nothing is sent. A lease that is over before the server's answer can come is never
// held: such a call tries again, ever more rarely, until its [Wait] or its context ends. Callers of its engine with a longer lease come
// before it then.
func Lease(d time.Duration) Option { return Option{kind: leaseOption, d: d} }
