package locktest

import (
	"bytes"
	"sync"
)

// LogLines receives the lines of a logger.
type LogLines chan string

func (l LogLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// LogBuffer is a writer that can be read concurrently.
type LogBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *LogBuffer) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *LogBuffer) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
