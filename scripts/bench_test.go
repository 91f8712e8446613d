package scripts_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// BenchmarkServerTime measures the processor time that the scripts cost the server, whatever else runs on the machine.
// It reports microseconds per lock, by the number of keys in a call. ns/op covers all three scripts and everything
// around them.
func BenchmarkServerTime(b *testing.B) {
	for _, perCall := range []int{1, 16, 128, 300} {
		b.Run(fmt.Sprintf("keys=%d", perCall), func(b *testing.B) {
			s := onReal(b)
			const locks = 9600 // divisible by all of them
			phases := []phase{
				{script: scripts.Acquire, verb: "PUBLISH", lease: true},
				{script: scripts.Renew, verb: "NUMSUB", lease: true},
				{script: scripts.Release, verb: "PUBLISH"},
			}
			for b.Loop() {
				for i := range phases {
					s.measure(&phases[i], locks, perCall)
				}
			}
			for _, p := range phases {
				b.ReportMetric(p.micros/float64(b.N*locks), p.script.Name+"-µs/lock")
			}
		})
	}
}

// phase is one script run on all locks, and the server time that it has taken so far.
type phase struct {
	script scripts.Script
	verb   string
	lease  bool
	micros float64
}

func (s *server) measure(p *phase, locks, perCall int) {
	s.t.Helper()
	before := s.processorTime()
	const ahead = 32 // calls in flight
	for call := range locks/perCall + ahead {
		if first := call * perCall; first < locks {
			require.NoError(s.t, s.conn.Send(p.call(first, perCall)...))
		}
		if call >= ahead && call-ahead < locks/perCall {
			_, err := s.conn.Receive(receiveTimeout)
			require.NoError(s.t, err)
		}
	}
	p.micros += s.processorTime() - before
}

var (
	processorSeconds  = regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`)
	mainThreadSeconds = regexp.MustCompile(`used_cpu_(?:sys|user)_main_thread:([0-9.]+)`)
)

// processorTime returns the processor time of the server since it started, in microseconds.
func (s *server) processorTime() (micros float64) { return s.sumOfCPU(processorSeconds) }

// mainThreadTime returns the processor time of the server's main thread, which runs all commands.
func (s *server) mainThreadTime() time.Duration {
	return time.Duration(s.sumOfCPU(mainThreadSeconds) * float64(time.Microsecond))
}

// sumOfCPU returns the sum of some values of INFO cpu, in microseconds.
func (s *server) sumOfCPU(seconds *regexp.Regexp) (micros float64) {
	s.t.Helper()
	matches := seconds.FindAllStringSubmatch(s.do("INFO", "cpu").(string), -1)
	require.Len(s.t, matches, 2)
	for _, match := range matches {
		value, err := strconv.ParseFloat(match[1], 64)
		require.NoError(s.t, err)
		micros += value * 1e6
	}
	return micros
}

func (p *phase) call(first, n int) []any {
	keys := make([]string, n)
	args := []any{p.verb}
	for i := range keys {
		keys[i] = fmt.Sprintf("orders:invoice:%d", 1_000_000+first+i)
		args = append(args, fmt.Sprintf("6f0e6a4e-1111-2222-3333-444455556666:%d", 5_000_000+first+i))
		if p.lease {
			args = append(args, 30_000)
		}
	}
	return call(p.script, keys, args...)
}
