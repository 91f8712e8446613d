package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// Of a bundle at the target of a migration each message that was published is repeated at the source, and no other.
func TestRelay_Bundle_OnlyPublishedMessages(t *testing.T) {
	source := coordinator.NewNode("source:1", 30*time.Second)
	batch := func(verb actor.Verb, asking bool, statuses ...actor.Status) *coordinator.Batch {
		b := &coordinator.Batch{Verb: verb, Asking: asking, RedirectedBy: source}
		for i, status := range statuses {
			b.Commands = append(b.Commands, actor.Command{Verb: verb, Key: string(rune('a' + i))})
			b.Replies = append(b.Replies, actor.Reply{Status: status})
		}
		return b
	}
	bundle := func() *coordinator.Batch {
		all := []*coordinator.Batch{
			batch(actor.SendAcquire, true, actor.OK),
			batch(actor.SendRelease, true, actor.OK, actor.NotFound, actor.OK),
			batch(actor.SendWriteRelease, false, actor.OK),
			batch(actor.SendReadRelease, true, actor.OK),
			batch(actor.SendWriteForce, true, actor.OK),
		}
		all[4].Failed = errors.New("no reply")
		for i := range all[1:] {
			all[i].Next = all[i+1]
		}
		return all[0]
	}
	require.Equal(t, []RelayedMessage{
		{"source:1", "redisson_lock__channel:{a}", "0"},
		{"source:1", "redisson_lock__channel:{c}", "0"},
		{"source:1", "redisson_rwlock:{a}", "0"},
	}, (&Encoder{ID: "me", Sharded: true}).RelayedMessages(bundle()))
	require.Empty(t, (&Encoder{ID: "me"}).RelayedMessages(bundle()), "other messages reach the whole cluster")
}
