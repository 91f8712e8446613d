package sentinel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// scriptedReplies is a connection that has something to read.
type scriptedReplies struct {
	net.Conn
	io.Reader
}

func (c scriptedReplies) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func filtered(in io.Reader) *filter { return newFilter(scriptedReplies{Reader: in}) }

var (
	replies = []string{
		"+OK\r\n", "-ERR no such master\r\n", ":7\r\n", "_\r\n", ",1.5\r\n", "#t\r\n", "(123\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "$0\r\n\r\n",
		"$9\r\n127.0.0.1\r\n", "=7\r\ntxt:abc\r\n", "!5\r\nERR x\r\n", "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n",
		"%2\r\n+ip\r\n$9\r\n127.0.0.1\r\n+flags\r\n~2\r\n+a\r\n+b\r\n", "|1\r\n+ttl\r\n:1\r\n", "*2\r\n%1\r\n+a\r\n*1\r\n+b\r\n%0\r\n",
		"$11\r\n>3\r\nmessage\r\n", "*2\r\n$1\r\na\r\n$7\r\nmessage\r\n", "*2\r\n$7\r\nmessage\r\n$4\r\n6379\r\n", "$7\r\nmessage\r\n",
		">3\r\n$9\r\nsubscribe\r\n$9\r\n+sentinel\r\n:1\r\n", "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n",
		"$20000\r\n" + strings.Repeat("x", 20000) + "\r\n", "+" + strings.Repeat("y", 20000) + "\r\n",
	}
	announcements = []string{
		">3\r\n$7\r\nmessage\r\n$9\r\n+sentinel\r\n$3\r\nodd\r\n", "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$0\r\n\r\n",
		">3\r\n$7\r\nmessage\r\n$7\r\n+reboot\r\n$20000\r\n" + strings.Repeat("z", 20000) + "\r\n",
	}
)

// The client reads all replies of a sentinel unchanged, however they arrive, and nothing that it announces.
func TestFilter_Replies_OnlyAnnouncementsHidden(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var sent, want bytes.Buffer
		for range 20 {
			if random.IntN(2) == 0 {
				sent.WriteString(announcements[random.IntN(len(announcements))])
				continue
			}
			reply := replies[random.IntN(len(replies))]
			sent.WriteString(reply)
			want.WriteString(reply)
		}
		var in io.Reader = &sent
		if random.IntN(2) == 0 {
			in = iotest.OneByteReader(in)
		}
		got, err := io.ReadAll(filtered(in))
		require.NoError(t, err)
		require.Equal(t, want.String(), string(got))
	}
}

// A reply can be read before the next one arrives.
func TestFilter_OneReply_NotHeldBack(t *testing.T) {
	in, out := io.Pipe()
	f, p := filtered(in), make([]byte, 64)
	for _, reply := range replies[:19] {
		go func() { _, _ = io.WriteString(out, announcements[0]+reply) }()
		n, err := io.ReadAtLeast(f, p, len(reply))
		require.NoError(t, err)
		require.Equal(t, reply, string(p[:n]))
	}
}

// A reply that is malformed, nested too deeply, too long, or cut off ends the connection. What a length promises takes
// no memory.
func TestFilter_Malformed_ConnectionEnds(t *testing.T) {
	for _, c := range []struct {
		in   string
		want error
	}{
		{"$x\r\n", errReply}, {"$-2\r\n", errReply}, {"*-2\r\n", errReply}, {"%-3\r\n", errReply}, {"*1.5\r\n", errReply}, {"$\r\n", errReply}, {"\n", nil},
		{strings.Repeat("*1\r\n", maxNesting+1), errReply}, {fmt.Sprintf("$%d\r\n", maxReply), errReply}, {"*9999999\r\n", errReply},
		{"+" + strings.Repeat("x", maxReply), errReply}, {"$5\r\nabc", io.EOF}, {"*2\r\n+a\r\n", io.EOF}, {"+OK", io.EOF},
		{"*3000000\r\n" + strings.Repeat(":1\r\n", 2_000_000), errReply},
	} {
		got, err := io.ReadAll(io.LimitReader(filtered(strings.NewReader(c.in)), 8))
		if c.want == nil || c.want == io.EOF {
			require.NoError(t, err, "ReadAll reports no end")
			continue
		}
		require.Empty(t, got)
		require.ErrorIs(t, err, c.want, "%.20q", c.in)
	}
}

// An error of the connection is that of the client's read, and of each later one.
func TestFilter_ConnectionFails_ErrorStays(t *testing.T) {
	broken := errors.New("broken")
	f, p := filtered(io.MultiReader(strings.NewReader("+OK\r\n"), iotest.ErrReader(broken))), make([]byte, 64)
	n, err := f.Read(p)
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", string(p[:n]))
	for range 2 {
		_, err = f.Read(p)
		require.ErrorIs(t, err, broken)
	}
}

// Whatever a sentinel sends, reading ends with an error or with what it sent, and takes bounded memory.
func FuzzFilter(f *testing.F) {
	for _, s := range append(replies, announcements...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, _ := io.ReadAll(filtered(strings.NewReader(in)))
		require.LessOrEqual(t, len(got), len(in))
	})
}
