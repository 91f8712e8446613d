package peers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// Redisson is the Java client with the wire format that lockwheel shares. It is no Contestant: its workers run in a
// Java process, which receives commands. OpenRedisson opens it.
var Redisson = ContestantSpec{
	Name:   "redisson",
	Module: "org.redisson:redisson",
	Settings: "in a Java process of its own (-Xms1g -Xmx1g), warmed up before the first round; its asynchronous API, so that no worker costs a thread; " +
		fmt.Sprintf("%d connections, and as many of Pair's workers at once, which lock the names in turn (more would only queue for connections); ", maxInFlight) +
		"timeout 10 s; otherwise its defaults. It is suspended while other contestants have their turn, so that its compiler and collector do not slow them down. CPU includes that of its compiler and collector; bytes are those of its threads; allocations are not counted",
}

const (
	maxInFlight   = 64              // Redisson's calls in flight
	answerTimeout = 2 * time.Minute // the timeout of a command, besides its own duration

	maxHeapReads  = 20
	heapReadPause = 100 * time.Millisecond
)

// machine is the one Java process of this process, which is warmed up once and ends with this process.
var machine struct {
	once    sync.Once
	process *redisson.Process
	version string
	opened  int
	err     error
}

func startMachine() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*answerTimeout)
	defer cancel()
	program, err := redisson.Build(ctx)
	if err != nil {
		machine.err = err
		return
	}
	machine.version = program.Version()
	machine.process, machine.err = program.Start("-Xms1g", "-Xmx1g")
}

// RedissonVersion returns the version of the Redisson that takes part, or why none does.
func RedissonVersion() string {
	machine.once.Do(startMachine)
	if machine.err != nil {
		return "left out: " + machine.err.Error()
	}
	return machine.version
}

// Java has the clients of Redisson in the Java process. It is not safe for concurrent use.
type Java struct {
	names []string
	first string // of the first client
}

// OpenRedisson opens this many clients. The Java process is suspended until it has something to do (Awake). The first
// clients are warmed up for a while, so that the Java process has compiled what is measured. Without Java it returns an
// error that says so.
func OpenRedisson(c Config, clients int, warmUp time.Duration) (*Java, error) {
	machine.once.Do(startMachine)
	if machine.err != nil {
		return nil, machine.err
	}
	j := &Java{}
	if err := j.SetRunning(true); err != nil {
		return nil, err
	}
	defer j.SetRunning(false)
	for range clients {
		machine.opened++
		name := "client" + strconv.Itoa(machine.opened)
		fields := redisson.Fields{
			"client": name, "address": "redis://" + c.Addr, "watchdog": ms(c.lease()), "timeout": ms(replyTimeout),
			"connections": strconv.Itoa(maxInFlight), "idle": strconv.Itoa(maxInFlight),
		}
		if c.Channels > 0 {
			fields["channels"] = strconv.Itoa(c.Channels)
		}
		if _, err := j.do("open", fields); err != nil {
			j.Close()
			return nil, err
		}
		j.names = append(j.names, name)
	}
	j.first = j.names[0]
	if machine.opened > clients {
		return j, nil
	}
	if err := j.warmUp(warmUp); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

func (j *Java) warmUp(d time.Duration) error {
	if _, _, err := j.Pair(maxInFlight, d*2/3); err != nil {
		return err
	}
	_, err := j.Hot("lockwheel-bench-warm", 8, d/3)
	return err
}

// Close closes the clients.
func (j *Java) Close() {
	_ = j.SetRunning(true)
	defer j.SetRunning(false)
	for _, name := range j.names {
		_, _ = j.do("close", redisson.Fields{"client": name})
	}
}

// Pair locks and unlocks this many names for a while.
func (j *Java) Pair(names int, d time.Duration) (pairs int, took time.Duration, err error) {
	return j.PairOf(JavaLocks{"plain", "lockwheel-bench-", 1}, names, d)
}

// JavaLocks are locks of one kind.
type JavaLocks struct {
	Kind   string // as the Java program calls it
	Prefix string // of their names, which end with a number
	Each   int    // names of a lock; more than one only of a multi lock
}

// PairOf locks and unlocks this many locks for a while.
func (j *Java) PairOf(locks JavaLocks, number int, d time.Duration) (pairs int, took time.Duration, err error) {
	answer, err := j.do("pair", redisson.Fields{
		"client": j.first, "kind": locks.Kind, "name": locks.Prefix, "each": strconv.Itoa(locks.Each), "ms": ms(d),
		"names": strconv.Itoa(number), "workers": strconv.Itoa(min(number, maxInFlight)),
	})
	if err != nil {
		return 0, 0, err
	}
	return int(answer.figure("pairs")), time.Duration(answer.figure("took")), answer.err
}

// ContendedRound is the result of Java's workers when all lock one name.
type ContendedRound struct {
	Pairs        int
	Took         time.Duration
	First        int // pairs of the first client
	Fewest, Most int // pairs of a worker
	Longest      time.Duration
	Stalled      bool
	Overlaps     int
}

// Hot lets this many workers of each client lock one name for a while.
func (j *Java) Hot(name string, workers int, d time.Duration) (ContendedRound, error) {
	answer, err := j.do("hot", redisson.Fields{
		"client": strings.Join(j.names, ","), "name": name, "workers": strconv.Itoa(workers), "ms": ms(d),
	})
	if err != nil {
		return ContendedRound{}, err
	}
	b := ContendedRound{
		Pairs: int(answer.figure("pairs")), Took: time.Duration(answer.figure("took")),
		First: int(answer.figure("first")), Fewest: int(answer.figure("fewest")), Most: int(answer.figure("most")),
		Longest: time.Duration(answer.figure("longest")), Stalled: answer.fields["stalled"] == "true",
		Overlaps: int(answer.figure("overlaps")),
	}
	return b, answer.err
}

// Acquire acquires this many watched locks, which it keeps.
func (j *Java) Acquire(locks int) error {
	_, err := j.do("take", redisson.Fields{"client": j.first, "name": "lockwheel-bench-held-", "locks": strconv.Itoa(locks)})
	return err
}

// Lost returns how many of them the server no longer has.
func (j *Java) Lost() (int, error) {
	answer, err := j.do("lost", redisson.Fields{"client": j.first})
	if err != nil {
		return 0, err
	}
	return int(answer.figure("lost")), answer.err
}

// Release unlocks them.
func (j *Java) Release() error {
	_, err := j.do("giveBack", redisson.Fields{"client": j.first})
	return err
}

// SetRunning resumes or suspends the Java process, on Linux.
func (j *Java) SetRunning(on bool) error {
	if on {
		return machine.process.Continue()
	}
	return machine.process.Pause()
}

// Used returns what the Java process has used. It does not count allocations.
func (j *Java) Used() (measure.Usage, error) {
	answer, err := j.do("usage", nil)
	if err != nil {
		return measure.Usage{}, err
	}
	return measure.Usage{CPU: time.Duration(answer.figure("cpu")), Bytes: uint64(answer.figure("allocated"))}, answer.err
}

// StableHeap returns the heap in bytes and the number of threads, once collections no longer make the heap smaller. The
// first collections only find what later ones may free. It stops after maxHeapReads, with the smallest value that was
// read.
func (j *Java) StableHeap() (heap int64, threads int, err error) {
	const smaller = 1 << 14 // bytes
	for same, tries := 0, 0; same < 3 && tries < maxHeapReads; tries++ {
		now, n, err := j.heap()
		if err != nil {
			return 0, 0, err
		}
		if tries == 0 || now < heap-smaller {
			same = 0
		} else {
			same++
		}
		if tries == 0 || now < heap {
			heap = now
		}
		threads = n
		time.Sleep(heapReadPause)
	}
	return heap, threads, nil
}

func (j *Java) heap() (heap int64, threads int, err error) {
	answer, err := j.do("usage", redisson.Fields{"heap": "true"})
	if err != nil {
		return 0, 0, err
	}
	return answer.figure("heap"), int(answer.figure("threads")), answer.err
}

// answer has the words of a reply, some of which are figures.
type answer struct {
	fields redisson.Fields
	err    error // of a word that is no figure
}

func (a *answer) figure(name string) int64 {
	n, err := strconv.ParseInt(a.fields[name], 10, 64)
	if err != nil {
		a.err = fmt.Errorf("redisson: %s: %w", name, err)
	}
	return n
}

func (j *Java) do(command string, fields redisson.Fields) (*answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	got, err := machine.process.Do(ctx, command, fields)
	return &answer{fields: got}, err
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
