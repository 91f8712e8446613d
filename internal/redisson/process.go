package redisson

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	startWait = 60 * time.Second // for a Java machine to start
	stopWait  = 10 * time.Second // for it to end
)

// ErrEnded is the result of a command if the process ended before it replied.
var ErrEnded = errors.New("redisson: the Java program ended")

// Fields are the named values of a command or of a reply.
type Fields map[string]string

// Answer is the result of a command: Words, or an error, which is a *Failure if a Java exception ended the command.
type Answer struct {
	Fields Fields
	Err    error
}

// JavaError is a Java exception.
type JavaError struct {
	Exception string // its class without the package: "IllegalMonitorStateException"
	Message   string
}

func (f *JavaError) Error() string { return f.Exception + ": " + f.Message }

// Process is a running Java program. Its methods may be called from several goroutines.
type Process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	log tail

	done chan struct{} // closed once it has ended

	mu      sync.Mutex // guards what follows, and keeps lines whole
	sent    int
	waiting map[string]chan<- Answer // nil: no replies will come any more
}

// Start starts the program with options of the Java machine ("-Xmx128m"), and returns when it listens. The program
// ends with this process at the latest, because its standard input ends then. On failure nothing is left.
func (p *Program) Start(options ...string) (*Process, error) {
	options = append(options,
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-cp", p.jar()+string(os.PathListSeparator)+filepath.Join(p.folder, "lib", "*"), "lockwheel.interop.Peer")
	s := &Process{cmd: exec.Command(p.java, options...), done: make(chan struct{}), waiting: map[string]chan<- Answer{}}
	s.cmd.Stderr = &s.log
	setProcessGroup(s.cmd)
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.in = in
	ready := make(chan struct{})
	go s.read(out, ready)
	select {
	case <-ready:
		return s, nil
	case <-s.done:
		return nil, fmt.Errorf("%w before it was ready: %s", ErrEnded, s.Log())
	case <-time.After(startWait):
		s.Kill()
		return nil, fmt.Errorf("redisson: the Java program was not ready within %v: %s", startWait, s.Log())
	}
}

// read delivers replies until the output ends.
func (s *Process) read(out io.Reader, ready chan<- struct{}) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == "ready" {
			close(ready)
			continue
		}
		s.deliver(lines.Text())
	}
	_ = s.cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, to := range s.waiting {
		to <- Answer{Err: ErrEnded}
	}
	s.waiting = nil
	close(s.done)
}

func (s *Process) deliver(line string) {
	id, rest, _ := strings.Cut(line, " ")
	s.mu.Lock()
	to := s.waiting[id]
	delete(s.waiting, id)
	s.mu.Unlock()
	if to != nil {
		to <- answerOf(rest)
	}
}

func answerOf(text string) Answer {
	status, encoded, _ := strings.Cut(text, " ")
	values, err := url.ParseQuery(encoded)
	if err != nil {
		return Answer{Err: fmt.Errorf("redisson: %q: %w", text, err)}
	}
	fields := Fields{}
	for name := range values {
		fields[name] = values.Get(name)
	}
	if status != "ok" {
		return Answer{Err: &JavaError{fields["error"], fields["message"]}}
	}
	return Answer{Fields: fields}
}

// Send sends a command and returns at once. The result arrives on the channel, which need not be read.
func (s *Process) Send(command string, fields Fields) <-chan Answer {
	answer := make(chan Answer, 1)
	values := url.Values{}
	for name, value := range fields {
		values.Set(name, value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		answer <- Answer{Err: ErrEnded}
		return answer
	}
	s.sent++
	id := strconv.Itoa(s.sent)
	s.waiting[id] = answer
	if _, err := fmt.Fprintf(s.in, "%s %s %s\n", id, command, values.Encode()); err != nil {
		delete(s.waiting, id)
		answer <- Answer{Err: errors.Join(ErrEnded, err)}
	}
	return answer
}

// Do sends a command and waits for its result. ctx bounds the wait; the command continues after it.
func (s *Process) Do(ctx context.Context, command string, fields Fields) (Fields, error) {
	select {
	case answer := <-s.Send(command, fields):
		return answer.Fields, answer.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("redisson: %s was not answered: %w", command, context.Cause(ctx))
	}
}

// Kill ends the process as a crash does, and returns when it is gone. Its locks stay until their leases end.
func (s *Process) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// Close lets the process end by itself, and kills it if it does not. Its locks stay until their leases end.
func (s *Process) Close() {
	s.in.Close()
	select {
	case <-s.done:
	case <-time.After(stopWait):
		s.Kill()
	}
}

// Log returns the end of the process's log.
func (s *Process) Log() string { return s.log.String() }
