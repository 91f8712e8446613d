package debug

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// process names the process that serves the page, in the words that engines use in their records: an operator compares
// them with what lockwheel state prints.
type process struct {
	Program string `json:"program"` // the base name of the program, without its arguments
	Host    string `json:"host"`    // as the operating system names it
	PID     int    `json:"pid"`
}

// thisProcess is read once: a host that gets another name keeps its first one here, as in the records.
var thisProcess = describeProcess()

func describeProcess() process {
	const unknown = "unknown"
	p := process{Program: unknown, PID: os.Getpid()}
	if len(os.Args) > 0 && os.Args[0] != "" {
		p.Program = shown(filepath.Base(os.Args[0]))
	}
	host, _ := os.Hostname()
	p.Host = shown(cmp.Or(host, unknown))
	return p
}

// String returns the text of the page's head.
func (p process) String() string { return fmt.Sprintf("%s on %s, pid %d", p.Program, p.Host, p.PID) }
