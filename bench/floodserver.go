package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

const (
	publish        = "PUBLISH"
	occupiedFor    = 20 * time.Minute
	occupiedAtOnce = 10_000 // names in a script
)

// occupyScript gives names that end with a number to another holder.
const occupyScript = `
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local key = KEYS[1] .. string.format('%d', i)
  if ARGV[4] == 'hash' then
    redis.call('HSET', key, 'another-holder:1', '1')
    redis.call('PEXPIRE', key, ARGV[3])
  else
    redis.call('SET', key, 'another holder', 'PX', ARGV[3])
  end
end`

// occupy gives this many names to another holder. by has the key of a contestant for a name, without the name's number.
func (s *Server) occupy(names int, by occupation) error {
	for at := 0; at < names; at += occupiedAtOnce {
		_, err := s.ask("EVAL", occupyScript, "1", by.key, at, min(at+occupiedAtOnce, names), occupiedFor.Milliseconds(), by.kind)
		if err != nil {
			return fmt.Errorf("names of another holder: %w", err)
		}
	}
	return nil
}

// occupation is how a name is stored for another holder: the key without the number of the name, and its type.
type occupation struct{ key, kind string }

// channels returns the number of subscriptions of all connections together.
func (s *Server) channels() (n int, err error) {
	reply, err := s.ask("CLIENT", "LIST")
	if err != nil {
		return 0, err
	}
	for word := range strings.FieldsSeq(fmt.Sprint(reply)) {
		if count, is := strings.CutPrefix(word, "sub="); is {
			more, err := strconv.Atoi(count)
			if err != nil {
				return 0, err
			}
			n += more
		}
	}
	return n, nil
}

// storm sends this many commands, perSecond of them each second, and returns when all have their replies.
func (s *Server) storm(times int, command func(i int) []any) error {
	conn, err := redistest.Dial(s.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() {
		for range times {
			if _, err := conn.Receive(patience); err != nil {
				answered <- err
				return
			}
		}
		answered <- nil
	}()
	var failed error
	punctually(time.Now(), times, time.Second/perSecond, func(i int, _ time.Time) bool {
		failed = conn.Send(command(i)...)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return <-answered
}
