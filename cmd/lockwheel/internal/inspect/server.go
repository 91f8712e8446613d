package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/internal/dial"
	"github.com/lockwheel/lockwheel/internal/redisurl"
	"github.com/lockwheel/lockwheel/internal/sentinel"
)

// Timeout bounds each exchange with a server.
const Timeout = 5 * time.Second

// Server is a server, a cluster, or the master behind sentinels. Close ends its connections. Safe for concurrent use.
type Server struct {
	client rueidis.Client
	option rueidis.ClientOption
	prefix string
	guard  *sentinel.Guard // nil without Sentinel

	replica bool // it is a single server that calls itself a replica
}

// maxRedirects is how many redirections of a cluster one command follows, as in the library.
const maxRedirects = 5

// Open connects. The prefix is that of all names, as in lockwheel.Options. Its errors contain no password. In a cluster
// rueidis asks the address that accepts a connection first for the nodes. If that one is busy, or no longer in the
// cluster, Open asks the others. The end of ctx ends Open.
func Open(ctx context.Context, option rueidis.ClientOption, prefix string) (*Server, error) {
	s, err := open(ctx, option, prefix)
	if len(option.InitAddress) < 2 || option.Sentinel.MasterSet != "" || err != nil && !notNow(err) || err == nil && s.knowsSlots(ctx) {
		return s, err
	}
	if err == nil {
		s.Close()
	}
	var failed error
	for _, address := range option.InitAddress {
		alone := option
		alone.InitAddress = []string{address}
		s, err := open(ctx, alone, prefix)
		if err == nil && s.Cluster() && s.knowsSlots(ctx) {
			s.option.InitAddress = option.InitAddress
			return s, nil
		}
		if err == nil {
			s.Close()
			err = fmt.Errorf("connecting to %s: it is no node of a cluster, or knows of no node with slots", address)
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// open connects with the addresses as they are.
func open(ctx context.Context, option rueidis.ClientOption, prefix string) (*Server, error) {
	if option.ClusterOption.MaxMovedRedirections == 0 { // while a slot moves, two nodes may name each other
		option.ClusterOption.MaxMovedRedirections = maxRedirects
	}
	option.AlwaysRESP2 = false // as for an engine: in RESP2 rueidis would have further connections for pub/sub
	option.DisableCache = true
	option.DisableRetry = true // a caller that wants to try again sees the error first
	option.PipelineMultiplex = -1
	option.ConnWriteTimeout = Timeout
	option.Dialer.Timeout = Timeout
	option.Sentinel.Dialer.Timeout = Timeout
	begun := time.Now()
	if option.Sentinel.MasterSet != "" { // rueidis asks each sentinel in turn, and each may name the same silent master
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Timeout+time.Second)
		defer cancel()
	}
	dials := dial.NewCanceler(ctx, Timeout)
	option.DialCtxFn = dials.Dialer(option)
	var guard *sentinel.Guard
	tried := newAttempts()
	if option.Sentinel.MasterSet != "" { // a sentinel that missed a failover names a master that engines do not follow
		option.Sentinel.Dialer.KeepAlive = Timeout / 2
		option.DialCtxFn = tried.watch(option.DialCtxFn)
		option.InitAddress = sentinel.QuickestFirst(ctx, &option, time.Second)
		guard = sentinel.New(&option, option.DialCtxFn, dials.Bound)
		option.DialCtxFn = guard.Dial
	}
	client, err := rueidis.NewClient(option)
	dials.Finish()
	if err != nil {
		dials.Connections.CloseAll()
		within := Timeout
		if ctx.Err() != nil { // what else failed is a consequence
			err, within = context.DeadlineExceeded, time.Since(begun).Round(100*time.Millisecond)
		}
		rejectedAt := dials.Connections.RejectedAt()
		if guard != nil {
			rejectedAt = cmp.Or(guard.Wanted(), rejectedAt)
			guard.End()
		}
		return nil, fmt.Errorf("connecting to %s: %w%s", addressText(&option, rejectedAt), connectionError(err, within, &option), tried.text(rejectedAt, &option))
	}
	if guard != nil {
		guard.Watch()
	}
	s := &Server{client: client, option: option, prefix: prefix, guard: guard}
	if err := s.greet(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// greet asks a single server what it is. One that does not tell is a master. A node of a cluster is no single server,
// unless a proxy makes it one: rueidis takes it for one if the user may not ask for the nodes, and would show a part of
// all keys without a word.
func (s *Server) greet(ctx context.Context) error {
	if s.client.Mode() != rueidis.ClientModeStandalone {
		return nil
	}
	replies, err := s.ask(ctx, s.client, s.client.B().Hello().Build())
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", addressText(&s.option, ""), err)
	}
	fields, _ := replies[0].AsMap()
	mode, role := fields["mode"], fields["role"]
	if name, _ := mode.ToString(); name == "cluster" {
		for _, reply := range s.client.DoMulti(ctx, s.client.B().ClusterSlots().Build(), s.client.B().ClusterShards().Build()) {
			if err := reply.Error(); Refused(err) { // rueidis asks a newer server for shards
				return fmt.Errorf("connecting to %s: it is a node of a cluster, and does not tell this user the other nodes: %w", addressText(&s.option, ""), redisurl.WithoutSecrets(err, &s.option))
			}
		}
	}
	name, _ := role.ToString()
	s.replica = name == "replica" || name == "slave"
	return nil
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
func (s *Server) Close() {
	if s.guard != nil {
		s.guard.End()
	}
	s.client.Close()
}

// Cluster reports whether the server is a cluster.
func (s *Server) Cluster() bool { return s.client.Mode() == rueidis.ClientModeCluster }

// IsReplica reports whether the server is a single one that called itself a replica when it was connected. One that
// does not tell is none.
func (s *Server) IsReplica() bool { return s.replica }

// About returns an error of a question about a lock with the name of the lock, and the address of the server that was
// asked. In a cluster that may be any node, so the error also names those that do not reply: silent is what Nodes said
// of them before, or nil. Then About asks Nodes, so ctx must leave time for that.
func (s *Server) About(ctx context.Context, name string, err, silent error) error {
	master := ""
	if s.guard != nil {
		master = s.guard.Wanted()
	}
	addresses := addressText(&s.option, master)
	if !s.Cluster() {
		return fmt.Errorf("lock %q at %s: %w", name, addresses, err)
	}
	err = fmt.Errorf("lock %q in the cluster of %s: %w", name, addresses, err)
	if Refused(err) {
		return err
	}
	if silent == nil {
		_, silent = s.Nodes(ctx)
	}
	if silent != nil {
		return errors.Join(err, silent)
	}
	return err
}

// ask sends commands together. The error is one of the connection, or that of a server that executes nothing now; other
// errors that a server returned are in the replies.
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
		if err := replies[i].Error(); notNow(err) {
			return nil, redisurl.WithoutSecrets(err, &s.option)
		}
	}
	return replies, nil
}

// notNow reports whether an error is that of a server that executes nothing now: a script keeps it busy, or it loads
// its data. What it replies to one question says nothing of what it has.
func notNow(err error) bool { return begins(err, "BUSY ") || begins(err, "LOADING ") }

// begins reports whether the text of an error, or of one that it wraps, begins with a word.
func begins(err error, word string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), word) {
			return true
		}
	}
	return false
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
func Refused(err error) bool { return begins(err, "NOPERM") }

// deniedKey matches the replies of Redis 6, and of Redis 7 and Valkey. A command that the user may not run is another
// error.
var deniedKey = regexp.MustCompile(`^NOPERM .*access (a|one of the) key`)

// elsewhere reports whether a node says that another one has a key. While a slot moves, a SCAN finds keys at the node
// that is to get it, which are not yet to be asked for there: they are read again where the cluster leads.
func elsewhere(reply rueidis.RedisResult) bool {
	server, ok := rueidis.IsRedisErr(reply.Error())
	if !ok {
		return false
	}
	_, moved := server.IsMoved()
	_, ask := server.IsAsk()
	return moved || ask
}

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
