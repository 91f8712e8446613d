// Package link puts a link with a delay between the contestants and the server. The link is a forwarder in a process of
// its own. So its processor time does not count as that of a client or of the server. It does compete for the
// processors.
package link

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// env tells a process to be a forwarder: the address of the server and the delay, separated by a space.
const env = "LOCKWHEEL_BENCH_LINK"

// startTimeout is the maximum time until a forwarder listens.
const startTimeout = 10 * time.Second

// Link is a running forwarder.
type Link struct {
	addr    string
	process *exec.Cmd
	alive   io.Closer // the forwarder ends when this is closed, also because this process ends
}

// Start starts a forwarder to the server at target that adds delay in each direction. It runs this program once more,
// so the program's main function must begin with RunIfAsked. The caller ends the forwarder with Close. On failure
// nothing is left.
func Start(target string, delay time.Duration) (*Link, error) {
	if delay <= 0 {
		return nil, fmt.Errorf("link: a delay of %v", delay)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.Command(self)
	process.Env = append(os.Environ(), env+"="+target+" "+delay.String())
	process.Stderr = os.Stderr
	alive, errIn := process.StdinPipe()
	out, errOut := process.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	l := &Link{process: process, alive: alive}
	timeout := time.AfterFunc(startTimeout, func() { process.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	timeout.Stop()
	if l.addr = strings.TrimSpace(line); err != nil {
		return nil, errors.Join(fmt.Errorf("link: the forwarder did not start: %w", err), l.Close())
	}
	return l, nil
}

// Addr returns the address for the contestants.
func (l *Link) Addr() string { return l.addr }

// Close ends the forwarder and its connections, and waits for its end.
func (l *Link) Close() error {
	l.alive.Close()
	timeout := time.AfterFunc(startTimeout, func() { l.process.Process.Kill() })
	defer timeout.Stop()
	return l.process.Wait()
}

// RunIfAsked makes the process a forwarder if Start started it, and then does not return. Otherwise it does nothing.
func RunIfAsked() {
	asked, is := os.LookupEnv(env)
	if !is {
		return
	}
	if err := run(asked); err != nil {
		fmt.Fprintln(os.Stderr, "link:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run forwards until the standard input ends.
func run(asked string) error {
	target, text, _ := strings.Cut(asked, " ")
	delay, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go forward(l, target, delay)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
