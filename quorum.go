package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// Quorum returns locks on independent servers as one lock, held while a majority of them is held: the algorithm known
// as Redlock, and Redisson's RedLock. Each lock belongs to another engine, and each engine must be on its own server
// that shares nothing with the others. Two engines with an address in common are an error. All callers must use the
// same locks, in the same order: in another order they delay each other. On the wire they are the individual locks.
//
// Use an odd number of servers. With an even number, two callers can get half each, and both have to start again.
//
// # Acquiring
//
// All locks are requested in parallel, and a majority of grants is a hold. Its validity is that of the leases minus
// the time of the requests, 1 % (at most 1 s) and some milliseconds for clock drift. [Hold.Deadline] is the time
// until which a majority is known to be held.
//
// If no majority can be acquired, the grants are released immediately, without waiting for the replies. A caller that
// waits then queues for one lock, and holds none: for the first one with a server that replies. So callers that see the
// same servers, and give the locks in the same order, have one queue. A caller requests all other locks when its turn
// comes there. After 2 s it requests all of them, because that server may have failed. Then it queues for a later lock
// if there is still a majority without the earlier ones: another caller may keep a single lock for long.
//
// Grants are not held long for a server that does not reply. Once a majority has replied, a caller with too few
// grants releases them within 400 ms, or within 5 ms if a lock before these is held by another and it has not queued. A
// server that is known not to reply counts as a rejection immediately.
//
// # Holding
//
// The locks that are missing in a watched hold are waited for, and held again when they are granted. A lock that its
// server rejects permanently is requested again every Options.RenewInterval, as is one that too few of Options.Replicas
// have: each server asks its own replicas. One that [Mutex.ForceUnlock] took away is requested again only after
// Options.Lease of its engine, so that an operator can force a majority. A holder that re-enters meanwhile requests all
// locks for its new hold.
//
// The hold is lost as soon as its majority is known to be lost, and when Options.MaxHold ends one of its locks.
//
// A missing key is detected at its renewal, and it may have been missing since the renewal before. So a lock that is
// acquired again does not count for that time. If another caller may have had a majority, the hold is lost within the
// lease. The hold survives servers that lose their data one after the other if, between two such losses, the lost lock
// is held again and the other locks are confirmed. The engine confirms these as soon as the lock is held again.
//
// The hold's context re-enters its locks. A lock can be missing at that moment, as the slowest can be just after
// Lock. The caller then waits for it together with the quorum: whichever of the two requests is granted first, the
// other re-enters.
//
// # Unlocking
//
// Unlock returns when enough locks are released that another caller can acquire a majority. A missing lock counts as
// released if it is known that no request has acquired it, also if another client has it: that one may be about to
// acquire the majority. If it does not, for example because its process died, a try right after Unlock can be refused
// until the other releases have arrived. Unlock waits for the reply to a request in flight, and releases what that
// acquires.
//
// # Readers and writers
//
// A quorum of [RWMutex] writers waits at all other locks at once when its turn comes at one lock. Readers of the same
// engines let it go first there: for 50 ms, and for twice as long each time that this was not enough. The limit is 2 s
// or an eighth of [Lease]. While no server fails, readers of a quorum do not starve writers of their engines on two
// conditions. They read for less than that, and for less than the 1 s for which they let a writer go first initially.
// Beside a server that does not reply, the limit is 400 ms.
//
// # Failed servers
//
// A closed engine counts as a failed server. Its part of a hold has ended, so a hold of which the other servers have
// not yet granted a majority is lost: [Multi.Lock] returns with the majority's grants, and the last ones may be on the
// way. A call that waits ends with ErrClosed at once if the engines that are open are no majority.
//
// The zero [Engine] is closed, and may stand for several. So a process for which [Open] fails at a minority of the
// servers can use locks of zero Engines in their places. When such a server is back, the process opens its engine and
// creates the Quorum again. What it locks from then on is held there, too.
//
// A quorum survives the failure of a minority of servers. It is no proof: a server that restarts without its data, or
// with a clock that jumps, may grant a lock again. Its previous holder may rely on it until the next renewal. Keep such
// a server away for one lease, or make it persist its data. A write that must never happen twice needs a check at the
// store that receives it; Hold.Token is 0 here.
func Quorum(locks ...Mutex) Multi {
	m := Multi{locks: slices.Clone(locks), name: joinNames(locks), quorum: true}
	for i, l := range locks {
		if err := checkServerDiffers(locks[:i], l); err != nil {
			m.err = err
		}
	}
	return m
}

// checkServerDiffers returns an error for a lock of a quorum that is known to be on the server of one before it.
func checkServerDiffers(before []Mutex, l Mutex) error {
	for _, other := range before {
		switch {
		case other.engine == l.engine && !l.engine.zero():
			return fmt.Errorf("lockwheel: lock %s: a quorum needs engines that differ, on servers that differ", quoted(l.name))
		case other.engine.sharesServer(l.engine):
			return fmt.Errorf("lockwheel: lock %s: a quorum needs servers that differ, and two of its engines are connected to %v", quoted(l.name), l.engine.servers.addresses)
		}
	}
	return nil
}

// serverNames are the addresses by which an engine knows its server, to recognize another engine on the same one. There
// are none if a client or a dialer of the caller decides what an address means.
type serverNames struct {
	masterSet string // behind Sentinel
	addresses []string
}

func (o *Options) serverNames() serverNames {
	if o.Client != nil || o.Redis.DialCtxFn != nil || o.Redis.DialFn != nil {
		return serverNames{}
	}
	return serverNames{o.Redis.Sentinel.MasterSet, slices.Clone(o.Redis.InitAddress)}
}

// only returns the address of the server if there is one address, and it is no sentinel's; otherwise an empty text.
func (s *serverNames) only() string {
	if len(s.addresses) != 1 || s.masterSet != "" {
		return ""
	}
	return s.addresses[0]
}

// sharesServer reports whether two engines are known to be connected to one server: they have an address in common.
func (e *Engine) sharesServer(other *Engine) bool {
	if e == nil || other == nil || e.servers.masterSet != other.servers.masterSet {
		return false
	}
	return slices.ContainsFunc(e.servers.addresses, func(address string) bool { return slices.Contains(other.servers.addresses, address) })
}

// onServer adds the server to an error of one of several locks, if the engine has one server and knows its name. A
// caller that gave up is no server's error.
func (e *Engine) onServer(err error) error {
	var gone actor.CallerGone
	if e == nil || e.servers.only() == "" || errors.As(err, &gone) {
		return err
	}
	return &serverError{e.servers.only(), err}
}

// lockQuorum acquires at least as many locks as are needed.
func (m Multi) lockQuorum(e multiRequest) (*Hold, error) {
	g := m.newQuorumHold(e)
	var until time.Duration
	if !e.deadline.IsZero() {
		until = max(e.deadline.Sub(g.start), 1)
	}
	g.apply(func() { g.quorum.Begin(until, e.once, e.lease == 0) })
	if err := g.awaitResult(e); err != nil {
		return nil, err
	}
	return g.checked()
}

// newQuorumHold returns a group that has not requested its members yet.
func (m Multi) newQuorumHold(e multiRequest) *multiHold {
	g := newMultiHold(e.ctx, m, len(m.locks)/2+1)
	g.hold.setNote(e.note)
	g.lease, g.start, g.result = e.lease, time.Now(), make(chan *quorumFailure, 1)
	g.ownerSource, g.ownOwner = ownerSourceOf(e.ctx), actor.ThreadOwner|actor.QuorumOwner|threadOwners.Add(1)
	if slices.ContainsFunc(m.locks, func(l Mutex) bool { return l.kind == actor.Write }) {
		g.quorum.SetWriter(e.lease)
	}
	return g
}

// awaitResult waits for the group's result, which arrives at once when the caller's wait ends.
func (g *multiHold) awaitResult(e multiRequest) error {
	var timeout <-chan time.Time
	if !e.deadline.IsZero() {
		timer := time.NewTimer(time.Until(e.deadline))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case failed := <-g.result:
		return g.quorumError(failed)
	case <-timeout:
	case <-e.done:
	}
	g.apply(g.quorum.Cancel)
	return g.quorumError(<-g.result)
}

// errNoMajority is for a quorum with so many rejected locks that no majority is possible, however long the caller
// waits. A later call may succeed: replicas come back, and permissions are restored.
var errNoMajority = errors.New("no majority is possible")

// quorumFailure is why a quorum did not get enough members.
type quorumFailure struct {
	causes                                multiError
	impossible, contested, tooManyWaiters bool
}

// quorumFailure returns the reasons. It runs on the executor.
func (g *multiHold) quorumFailure() *quorumFailure {
	causes := multiError{fmt.Errorf("%d of %d locks could be had, %d are needed", g.quorum.Acquired, len(g.members), g.required)}
	for i := range g.members {
		if why := g.members[i].err; why != nil {
			causes = append(causes, g.members[i].lock.engine.onServer(why))
		}
	}
	return &quorumFailure{causes, g.quorum.Impossible(), g.quorum.Contested(), g.quorum.TooManyWaiters()}
}

// quorumError returns the caller's error for a failure, and nil for none. It uses the context, so it runs on the
// caller's goroutine.
func (g *multiHold) quorumError(f *quorumFailure) error {
	if f == nil {
		return nil
	}
	cause := f.causes
	if ended := g.members[0].lock.engine.contexts.endCause(g.Context); ended != nil {
		if len(cause) == 1 { // no server has reported a problem
			return g.hold.fail(errWaitAborted, append(cause, ended))
		}
		cause = append(cause, ended)
	}
	if f.impossible && !f.tooManyWaiters {
		return g.hold.fail(errNoMajority, cause.withoutKinds(passes)) // what stays is the error of those that no retry gets
	}
	cause = cause.withoutKinds(nil)
	switch {
	case f.tooManyWaiters: // has priority over other reasons, because a retry may soon succeed
		return g.hold.fail(ErrTooManyWaiters, cause)
	case f.contested:
		return g.hold.fail(ErrNotAcquired, cause)
	}
	return g.hold.fail(ErrUnavailable, cause)
}

// passes reports whether a member's error of that kind may pass while its caller waits.
func passes(kind error) bool {
	return errors.Is(kind, ErrNotAcquired) || errors.Is(kind, ErrUnavailable) || errors.Is(kind, ErrTooManyWaiters)
}

// apply passes an event to the quorum and executes its actions. event runs on the executor.
func (g *multiHold) apply(event func()) {
	g.executor.Submit(func() {
		event()
		for len(g.quorum.Actions) > 0 { // an action can be an event
			actions := g.quorum.Actions
			g.quorum.Actions = nil
			for _, a := range actions {
				g.execute(a)
			}
			releaseAll(g.toRelease)
			g.toRelease = nil
		}
	})
}

// elapsed returns the time on the group's clock.
func (g *multiHold) elapsed() time.Duration { return time.Since(g.start) }

func (g *multiHold) execute(a quorum.Action) {
	m := &g.members[a.Member]
	switch a.Kind {
	case quorum.Request:
		if a.Wait > 0 {
			g.watchEngines()
		}
		m.request(a)
	case quorum.CancelRequest:
		m.withdraw()
		if a.NoReply {
			m.err = m.lock.fail(ErrUnavailable, errNoReplySoon)
		}
	case quorum.Release:
		switch {
		case g.releasedByCaller:
		case g.perEngine:
			m.releaseAsync()
		default:
			g.toRelease = append(g.toRelease, m.hold.Load())
		}
		if g.ended.Load() == nil {
			m.hold.Store(nil)
		}
	case quorum.Backoff:
		time.AfterFunc(jitterBackoff(a.Wait), func() { g.apply(func() { g.quorum.BackoffOver(g.elapsed()) }) })
	case quorum.LimitStragglers:
		time.AfterFunc(a.Wait, func() { g.apply(func() { g.quorum.StragglersOverdue(g.elapsed()) }) })
	case quorum.RetryLater:
		time.AfterFunc(m.lock.engine.options.RenewInterval, func() { g.apply(func() { g.quorum.RetryDue(m.index) }) })
	case quorum.RetryAfterLease:
		time.AfterFunc(m.lock.engine.options.Lease, func() { g.apply(func() { g.quorum.RetryDue(m.index) }) })
	case quorum.Confirm:
		if h := m.hold.Load(); h != nil {
			h.engine.loop.Post(h.request(nil, coordinator.AskConfirm, 0))
		}
	case quorum.Acquired:
		g.unwatchEngines()
		g.onAcquired()
	case quorum.Failed:
		g.unwatchEngines()
		g.result <- g.quorumFailure()
	case quorum.Lost:
		g.endByLoss(m)
	}
}

// watchEngines lets the quorum notice that an engine closes while it waits in the queue of another. It registers that
// once. Later calls find the engines that closed while a request was pending there, which then had another end.
func (g *multiHold) watchEngines() {
	register := g.notices == nil
	for i := range g.members {
		m := &g.members[i]
		switch on := m.lock.engine; {
		case on.zero():
		case !register:
			if on.waits.Err() != nil {
				m.onClosing()
			}
		default:
			on.notices.Add()
			stop := context.AfterFunc(on.waits, func() {
				defer on.notices.Done()
				g.apply(m.onClosing)
			})
			g.notices = append(g.notices, func() {
				if stop() {
					on.notices.Done()
				}
			})
		}
	}
}

func (g *multiHold) unwatchEngines() {
	for _, stop := range g.notices {
		stop()
	}
	g.notices = nil
}

// onClosing handles that the member's engine closes.
func (m *member) onClosing() {
	if m.parent.quorum.MemberClosed(m.index) {
		m.err = m.lock.fail(ErrClosed, nil)
	}
}

// jitterBackoff returns a random pause between half of longest and longest, so that callers that split a majority do
// not collide again.
func jitterBackoff(longest time.Duration) time.Duration { return longest/2 + rand.N(longest/2) }

// errNoReplySoon is for a member that did not reply soon enough after the others.
var errNoReplySoon = errors.New("no reply soon after the others")

// request sends an acquire for the member, with the owner of the group.
func (m *member) request(a quorum.Action) {
	g, on := m.parent, m.lock.engine
	m.pendingHold = &Hold{engine: on, name: m.lock.name, parent: g.Context}
	m.pendingHold.setNote(g.hold.grant.Note())
	call := engine.NewCallback(nil)
	call.OnDone = func() { g.apply(func() { m.onResult(call) }) }
	call.Op = actor.Acquire
	call.Name, call.Key, call.Kind, call.Hold = m.lock.name, m.lock.key(), m.lock.kind, &m.pendingHold.grant
	call.Owner, call.OfQuorum = g.requestOwner(on, m.lock.name), true
	call.Lease, call.Wait, call.Once, call.FailIfDown, call.SkipWaiterLimit = g.lease, a.Wait, a.Once, a.Unheld(), a.SkipWaiterLimit
	m.pendingCall = call
	switch {
	case on.zero():
		call.Err, call.Cause = ErrClosed, errZeroEngine
		m.handleResult(call)
	case !on.loop.Post(call):
		call.Err = ErrClosed
		m.handleResult(call)
	}
}

// withdraw cancels a request. If the group was unlocked, that Unlock keeps waiting for the result. The request is
// canceled in any case: otherwise requests of many holds would accumulate at a server that does not reply.
func (m *member) withdraw() {
	switch {
	case m.pendingCall == nil: // it could not be posted
	case m.release == nil:
		m.lock.engine.loop.Cancel(m.pendingCall, context.Canceled)
		m.pendingCall, m.pendingHold, m.maybeHeld = nil, nil, true
	default:
		m.release.canceled = true
		m.lock.engine.loop.Cancel(m.pendingCall, context.Canceled)
	}
}

// onResult handles the result of a request. It ignores a canceled one: the engine releases its grant.
func (m *member) onResult(call *engine.Call) {
	if m.pendingCall == call {
		m.maybeHeld = m.mayBeHeld(call)
		m.handleResult(call)
	}
}

// mayBeHeld reports whether the server may have granted a failed request, or may still do so. A grant that arrives
// after the cancellation is not reported.
func (m *member) mayBeHeld(call *engine.Call) bool {
	switch call.Err {
	case nil:
		return m.release != nil && m.release.canceled
	case ErrNotAcquired:
		return !call.Final
	case ErrUnavailable, ErrNotReplicated, ErrClosed:
		return true
	}
	return m.maybeHeld // unchanged: the server returned another error
}

// handleResult handles a result like onResult, including that of a call that was never sent.
func (m *member) handleResult(call *engine.Call) {
	g, h := m.parent, m.pendingHold
	m.pendingCall, m.pendingHold = nil, nil
	if m.release != nil {
		m.finishRelease(call, h)
		return
	}
	if m.err = nil; call.Err == nil {
		g.quorum.MemberAcquired(g.elapsed(), m.index)
		m.attach(h, &actor.HoldSignal{})
		return
	}
	m.err = m.lock.fail(call.Err, call.Cause)
	g.quorum.MemberFailed(g.elapsed(), m.index, rejectionOf(call.Err))
}

// rejectionOf returns what a result means for a quorum. It does not use the cause, which may be a caller's error.
func rejectionOf(err error) quorum.Reason {
	switch err {
	case ErrNotAcquired:
		return quorum.HeldByOther
	case ErrUnavailable:
		return quorum.Unknown
	case ErrClosed:
		return quorum.Closed
	case ErrTooManyWaiters:
		return quorum.Full
	}
	return quorum.Rejected
}

// setWatched sets whether missing members are acquired from now on, and watched like the others.
func (g *multiHold) setWatched(on bool) {
	if on {
		g.lease = 0
	}
	g.quorum.SetWatched(on)
}

func (g *multiHold) onAcquired() {
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil && g.firstHold == nil {
			g.firstHold = h
		}
	}
	g.result <- nil
}
