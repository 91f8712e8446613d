package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel/internal/testport"
)

// Environment variables, see the package comment.
const (
	EnvServer  = "LOCKWHEEL_SERVER"
	EnvRequire = "LOCKWHEEL_REQUIRE_SERVER"
)

const (
	startWait = 20 * time.Second     // for a server to reply to its first PING
	stopWait  = 15 * time.Second     // for a graceful end; a master gives its replicas 10s of it
	pollGap   = 5 * time.Millisecond // between two probes of a server that is starting
	logTail   = 4096                 // bytes of the server's log that an error contains
	logName   = "server.log"         // in the server's folder
	snapshot  = "dump.rdb"           // the file a server writes its data to when asked

	sentinelName = "sentinel.conf" // in a sentinel's folder

	maxStartTries = 5                // ports tried before giving up
	probeWait     = 30 * time.Second // for the reply to one command of a probe
	dialWait      = 5 * time.Second  // for a connection to be established
	noTimeout     = 24 * time.Hour   // for a subscriber, which its test ends
)

// Config says what to start. The zero value is valid.
type Config struct {
	Binary string   // the program; "": the result of Find
	Dir    string   // the working folder; "": a temporary one, which Close removes
	Args   []string // arguments of the server, as in its manual: "--maxmemory", "1mb". They override those of this package

	Sentinel string // the text of a sentinel's configuration file, to start a sentinel; "": start a server
}

// Server is a server that was started by this process. Its methods may be called from several goroutines.
type Server struct {
	config   Config
	port     int
	password string
	ownsDir  bool

	mu     sync.Mutex // guards what follows, and serializes Kill, Stop, Restart and the like
	run    *process   // the current run, or the last one
	paused bool       // by Pause
	probe  *Conn      // the connection of Do; nil until used, and after each end of the server
}

// Find returns the path of the server's program: the one that LOCKWHEEL_SERVER names, otherwise redis-server or
// valkey-server from PATH. The error is exec.ErrNotFound only if the variable is empty and neither program is
// installed.
func Find() (string, error) {
	if named := os.Getenv(EnvServer); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("redistest: %s=%s: %v", EnvServer, named, err)
		}
		return filepath.Abs(path)
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("redistest: neither redis-server nor valkey-server is on PATH: %w", exec.ErrNotFound)
}

// Launch starts a server and returns when it replies. ctx bounds only this wait, which is at most 20 s in any case.
// On failure nothing is left. The caller ends the server with Close.
func Launch(ctx context.Context, config Config) (*Server, error) {
	if config.Binary == "" {
		binary, err := Find()
		if err != nil {
			return nil, err
		}
		config.Binary = binary
	}
	s := &Server{config: config, password: passwordOf(config.Args)}
	if config.Dir == "" {
		dir, err := os.MkdirTemp("", "lockwheel-redis-")
		if err != nil {
			return nil, err
		}
		s.config.Dir, s.ownsDir = dir, true
	}
	if err := s.configure(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.startOnFreePort(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Addr returns the server's address, such as "127.0.0.1:20123". It stays the same while the server is down.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// Port returns the port of Addr.
func (s *Server) Port() int { return s.port }

// Dir returns the server's working folder.
func (s *Server) Dir() string { return s.config.Dir }

// Log returns the last few kilobytes of the server's log.
func (s *Server) Log() string {
	text, err := os.ReadFile(filepath.Join(s.config.Dir, logName))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-logTail):])
}

// startOnFreePort tries a few ports, because another process can take a free port a moment later.
func (s *Server) startOnFreePort(ctx context.Context) (err error) {
	for range maxStartTries {
		if s.port, err = testport.Port(); err != nil {
			return err
		}
		if err = s.start(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// start runs the program once on s.port and waits until it replies. On failure no process is left. The caller holds
// mu, or s is not shared yet.
func (s *Server) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.config.Dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.config.Binary, s.args()...)
	cmd.Dir = s.config.Dir
	cmd.Stdout, cmd.Stderr = log, log
	run, err := startProcess(cmd)
	if err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	s.run, s.paused = run, false
	if err := s.awaitAnswer(ctx); err != nil {
		return errors.Join(err, run.kill())
	}
	return nil
}

// configure writes a sentinel's configuration file. The sentinel stores what it learns in that file.
func (s *Server) configure() error {
	if s.config.Sentinel == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(s.config.Dir, sentinelName), []byte(s.config.Sentinel), 0o600)
}

// args puts the caller's arguments last, because a server uses the later one of two that contradict each other.
func (s *Server) args() []string {
	if s.config.Sentinel != "" {
		return append([]string{
			sentinelName, "--sentinel",
			"--port", strconv.Itoa(s.port),
			"--bind", "127.0.0.1",
			"--dir", s.config.Dir,
			"--daemonize", "no",
		}, s.config.Args...)
	}
	return append([]string{
		"--port", strconv.Itoa(s.port),
		"--bind", "127.0.0.1",
		"--dir", s.config.Dir,
		"--daemonize", "no",
		"--save", "",
		"--appendonly", "no",
	}, s.config.Args...)
}

var errPortTaken = errors.New("the port was taken by another process")

// awaitAnswer returns nil once the process that was started replies to commands. A reply of another process on the
// same port does not count.
func (s *Server) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	tick := time.NewTicker(pollGap)
	defer tick.Stop()
	for {
		if s.answers() {
			return nil
		}
		select {
		case <-s.run.done:
			if log := s.Log(); strings.Contains(log, "in use") {
				return fmt.Errorf("redistest: %w: %s", errPortTaken, log)
			}
			return fmt.Errorf("redistest: the server ended (%v) before it answered:\n%s", s.run.err, s.Log())
		case <-ctx.Done():
			return fmt.Errorf("redistest: the server did not answer: %w\n%s", context.Cause(ctx), s.Log())
		case <-tick.C:
		}
	}
}

// answers reports whether our process replies and has loaded its data. A server that rejects the question, because
// it requires an unknown password, is up as well.
func (s *Server) answers() bool {
	info, err := s.info()
	if serverErr := Error(""); errors.As(err, &serverErr) {
		return true
	}
	ours := fmt.Sprintf("\r\nprocess_id:%d\r\n", s.run.pid)
	ready := s.config.Sentinel != "" || strings.Contains(info, "\r\nloading:0\r\n") // INFO has a reply while loading, too
	return ready && strings.Contains(info, ours)
}

func (s *Server) info() (string, error) {
	c, err := dial(s.Addr(), s.password, dialWait)
	if err != nil {
		return "", err
	}
	defer c.Close()
	reply, err := c.Do("INFO")
	text, _ := reply.(string)
	return text, err
}

// passwordOf returns the password that the arguments set.
func passwordOf(args []string) (password string) {
	for i := range len(args) - 1 {
		if args[i] == "--requirepass" {
			password = args[i+1]
		}
	}
	return password
}
