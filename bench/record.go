package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// recorder forwards connections to a server, and keeps the scripts that their clients call while it records.
type recorder struct {
	to        string
	listener  net.Listener
	recording atomic.Bool
	full      atomic.Bool
	calls     chan []string // the words of each call, in the order in which the server receives them
	conns     chan net.Conn // of the clients
	ended     sync.WaitGroup
}

const (
	maxRecorded      = 1 << 16 // calls
	maxRecordedConns = 64
)

func startRecorder(to string) (*recorder, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recorder{to: to, listener: listener, calls: make(chan []string, maxRecorded), conns: make(chan net.Conn, maxRecordedConns)}
	r.ended.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			select {
			case r.conns <- client:
				r.ended.Go(func() { r.forward(client) })
			default:
				client.Close()
			}
		}
	})
	return r, nil
}

// close ends all connections.
func (r *recorder) close() {
	r.listener.Close()
	for {
		select {
		case client := <-r.conns:
			client.Close()
			continue
		default:
		}
		break
	}
	r.ended.Wait()
}

func (r *recorder) addr() string { return r.listener.Addr().String() }

// forward forwards a connection until one side ends it.
func (r *recorder) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer server.Close()
	r.ended.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	in, out := bufio.NewReader(client), bufio.NewWriter(server)
	for {
		words, err := redistest.ReadCommand(in)
		if err != nil {
			return
		}
		r.record(words)
		if _, err := out.Write(command(nil, words...)); err != nil {
			return
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

func (r *recorder) record(words []string) {
	if !r.recording.Load() || words[0] != "EVALSHA" {
		return
	}
	select {
	case r.calls <- words:
	default:
		r.full.Store(true)
	}
}

// recorded returns the calls that f's clients send, which have ended when f returns.
func (r *recorder) recorded(f func() error) (calls []scriptCall, err error) {
	r.recording.Store(true)
	err = f()
	r.recording.Store(false)
	for {
		select {
		case words := <-r.calls:
			call, wrong := parseCall(words)
			calls, err = append(calls, call), errors.Join(err, wrong)
			continue
		default:
		}
		break
	}
	if r.full.Load() {
		err = errors.Join(err, fmt.Errorf("more than %d calls were to be recorded", maxRecorded))
	}
	return calls, err
}

// scriptCall is a call of a script.
type scriptCall struct {
	sha        string
	keys, args []string
}

func parseCall(words []string) (c scriptCall, err error) {
	n, err := 0, errors.New("a call of a script has too few words")
	if len(words) > 3 {
		n, err = strconv.Atoi(words[2])
	}
	if err != nil || n < 0 || len(words) < 3+n {
		return c, errors.Join(fmt.Errorf("recorded: %.100q", words), err)
	}
	return scriptCall{words[1], words[3 : 3+n], words[3+n:]}, nil
}

// burst returns the call with the reply for keys that are all done.
func (c scriptCall) burst() burst {
	b := burst{reply: []byte(":1\r\n")}
	b.write = command(nil, append([]string{"EVALSHA", c.sha, strconv.Itoa(len(c.keys))}, append(c.keys[:len(c.keys):len(c.keys)], c.args...)...)...)
	return b
}

// pairBursts returns recorded acquires and releases.
func pairBursts(calls []scriptCall) (bursts []burst, err error) {
	acquired, released := 0, 0
	for _, c := range calls {
		b := c.burst()
		switch c.sha {
		case scripts.Acquire.SHA1:
			acquired += len(c.keys)
		case scripts.Release.SHA1:
			released += len(c.keys)
			b.pairs = len(c.keys)
		default:
			continue
		}
		bursts = append(bursts, b)
	}
	if acquired == 0 || acquired != released {
		return nil, fmt.Errorf("recorded: %d acquires and %d releases", acquired, released)
	}
	return bursts, nil
}

// renewBursts returns recorded renewals, and calls that acquire and release the same locks in the same order. It leaves
// out calls with more than a common lease.
func renewBursts(calls []scriptCall) (acquire, renew, release []burst, err error) {
	const common = 2 // arguments: a verb and the lease
	seen := make(map[string]bool)
	for _, c := range calls {
		if c.sha != scripts.Renew.SHA1 || len(c.args) != common+len(c.keys) || c.args[1] == "" {
			continue
		}
		b := c.burst()
		b.pairs = len(c.keys)
		renew = append(renew, b)
		var keys, ids []string // not acquired yet: a renewal can be the second of its lock
		for i, key := range c.keys {
			if !seen[key] {
				keys, ids, seen[key] = append(keys, key), append(ids, c.args[common+i]), true
			}
		}
		if len(keys) > 0 {
			acquire = append(acquire, scriptCall{scripts.Acquire.SHA1, keys, append([]string{"PUBLISH", leaseText}, ids...)}.burst())
			release = append(release, scriptCall{scripts.Release.SHA1, keys, append([]string{"PUBLISH"}, ids...)}.burst())
		}
	}
	if len(renew) == 0 {
		return nil, nil, nil, errors.New("recorded: no renewals")
	}
	return acquire, renew, release, nil
}
