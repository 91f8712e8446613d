package engine

import (
	"context"
	_ "embed"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/internal/identity"
)

const (
	// maxOwnMessages is the maximum number of messages of the engine's own channel that the loop has not handled. Any
	// client can send them; further ones are dropped.
	maxOwnMessages = 256
	// maxAnswers is the maximum number of answers that wait to be published. Further ones are dropped.
	maxAnswers = 64
	// rejectedPeriod is the pause before the next try after the server rejected the record.
	rejectedPeriod = 6 * identity.Period
)

// Identity is what an engine says about itself in the server.
type Identity struct {
	Channel string   // the engine's own; empty: it listens to none
	Key     string   // of the record
	Fields  []string // of the record, names and values in turn
}

//go:embed record.lua
var recordText string

// announcer keeps the record of an engine in the server, and publishes answers to those that ask about its locks. Its
// calls have no deadline, as all calls on the shared connection, and one is in flight at a time.
type announcer struct {
	client   rueidis.Client
	identity *Identity
	log      *slog.Logger

	answers   chan coordinator.Answer
	unwritten atomic.Uint64 // writes of the record that failed
	down      atomic.Bool   // the server of the record is known to be down; set before stopped is closed
	stopped   <-chan struct{}
	ended     chan struct{} // closed when the record is deleted, or was given up
}

func newAnnouncer(about *Identity, log *slog.Logger, stopped <-chan struct{}) *announcer {
	return &announcer{identity: about, log: log, stopped: stopped, answers: make(chan coordinator.Answer, maxAnswers), ended: make(chan struct{})}
}

// run writes the record at once and then periodically, until the loop has ended. Then it deletes the record.
func (a *announcer) run() {
	defer close(a.ended)
	script := rueidis.NewLuaScript(recordText)
	written, logged := false, false
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-a.stopped:
			if written && !a.down.Load() {
				a.client.Do(context.Background(), a.client.B().Del().Key(a.identity.Key).Build())
			}
			return
		case answer := <-a.answers:
			a.publish(&answer)
		case <-due.C:
			err := a.write(script)
			_, rejected := rueidis.IsRedisErr(err)
			written = written || !rejected // without a reply it may have been written
			if rejected && !logged {
				logged = true
				a.logRejected(err)
			}
			due.Reset(a.pause(err, rejected))
		}
	}
}

// pause counts a failed write, and returns the time until the next one.
func (a *announcer) pause(err error, rejected bool) time.Duration {
	if err != nil {
		a.unwritten.Add(1)
	}
	if rejected {
		return rejectedPeriod
	}
	return identity.Period
}

func (a *announcer) write(script *rueidis.Lua) error {
	args := append([]string{strconv.FormatInt(identity.TTL.Milliseconds(), 10)}, a.identity.Fields...)
	return script.Exec(context.Background(), a.client, []string{a.identity.Key}, args).Error()
}

func (a *announcer) logRejected(err error) {
	if a.log != nil {
		a.log.Warn("lockwheel: the server does not take the engine's record; others cannot see which program holds its locks", "cause", rediserr.RedactQuoted(err.Error()))
	}
}

func (a *announcer) publish(answer *coordinator.Answer) {
	text := identity.Answer{Held: answer.Held, Age: answer.Age}
	a.client.Do(context.Background(), a.client.B().Publish().Channel(identity.AskerChannel(answer.Asker)).Message(text.Text()).Build())
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

// ownMessages passes messages of the engine's own channel on to the loop, as long as few of them wait there.
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
	if m.Forced {
		return coordinator.LockForced{Key: m.Key}, true
	}
	return coordinator.HolderQuery{Asker: m.Asker, Key: m.Key, Tenure: m.Tenure}, true
}
