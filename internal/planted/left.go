package planted

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

// runEnv is the environment variable with the file and number of a run. What the program starts inherits it.
const runEnv = "LOCKWHEEL_PLANTED_RUN"

// runs counts the runs of all programs.
var runs atomic.Int64

// endMarked kills each process with this entry in its environment: a test that is stopped in the middle does not clean
// up, and a command it has started would wait for its program for an hour. It finds processes on Linux only, and no
// Redis, which writes over its environment: a server ends with the program that has started it.
func endMarked(entry string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file) // fails for processes of other users, and for those that have ended
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+entry+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if process, err := os.FindProcess(pid); err == nil {
			process.Kill()
		}
	}
}
