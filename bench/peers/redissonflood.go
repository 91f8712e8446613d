package peers

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/internal/redisson"
)

// JavaFlood is a flood of waiters in the Java process, with probes.
type JavaFlood struct {
	java   *Java
	fields redisson.Fields
}

// Flood prepares this many waiters, for one name or for names of their own, and probes of other names.
func (j *Java) Flood(name, probe string, waiters int, own bool, every time.Duration) *JavaFlood {
	names := 1
	if own {
		names = waiters
	}
	return &JavaFlood{j, redisson.Fields{
		"client": j.first, "name": name, "probe": probe, "waiters": strconv.Itoa(waiters), "names": strconv.Itoa(names),
		"every": strconv.FormatInt(every.Microseconds(), 10), "owner": "flood",
	}}
}

func (f *JavaFlood) do(step string, phase int) (*answer, error) {
	fields := redisson.Fields{"step": step, "phase": strconv.Itoa(phase)}
	for name, value := range f.fields {
		fields[name] = value
	}
	return f.java.do("flood", fields)
}

// Begin makes the probes count for a phase from now on; the first call starts them.
func (f *JavaFlood) Begin(phase int) error {
	_, err := f.do("begin", phase)
	return err
}

// Post lets all waiters call.
func (f *JavaFlood) Post() error {
	_, err := f.do("post", 0)
	return err
}

// Ended returns how many waiters have their result. The error is of an unexpected one.
func (f *JavaFlood) Ended() (int, error) {
	answer, err := f.do("ended", 0)
	if err != nil {
		return 0, err
	}
	if failed := answer.fields["failed"]; failed != "" {
		return 0, fmt.Errorf("%s of the waiters were refused, one with %s", answer.fields["failures"], failed)
	}
	return int(answer.figure("ended")), answer.err
}

// Cancel cancels all waiters.
func (f *JavaFlood) Cancel() error {
	_, err := f.do("cancel", 0)
	return err
}

// Probes ends the probes. It returns how long each of a phase took, from when it was due, and how many of them failed.
func (f *JavaFlood) Probes(phase int) (took []time.Duration, refused int64, err error) {
	answer, err := f.do("probes", phase)
	if err != nil {
		return nil, 0, err
	}
	for _, word := range strings.Fields(answer.fields["took"]) {
		ns, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("redisson: probes: %w", err)
		}
		took = append(took, time.Duration(ns))
	}
	return took, answer.figure("refused"), answer.err
}

// Footprint returns the threads and the resident memory of the Java process.
func (f *JavaFlood) Footprint() (threads int, rss int64, err error) {
	answer, err := f.do("footprint", 0)
	if err != nil {
		return 0, 0, err
	}
	return int(answer.figure("threads")), answer.figure("rss"), answer.err
}

// End releases everything.
func (f *JavaFlood) End() error {
	_, err := f.do("end", 0)
	return err
}
