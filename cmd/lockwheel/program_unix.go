//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// passed returns the signals that are passed on. HUP or INT, if ignored when lockwheel begins, as under nohup or in the
// background of a shell, stays ignored, also by the program. Of other signals Go does not keep that.
func passed() []os.Signal {
	all := []os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH,
	}
	return slices.DeleteFunc(all, signal.Ignored)
}

// surviveBrokenPipe has a message that no process can read fail. Otherwise it would end lockwheel by a signal, and with
// it the renewals, but not all that the program has started. The program gets the signal as always.
func surviveBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// ends returns the number of a signal that ends the wait for the lock, or 0.
func ends(s os.Signal) int {
	switch n := s.(syscall.Signal); n {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM:
		return int(n)
	}
	return 0
}

// program is a process that was started.
type program struct {
	cmd      *exec.Cmd
	terminal bool          // it shares the process group of the terminal
	ended    chan struct{} // closed when the process has ended

	send func(pid int, s syscall.Signal) error // syscall.Kill, but in tests
}

// start starts a program with the standard streams. Away from a terminal it has a process group of its own, so that a
// loss can end what it starts as well.
//
// The calling goroutine keeps its thread from then on: on Linux the program ends with the thread that started it.
func start(path string, argv, environment []string) (*program, error) {
	p := &program{ended: make(chan struct{}), terminal: atTerminal(), send: syscall.Kill}
	p.cmd = &exec.Cmd{Path: path, Args: argv, Env: environment, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !p.terminal}
	endWithParent(p.cmd.SysProcAttr)
	runtime.LockOSThread()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		p.cmd.Wait() // what it returns is in ProcessState
	}()
	return p, nil
}

// atTerminal reports whether this process is in the foreground of a terminal.
func atTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func (p *program) id() int { return p.cmd.Process.Pid }

// pass passes a signal on. At a terminal, the keys' signals and WINCH have reached the program already. A program that
// is stopped, as one in the background that reads the terminal, gets a signal only when it is continued.
func (p *program) pass(s os.Signal) {
	if p.terminal && fromTerminal(s) {
		return
	}
	if err := p.cmd.Process.Signal(s); err == nil && ends(s) > 0 {
		p.signalAll(syscall.SIGCONT)
	}
}

// fromTerminal reports whether a terminal sends a signal to its whole foreground group.
func fromTerminal(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH
}

// terminate asks the program and its group to end. It returns forbidden or nil, as kill and endGroup do.
func (p *program) terminate() (forbidden error) { return p.signalAll(syscall.SIGTERM) }

// kill ends the program and its group.
func (p *program) kill() (forbidden error) { return p.signalAll(syscall.SIGKILL) }

// signalAll returns an error if the program, or all that is left of the group, belongs to another user, as after sudo.
// Any other error says that there is nothing left to signal.
func (p *program) signalAll(s syscall.Signal) (forbidden error) {
	if !p.terminal {
		if err := p.send(-p.id(), s); err == syscall.EPERM {
			return err
		}
		s = 0 // the program has it, unless only others of its group may be signaled
	}
	if errors.Is(p.cmd.Process.Signal(s), syscall.EPERM) {
		return syscall.EPERM
	}
	return nil
}

// endGroup waits until nothing of an ended program's group is left, and kills the rest when the time comes. A nil kill
// has been there already.
func (p *program) endGroup(kill <-chan time.Time) (forbidden error) {
	const pause = 20 * time.Millisecond
	if p.terminal {
		return nil
	}
	for {
		p.reap()
		switch err := p.send(-p.id(), 0); {
		case errors.Is(err, syscall.ESRCH):
			return nil
		case kill == nil:
			return p.signalAll(syscall.SIGKILL)
		}
		select {
		case <-kill:
			return p.kill()
		case <-time.After(pause):
		}
	}
}

// reap takes note of the ends of processes of the group that have become children of this process, because it is the
// first one of a container. Otherwise they would count as left for ever.
func (p *program) reap() {
	for {
		if pid, err := syscall.Wait4(-p.id(), nil, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}

// status returns the exit status of an ended program as a shell does.
func (p *program) status() int {
	if s := p.cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		return exitSignal + int(s.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}
