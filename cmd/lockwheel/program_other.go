//go:build !unix

package main

import (
	"os"
	"os/exec"
	"time"
)

func passed() []os.Signal { return []os.Signal{os.Interrupt} }

// surviveBrokenPipe does nothing: a message that no process can read ends no process here.
func surviveBrokenPipe() {}

func ends(os.Signal) int { return 2 }

// program is a process that was started.
type program struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

func start(path string, argv, environment []string) (*program, error) {
	p := &program{ended: make(chan struct{})}
	p.cmd = &exec.Cmd{Path: path, Args: argv, Env: environment, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		p.cmd.Wait() // what it returns is in ProcessState
	}()
	return p, nil
}

func (p *program) id() int { return p.cmd.Process.Pid }

// pass does nothing: Ctrl-C reaches the program by itself here.
func (p *program) pass(os.Signal) {}

// terminate kills: there is no gentler way here.
func (p *program) terminate() (forbidden error) { return p.kill() }

func (p *program) kill() (forbidden error) {
	p.cmd.Process.Kill()
	return nil
}

func (p *program) endGroup(<-chan time.Time) (forbidden error) { return nil }

func (p *program) status() int { return p.cmd.ProcessState.ExitCode() }
