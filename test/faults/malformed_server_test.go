package faults_test

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

	"github.com/lockwheel/lockwheel/internal/testport"
)

// targetLock is the lock with changed replies.
const targetLock = "suspect"

// malformedServer is that proxy. It keeps the protocol: one reply per command.
type malformedServer struct {
	t      testing.TB
	honest string
	l      net.Listener
	conns  sync.WaitGroup

	mu   sync.Mutex
	lie  func(reply, index int) ([]byte, mutation) // returns the changed reply; nil: no change
	gate chan struct{}                             // replies of scripts are delayed until it is closed; nil: not delayed
	said int                                       // number of changed replies
}

// mutation is which part of a reply is changed.
type mutation uint8

const (
	onePart  mutation = iota // the part of the suspect
	wholly                   // the reply for all locks of the batch
	cutShort                 // the reply ends before the part of the suspect
	tooLong                  // there is one part too many
)

func startMalformedServer(t testing.TB, honest string) *malformedServer {
	t.Helper()
	l, err := testport.Listen()
	require.NoError(t, err)
	s := &malformedServer{t: t, honest: honest, l: l}
	s.conns.Go(s.serve)
	t.Cleanup(func() {
		l.Close()
		s.conns.Wait() // the engines have closed their ends
	})
	return s
}

func (s *malformedServer) addr() string { return s.l.Addr().String() }

// mutates sets the function that changes replies.
func (s *malformedServer) mutates(f func(reply, index int) ([]byte, mutation)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lie, s.said = f, 0
}

// delayReplies delays replies of scripts until the returned function is called, or the test ends.
func (s *malformedServer) delayReplies() (speak func()) {
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

func (s *malformedServer) serve() {
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

// talk passes on commands one at a time, and replies. A connection that subscribes is passed on unchanged.
func (s *malformedServer) talk(client, server net.Conn) {
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

// answer returns the reply in place of a correct one.
func (s *malformedServer) answer(words [][]byte, reply []byte, parts [][]byte) []byte {
	index, script := aboutTarget(words)
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
		return reply // an error of the correct server
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

// aboutTarget returns the index of the suspect among a script's locks, or -1, and whether the command is a script.
func aboutTarget(words [][]byte) (index int, script bool) {
	if len(words) < 3 || !bytes.HasPrefix(text(words[0]), []byte("EVAL")) {
		return -1, false
	}
	keys, _ := strconv.Atoi(string(text(words[2])))
	for _, word := range words[3 : 3+keys] {
		key := string(text(word))
		if key == targetLock {
			return index, true
		}
		if !strings.HasPrefix(key, "redisson_lock_") && !strings.HasPrefix(key, "{") { // these belong to the lock before them
			index++
		}
	}
	return -1, true
}

// text returns the content of a bulk string.
func text(bulk []byte) []byte {
	_, text, _ := bytes.Cut(bulk, []byte("\r\n"))
	return bytes.TrimSuffix(text, []byte("\r\n"))
}

// readMessage reads one message of RESP unchanged, with the parts of an array.
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

// fuzzReply generates replies of RESP from bytes: of every type and length, with numbers of every size.
type fuzzReply struct{ bytes []byte }

func (v *fuzzReply) next() byte {
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

func (v *fuzzReply) reply(depth int) []byte {
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
