package engine

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/slot"
)

// leavesMany is the number of channels of the connections in these tests. Unsubscribing them takes four commands.
const leavesMany = 3*maxUnsubscribeChannels + 100

// joinMany subscribes that many channels and returns their names.
func (l *subscriberHarness) joinMany() (names []string) {
	l.t.Helper()
	for i := range leavesMany {
		names = append(names, fmt.Sprint("c", i))
	}
	for rest := names; len(rest) > 0; {
		some := rest[:min(coordinator.MaxChannelsPerCommand, len(rest))]
		rest = rest[len(some):]
		_, err := l.execute(&coordinator.Order{Channels: some})
		require.NoError(l.t, err)
	}
	return names
}

// unsubscribeNotesFor returns the server's confirmations of a command, one per channel.
func unsubscribeNotesFor(words []string) string {
	var said strings.Builder
	for _, name := range words[1:] {
		fmt.Fprintf(&said, ">3\r\n+%s\r\n+%s\r\n:1\r\n", strings.ToLower(words[0]), name)
	}
	return said.String()
}

// A server that removes very many channels in one go blocks all its clients.
func TestUnsubscribe_ManyChannels_InSlices(t *testing.T) {
	var mu sync.Mutex
	var left []string
	most := 0
	server, client := newScriptedServer(t, func(_ int, words []string) string {
		switch words[0] {
		case "UNSUBSCRIBE":
			mu.Lock()
			defer mu.Unlock()
			left, most = append(left, words[1:]...), max(most, len(words)-1)
			return ">3\r\n+message\r\n+c0\r\n+0\r\n" + unsubscribeNotesFor(words)
		case "QUIT":
			return hangUp
		}
		return ""
	})
	l := newSubscriberHarnessOn(t, newListener(client))
	names := l.joinMany()
	posted, err := l.execute(&coordinator.Order{CloseConns: true})
	require.NoError(t, err)
	server.awaitOpen(1)
	require.ElementsMatch(t, names, left)
	require.LessOrEqual(t, most, maxUnsubscribeChannels)
	for m := l.box.TakeAll(); m != nil; m = m.Next {
		require.NotContains(t, []any{coordinator.ChannelMessage{Channel: "c0"}, coordinator.ChannelUnsubscribed{Channel: "c0", Conn: 1}}, m.Value)
	}
	require.NotContains(t, posted, "heard c0")
}

// Connections beyond those that are unsubscribed at a time are closed at once, and take no place from later ones.
func TestUnsubscribe_Several_FewAtATime(t *testing.T) {
	server, client := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "QUIT" {
			return hangUp
		}
		return ""
	})
	s := newListener(client)
	var later []func()
	s.unsubscriber.run = func(f func()) { later = append(later, f) }
	s.unsubscriber.notesTimeout = time.Millisecond // the server confirms nothing
	retire := func() {
		t.Helper()
		c, err := s.connect()
		require.NoError(t, err)
		c.channels = [][]string{make([]string, maxChannelsToClose+1)}
		s.unsubscriber.retire(c)
	}
	for range maxUnsubscribers + 3 {
		retire()
	}
	server.awaitOpen(1, 2, 3) // the client's own, and those that are unsubscribed later
	for _, f := range later {
		f()
	}
	server.awaitOpen(1)
	require.Len(t, later, maxUnsubscribers)
	retire()
	require.Len(t, later, maxUnsubscribers+1, "there is room again")
	later[maxUnsubscribers]()
}

// rueidis panics over an unexpected reply. The test covers all rejections, with and without one of the PING that
// follows.
func TestUnsubscribe_Rejected_ConnEnds(t *testing.T) {
	for name, says := range map[string]struct{ unsubscribe, ping string }{
		"busy":         {"-BUSY Redis is busy running a script.\r\n", "-BUSY Redis is busy running a script.\r\n"},
		"forbidden":    {"-NOPERM User has no permissions to run the 'unsubscribe' command\r\n", "+PONG\r\n"},
		"both":         {"-NOPERM no 'unsubscribe'\r\n", "-NOPERM no 'ping'\r\n"},
		"unknown":      {"-ERR unknown command\r\n", "-ERR unknown command\r\n"},
		"breaks":       {hangUp, ""},
		"says nothing": {">2\r\n+nothing\r\n+of that\r\n", ">2\r\n+nothing\r\n+of that\r\n"},
	} {
		for _, nth := range []int{1, 2, 4} {
			t.Run(fmt.Sprint(name, " ", nth), func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				asked := 0
				server, client := newScriptedServer(t, func(connection int, words []string) string {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case connection == 1:
						return ""
					case words[0] == "UNSUBSCRIBE":
						if asked++; asked < nth {
							return unsubscribeNotesFor(words)
						}
						return says.unsubscribe
					case words[0] == "PING" && asked >= nth:
						return says.ping
					}
					return ""
				})
				s := newListener(client)
				if name == "says nothing" {
					s.unsubscriber.notesTimeout = 100 * time.Millisecond
				}
				l := newSubscriberHarnessOn(t, s)
				l.joinMany()
				_, err := l.execute(&coordinator.Order{CloseConns: true})
				require.NoError(t, err)
				server.awaitOpen(1)
				mu.Lock()
				defer mu.Unlock()
				require.LessOrEqual(t, asked, nth)
				if name != "says nothing" {
					require.Equal(t, nth, asked)
				}
			})
		}
	}
}

// With sharded pub/sub the server rejects a command with channels of several slots, and confirms each channel in words
// of its own.
func TestUnsubscribe_Sharded_OneSlotEach(t *testing.T) {
	var mu sync.Mutex
	var left []string
	slots := make(map[uint16]bool)
	server, client := newScriptedServer(t, func(_ int, words []string) string {
		switch words[0] {
		case "SUNSUBSCRIBE":
			mu.Lock()
			defer mu.Unlock()
			left = append(left, words[1:]...)
			slots[slot.Of(words[1])] = true
			for _, name := range words[1:] {
				if slot.Of(name) != slot.Of(words[1]) {
					return "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
				}
			}
			return unsubscribeNotesFor(words)
		case "QUIT":
			return hangUp
		}
		return ""
	})
	s := sharded(newListener(client))
	c, err := s.connect()
	require.NoError(t, err)
	var names []string
	for order := range 4 {
		var some []string
		for i := range maxChannelsToClose/4 + 1 {
			some = append(some, fmt.Sprintf("{%d}%d-%d", i%3, order, i))
		}
		c.channels, names = append(c.channels, some), append(names, some...)
	}
	s.unsubscriber.retire(c)
	server.awaitOpen(1)
	mu.Lock()
	defer mu.Unlock()
	require.ElementsMatch(t, names, left)
	require.Len(t, slots, 3)
}

// A slot's channels leave together, in whichever orders they came: very many slots make no slice for each channel.
func TestUnsubscribe_Sharded_FewSlices(t *testing.T) {
	c := &connection{sharded: true}
	const slots = 100
	for order := range 30 {
		var some []string
		for in := range slots {
			some = append(some, fmt.Sprintf("{%d}%d", in, order))
		}
		c.channels = append(c.channels, some)
	}
	all := c.chunks()
	require.LessOrEqual(t, len(all), slots)
	require.Empty(t, c.channels)
	c.sharded, c.channels = false, [][]string{make([]string, maxUnsubscribeChannels), make([]string, 1)}
	require.Len(t, c.chunks(), 2)
}
