package lockwheel_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/loopback"
)

// A server that lies: it stands before an honest one, and changes what scripts answer about one lock.

// suspect is the lock that it lies about.
const suspect = "suspect"

// liar is such a server. It keeps the protocol: one reply a command.
type liar struct {
	t      testing.TB
	honest string
	l      net.Listener
	conns  sync.WaitGroup

	mu   sync.Mutex
	lie  func(reply, index int) ([]byte, lieKind) // nil: none
	gate chan struct{}                            // scripts are not answered before it is closed; nil: at once
	said int                                      // lies
}

// lieKind says what of a reply is a lie.
type lieKind uint8

const (
	onePart  lieKind = iota // the suspect's part
	wholly                  // the reply for all locks of the batch
	cutShort                // from the suspect's part on there is nothing
	tooLong                 // there is one part too many
)

func startLiar(t testing.TB, honest string) *liar {
	t.Helper()
	l, err := loopback.Listen()
	require.NoError(t, err)
	s := &liar{t: t, honest: honest, l: l}
	s.conns.Go(s.serve)
	t.Cleanup(func() {
		l.Close()
		s.conns.Wait() // the engines have closed their ends
	})
	return s
}

func (s *liar) addr() string { return s.l.Addr().String() }

// lies sets what it says from now on.
func (s *liar) lies(f func(reply, index int) ([]byte, lieKind)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lie, s.said = f, 0
}

// hesitates keeps replies of scripts back until the function returned is called, or the test ends.
func (s *liar) hesitates() (speak func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	speak = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gate = nil
		close(gate)
	})
	s.t.Cleanup(speak)
	return speak
}

func (s *liar) serve() {
	for {
		client, err := s.l.Accept()
		if err != nil {
			return
		}
		s.conns.Go(func() {
			defer client.Close()
			server, err := net.Dial("tcp", s.honest)
			if err != nil {
				return
			}
			defer server.Close()
			s.talk(client, server)
		})
	}
}

// talk passes commands on, one at a time, and answers. A connection that subscribes is left to itself.
func (s *liar) talk(client, server net.Conn) {
	commands, replies := bufio.NewReader(client), bufio.NewReader(server)
	for {
		raw, words, err := readMessage(commands)
		if err != nil {
			return
		}
		if _, err := server.Write(raw); err != nil {
			return
		}
		if len(words) > 0 && string(text(words[0])) == "SUBSCRIBE" {
			s.conns.Go(func() {
				_, _ = io.Copy(client, replies)
				client.Close()
			})
			_, _ = io.Copy(server, commands)
			return
		}
		reply, parts, err := readMessage(replies)
		if err != nil {
			return
		}
		if _, err := client.Write(s.answer(words, reply, parts)); err != nil {
			return
		}
	}
}

// answer is what it answers instead of an honest reply.
func (s *liar) answer(words [][]byte, reply []byte, parts [][]byte) []byte {
	index, script := aboutSuspect(words)
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	if script && gate != nil {
		<-gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lie == nil || index < 0 {
		return reply
	}
	s.said++
	lie, kind := s.lie(s.said-1, index)
	if index >= len(parts) && kind != wholly {
		return reply // an error of the honest server's
	}
	switch kind {
	case wholly:
		return lie
	case cutShort:
		parts = parts[:index]
	case tooLong:
		parts = append(parts, lie)
	default:
		parts[index] = lie
	}
	return append(fmt.Appendf(nil, "*%d\r\n", len(parts)), bytes.Join(parts, nil)...)
}

// aboutSuspect is which of a script's locks is the suspect, -1 when none is, and whether it is a script.
func aboutSuspect(words [][]byte) (index int, script bool) {
	if len(words) < 3 || !bytes.HasPrefix(text(words[0]), []byte("EVAL")) {
		return -1, false
	}
	keys, _ := strconv.Atoi(string(text(words[2])))
	for _, word := range words[3 : 3+keys] {
		key := string(text(word))
		if key == suspect {
			return index, true
		}
		if !strings.HasPrefix(key, "redisson_lock_") && !strings.HasPrefix(key, "{") { // these belong to the lock before them
			index++
		}
	}
	return -1, true
}

// text is what a bulk string says.
func text(bulk []byte) []byte {
	_, text, _ := bytes.Cut(bulk, []byte("\r\n"))
	return bytes.TrimSuffix(text, []byte("\r\n"))
}

// readMessage reads one message of RESP as it is, and the parts of one that has parts.
func readMessage(r *bufio.Reader) (raw []byte, parts [][]byte, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, nil, err
	}
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	raw = line
	switch line[0] {
	case '$', '=', '!':
		if n < 0 {
			return raw, nil, nil
		}
		bulk := make([]byte, n+2)
		_, err = io.ReadFull(r, bulk)
		return append(raw, bulk...), nil, err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return raw, nil, nil
	}
	for range n {
		part, _, err := readMessage(r)
		if err != nil {
			return nil, nil, err
		}
		parts, raw = append(parts, part), append(raw, part...)
	}
	return raw, parts, nil
}

// invention makes replies of RESP out of bytes: of every type, of every length, with numbers of every size.
type invention struct{ bytes []byte }

func (v *invention) next() byte {
	if len(v.bytes) == 0 {
		return 0
	}
	b := v.bytes[0]
	v.bytes = v.bytes[1:]
	return b
}

var numbers = []int64{0, 1, -1, 2, -2, 3, 30000, math.MaxInt32, math.MaxInt64, math.MinInt64, 1 << 53}

var refusals = []string{
	"ERR no", "NOSCRIPT no", "NOPERM no", "WRONGTYPE no", "OOM no", "BUSY no", "LOADING no", "READONLY no", "MOVED 1 127.0.0.1:1",
	"MOVED", "ASK 1 127.0.0.1:1", "TRYAGAIN no", "CLUSTERDOWN no", "NOAUTH no", "MASTERDOWN no", "EXECABORT no", "no", "NOREPLICAS no",
}

func (v *invention) reply(depth int) []byte {
	kind := v.next() % 14
	if depth == 0 && kind > 9 {
		kind %= 10
	}
	n := v.next()
	switch kind {
	case 0, 1:
		return fmt.Appendf(nil, ":%d\r\n", numbers[int(n)%len(numbers)])
	case 2:
		return fmt.Appendf(nil, "+%s\r\n", refusals[int(n)%len(refusals)])
	case 3:
		return fmt.Appendf(nil, "-%s\r\n", refusals[int(n)%len(refusals)])
	case 4:
		bulk := bytes.Repeat([]byte{n}, int(n))
		return append(fmt.Appendf(nil, "$%d\r\n", len(bulk)), append(bulk, "\r\n"...)...)
	case 5:
		return fmt.Appendf(nil, "$%d\r\n%d\r\n", len(fmt.Sprint(numbers[int(n)%len(numbers)])), numbers[int(n)%len(numbers)])
	case 6:
		return []byte("$-1\r\n")
	case 7:
		return []byte("_\r\n")
	case 8:
		return []byte("#t\r\n")
	case 9:
		return []byte(",1.5e300\r\n")
	}
	size := int(n) % 5
	sign := byte('*')
	switch kind {
	case 12:
		sign = '~'
	case 13:
		sign, size = '%', size/2*2
	}
	length := size
	if sign == '%' {
		length /= 2
	}
	made := fmt.Appendf(nil, "%c%d\r\n", sign, length)
	for range size {
		made = append(made, v.reply(depth-1)...)
	}
	return made
}
