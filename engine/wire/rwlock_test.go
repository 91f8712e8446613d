package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/scripts"
)

// Calls for readers and writers carry the arguments that the headers of their scripts name.
func TestWire_RWCalls_MatchScripts(t *testing.T) {
	_, client := newReplyServer(t)
	w := Encoder{ID: "6f0e6a4e-1111-2222-3333-444455556666"}
	for _, test := range []struct {
		script   scripts.Script
		verb     actor.Verb
		commands []actor.Command
		want     string
	}{
		{scripts.ReadAcquire, actor.SendReadAcquire, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second},
			{Key: "{b}", Tenure: 2, Lease: time.Microsecond, Orphans: []uint64{7, 8}, Reader: &actor.ReaderArgs{Writer: 2}},
		}, "4 a {a}:ID:1:rwlock_timeout:1 {b} {b}:ID:2:rwlock_timeout:1 PUBLISH _ ID:1 1000 ID:2 1 1 2 ID:2 2 ID:7 2 ID:8"},
		{scripts.ReadRenew, actor.SendReadRenew, []actor.Command{
			{Key: "a", Tenure: 1, Lease: 30 * time.Second},
			{Key: "b", Tenure: 2, Lease: time.Minute, Count: 2, Reader: &actor.ReaderArgs{MayShorten: true, Leases: []time.Duration{time.Minute, time.Second}}},
			{Key: "c", Tenure: 3, Lease: time.Second},
			{Key: "d", Tenure: 4, Lease: time.Second, Reader: &actor.ReaderArgs{Holds: 70, Leases: []time.Duration{time.Minute, time.Second}}},
		}, "10 a {a}:ID:1:rwlock_timeout:1 b {b}:ID:2:rwlock_timeout:1 {b}:ID:2:rwlock_timeout:2 c {c}:ID:3:rwlock_timeout:1" +
			" d {d}:ID:4:rwlock_timeout:1 {d}:ID:4:rwlock_timeout:2" +
			" NUMSUB ID:1 _ 1 30000 ID:2 1 2 60000 1000 ID:3 _ 1 1000 ID:4 _ 2/70 60000 1000"},
		{scripts.ReadRelease, actor.SendReadRelease, []actor.Command{{Key: "a", Tenure: 1}, {Key: "b", Tenure: 2}}, "2 a b PUBLISH ID:1 ID:2"},
		{scripts.ReadForce, actor.SendReadForce, []actor.Command{{Key: "a", Tenure: 1}}, "1 a PUBLISH ID"},
		{scripts.RWState, actor.SendReadState, []actor.Command{{Key: "a"}}, "1 a"},
		{scripts.WriteAcquire, actor.SendWriteAcquire, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second, Orphans: []uint64{7}}, {Key: "b", Tenure: 2, Lease: time.Second},
		}, "2 a b PUBLISH 1000 ID:1 ID:2 1 ID:7"},
		{scripts.WriteRenew, actor.SendWriteRenew, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second}, {Key: "b", Tenure: 2, Count: 3, CountListeners: true},
		}, "2 a b NUMSUB _ ID:1 1000 ID:2 0 2 3 1"},
		{scripts.WriteRelease, actor.SendWriteRelease, []actor.Command{{Key: "a", Tenure: 1}}, "1 a PUBLISH ID:1"},
		{scripts.WriteForce, actor.SendWriteForce, []actor.Command{{Key: "a", Tenure: 1}}, "1 a PUBLISH ID"},
		{scripts.RWState, actor.SendWriteState, []actor.Command{{Key: "a"}}, "1 a"},
	} {
		call := w.Encode(client, &coordinator.Batch{Verb: test.verb, Commands: test.commands})
		words := call.Commands()
		require.Equal(t, []string{"EVALSHA", test.script.SHA1}, words[:2], test.script.Name)
		for i, word := range words {
			if word == "" {
				words[i] = "_"
			}
		}
		require.Equal(t, test.want, strings.ReplaceAll(strings.Join(words[2:], " "), w.ID, "ID"), test.script.Name)
	}
}

// A message that is not published to the shard's channel wakes no waiter there.
func TestWire_ClusterCalls_UseShardVerbs(t *testing.T) {
	_, client := newReplyServer(t)
	plain, sharded := Encoder{ID: "e"}, Encoder{ID: "e", Sharded: true}
	verbs := 0
	for verb := range Specs {
		b := &coordinator.Batch{Verb: actor.Verb(verb), Commands: []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second, Parts: []actor.PartKey{{Key: "a"}}},
		}}
		if Specs[verb].script.Text == "" {
			continue
		}
		other := *b // a call lies in its batch's buffer
		call, inShard := plain.Encode(client, b), sharded.Encode(client, &other)
		words := call.Commands()
		for i, word := range words {
			switch word {
			case "PUBLISH":
				words[i] = "SPUBLISH"
			case "NUMSUB":
				words[i] = "SHARDNUMSUB"
			default:
				continue
			}
			verbs++
		}
		require.Equal(t, words, inShard.Commands(), Specs[verb].script.Name)
	}
	require.Greater(t, verbs, 15)
}

// Replies to readers and writers are decoded as the scripts give them; a malformed one concerns only its key.
func TestWire_RWReplies_Decoded(t *testing.T) {
	says, client := newReplyServer(t)
	w := Encoder{ID: "me"}
	const form = "garbled: form of a reply"
	for verb, table := range map[actor.Verb][][2]string{
		actor.SendReadAcquire: {{"*2 :1 *2 :29000 $4 me:1", `done · taken 29s "" by "me:1"`}, {"*2 $14 WRONGTYPE_text :0", "refused: WRONGTYPE_text · " + form}},
		actor.SendReadRenew:   {{"*2 :1 :0", "done · gone"}, {"*2 *3 :1 :0 :-1 $3 OOM", "done uncounted · refused: OOM"}},
		actor.SendReadRelease: {{"*2 :1 :2", "done · done muted"}, {"*2 :0 :3", "gone · " + form}},
		actor.SendReadForce:   {{"*2 :1 :0", "done · gone"}},
		actor.SendWriteAcquire: {
			{"*2 :1 *2 :29000 $4 me:1", `done · taken 29s "me:1"`},
			{"*2 *3 :29000 $0 _ $3 5_7 *3 :29000 $0 _ :5", `taken 29s "" beside "5_7" · ` + form},
		},
		actor.SendWriteRenew:   {{"*2 :0 *3 :1 :1 :5", "gone · done"}},
		actor.SendWriteRelease: {{"*2 :1 :2", "done · done muted"}},
		actor.SendWriteForce:   {{"*2 :2 :0", "done muted · gone"}},
		actor.SendWriteState: {
			{"*2 *6 :-2 $0 _ $0 _ :0 :0 $0 _ *6 :100 $5 write $1 x :2 :1 $1 x", "done -2ns free · done 100ms x 2"},
			{"*2 *6 :100 $4 read $0 _ :0 :1 $1 x *6 :100 $0 _ $0 _ :0 :0 $0 _", "done -2ns free · done 100ms  0"},
			{"*2 *5 :100 $4 read $0 _ :0 :1 *6 $1 x $4 read $0 _ :0 :1 $1 x", form + " · " + form},
		},
		actor.SendReadState: {
			{"*2 *6 :100 $5 write $1 x :2 :0 $0 _ *6 :-1 $5 write $1 x :2 :1 $1 x", "done -2ns free · done -1ns x 1"},
			{"*2 *6 :100 $4 read $0 _ :0 :1 $1 y *6 :100 $4 read $0 _ :0 :12 $1 y", "done 100ms y 1 · done 100ms  12"},
			{"*2 *6 :100 $0 _ $0 _ :0 :0 $0 _ :1", "done 100ms  0 · " + form},
		},
	} {
		for _, row := range table {
			b := &coordinator.Batch{Verb: verb, Commands: []actor.Command{{Verb: verb, Key: "a", Tenure: 1}, {Verb: verb, Key: "b", Tenure: 2}}}
			says.replies <- wired(row[0])
			DecodeResult(client.Do(t.Context(), w.Encode(client, b)), b)
			require.Equal(t, row[1], showState(b), "%d: %s", verb, row[0])
		}
	}
}

// showState is show for states. They include a lock that is not held in the requested mode.
func showState(b *coordinator.Batch) string {
	if b.Verb != actor.SendReadState && b.Verb != actor.SendWriteState {
		return show(b)
	}
	var texts []string
	for i := range b.Replies {
		r := &b.Replies[i]
		text := showReply(r, b.Verb)
		switch {
		case r.Status == actor.OK && r.TTL == -2:
			text += " -2ns free"
		case r.Status == actor.OK:
			text += fmt.Sprintf(" %v %s %d", r.TTL, r.Holder, r.Count)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " · ")
}
