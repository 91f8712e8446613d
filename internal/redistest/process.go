package redistest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// process is one run of a program, from its start until it has ended and was waited for.
type process struct {
	pid    int
	handle *os.Process
	done   chan struct{} // closed once it has ended
	err    error         // how it ended; readable once done is closed
}

// startProcess starts cmd so that it ends with this process, where the system supports that.
//
// Linux sends the death signal when the *thread* that started the process ends, and Go ends threads at any time. So
// one goroutine locks its thread from the start of the process to its end.
func startProcess(cmd *exec.Cmd) (*process, error) {
	setPdeathsig(cmd)
	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err != nil {
			started <- err
			return
		}
		p.pid, p.handle = cmd.Process.Pid, cmd.Process
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process, frozen or not, and returns when it is gone.
func (p *process) kill() error {
	if err := p.handle.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// terminate asks the process to end.
func (p *process) terminate() error { return p.handle.Signal(syscall.SIGTERM) }
