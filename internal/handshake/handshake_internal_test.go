package handshake

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// sent returns a command in wire format.
func sent(words ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	return text
}

// greets passes the handshake of a client and a server to a greeting, in chunks of that many bytes, and returns its
// error.
func greets(t *testing.T, g *Watcher, pieces int, commands, replies string) (refused error) {
	t.Helper()
	for text := commands; text != ""; text = text[min(pieces, len(text)):] {
		require.False(t, g.OnWrite([]byte(text[:min(pieces, len(text))])))
	}
	for text := replies; text != "" && refused == nil; text = text[min(pieces, len(text)):] {
		refused = g.OnRead([]byte(text[:min(pieces, len(text))]))
	}
	return refused
}

const helloReply = "%3\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n$7\r\nmodules\r\n*1\r\n%2\r\n$4\r\nname\r\n$5\r\n-ERR \r\n$4\r\nargs\r\n*0\r\n"

// Replies that reject a connection are distinguished from those that do not, wherever the bytes are split.
func TestHandshake_Rejections_Distinguished(t *testing.T) {
	named := sent("HELLO", "3", "AUTH", "someone", "s3cr3t", "SETNAME", "s")
	info, choose := sent("CLIENT", "SETINFO", "LIB-NAME", "x"), sent("SELECT", "5")
	for name, c := range map[string]struct{ commands, replies, refused string }{
		"welcome":                        {named + choose + info, helloReply + "+OK\r\n+OK\r\n", ""},
		"no such subcommand":             {named + choose + info, helloReply + "+OK\r\n-ERR Unknown subcommand\r\n", ""},
		"no such database":               {named + choose + info, helloReply + "-ERR DB index is out of range\r\n+OK\r\n", "ERR DB index is out of range"},
		"a wrong password":               {named, "-WRONGPASS invalid username-password pair or user is disabled.\r\n", "WRONGPASS invalid username-password pair or user is disabled."},
		"a long error":                   {named, "!8\r\nERR nope\r\n", "ERR nope"},
		"its own words":                  {named, "-ERR not you, stranger\r\n", "ERR not you, stranger"},
		"a password repeated":            {named, "-ERR not with s3cr3t\r\n", "the server refuses; its words are left out, as they repeat a part of the user or the password"},
		"no room":                        {"", "-ERR max number of clients reached\r\n", "ERR max number of clients reached"},
		"busy, which passes":             {named + choose, helloReply + "-BUSY Redis is busy running a script\r\n", ""},
		"a push before":                  {named, ">2\r\n+a\r\n+b\r\n-ERR nope\r\n", "ERR nope"},
		"a null before":                  {named + info + choose, helloReply + "$-1\r\n-ERR DB index is out of range\r\n", "ERR DB index is out of range"},
		"an attribute before":            {named + info + choose, helloReply + "|1\r\n+a\r\n+b\r\n+OK\r\n-ERR DB index is out of range\r\n", "ERR DB index is out of range"},
		"a protected server":             {"", "-DENIED Redis is running in protected mode\r\n", "DENIED Redis is running in protected mode"},
		"what is no protocol is skipped": {named, "\r\n-ERR nope\r\n", ""},
	} {
		for _, pieces := range []int{1, 7, 1000} {
			err := greets(t, &Watcher{}, pieces, c.commands, c.replies)
			if c.refused == "" {
				require.NoError(t, err, name)
				continue
			}
			var none *rediserr.NotConnected
			require.ErrorAs(t, err, &none, name)
			var said actor.ServerError
			require.ErrorAs(t, err, &said)
			require.EqualValues(t, c.refused, said, name)
		}
	}
}

// A server without RESP3 is rejected at its reply to HELLO, also by a later connection. rueidis would go on in RESP2.
func TestHandshake_NoRESP3_Rejected(t *testing.T) {
	commands := sent("HELLO", "3", "AUTH", "someone", "s3cr3t") + sent("SELECT", "5")
	for replies, says := range map[string]string{
		"-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `someone`, `s3cr3t`, \r\n": "ERR unknown command `HELLO`",
		"-ERR unknown command 'hello'\r\n-NOAUTH Authentication required.\r\n":                           "ERR unknown command 'hello'",
		"-NOPROTO unsupported protocol version\r\n":                                                      "NOPROTO unsupported protocol version",
		"*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:2\r\n":                                     "",
		"%1\r\n$6\r\nserver\r\n$5\r\nproto\r\n":                                                          "",
		"*0\r\n":                                                                                         "",
		"+OK\r\n":                                                                                        "",
	} {
		for _, pieces := range []int{1, 7, 1000} {
			err := greets(t, &Watcher{}, pieces, commands, replies)
			var none *rediserr.NotConnected
			require.ErrorAs(t, err, &none, replies)
			require.ErrorIs(t, err, rediserr.ErrNoRESP3, replies)
			var said actor.ServerError
			require.Equal(t, says != "", errors.As(err, &said), replies)
			require.EqualValues(t, says, said)
		}
	}
	// Of any other command that a server does not know, nothing follows.
	require.NoError(t, greets(t, &Watcher{}, 1000, commands+sent("CLIENT", "SETINFO", "LIB-NAME", "HELLO"), helloReply+"+OK\r\n-ERR unknown command 'CLIENT', with args beginning with: 'HELLO'\r\n"))
}

// A handshake ends with the first command after it.
func TestHandshake_FirstCommand_Ends(t *testing.T) {
	g := &Watcher{}
	require.False(t, g.OnWrite([]byte(sent("HELLO", "3"))))
	require.NoError(t, g.OnRead([]byte(helloReply)))
	require.True(t, g.OnWrite([]byte(sent("PING"))))
	require.True(t, (&Watcher{}).OnWrite([]byte(sent("HELLO", "3")+sent("HELLO"))), "it asks what the server is")
	require.True(t, (&Watcher{}).OnWrite([]byte(sent("HELLO", "3")+sent("EVALSHA", "x"))))
	require.True(t, (&Watcher{}).OnWrite([]byte("what is no command\r\n")))
}

// For any reply of a server to a new connection, no error contains the user or the password, and nothing panics.
func FuzzHandshake_HidesPassword(f *testing.F) {
	f.Add("-ERR cannot authenticate ", " or ", "!", uint8(3))
	f.Add(helloReply+"-ERR ", "", "", uint8(1))
	f.Add("*2\r\n$", "%-1\r\n", "$3\r\n", uint8(200))
	f.Fuzz(func(t *testing.T, before, between, behind string, pieces uint8) {
		const user, password = "uSeRn4mE", "s3cr3tPW"
		g := &Watcher{}
		replies := before + user + between + password + behind + "\r\n-ERR " + password + "\r\n-ERR " + user + "\r\n"
		commands := sent("HELLO", "3", "AUTH", user, password, "SETNAME", "x") + sent("SELECT", "3")
		err := greets(t, g, int(pieces)+1, commands, replies)
		var said *rediserr.NotConnected
		if errors.As(err, &said) {
			require.False(t, strings.Contains(err.Error(), user) || strings.Contains(err.Error(), password), "%q", err)
		}
	})
}
