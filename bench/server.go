package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/bench/link"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Server is the server of all contestants, with a plain connection to inspect it.
type Server struct {
	Addr     string
	launched *redistest.Server // nil for one that was running before
	delay    time.Duration     // of the link
	link     *link.Link        // nil: the contestants connect to the server itself
	probe    *redistest.Conn
}

// OpenServer connects to a server, or starts one if addr is empty. A server that was running before is never flushed:
// remaining locks end with their leases.
func OpenServer(ctx context.Context, addr string) (*Server, error) {
	s := &Server{Addr: addr}
	if addr == "" {
		ours, err := redistest.Launch(ctx, redistest.Config{})
		if err != nil {
			return nil, err
		}
		s.launched, s.Addr = ours, ours.Addr()
	}
	probe, err := redistest.Dial(s.Addr)
	if err != nil {
		s.Close()
		return nil, err
	}
	s.probe = probe
	return s, nil
}

// Delay has contestants that connect from now on reach the server over a link that adds a delay in each direction. It
// is called once at most, and 0 does nothing. The connection that inspects the server stays without a delay.
func (s *Server) Delay(each time.Duration) (err error) {
	if s.delay = each; each == 0 {
		return nil
	}
	if s.link, err = link.Start(s.Addr, each); err == nil {
		s.Addr = s.link.Addr()
	}
	return err
}

// Close ends the connection, the link, and the server if it was started here.
func (s *Server) Close() error {
	if s.link != nil {
		s.link.Close()
	}
	if s.probe != nil {
		s.probe.Close()
	}
	if s.launched == nil {
		return nil
	}
	return s.launched.Close()
}

// Clear empties a server that OpenServer started.
func (s *Server) Clear() error {
	if s.launched == nil {
		return nil
	}
	_, err := s.do("FLUSHALL", "ASYNC") // a million locks would keep the server busy
	return err
}

// replyTimeout is the timeout for a server that is busy with a measurement.
const replyTimeout = time.Minute

// do sends a command and waits for its reply.
func (s *Server) do(command ...any) (any, error) {
	if err := s.probe.Send(command...); err != nil {
		return nil, err
	}
	return s.probe.Receive(replyTimeout)
}

// Version returns the server's version, as in "Redis 7.0.15".
func (s *Server) Version() (string, error) {
	info, err := s.info("server")
	if err != nil {
		return "", err
	}
	if version, ok := info["valkey_version"]; ok {
		return "Valkey " + version, nil
	}
	return "Redis " + info["redis_version"], nil
}

// CPU returns the processor time that the server has used.
func (s *Server) CPU() (time.Duration, error) {
	info, err := s.info("cpu")
	if err != nil {
		return 0, err
	}
	user, errUser := strconv.ParseFloat(info["used_cpu_user"], 64)
	system, errSystem := strconv.ParseFloat(info["used_cpu_sys"], 64)
	return time.Duration((user + system) * float64(time.Second)), errors.Join(errUser, errSystem)
}

// Calls returns how often a command has run, also within scripts.
func (s *Server) Calls(commands ...string) (calls int, err error) {
	info, err := s.info("commandstats")
	for _, command := range commands {
		stat, used := info["cmdstat_"+command]
		if !used {
			continue
		}
		count, _, _ := strings.Cut(strings.TrimPrefix(stat, "calls="), ",")
		n, wrong := strconv.Atoi(count)
		calls, err = calls+n, errors.Join(err, wrong)
	}
	return calls, err
}

func (s *Server) info(section string) (map[string]string, error) {
	reply, err := s.do("INFO", section)
	if err != nil {
		return nil, fmt.Errorf("INFO %s: %w", section, err)
	}
	return parseInfo(fmt.Sprint(reply)), nil
}

// parseInfo returns the fields of a text with a field in each line.
func parseInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	return fields
}

// number returns a field of INFO that is a number.
func (s *Server) number(section, field string) (float64, error) {
	info, err := s.info(section)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(info[field], 64)
}
