package lockwheel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/internal/busywait"
	"github.com/lockwheel/lockwheel/internal/dial"
	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/redisurl"
	"github.com/lockwheel/lockwheel/internal/sentinel"
)

// ParseURL parses a URL for [Options.Redis], in the form of rueidis.ParseURL, as [Dial] does. Its errors say what is
// wrong without repeating any part of the URL, which may contain a password; those of rueidis do repeat it.
//
// ParseURL rejects:
//
//   - the characters / ? # in a user or a password, and an @ behind the host, unless they are percent-encoded. The rest
//     would be parsed as something else, and repeated in connection errors
//   - a host with a colon that is no IPv6 address in brackets
//   - a setting that rueidis.ParseURL does not know, or with an invalid value
//   - a fragment
//   - an addr that is not one host:port with both parts
//
// A path of / counts as none. protocol=2 sets AlwaysRESP2, which an engine ignores ([Options].Redis).
//
// With rediss:// and a master_set, the connections to the sentinels use TLS, like those to the servers. If the URL
// names one host, the certificates of all nodes are checked against that name. If it names several, each certificate
// is checked against the address at which the node is dialled.
func ParseURL(url string) (rueidis.ClientOption, error) {
	option, err := redisurl.Parse(url)
	if err != nil {
		return rueidis.ClientOption{}, fmt.Errorf("lockwheel: URL: %w", err)
	}
	return option, nil
}

const (
	// maxRedirects is the maximum number of MOVED and ASK redirections that rueidis itself follows for one call.
	maxRedirects = 5
	// minPool is the number of dedicated connections that an engine needs to a master. A subscriber has one and
	// takes another before it releases the first, and Options.Replicas adds two. With fewer the engine would
	// deadlock.
	minPool = 4
	// topologyRefresh is the interval at which rueidis asks a cluster for its nodes, in case its last reply is
	// outdated. rueidis 1.0.79 must not ask sentinels at intervals: while there is no master, each request starts
	// goroutines and connections that keep asking. The guard asks them (package sentinel).
	topologyRefresh = 5 * time.Second
	// quickestTimeout is how long the sentinels have to reply, so that one which does is asked for the master first. With
	// a shorter CallTimeout they have that.
	quickestTimeout = time.Second
	// longestEnd is how long a context may take to end after its deadline, before that itself counts as the cause.
	longestEnd = 100 * time.Millisecond
)

var (
	errNoReply      = errors.New("no reply within Options.CallTimeout")
	errNotConnected = errors.New("there was no connection yet")
	errNoCluster    = errors.New("a server that is no node of a cluster")
	errClientRESP2  = resp2Client{}
)

// resp2Client is the error of an Options.Client that speaks RESP2. It matches rediserr.ErrNoRESP3, with another text.
type resp2Client struct{}

func (resp2Client) Error() string {
	return "Options.Client speaks RESP2, and an engine needs RESP3: make that client without AlwaysRESP2 (protocol=2 in a URL), of a server that knows HELLO 3, or pass its options as Options.Redis"
}

func (resp2Client) Unwrap() error { return rediserr.ErrNoRESP3 }

// link is the client of an engine, what ends its connections, and what guards its master. It is immutable. The zero
// value has no client.
type link struct {
	client      rueidis.Client
	connections *dial.Connections
	guard       *sentinel.Guard // nil without Sentinel, and of the caller's client
}

// logTo sets the log of the guard.
func (l *link) logTo(log *slog.Logger) {
	if l.guard != nil {
		l.guard.LogTo(log)
	}
}

// close closes the client. rueidis waits for a dial of its own that the guard may hold up.
func (l *link) close() {
	if l.guard != nil {
		l.guard.End()
	}
	l.client.Close()
}

// opening is one attempt to connect. It belongs to its goroutine; the zero value has no Canceler.
type opening struct {
	*dial.Canceler
	guard *sentinel.Guard // of the last client that was opened
}

// connect returns a client, and its server, which has replied.
func connect(ctx context.Context, options *Options, limits *dial.Limits) (l *link, server *engine.Server, err error) {
	// rueidis accepts no context here: if ctx ends first, the opening closes the connection that is being made.
	o := &opening{Canceler: limits.NewCanceler(ctx, options.CallTimeout)}
	o.Gate = busywait.NewGate(options.busyWait(), busywait.MaxYield)
	succeeded := false
	defer func() {
		o.Finish()
		if !succeeded { // rueidis keeps connecting to nodes of a cluster for a while
			o.Connections.CloseAll()
		}
	}()
	client, server, err := connectAny(ctx, options, o)
	switch {
	case err == nil:
		succeeded = true
		if options.Client == nil {
			server.SetRedial(o.Connections.CloseCurrent)
			if o.Gate != nil {
				server.OnBusyWait(o.Gate.SetInFlight)
			}
		}
		if o.guard != nil {
			o.guard.Watch()
		}
	case endOf(ctx) != nil:
		err = endOf(ctx) // what else failed is a consequence
	default:
		err = rediserr.HideContextError(err)
	}
	return &link{client, o.Connections, o.guard}, server, err
}

// endOf returns why ctx has ended, or nil. Its deadline is also that of new connections, and one of these can find it
// over a moment before ctx ends. So endOf waits for that moment.
func endOf(ctx context.Context) error {
	if end, has := ctx.Deadline(); ctx.Err() == nil && has && !time.Now().Before(end) {
		select {
		case <-ctx.Done():
		case <-time.After(longestEnd):
			return context.DeadlineExceeded
		}
	}
	return context.Cause(ctx)
}

// openError returns the error of a connection attempt of Open. It matches ErrUnavailable, unless the server rejected
// the engine for good.
func openError(ctx context.Context, err error) error {
	if endOf(ctx) == nil && failsForGood(err) {
		return err
	}
	return unavailableCause{err}
}

// failsForGood reports whether an attempt to connect failed for a reason that will be the same next time, unless an
// operator changes something.
func failsForGood(err error) bool {
	var said actor.ServerError
	return errors.Is(err, rediserr.ErrNoRESP3) || errors.As(err, &said) && rejectsForGood(string(said))
}

// rejectsForGood reports whether a reply to a new connection will be the same next time, unless an operator changes
// something.
func rejectsForGood(said string) bool {
	return !actor.Transient(said) || actor.RejectsConnection(said) && !strings.Contains(said, "max number of clients")
}

// unavailableCause is a cause that matches ErrUnavailable as well. It has the text of the cause.
type unavailableCause struct{ error }

func (e unavailableCause) Unwrap() []error { return []error{ErrUnavailable, e.error} }

// connecting is the goroutine that connects an engine of Options.Lazy for the first time. The zero value has none. It
// is immutable once Open has returned.
type connecting struct {
	stop context.CancelFunc
	done chan struct{} // closed when it has ended
}

// end stops the goroutine and waits for it.
func (c *connecting) end() {
	if c.done != nil {
		c.stop()
		<-c.done
	}
}

// adopt keeps the connection of an engine until Close.
func (e *Engine) adopt(l *link, server *engine.Server) {
	e.cluster.Store(server.Cluster())
	l.logTo(e.listeners.log)
	e.link.Store(l)
}

const (
	// minConnectPause and maxConnectPause are the shortest and the longest pause between two attempts to connect an engine
	// of Options.Lazy. maxRejectedPause is the longest while the server rejects them.
	minConnectPause, maxConnectPause, maxRejectedPause = 10 * time.Millisecond, 250 * time.Millisecond, time.Second
)

// keepConnecting connects an engine that has no server yet, for err, on a goroutine of its own. That ends with the
// first connection or with the engine. Later outages are the engine's.
func (e *Engine) keepConnecting(options Options, limits *dial.Limits, err error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	e.connecting = connecting{stop, done}
	go func() {
		defer close(done)
		defer stop()
		for pause := time.Duration(0); ; {
			longest := maxConnectPause
			if failsForGood(err) {
				longest = maxRejectedPause
			}
			pause = actor.NextBackoff(pause, minConnectPause, longest)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause/2 + rand.N(pause/2)):
			}
			var connected *link
			var server *engine.Server
			if connected, server, err = connect(ctx, &options, limits); err == nil {
				e.adopt(connected, server)
				e.loop.Connected(server)
				return
			}
			if ctx.Err() == nil {
				e.loop.ConnectFailed(err)
			}
		}
	}()
}

// connectAny connects to the server. For a cluster it tries the addresses until it finds a node that knows of slots.
// rueidis alone would use the first node that accepts a connection, which may have lost its disk, or be busy.
func connectAny(ctx context.Context, options *Options, o *opening) (rueidis.Client, *engine.Server, error) {
	client, server, err := connectOnce(ctx, options, o, false)
	several := len(options.Redis.InitAddress) > 1 && options.Redis.Sentinel.MasterSet == ""
	if options.Client != nil || !several || !othersMayKnow(err) {
		return client, server, err
	}
	for _, address := range options.Redis.InitAddress {
		o.Connections.CloseCurrent() // what the last attempt left behind
		alone := *options
		alone.Redis.InitAddress = []string{address}
		if client, server, failed := connectOnce(ctx, &alone, o, true); failed == nil {
			return client, server, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, nil, err
}

// othersMayKnow reports whether an error is that of one node: another one of its cluster may say more.
func othersMayKnow(err error) bool {
	var said actor.ServerError
	return engine.IsNoTopology(err) || errors.As(err, &said) && !rejectsForGood(string(said))
}

// connectOnce opens a client and greets its server. If cluster is set, the server must be a node of a cluster.
func connectOnce(ctx context.Context, options *Options, o *opening, cluster bool) (client rueidis.Client, server *engine.Server, err error) {
	if client, err = openClient(ctx, options, o); err != nil {
		return nil, nil, err
	}
	if cluster && client.Mode() != rueidis.ClientModeCluster {
		client.Close()
		return nil, nil, errNoCluster
	}
	if server, err = probe(ctx, client, options); err != nil && options.Client == nil {
		(&link{client, o.Connections, o.guard}).close()
	}
	return client, server, err
}

// openClient opens a client with one ordered connection and the engine's timeouts, or returns the caller's client.
func openClient(ctx context.Context, options *Options, o *opening) (rueidis.Client, error) {
	if options.Client != nil {
		return options.Client, nil
	}
	redis := clientOption(ctx, options, o)
	if redis.ClientName == "" && !options.Anonymous {
		redis.ClientName = identity.ConnectionName(options.Name)
	}
	client, err := rueidis.NewClient(redis)
	if err != nil {
		if client != nil {
			client.Close()
		}
		if err == context.DeadlineExceeded { // rueidis bounds the handshake with its own context
			err = errNoReply
		}
		return nil, fmt.Errorf("connecting to %s: %w", addressText(&redis, o.rejectedAt()), redisurl.WithoutSecrets(withoutAdvice(err), &redis))
	}
	return client, nil
}

// clientOption returns the settings of the engine's own client: the caller's, but for those that would break what the
// engine promises. Behind Sentinel it makes the guard, and waits for at most quickestTimeout until a sentinel replies.
func clientOption(ctx context.Context, options *Options, o *opening) rueidis.ClientOption {
	redis := options.Redis
	if redis.ShuffleInit { // rueidis would shuffle the caller's slice, and undo the order of sentinels
		redis.InitAddress, redis.ShuffleInit = slices.Clone(redis.InitAddress), false
		rand.Shuffle(len(redis.InitAddress), func(i, j int) {
			redis.InitAddress[i], redis.InitAddress[j] = redis.InitAddress[j], redis.InitAddress[i]
		})
	}
	// In RESP2 rueidis would have further connections for pub/sub. Programs set this for the sake of other modules.
	redis.AlwaysRESP2 = false
	// With several connections an older command could run after a newer one.
	redis.PipelineMultiplex = -1
	redis.DisableAutoPipelining = false
	redis.BlockingPipeline = 0
	redis.DisableCache = true
	redis.OnInvalidations = nil // it would be called when a connection ends, and would delay all that waits for replies on it
	if redis.BlockingPoolSize > 0 {
		redis.BlockingPoolSize = max(redis.BlockingPoolSize, minPool)
	}
	redis.RingScaleEachConn = 0 // rueidis does not check it
	redis.DisableRetry = true
	redis.ConnLifetime = 0 // at its end rueidis sends calls twice, even with DisableRetry, and the engine would not notice
	redis.ConnWriteTimeout = options.CallTimeout
	redis.Dialer.Timeout = options.CallTimeout
	// At this interval rueidis checks for input, pings if there was none, and then waits one CallTimeout: two in all.
	redis.Dialer.KeepAlive = options.CallTimeout / 2
	// The same for sentinels. Otherwise a sentinel that does not reply is never noticed, and the next master never found.
	redis.Sentinel.Dialer.Timeout = options.CallTimeout
	redis.Sentinel.Dialer.KeepAlive = options.CallTimeout / 2
	redis.DialCtxFn = o.Dialer(redis)
	redis.AuthCredentialsFn = o.Credentials(redis.AuthCredentialsFn)
	if redis.ClusterOption.MaxMovedRedirections <= 0 { // negative: rueidis would follow any number
		redis.ClusterOption.MaxMovedRedirections = maxRedirects
	}
	if redis.ClusterOption.ShardsRefreshInterval == 0 {
		redis.ClusterOption.ShardsRefreshInterval = topologyRefresh
	}
	// Only a master grants locks. Behind Sentinel the engine could not tell which of two nodes is the master.
	redis.SendToReplicas, redis.Standalone.ReplicaAddress, redis.ReplicaOnly = nil, nil, false
	redis.Standalone.EnableRedirect = false // servers redirect plain commands, and not the engine's scripts
	redis.ReadNodeSelector = nil            // rueidis rejects it without SendToReplicas, and the next as well
	//lint:ignore SA1019 programs may still set it
	redis.ReplicaSelector = nil
	if redis.Sentinel.MasterSet != "" {
		redis.Sentinel.TopologyRefreshInterval = 0 // the guard asks; rueidis would start a goroutine each time
		asking, enough := context.WithCancel(ctx)
		redis.InitAddress = sentinel.QuickestFirst(asking, &redis, min(options.CallTimeout, quickestTimeout))
		enough()
		o.guard = sentinel.New(&redis, redis.DialCtxFn, o.Bound)
		redis.DialCtxFn = o.guard.Dial
	}
	return redis
}

// rejectedAt returns the address of the server because of which a client could not be opened, or "".
func (o *opening) rejectedAt() string {
	if o.guard != nil {
		if master := o.guard.Wanted(); master != "" {
			return master
		}
	}
	return o.Connections.RejectedAt()
}

// addressText returns the addresses of the options for an error. Behind Sentinel it begins with the one that rejected
// the client, if that was not a sentinel of the options: mostly the master.
func addressText(redis *rueidis.ClientOption, rejectedAt string) string {
	set := redis.Sentinel.MasterSet
	if set == "" {
		return fmt.Sprint(redis.InitAddress)
	}
	if rejectedAt == "" || slices.Contains(redis.InitAddress, rejectedAt) {
		return fmt.Sprintf("%v for the master set %q", redis.InitAddress, set)
	}
	return fmt.Sprintf("%s, which was found through the sentinels %v", rejectedAt, redis.InitAddress)
}

// withoutAdvice returns the server's rejection of a CLIENT command without the advice of rueidis about DisableCache,
// which the engine has set.
func withoutAdvice(err error) error {
	if !errors.Is(err, rueidis.ErrNoCache) {
		return err
	}
	said, _, _ := strings.Cut(err.Error(), "\n")
	if at := strings.LastIndex(said, ": ["); at >= 0 { // the command follows
		return fmt.Errorf("%s: %w", said[at+2:], rediserr.RedactQuoted(said[:at]))
	}
	return err
}

// probe checks that the server replies, and loads the scripts.
func probe(ctx context.Context, client rueidis.Client, options *Options) (*engine.Server, error) {
	server, err := engine.Probe(ctx, client, options.CallTimeout)
	if options.Client != nil && errors.Is(err, rediserr.ErrNoRESP3) {
		err = errClientRESP2
	}
	err = redisurl.WithoutSecrets(err, &options.Redis)
	if err == nil && options.Client == nil {
		server.ReuseBuffers()
	}
	if err == nil && options.Replicas.Min > 0 {
		err = server.CheckReplicas(ctx, options.CallTimeout)
		switch {
		case options.Lazy && ctx.Err() == nil && errors.Is(err, coordinator.ErrPoolExhausted):
			// Each attempt would leave behind a goroutine that waits for a connection. An engine that is connected has one.
			err = nil
		case err != nil:
			err = fmt.Errorf("Options.Replicas: the server does not reply to WAIT: %w", err)
		}
	}
	return server, err
}

// NodeStatus says whether a server replies to the engine and accepts its calls, for [Engine.Status].
type NodeStatus struct {
	// Address is that of a node of a cluster, of the master that Sentinel names, or the only one of Options.Redis. It is
	// empty if a client or a dialer of the caller decides where the server is, and as long as the engine does not know
	// which of several addresses it is.
	Address string

	// Down says that the engine considers it down. A call had no reply or was rejected as all would be, and no reply came
	// since. Or the server replies, but for at least 2 s it has rejected what changes a lock: it is a replica (READONLY,
	// MASTERDOWN), lacks replicas or its disk (NOREPLICAS, MISCONF), or is not ready (LOADING, CLUSTERDOWN). So it is if
	// it lacks memory (OOM) and rejects all that acquires: renewals and unlocks work then.
	Down  bool
	Since time.Time // when the first such call failed, which is later than the last one that did not; zero if it is not down
	Err   error     // why it is down, a ServerError if the server replies; nil if it is not
}

// Status returns what the engine knows of its server, or of each master of its cluster, from the calls that it made. It
// asks no server: an engine without work does not notice an outage. [Engine.Ping] asks, and its error is the answer of
// that moment; Status learns nothing from it. Status returns nil after Close. It blocks for some turns of the loop.
//
// An engine of [Options].Lazy that was never connected has one entry, which is down since Open. Its Err is that of the
// last attempt to connect, also if the server rejects the password.
func (e *Engine) Status() []NodeStatus {
	if e.loop == nil {
		return nil
	}
	known, err := e.loop.Status()
	if err != nil {
		return nil
	}
	all := make([]NodeStatus, len(known))
	for i, n := range known {
		all[i] = NodeStatus{Address: cmp.Or(n.Address, e.servers.only()), Down: n.Down, Err: n.Cause}
		if n.Down {
			all[i].Since = e.loop.Time(n.Since)
		}
	}
	return all
}

// Ping asks the server for a reply, or in a cluster each node that the client knows, for health checks. It returns nil
// if all replied. Otherwise the error matches ErrUnavailable, or ErrClosed after Close, and the context's cause if that
// ended the wait. The result changes nothing in [Engine.Status].
//
// Ping blocks until the replies, the end of ctx or Options.CallTimeout, whichever is first. It uses the engine's
// connections, so it also waits for the calls before it. A call joins the PING of another call that has no reply yet,
// so any number of calls costs one PING at a time. The server must allow PING.
func (e *Engine) Ping(ctx context.Context) error {
	switch {
	case ctx == nil:
		return errNilContext("ping")
	case e.loop == nil || e.closing.Load():
		return fmt.Errorf("lockwheel: ping: %w", ErrClosed)
	case ctx.Err() != nil:
		return fmt.Errorf("lockwheel: ping: %w: %w", ErrUnavailable, context.Cause(ctx))
	}
	if e.link.Load() == nil {
		return fmt.Errorf("lockwheel: ping: %w: %w", ErrUnavailable, cmp.Or(e.downCause(), errNotConnected))
	}
	within, cancel := context.WithTimeoutCause(ctx, e.config.CallTimeout, errNoReply)
	defer cancel()
	round := e.pingRound()
	select {
	case <-round.done:
	case <-within.Done():
		return fmt.Errorf("lockwheel: ping: %w: %w", ErrUnavailable, context.Cause(within))
	}
	var replied actor.ServerError
	switch {
	case round.err == nil:
		return nil
	case errors.Is(round.err, rueidis.ErrClosing) && e.closing.Load(): // otherwise it is a connection that rueidis has closed
		return fmt.Errorf("lockwheel: ping: %w", ErrClosed)
	case errors.As(round.err, &replied):
		return fmt.Errorf("lockwheel: ping: %w: %w", ErrUnavailable, replied)
	}
	return fmt.Errorf("lockwheel: ping: %w: %w", ErrUnavailable, rediserr.HideContextError(round.err))
}

// downCause returns why the first server that is down is so, or nil.
func (e *Engine) downCause() error {
	for _, n := range e.Status() {
		if n.Down {
			return n.Err
		}
	}
	return nil
}

// pingRound is one PING to each server. Its commands have no deadline: at the end of one, rueidis would break the
// connection, with all that waits for replies on it. So callers share the round that is in flight, and only one is.
type pingRound struct {
	done chan struct{} // closed when each server has replied or failed
	err  error         // set before done is closed
}

// awaitPing waits for the round in flight, once the engine is closing: no round begins then.
func (e *Engine) awaitPing() {
	if last := e.ping.Load(); last != nil {
		<-last.done
	}
}

// pingRound returns the round that is in flight, or begins one.
func (e *Engine) pingRound() *pingRound {
	for {
		last := e.ping.Load()
		if last != nil {
			select {
			case <-last.done:
			default:
				return last
			}
		}
		if round := (&pingRound{done: make(chan struct{})}); e.ping.CompareAndSwap(last, round) {
			e.beginPing(round)
			return round
		}
	}
}

// beginPing sends the commands of a round, unless the engine has begun to close: then awaitPing may not have seen it.
func (e *Engine) beginPing(round *pingRound) {
	if e.closing.Load() {
		round.err = rueidis.ErrClosing
		close(round.done)
		return
	}
	go e.runPing(round)
}

func (e *Engine) runPing(round *pingRound) {
	defer close(round.done)
	client := e.link.Load().client
	nodes := map[string]rueidis.Client{"": client}
	if e.cluster.Load() {
		nodes = client.Nodes()
	}
	replies := make(chan error, len(nodes))
	for _, node := range nodes {
		go func() { replies <- node.Do(context.Background(), node.B().Ping().Build()).Error() }()
	}
	for range nodes {
		err := <-replies
		if _, replied := rueidis.IsRedisErr(err); replied {
			err = rediserr.RedactQuoted(err.Error())
		}
		round.err = cmp.Or(round.err, err)
	}
}
