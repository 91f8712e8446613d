package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

const (
	publish      = "PUBLISH"
	foreignLease = 20 * time.Minute
	foreignBatch = 10_000 // names in a script
)

// foreignHoldScript gives names that end with a number to another holder.
const foreignHoldScript = `
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local key = KEYS[1] .. string.format('%d', i)
  if ARGV[4] == 'hash' then
    redis.call('HSET', key, 'another-holder:1', '1')
    redis.call('PEXPIRE', key, ARGV[3])
  elseif ARGV[4] == 'writer' then
    redis.call('HSET', key, 'mode', 'write', 'another-holder:1:write', '1')
    redis.call('PEXPIRE', key, ARGV[3])
  elseif ARGV[4] == 'string' then
    redis.call('SET', key, 'another holder', 'PX', ARGV[3])
  end
end`

// holdAsOther gives this many names to another holder. by has the key of a contestant for a name, without the name's
// number.
func (s *Server) holdAsOther(names int, by foreignHold) error {
	for at := 0; at < names; at += foreignBatch {
		_, err := s.do("EVAL", foreignHoldScript, "1", by.key, at, min(at+foreignBatch, names), foreignLease.Milliseconds(), by.kind)
		if err != nil {
			return fmt.Errorf("names of another holder: %w", err)
		}
	}
	return nil
}

// foreignHold is how a name is stored for another holder: the key without the number of the name, and hash, writer (of
// a read/write lock) or string. Of any other kind nothing is stored: the name is free.
type foreignHold struct{ key, kind string }

// channels returns the number of subscriptions of all connections together.
func (s *Server) channels() (n int, err error) {
	reply, err := s.do("CLIENT", "LIST")
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

// sendAtRate sends this many commands, perSecond of them each second, and returns when all have their replies.
func (s *Server) sendAtRate(times int, command func(i int) []any) error {
	conn, err := redistest.Dial(s.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() {
		for range times {
			if _, err := conn.Receive(replyTimeout); err != nil {
				answered <- err
				return
			}
		}
		answered <- nil
	}()
	var failed error
	paced(time.Now(), times, time.Second/perSecond, func(i int, _ time.Time) bool {
		failed = conn.Send(command(i)...)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return <-answered
}
