package sentinel

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strconv"
)

const (
	// maxReply is the maximum length of a sentinel's reply in bytes. The longest lists the replicas of a master, with
	// about 1 KiB for each.
	maxReply = 4 << 20
	// maxNesting is the maximum depth of a sentinel's reply. The lists of sentinels and of replicas have three.
	maxNesting = 8
)

var errReply = errors.New("a sentinel's reply is malformed, or longer than 4 MiB")

// filter is a connection to a sentinel that hides what the sentinel announces. rueidis would follow announcements,
// and with its own ones the watcher has it do so. But rueidis 1.0.79 waits for a lock in the function that receives
// them. The holder of the lock may wait for that function to return: then the client never connects again, and never
// closes. A malformed announcement ends the process.
//
// newFilter makes one. Its reads belong to one goroutine; the rest is that of the connection.
type filter struct {
	net.Conn
	in    *bufio.Reader
	reply []byte // the reply that was read last
	rest  []byte // what is left of it for Read
	err   error  // after which nothing is read any more; nil: none
}

func newFilter(c net.Conn) *filter { return &filter{Conn: c, in: bufio.NewReader(c)} }

// Read reads a part of the next reply that is no announcement.
func (f *filter) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.reply = f.reply[:0]
		if f.err = f.read(0); f.err == nil && !announces(f.reply) {
			f.rest = f.reply
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// announces reports whether a reply is a message of a channel: an array or, in RESP3, a push.
func announces(reply []byte) bool {
	if reply[0] != '>' && reply[0] != '*' {
		return false
	}
	return bytes.HasPrefix(reply[1:], []byte("3\r\n$7\r\nmessage\r\n"))
}

// read appends a reply with its elements. depth is that of the reply, 0 for a whole one.
func (f *filter) read(depth int) error {
	line, err := f.line()
	if err != nil {
		return err
	}
	switch line[0] {
	case '$', '=', '!':
		length, err := number(line)
		if err != nil || length < 0 { // a null has no content
			return err
		}
		return f.content(length + len("\r\n"))
	case '*', '~', '>':
		return f.elements(line, 1, depth+1)
	case '%', '|':
		return f.elements(line, 2, depth+1)
	}
	return nil
}

// elements appends the elements of a reply, so many for each of its number.
func (f *filter) elements(line []byte, each, depth int) error {
	n, err := number(line)
	if err != nil {
		return err
	}
	if depth > maxNesting {
		return errReply
	}
	for range n * each {
		if err := f.read(depth); err != nil {
			return err
		}
	}
	return nil
}

// number returns the number in the first line of a reply, after its type.
func number(line []byte) (int, error) {
	n, err := strconv.Atoi(string(bytes.TrimSuffix(line[1:], []byte("\r\n"))))
	if err != nil || n < -1 || n > maxReply {
		return 0, errReply
	}
	return n, nil
}

// line appends a line, with its end, and returns it.
func (f *filter) line() ([]byte, error) {
	begin := len(f.reply)
	for {
		part, err := f.in.ReadSlice('\n')
		f.reply = append(f.reply, part...)
		switch {
		case len(f.reply) > maxReply:
			return nil, errReply
		case err == nil:
			return f.reply[begin:], nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// content appends bytes. Memory is taken for what has arrived, not for what is promised.
func (f *filter) content(length int) error {
	if len(f.reply)+length > maxReply {
		return errReply
	}
	for length > 0 {
		part, err := f.in.Peek(min(length, f.in.Size()))
		f.reply = append(f.reply, part...)
		if err != nil {
			return err
		}
		_, _ = f.in.Discard(len(part))
		length -= len(part)
	}
	return nil
}
