package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A table of server replies for requests for several locks, and how they are decoded. A malformed reply is never a
// grant.
func TestRepliesOfGroupsAreReadOrRefused(t *testing.T) {
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
		liar, client := newLiar(t)
		b := &batch{verb: actor.SendJointAcquire, commands: []actor.Command{{Key: "a", Tenure: 1, Parts: []actor.Asked{{Key: "a"}, {Key: "b"}}}}}
		w := writer{id: "me"}
		liar.says <- test.says
		read(client.Do(t.Context(), w.call(client, b)), b)
		require.Len(t, b.replies, 1, test.says)
		require.Equal(t, test.want, shownReply(b.replies[0]), test.says)
	}
}

func shownReply(r actor.Reply) string {
	switch {
	case r.Garbled:
		return "garbled"
	case r.Status == actor.Taken:
		return fmt.Sprintf("part %d taken %v %s", r.Part, r.TTL, r.Holder)
	case r.Status == actor.Refused:
		return fmt.Sprintf("part %d refused %v", r.Part, r.Err)
	}
	return "done"
}

// The server names a lock that is not part of the request.
func TestAPartThatWasNotAskedForIsNoAnswer(t *testing.T) {
	d := newDesk(t, 8)
	require.Equal(t, "1: joint a+b", d.line("0s lock a+b"))
	b := d.out[1]
	delete(d.out, 1)
	b.replies = append(b.replies[:0], actor.Reply{Status: actor.Taken, Part: 2, Holder: "x:1"})
	d.mail(&b.mail)
	require.Equal(t, "nothing", d.line("1ms heard x"))
	require.Equal(t, "2: joint a+b", d.line("11ms timer"))
}
