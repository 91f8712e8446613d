package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// A table of server replies for requests for several locks, and how they are decoded. A malformed reply is never a
// grant.
func TestWire_MultiReplies_DecodedOrRejected(t *testing.T) {
	for _, test := range []struct{ says, want string }{
		{"*1\r\n:1\r\n", "done"},
		{"*1\r\n*3\r\n:2\r\n:500\r\n$3\r\nx:1\r\n", "part 1 taken 500ms x:1"},
		{"*1\r\n*3\r\n:1\r\n:-1\r\n$0\r\n\r\n", "part 0 taken -1ns "},
		{"*1\r\n*2\r\n:2\r\n$11\r\nWRONGTYPE x\r\n", "part 1 refused WRONGTYPE x"},
		{"*1\r\n:0\r\n", "garbled"},
		{"*1\r\n*1\r\n:1\r\n", "garbled"},
		{"*1\r\n*2\r\n:0\r\n$1\r\nx\r\n", "garbled"},
		{"*1\r\n*2\r\n$1\r\nx\r\n$1\r\nx\r\n", "garbled"},
		{"*1\r\n*3\r\n:1\r\n$1\r\nx\r\n$1\r\nx\r\n", "garbled"},
		{"*1\r\n*2\r\n:1\r\n:7\r\n", "garbled"},
	} {
		fake, client := newReplyServer(t)
		b := &coordinator.Batch{Verb: actor.SendMultiAcquire, Commands: []actor.Command{{Key: "a", Tenure: 1, Parts: []actor.PartKey{{Key: "a"}, {Key: "b"}}}}}
		w := Encoder{ID: "me"}
		fake.replies <- test.says
		DecodeResult(client.Do(t.Context(), w.Encode(client, b)), b)
		require.Len(t, b.Replies, 1, test.says)
		require.Equal(t, test.want, shownReply(b.Replies[0]), test.says)
	}
}

func shownReply(r actor.Reply) string {
	switch {
	case r.Malformed:
		return "garbled"
	case r.Status == actor.HeldByOther:
		return fmt.Sprintf("part %d taken %v %s", r.FailedPart, r.TTL, r.Holder)
	case r.Status == actor.Rejected:
		return fmt.Sprintf("part %d refused %v", r.FailedPart, r.Err)
	}
	return "done"
}

// Of several locks one is a key of another type. Its reply says which one, of which type it is, and how long it lasts.
func TestWire_MultiForeignKey_TypeAndTTL(t *testing.T) {
	fake, client := newReplyServer(t)
	b := &coordinator.Batch{Verb: actor.SendMultiAcquire, Commands: []actor.Command{{Key: "a", Tenure: 1, Parts: []actor.PartKey{{Key: "a"}, {Key: "b"}}}}}
	w := Encoder{ID: "me"}
	fake.replies <- "*1\r\n*2\r\n:2\r\n*3\r\n$11\r\nWRONGTYPE x\r\n:1500\r\n$6\r\nstring\r\n"
	DecodeResult(client.Do(t.Context(), w.Encode(client, b)), b)
	require.Len(t, b.Replies, 1)
	r := b.Replies[0]
	require.Equal(t, "part 1 refused WRONGTYPE x", shownReply(r))
	require.Equal(t, 1500*time.Millisecond, r.TTL)
	require.Equal(t, "string", r.KeyType)
}
