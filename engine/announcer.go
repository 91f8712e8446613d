package engine

import (
	"context"
	_ "embed"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/engine/wire"
	"github.com/lockwheel/lockwheel/internal/identity"
)

const (
	// maxOwnMessages is the maximum number of messages of the engine's own channel that the loop has not handled. Any
	// client can send them; further ones are dropped.
	maxOwnMessages = 256
	// maxAnswers is the maximum number of answers that wait to be published. Further ones are dropped.
	maxAnswers = 64
	// rejectedPeriod is the pause before the next try after the server rejected the record for good.
	rejectedPeriod = 6 * identity.Period
)

// Identity is what an engine says about itself in the server. It is immutable from Start on. A nil Identity says
// nothing; the zero Identity has no key, and must not be used.
type Identity struct {
	Channel string        // the engine's own; empty: it listens to none
	Key     string        // of the record
	Fields  []string      // of the record, names and values in turn
	TTL     time.Duration // of the record, from each write on
}

var (
	//go:embed record.lua
	recordText string
	//go:embed publish.lua
	publishText string
)

// announcer keeps the record of an engine in the server, and publishes answers to those that ask about its locks. Its
// calls have no deadline, as all calls on the shared connection, and one of its own is in flight at a time.
// newAnnouncer makes one. Engine.announce sets client and alone, and starts the goroutine to which the announcer
// belongs from then on. unwritten and down are safe for concurrent use, and other goroutines use the channels and
// write.
type announcer struct {
	client   rueidis.Client
	identity *Identity
	log      *slog.Logger
	write    *recordWrite
	alone    bool // the senders do not all send to the record's server, so it does not go along with their batches

	answers   chan coordinator.Answer
	unwritten atomic.Uint64 // writes of the record that failed
	down      atomic.Bool   // the server of the record is known to be down; set before stopped is closed
	stopped   <-chan struct{}
	ended     chan struct{} // closed when the record is deleted, or was given up
}

func newAnnouncer(about *Identity, log *slog.Logger, stopped <-chan struct{}) *announcer {
	a := &announcer{identity: about, log: log, stopped: stopped, answers: make(chan coordinator.Answer, maxAnswers), ended: make(chan struct{})}
	a.write = newRecordWrite(a.command)
	return a
}

// run offers a write of the record at once and then periodically, until the loop has ended. Then it deletes the record.
func (a *announcer) run() {
	defer close(a.ended)
	due := time.NewTimer(0)
	defer due.Stop()
	r := announcedRecord{announcer: a}
	for {
		select {
		case <-a.stopped:
			r.delete()
			return
		case answer := <-a.answers:
			a.publish(&answer)
		case err := <-a.write.results:
			due.Reset(r.noted(err))
		case <-due.C:
			if pause, ok := r.due(); ok {
				due.Reset(pause)
			}
		}
	}
}

// announcedRecord is what the announcer's goroutine, which owns it, knows of the record. The zero value has no
// announcer: run makes one with it.
type announcedRecord struct {
	*announcer
	written bool // it may be in the server
	logged  bool // the server rejected it for good, and that was logged
	offered bool // a write was offered to the senders, and has no result yet
}

// due offers the write to the senders, or sends it if none took it for a while. It returns when to call it again. ok is
// false if a sender took it: then that depends on the result.
func (r *announcedRecord) due() (pause time.Duration, ok bool) {
	switch {
	case !r.offered && !r.alone:
		r.offered = true
		r.write.offered.Store(true)
		return batchWait, true
	case r.alone || r.write.withdraw():
		return r.noted(r.client.Do(context.Background(), r.command(r.client)).Error()), true
	}
	return 0, false
}

// noted notes the result of a write, and returns when the next is due.
func (r *announcedRecord) noted(err error) (pause time.Duration) {
	r.offered = false
	_, rejected := rueidis.IsRedisErr(err)
	r.written = r.written || !rejected // without a reply it may have been written
	forGood := rejected && !actor.Transient(err.Error())
	if forGood && !r.logged {
		r.logged = true
		r.logRejected(err)
	}
	return r.pause(err, forGood)
}

// delete deletes the record, after the result of a write that a sender took.
func (r *announcedRecord) delete() {
	taken := r.offered && !r.write.withdraw()
	if r.down.Load() {
		return
	}
	if taken {
		r.noted(<-r.write.results)
	}
	if r.written {
		r.client.Do(context.Background(), r.client.B().Del().Key(r.identity.Key).Build())
	}
}

// pause counts a failed write, and returns the time until the next one. A rejection may pass, as that of a server that
// loads its data or is still a replica. After it, the pause is not longer than after a success, because the record may
// expire meanwhile.
func (a *announcer) pause(err error, forGood bool) time.Duration {
	if err != nil {
		a.unwritten.Add(1)
	}
	if forGood {
		return rejectedPeriod
	}
	return identity.Period
}

// command returns a write of the record. It has the text of the script, because what goes along with a batch is sent
// once.
func (a *announcer) command(client wire.RedisClient) rueidis.Completed {
	args := append([]string{strconv.FormatInt(a.identity.TTL.Milliseconds(), 10)}, a.identity.Fields...)
	return client.B().Eval().Script(recordText).Numkeys(1).Key(a.identity.Key).Arg(args...).Build()
}

func (a *announcer) logRejected(err error) {
	if a.log != nil {
		a.log.Warn("lockwheel: the server does not take the engine's record; others cannot see which program holds its locks", "cause", rediserr.RedactQuoted(err.Error()))
	}
}

// publish publishes an answer at the record's server, as the record is written there.
func (a *announcer) publish(answer *coordinator.Answer) {
	channel, message := identity.AskerChannel(answer.Asker), textOf(answer)
	if a.alone {
		a.client.Do(context.Background(), a.client.B().Eval().Script(publishText).Numkeys(1).Key(a.identity.Key).Arg(channel, message).Build())
		return
	}
	a.client.Do(context.Background(), a.client.B().Publish().Channel(channel).Message(message).Build())
}

// textOf returns the text of an answer.
func textOf(answer *coordinator.Answer) string {
	if w := answer.Waiters; w != nil {
		text := identity.Waiters{Engine: w.Engine, Waiting: w.Count, More: w.More, Age: w.Age, Subscriptions: w.Subscriptions}
		return text.Text()
	}
	text := identity.Answer{Held: answer.Held, Age: answer.Age}
	return text.Text()
}

// take queues answers of a turn. It never blocks.
func (a *announcer) take(answers []coordinator.Answer) {
	for _, answer := range answers {
		select {
		case a.answers <- answer:
		default:
		}
	}
}

// ownMessages passes messages of the engine's own channel on to the loop, as long as few of them wait there. It is safe
// for concurrent use; channel is immutable from the start of the loop on. The zero value has no channel.
type ownMessages struct {
	channel string // empty: the engine has none
	pending atomic.Int64
}

// received returns the message to the loop for a text. ok is false for a text that is dropped.
func (o *ownMessages) received(text string) (message any, ok bool) {
	m, ok := identity.ParseMessage(text)
	if !ok {
		return nil, false
	}
	if o.pending.Add(1) > maxOwnMessages {
		o.pending.Add(-1)
		return nil, false
	}
	switch {
	case m.Forced:
		return coordinator.LockForced{Key: m.Key}, true
	case m.Waiters:
		return coordinator.WaiterQuery{Asker: m.Asker, Key: m.Key}, true
	}
	return coordinator.HolderQuery{Asker: m.Asker, Key: m.Key, Tenure: m.Tenure}, true
}
