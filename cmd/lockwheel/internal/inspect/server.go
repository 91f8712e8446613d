package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/internal/dial"
	"github.com/lockwheel/lockwheel/internal/redisurl"
)

// Timeout bounds each exchange with a server.
const Timeout = 5 * time.Second

// Server is a server, a cluster, or the master behind sentinels. Close ends its connections. Safe for concurrent use.
type Server struct {
	client rueidis.Client
	option rueidis.ClientOption
	prefix string
}

// Open connects. The prefix is that of all names, as in lockwheel.Options. Its errors contain no password.
func Open(option rueidis.ClientOption, prefix string) (*Server, error) {
	option.DisableCache = true
	option.DisableRetry = true // a caller that wants to try again sees the error first
	option.PipelineMultiplex = -1
	option.ConnWriteTimeout = Timeout
	option.Dialer.Timeout = Timeout
	option.Sentinel.Dialer.Timeout = Timeout
	dials := dial.NewCanceler(context.Background(), Timeout)
	option.DialCtxFn = dials.Dialer(option)
	client, err := rueidis.NewClient(option)
	dials.Finish()
	if err != nil {
		dials.Connections.CloseAll()
		return nil, fmt.Errorf("connecting to %s: %w", addressText(&option, dials.Connections.RejectedAt()), connectionError(err, Timeout, &option))
	}
	return &Server{client, option, prefix}, nil
}

// addressText returns the addresses of the options for an error. Behind Sentinel it is the one that rejected the
// client, mostly the master, unless that was a sentinel of the options: a sentinel may want no password.
func addressText(option *rueidis.ClientOption, rejectedAt string) string {
	addresses := strings.Join(option.InitAddress, ", ")
	switch {
	case option.Sentinel.MasterSet == "":
		return addresses
	case rejectedAt == "" || slices.Contains(option.InitAddress, rejectedAt):
		return fmt.Sprintf("%s for the master set %q", addresses, option.Sentinel.MasterSet)
	}
	return fmt.Sprintf("%s, which was found through the sentinels [%s]", rejectedAt, addresses)
}

// Close ends the connections.
func (s *Server) Close() { s.client.Close() }

// Cluster reports whether the server is a cluster.
func (s *Server) Cluster() bool { return s.client.Mode() == rueidis.ClientModeCluster }

// Node is one server with keys: the only one, or a master of a cluster.
type Node struct {
	Addr   string
	client rueidis.Client
}

// Nodes returns the servers with keys, ordered by address. In a cluster these are the masters. If a node of a cluster
// does not reply, Nodes returns the others and an error that names it. Its keys are missing if it is a master.
func (s *Server) Nodes(ctx context.Context) (nodes []Node, err error) {
	all := s.client.Nodes()
	for _, addr := range slices.Sorted(maps.Keys(all)) {
		n := Node{addr, all[addr]}
		master, failed := s.isMaster(ctx, n)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("the node %s does not reply, so its keys are missing if it is a master: %w", addr, failed))
		} else if master {
			nodes = append(nodes, n)
		}
	}
	return nodes, err
}

func (s *Server) isMaster(ctx context.Context, n Node) (bool, error) {
	if !s.Cluster() {
		return true, nil
	}
	replies, err := s.ask(ctx, n.client, n.client.B().Hello().Build())
	if err != nil {
		return false, err
	}
	fields, err := replies[0].AsMap()
	if err != nil {
		return true, nil // a server that does not tell its role may have keys
	}
	role := fields["role"]
	name, _ := role.ToString()
	return name == "master", nil
}

// About returns an error of a question about a lock with the name of the lock, and the address of the server that was
// asked. In a cluster that may be any node, so About then asks which ones do not reply, and names these.
func (s *Server) About(ctx context.Context, name string, err error) error {
	addresses := addressText(&s.option, "")
	if !s.Cluster() {
		return fmt.Errorf("lock %q at %s: %w", name, addresses, err)
	}
	err = fmt.Errorf("lock %q in the cluster of %s: %w", name, addresses, err)
	if Refused(err) || ctx.Err() != nil {
		return err
	}
	if _, silent := s.Nodes(ctx); silent != nil {
		return errors.Join(err, silent)
	}
	return err
}

// ask sends commands together. The error is one of the connection; errors that a server returned are in the replies.
func (s *Server) ask(ctx context.Context, to rueidis.Client, commands ...rueidis.Completed) ([]rueidis.RedisResult, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	within := Timeout
	if at, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(at).Round(100*time.Millisecond))
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	replies := to.DoMulti(ctx, commands...)
	for i := range replies {
		if err := replies[i].NonRedisError(); err != nil {
			return nil, connectionError(err, within, &s.option)
		}
	}
	return replies, nil
}

// connectionError returns an error of a connection without secrets. That a server did not reply in time is said in
// words: the context that ended is not one of a user's.
func connectionError(err error, within time.Duration, option *rueidis.ClientOption) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no reply within %v", within)
	}
	return redisurl.WithoutSecrets(err, option)
}

// deniesKey reports whether the server rejected a command because the user may not read that key, though others.
func deniesKey(reply rueidis.RedisResult) bool {
	server, ok := rueidis.IsRedisErr(reply.Error())
	return ok && !server.IsNil() && deniedKey.MatchString(server.Error())
}

// Refused reports whether an error is that of a server for what the user may not do.
func Refused(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), "NOPERM") {
			return true
		}
	}
	return false
}

// deniedKey matches the replies of Redis 6, and of Redis 7 and Valkey. A command that the user may not run is another
// error.
var deniedKey = regexp.MustCompile(`^NOPERM .*access (a|one of the) key`)

// refused returns the error of a reply unless it only says that the key is elsewhere, or not what it was just before.
func (s *Server) refused(reply rueidis.RedisResult) error {
	err := reply.Error()
	server, ok := rueidis.IsRedisErr(err)
	if !ok || server.IsNil() {
		return nil
	}
	for _, passing := range []string{"WRONGTYPE", "MOVED", "ASK", "TRYAGAIN"} {
		if strings.HasPrefix(err.Error(), passing) {
			return nil
		}
	}
	return redisurl.WithoutSecrets(err, &s.option)
}
