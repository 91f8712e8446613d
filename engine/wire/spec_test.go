package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// replyServer is a server at the other end of a pipe that sends prepared replies, whatever the call is. After an
// incomplete reply it closes the connection.
type replyServer struct{ replies chan string }

// newReplyServer returns a client of a server that replies as it is told.
func newReplyServer(t testing.TB) (*replyServer, rueidis.Client) {
	l := &replyServer{replies: make(chan string, 1)}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"server:6379"}, ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true,
		DisableRetry: true, PipelineMultiplex: -1, ClientSetInfo: rueidis.DisableClientSetInfo,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go l.serve(ours)
			return theirs, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return l, client
}

func (l *replyServer) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		words, err := redistest.ReadCommand(r)
		if err != nil {
			return
		}
		answer := "+OK\r\n"
		if strings.HasPrefix(words[0], "EVAL") {
			answer = <-l.replies
		}
		if _, err := io.WriteString(c, answer); err != nil || !strings.HasSuffix(answer, "\r\n") {
			return
		}
	}
}

// The arguments are those that the header of each script names.
func TestWire_Calls_MatchScripts(t *testing.T) {
	_, client := newReplyServer(t)
	w := Encoder{ID: "6f0e6a4e-1111-2222-3333-444455556666"}
	const id = "6f0e6a4e-1111-2222-3333-444455556666"
	for _, test := range []struct {
		name     string
		script   scripts.Script
		verb     actor.Verb
		whole    bool
		commands []actor.Command
		want     string
	}{
		{"acquire", scripts.Acquire, actor.SendAcquire, false, []actor.Command{
			{Key: "a", Tenure: 1, Lease: 30 * time.Second},
			{Key: "b", Tenure: 18446744073709551615, Lease: 1500 * time.Microsecond, Orphans: []uint64{7, 8}},
			{Key: "{c}:x y", Tenure: 3, Lease: 999 * time.Microsecond},
			{Key: "d", Tenure: 4, Lease: 10 * 365 * 24 * time.Hour, Orphans: []uint64{9}},
		}, "4 a b {c}:x y d PUBLISH _ ID:1 30000 ID:18446744073709551615 1 ID:3 1 ID:4 315360000000 2 ID:7 2 ID:8 4 ID:9"},
		{"acquire in its text", scripts.Acquire, actor.SendAcquire, true, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second},
		}, "1 a PUBLISH 1000 ID:1"},
		{"renew", scripts.Renew, actor.SendRenew, false, []actor.Command{
			{Key: "a", Tenure: 1, Lease: 30 * time.Second},
			{Key: "b", Tenure: 2, Count: 3},
			{Key: "c", Tenure: 3, Lease: time.Nanosecond, CountListeners: true, ExcludeSelf: true},
			{Key: "d", Tenure: 4, Lease: time.Second, Count: 12, CountListeners: true},
		}, "4 a b c d NUMSUB _ ID:1 30000 ID:2 0 ID:3 1 ID:4 1000 2 3 _ 3 _ 1 4 12 1"},
		{"renew without extras", scripts.Renew, actor.SendRenew, false, []actor.Command{
			{Key: "a", Tenure: 1, Lease: 30 * time.Second},
		}, "1 a NUMSUB 30000 ID:1"},
		{"renew that wants a fall told, and nothing else", scripts.Renew, actor.SendRenew, false, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second, MayShorten: true},
		}, "1 a NUMSUB 1000 ID:1 1 _ 2"},
		{"renew of fair locks that wants a fall told", scripts.Renew, actor.SendRenew, false, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second, MayShorten: true, Fair: true},
			{Key: "b", Tenure: 2, Lease: time.Second, MayShorten: true, Fair: true, CountListeners: true},
			{Key: "c", Tenure: 3, Lease: time.Second, Fair: true},
		}, "3 a b c NUMSUB 1000 ID:1 ID:2 ID:3 1 _ 4 2 _ 5"},
		{"release", scripts.Release, actor.SendRelease, false, []actor.Command{
			{Key: "a", Tenure: 1}, {Key: "b", Tenure: 2, Lease: time.Second, Count: 3},
		}, "2 a b PUBLISH ID:1 ID:2"},
		{"force", scripts.Force, actor.SendForce, false, []actor.Command{
			{Key: "a", Tenure: 1}, {Key: "b", Tenure: 2},
		}, "2 a b PUBLISH ID"},
		{"fenced acquire", scripts.FencedAcquire, actor.SendFencedAcquire, false, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second, Orphans: []uint64{7}}, {Key: "{b}", Tenure: 2, Lease: time.Second, Orphans: []uint64{8}},
		}, "4 a redisson_lock_token:{a} {b} redisson_lock_token:{b} PUBLISH 1000 ID:1 ID:2 1 ID:7 2 ID:8"},
		{"fenced pass", scripts.FencedRenew, actor.SendFencedRenew, false, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second, Count: 1, CountListeners: true, Token: 9}, {Key: "b", Tenure: 2, Lease: time.Second, Token: 1},
		}, "4 a redisson_lock_token:{a} b redisson_lock_token:{b} NUMSUB ID:1 1000 1 1 9 ID:2 1000 _ _ 1"},
		{"joint acquire", scripts.MultiAcquire, actor.SendMultiAcquire, false, []actor.Command{
			{Key: "b", Tenure: 1, Lease: time.Second, Parts: []actor.PartKey{{Key: "a"}, {Key: "b", Orphans: []uint64{7, 8}}}},
			{Key: "c", Tenure: 2, Lease: 30 * time.Second, Parts: []actor.PartKey{{Key: "c", Orphans: []uint64{9}}}},
		}, "3 a b c PUBLISH 2 2 ID:1 1000 1 ID:2 30000 2 ID:7 2 ID:8 3 ID:9"},
		{"fair acquire", scripts.FairAcquire, actor.SendFairAcquire, false, []actor.Command{
			{Key: "a", Tenure: 1, Lease: time.Second, Wait: time.Minute, QueuedAfter: 7}, {Key: "{b}", Tenure: 2, Lease: time.Second, Orphans: []uint64{8}},
		}, "8 a redisson_lock_queue:{a} redisson_lock_timeout:{a} redisson_lock_places:{a} {b} redisson_lock_queue:{b} redisson_lock_timeout:{b} redisson_lock_places:{b} " +
			"PUBLISH 1700000000000 1700000001500 ID:1 1000 60000 ID:7 ID:2 1000 _ _ 2 ID:8"},
		{"fair release", scripts.FairRelease, actor.SendFairRelease, false, []actor.Command{
			{Key: "a", Tenure: 1, Wait: time.Nanosecond}, {Key: "b", Tenure: 2},
		}, "8 a redisson_lock_queue:{a} redisson_lock_timeout:{a} redisson_lock_places:{a} b redisson_lock_queue:{b} redisson_lock_timeout:{b} redisson_lock_places:{b} PUBLISH 1700000000000 ID:1 1 ID:2 _"},
		{"fair force", scripts.FairForce, actor.SendFairForce, false, []actor.Command{
			{Key: "a", Tenure: 1},
		}, "4 a redisson_lock_queue:{a} redisson_lock_timeout:{a} redisson_lock_places:{a} PUBLISH 1700000000000 ID"},
		{"state", scripts.State, actor.SendState, false, []actor.Command{{Key: "a"}, {Key: "b"}}, "2 a b"},
		{"an empty name, and one of any bytes", scripts.State, actor.SendState, false, []actor.Command{
			{Key: ""}, {Key: "a\x00\r\nb\xff"},
		}, "2 _ a\x00\r\nb\xff"},
	} {
		t.Run(test.name, func(t *testing.T) {
			// The same writer is used again and again.
			call := w.Encode(client, &coordinator.Batch{Verb: test.verb, Commands: test.commands, SendText: test.whole, SentWallMillis: 1_700_000_000_000, EffectUntilMillis: 1_700_000_001_500})
			words := call.Commands()
			if test.whole {
				require.Equal(t, []string{"EVAL", test.script.Text}, words[:2])
			} else {
				require.Equal(t, []string{"EVALSHA", test.script.SHA1}, words[:2])
			}
			for i, word := range words {
				if word == "" {
					words[i] = "_"
				}
			}
			require.Equal(t, test.want, strings.ReplaceAll(strings.Join(words[2:], " "), id, "ID"))
		})
	}
}

// show formats a decoded batch.
func show(b *coordinator.Batch) string {
	if b.Failed != nil {
		if b.NoReply {
			return "lost"
		}
		return "refused: " + b.Failed.Error()
	}
	shown := make([]string, len(b.Replies))
	for i := range b.Replies {
		shown[i] = showReply(&b.Replies[i], b.Verb)
	}
	return strings.Join(shown, " · ")
}

func showReply(r *actor.Reply, verb actor.Verb) string {
	text := [...]string{"unanswered", "done", "gone", "taken", "refused"}[r.Status]
	if r.Malformed {
		text = "garbled"
	}
	if r.Unpublished {
		text += " muted"
	}
	if r.CountNotStored {
		text += " uncounted"
	}
	if (verb == actor.SendRenew || verb == actor.SendFencedRenew) && r.Status == actor.OK {
		text += fmt.Sprint(" ", r.Listeners)
	}
	if r.Token != 0 {
		text += fmt.Sprint(" token ", r.Token)
	}
	if r.Status == actor.HeldByOther || verb == actor.SendState && r.Status == actor.OK {
		text += fmt.Sprintf(" %v %q", r.TTL, r.Holder)
	}
	if r.Readers != "" {
		text += fmt.Sprintf(" beside %q", r.Readers)
	}
	if r.Writer != "" {
		text += fmt.Sprintf(" by %q", r.Writer)
	}
	if verb == actor.SendState && r.Status == actor.OK {
		text += fmt.Sprint(" ", r.Count)
	}
	if r.QueueTTL != 0 {
		text += fmt.Sprint(" left ", r.QueueTTL)
	}
	if r.Err != nil {
		text += ": " + strings.TrimPrefix(r.Err.Error(), "lockwheel: unexpected ")
	}
	return text
}

// Replies of servers, in RESP, and how they are decoded. A malformed reply for one key concerns that key only.
func TestWire_Replies_Decoded(t *testing.T) {
	says, client := newReplyServer(t)
	w := Encoder{ID: "me"}
	const form = "garbled: form of a reply"
	for verb, table := range map[actor.Verb][][2]string{
		actor.SendAcquire: {
			{"*2 :1 *2 :29000 $4 me:1", "done · taken 29s \"me:1\""},
			{"*2 *2 :-1 $0 _ *2 :0 $3 x:1", "taken -1ns \"\" · taken 0s \"x:1\""},
			{"*2 $14 WRONGTYPE_text :1", "refused: WRONGTYPE_text · done"},
			{"*2 -NOPERM_no :1", "refused: NOPERM_no · done"},
			{"*2 -ERR_unknown_command :1", "refused: ERR_unknown_command · done"},
			{"*2 *2 :9223372036854775807 $1 x *2 :-9223372036854775808 $1 x",
				"taken 876000h0m0s \"x\" · taken -2562047h47m16.854775808s \"x\""},
			{"*2 :0 :2", form + " · " + form},
			{"*2 $-1 :1", form + " · done"},
			{"*2 *-1 :1", form + " · done"},
			{"*2 *0 :1", form + " · done"},
			{"*2 *1 :5 :1", form + " · done"},
			{"*2 *3 :5 $1 x :1 :1", form + " · done"},
			{"*2 *2 $-1 $1 x :1", form + " · done"},
			{"*2 *2 :5 $-1 :1", form + " · done"},
			{"*2 *2 :5 :5 :1", form + " · done"},
			{"*2 *2 $1 x $1 x :1", form + " · done"},
			{"*2 *2 *1 :5 *1 $1 x :1", form + " · done"},
			{"*2 *2 -ERR -ERR :1", form + " · done"},
			{"*2 %1 :1 :2 :1", form + " · done"},
			{"*2 _ :1", form + " · done"},
			{"*2 #t :1", form + " · done"},
			{"*2 ,1.5 :1", form + " · done"},
			{"*2 (123456789012345678901234567890 :1", form + " · done"},
			{"*1 :1", "done"},
			{"*3 :1 :1 :1", "done · done"},
			{"*0", ""},
			{":1", "done · done"},
			{":0", "lost"},
			{":2", "lost"},
			{"$2 OK", "lost"},
			{"$-1", "lost"},
			{"*-1", "lost"},
			{"_", "lost"},
			{"-NOSCRIPT_No_matching", "refused: NOSCRIPT_No_matching"},
			{"-ERR_wrong_number", "refused: ERR_wrong_number"},
			{"-", "refused: "},
		},
		actor.SendRenew: {
			{"*2 :1 :0", "done -1 · gone"},
			{"*2 *3 :1 :1 :-1 *3 :1 :0 :7", "done -1 · done uncounted 7"},
			{"*2 *3 :0 :1 :1 :1", form + " · done -1"},
			{"*2 *3 :1 :1 $-1 :1", form + " · done -1"},
			{"*2 *3 :1 $-1 :1 :1", form + " · done -1"},
			{"*2 *2 :1 :1 :1", form + " · done -1"},
			{"*2 *4 :1 :1 :1 :1 :1", form + " · done -1"},
			{"*2 :2 :-1", form + " · " + form},
			{"*2 $3 OOM $0 _", "refused: OOM · refused: "},
			{"*2 *3 :1 :1 :9223372036854775807 :1", "done 9223372036854775807 · done -1"},
		},
		actor.SendRelease: {
			{"*2 :1 :0", "done · gone"},
			{"*2 :2 :3", "done muted · " + form},
			{"*2 *1 :1 $1 x", form + " · refused: x"},
		},
		actor.SendForce: {
			{"*2 :1 :0", "done · gone"},
			{"*2 :2 :-1", "done muted · " + form},
		},
		actor.SendFencedAcquire: {
			{"*2 :7 *2 :29000 $4 me:1", "done token 7 · taken 29s \"me:1\""},
			{":1", "lost"}, // each has a token of its own
			{"*2 :0 :-1", form + " · " + form},
			{"*2 *3 :1 $0 _ :7 $9 WRONGTYPE", form + " · refused: WRONGTYPE"},
			{"*2 $19 9223372036854775807 $16 9007199254740993", "done token 9223372036854775807 · done token 9007199254740993"},
			{"*2 $2 -1 $19 9223372036854775808", form + " · refused: 9223372036854775808"},
		},
		actor.SendFencedRenew: {
			{"*2 *4 :1 :1 :-1 $16 9007199254740993 *4 :1 :1 :-1 $1 x", "done -1 token 9007199254740993 · " + form},
			{"*2 *4 :1 :1 :-1 :8 :0", "done -1 token 8 · gone"},
			{"*2 *4 :1 :0 :3 :8 :1", "done uncounted 3 token 8 · " + form},
			{"*2 *4 :1 :1 :-1 :0 *3 :1 :1 :1", form + " · " + form},
			{"*2 *4 :0 :1 :-1 :8 $3 OOM", form + " · refused: OOM"},
		},
		actor.SendFairAcquire: {
			{"*2 :1 *4 :29000 $4 me:1 :80000 :9", "done · taken 29s \"me:1\" left 1m20s"},
			{"*2 *4 :5 $0 _ :-1 :9 *4 :-1 $0 _ :5 :9", "taken 5ms \"\" left -1ns · taken -1ns \"\" left 5ms"},
			{"*2 *3 :5 $1 x :5 *4 :5 $1 x $1 x :9", form + " · " + form},
			{"*2 *1 :1700000000000 *1 $1 x", "refused: " + actor.ErrLate.Error() + " · " + form},
			{"*2 *4 :29000 $4 me:1 :80000 :1700000000000 *4 :29000 $4 me:1 :80000 $1 x", "taken 29s \"me:1\" left 1m20s · " + form},
			{"*2 :0 $9 WRONGTYPE", form + " · refused: WRONGTYPE"},
		},
		actor.SendFairRelease: {
			{"*2 :1 :0", "done · gone"},
			{"*2 :2 *1 :1", "done muted · " + form},
		},
		actor.SendFairForce: {
			{"*2 :1 :0", "done · gone"},
			{"*2 :2 :3", "done muted · " + form},
		},
		actor.SendState: {
			{"*2 *3 :-2 $0 _ :0 *3 :100 $4 me:1 :12", "done -2ns \"\" 0 · done 100ms \"me:1\" 12"},
			{"*2 :1 :0", form + " · " + form},
			{":1", "lost"},
			{"*2 *3 :1 $-1 :1 *3 :1 $1 x $-1", form + " · " + form},
			{"*2 *3 :1 $1 x :9223372036854775807 $9 WRONGTYPE", "done 1ms \"x\" 9223372036854775807 · refused: WRONGTYPE"},
		},
	} {
		for _, row := range table {
			b := &coordinator.Batch{Verb: verb, Commands: []actor.Command{
				{Verb: verb, Key: "a", Tenure: 1, Lease: time.Second}, {Verb: verb, Key: "b", Tenure: 2, Lease: time.Second},
			}}
			says.replies <- wired(row[0])
			DecodeResult(client.Do(t.Context(), w.Encode(client, b)), b)
			require.Equal(t, row[1], show(b), "%d: %s", verb, row[0])
		}
	}
}

// wired converts words to RESP: an underscore in a text is a blank, and alone after $0 it is the empty text.
func wired(words string) string {
	var text strings.Builder
	for word := range strings.FieldsSeq(words) {
		if word == "_" && strings.HasSuffix(text.String(), "$0\r\n") {
			word = ""
		}
		text.WriteString(word + "\r\n")
	}
	return text.String()
}

// A connection that breaks within a reply gives no reply, and an error.
func TestWire_ConnBroken_NoReply(t *testing.T) {
	says, client := newReplyServer(t)
	w := Encoder{ID: "me"}
	b := &coordinator.Batch{Verb: actor.SendRelease, Commands: []actor.Command{{Key: "a", Tenure: 1}}}
	says.replies <- "*1\r\n:" // and nothing more
	DecodeResult(client.Do(t.Context(), w.Encode(client, b)), b)
	require.True(t, b.NoReply)
	require.Error(t, b.Failed)
}

// Leases are sent in whole milliseconds, rounded down, and at least one unless they are 0.
func TestWire_Leases_RoundedDownToMillis(t *testing.T) {
	for lease, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Microsecond: 1, time.Millisecond: 1, 1999 * time.Microsecond: 1, 2 * time.Millisecond: 2,
		math.MaxInt64: math.MaxInt64 / 1_000_000,
	} {
		require.Equal(t, want, Milliseconds(lease), lease)
	}
}

// Whatever a server replies for a key, decoding gives a reply that locks handle, and does not panic.
func FuzzDecodeReply(f *testing.F) {
	for _, seed := range []string{
		"i\x00", "i\x01", "i\x02", "a\x02i\x05s\x03x:1", "a\x03i\x01i\x01i\x05", "a\x03i\x04s\x04me:1i\x01", "s\x09WRONGTYPE", "e\x03OOM",
		"n", "b\x01", "m\x01i\x01i\x01", "a\x00", "a\x02nn", "a\x02a\x01i\x00s\x00", "a\x02i\xffs\x01x", "t\x02i\x01i\x02",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m rueidis.RedisMessage
		serial, _ := serialized(data, 0)
		require.NoError(t, m.CacheUnmarshalView(append(make([]byte, 7), serial...)))
		for verb := actor.SendAcquire; verb < actor.Verbs; verb++ {
			checkReply(t, decodeReply(&m, verb), verb)
		}
	})
}

// acquiring lists the verbs that acquire a lock.
var acquiring = []actor.Verb{
	actor.SendAcquire, actor.SendFencedAcquire, actor.SendFairAcquire, actor.SendReadAcquire, actor.SendWriteAcquire,
	actor.SendMultiAcquire,
}

func checkReply(t *testing.T, r actor.Reply, verb actor.Verb) {
	switch r.Status {
	case actor.NoReply:
		require.Error(t, r.Err)
		require.True(t, r.Malformed, "it did answer")
	case actor.Rejected:
		require.Error(t, r.Err)
	case actor.HeldByOther:
		require.Contains(t, acquiring, verb)
		require.NoError(t, r.Err)
	case actor.NotFound:
		require.NotContains(t, acquiring, verb)
		require.NotEqual(t, actor.SendState, verb)
		require.NoError(t, r.Err)
	case actor.OK:
		require.NoError(t, r.Err)
	default:
		t.Fatalf("status %d", r.Status)
	}
}

// serialized builds a message from bytes: a letter for its type, then a size or a number, then its contents.
func serialized(data []byte, depth int) (serial, rest []byte) {
	kinds := map[byte]byte{
		'i': ':', 's': '$', 'p': '+', 'e': '-', 'E': '!', 'n': '_', 'b': '#', 'a': '*', 'm': '%', 't': '~', 'f': ',', 'B': '(', 'v': '=',
	}
	next := func() (b byte) {
		if len(data) > 0 {
			b, data = data[0], data[1:]
		}
		return b
	}
	kind, known := kinds[next()]
	if !known {
		kind = '_'
	}
	number := func(n uint64) { serial = binary.BigEndian.AppendUint64(append(serial, kind), n) }
	switch kind {
	case '_':
		number(0)
	case ':', '#':
		numbers := []int64{0, 1, 2, -1, -2, math.MaxInt64, math.MinInt64, math.MaxInt64 / 1_000_000, 1 << 40}
		if n := next(); int(n) < len(numbers) {
			number(uint64(numbers[n]))
		} else {
			number(uint64(n))
		}
	case '*', '%', '~':
		count := int(next()) % 5
		if depth > 3 {
			count = 0
		}
		if kind == '%' {
			count *= 2
		}
		number(uint64(count))
		for range count {
			var child []byte
			child, data = serialized(data, depth+1)
			serial = append(serial, child...)
		}
	default:
		size := min(int(next()), len(data))
		number(uint64(size))
		serial = append(serial, data[:size]...)
		data = data[size:]
	}
	return serial, data
}

// A goroutine that writes to a connection may still use the text of a failed call: the text is not overwritten then.
func TestWire_CallBuffer_ReusedAfterReply(t *testing.T) {
	says, client := newReplyServer(t)
	w := Encoder{ID: "me", ReuseBuffer: true}
	b := coordinator.NewBatch()
	ask := func(answer string) {
		b.Reset(actor.SendRelease)
		b.Commands = append(b.Commands, actor.Command{Key: "a", Tenure: 1})
		says.replies <- answer
		DecodeResult(client.Do(t.Context(), w.Encode(client, b)), b)
	}
	ask(wired("*1 :1"))
	first := &b.Buf[0]
	ask(wired("*1 :1"))
	require.Same(t, first, &b.Buf[0], "it costs no allocation")
	ask(wired("-ERR no"))
	require.Nil(t, b.Buf, "refused")
	ask(wired("*1 :1"))
	ask("*1\r\n:") // and nothing more
	require.Nil(t, b.Buf, "the connection broke")
	b.Buf = make([]byte, coordinator.MaxKeptBuf+1)
	b.Reset(actor.SendRelease)
	require.Nil(t, b.Buf, "much memory is not kept")
}

// A node of a cluster without sharded pub/sub cannot count listeners at other nodes.
func TestWire_ListenersUnknown_NotCounted(t *testing.T) {
	b := coordinator.NewBatch()
	b.Reset(actor.SendRenew)
	b.Commands = []actor.Command{{Verb: actor.SendRenew, Key: "k", Tenure: 7, Lease: time.Second, CountListeners: true}}
	written := func(w *Encoder) string {
		Specs[b.Verb].encode(w, b)
		return string(w.buf)
	}
	require.Equal(t, "SHARDNUMSUB1000me:71"+"1", written(&Encoder{ID: "me", Sharded: true}))
	require.Equal(t, "NUMSUB1000me:71"+"1", written(&Encoder{ID: "me"}))
	require.Equal(t, "NUMSUB1000me:71", written(&Encoder{ID: "me", NoListenerCount: true}))
}

// What a command is estimated to take of a call is not less than what it takes, but for a tenth.
func TestWire_CommandSize_WithinEstimate(t *testing.T) {
	name := func(bytes int) string { return strings.Repeat("k", bytes) }
	reader := func(holds, bytes int) actor.Command {
		return actor.Command{Key: name(bytes), Tenure: 1, Lease: time.Second, Reader: &actor.ReaderArgs{Leases: make([]time.Duration, holds)}}
	}
	for _, c := range []struct {
		what string
		verb actor.Verb
		of   actor.Command
	}{
		{"a lock", actor.SendAcquire, actor.Command{Key: "a", Tenure: 1, Lease: time.Second}},
		{"a fenced lock", actor.SendFencedAcquire, actor.Command{Key: name(1000), Tenure: 1, Lease: time.Second}},
		{"a reader with a hold", actor.SendReadRenew, reader(1, 10)},
		{"a reader with many", actor.SendReadRenew, reader(50, 10)},
		{"a reader with very many", actor.SendReadRenew, reader(10_000, 10)},
		{"a reader with a long name", actor.SendReadRenew, reader(9, 30_000)},
		{"a reader beside a writer", actor.SendReadAcquire, actor.Command{Key: "a", Reader: &actor.ReaderArgs{Writer: 1}}},
		{"several locks", actor.SendMultiAcquire, actor.Command{Key: "a", Parts: make([]actor.PartKey, 60)}},
		{"several locks with long names", actor.SendMultiAcquire, actor.Command{Key: "a", Parts: []actor.PartKey{{Key: "a"}, {Key: name(60_000)}}}},
		{"a fair lock with a long name", actor.SendFairAcquire, actor.Command{Key: name(60_000)}},
		{"orphans", actor.SendAcquire, actor.Command{Key: "a", Orphans: make([]uint64, 1600)}},
	} {
		const copies = 32
		b := coordinator.NewBatch()
		b.Reset(c.verb)
		estimate := 0
		for range copies {
			b.Commands = append(b.Commands, c.of)
			_, bytes := coordinator.CommandSize(&c.of, c.verb)
			estimate += bytes
		}
		_, client := newReplyServer(t)
		w, bytes := Encoder{ID: "6f0e6a4e-1111-2222-3333-444455556666"}, 0
		call := w.Encode(client, b)
		for _, word := range call.Commands()[2:] { // without EVALSHA and the hash
			bytes += len(word)
		}
		require.LessOrEqual(t, bytes, estimate*11/10, c.what)
	}
}

// The estimate counts each key that a script gets.
func TestWire_Estimate_CountsEveryKey(t *testing.T) {
	for verb := range actor.Verbs {
		if Specs[verb].keys == nil {
			require.Equal(t, len(Specs[verb].extraKeys), coordinator.ExtraKeys(verb), "%v", verb)
			require.Equal(t, Specs[verb].holdKeys, coordinator.HasHoldKeys(verb), "%v", verb)
		}
	}
}
