package sentinel

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/internal/dial"
)

// question asks sentinels about a master. newQuestion makes one; it is immutable.
type question struct {
	option  rueidis.ClientOption
	set     string
	connect Dial
}

// newQuestion returns the question about the master of a client with those options. The connections are those that
// rueidis makes to sentinels for such a client, made by connect, with small buffers.
func newQuestion(redis *rueidis.ClientOption, connect Dial) *question {
	option := *redis
	option.Sentinel = rueidis.SentinelOption{}
	option.Username, option.Password = redis.Sentinel.Username, redis.Sentinel.Password
	option.ClientName, option.Dialer, option.TLSConfig = redis.Sentinel.ClientName, redis.Sentinel.Dialer, redis.Sentinel.TLSConfig
	option.SelectDB, option.ForceSingleClient = 0, true
	option.RingScaleEachConn, option.ReadBufferEachConn, option.WriteBufferEachConn = 4, 1<<12, 1<<12
	return &question{option, redis.Sentinel.MasterSet, connect}
}

// conn is a connection to one sentinel. Its methods are safe for concurrent use.
type conn interface {
	// ask returns the answer. At the end of ctx it is that of a silent sentinel.
	ask(ctx context.Context) *answer
	// listen calls switched after each failover that the sentinel announces, until the connection or ctx ends.
	listen(ctx context.Context, switched func())
	close()
}

// open connects to one sentinel. Without a connection it returns the answer of such a sentinel. The end of ctx ends the
// connection.
func (q *question) open(ctx context.Context, address string) (conn, *answer) {
	option := q.option
	option.InitAddress = []string{address}
	option.DialCtxFn = func(_ context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		c, err := q.connect(ctx, address, d, t)
		if err != nil {
			return nil, err
		}
		return dial.EndWith(ctx, c), nil
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		if client != nil {
			client.Close()
		}
		return nil, failed(address, err)
	}
	return &sentinelConn{client, q.set, address}, nil
}

// sentinelConn is a connection to one sentinel. question.open makes one; it is immutable.
type sentinelConn struct {
	client  rueidis.Client
	set     string
	address string
}

func (c *sentinelConn) close() { c.client.Close() }

func (c *sentinelConn) listen(ctx context.Context, switched func()) {
	_ = c.client.Receive(ctx, c.client.B().Subscribe().Channel("+switch-master").Build(), func(m rueidis.PubSubMessage) {
		if strings.HasPrefix(m.Message, c.set+" ") { // the sentinel may watch other masters
			switched()
		}
	})
}

// ask asks for the epoch first. If the sentinel replaces the master between the two, the next one has the epoch of
// the last one, and not the other way round. SENTINEL MASTER alone would not do. At the end of a failover it still has
// the address of the old master, with the epoch of the next one.
func (c *sentinelConn) ask(ctx context.Context) *answer {
	replies := c.client.DoMulti(ctx,
		c.client.B().Arbitrary("SENTINEL", "MASTER").Args(c.set).Build(),
		c.client.B().SentinelGetMasterAddrByName().Master(c.set).Build(),
		c.client.B().SentinelSentinels().Master(c.set).Build(),
	)
	fields, err := replies[0].AsStrMap()
	master, errMaster := replies[1].AsStrSlice()
	if err != nil {
		a := failed(c.address, err)
		if a.outcome == rejected && errMaster == nil && len(master) >= 2 {
			a.master = net.JoinHostPort(master[0], master[1])
		}
		return a
	}
	if errMaster != nil {
		return failed(c.address, errMaster)
	}
	others, err := replies[2].ToArray()
	if err != nil {
		return failed(c.address, err)
	}
	return parseAnswer(c.address, fields, master, others)
}

// failed returns the answer for an error.
func failed(address string, err error) *answer {
	a := &answer{from: address}
	if _, replied := rueidis.IsRedisErr(err); replied {
		a.outcome = rejected
	}
	return a
}

// parseAnswer decodes the replies to SENTINEL MASTER, to SENTINEL GET-MASTER-ADDR-BY-NAME and to SENTINEL SENTINELS.
// Addresses have the form in which rueidis dials them.
func parseAnswer(from string, fields map[string]string, master []string, others []rueidis.RedisMessage) *answer {
	epoch, err := strconv.ParseInt(fields["config-epoch"], 10, 64)
	if err != nil || epoch < 0 || len(master) < 2 {
		return &answer{from: from, outcome: rejected}
	}
	a := &answer{from: from, outcome: told, master: net.JoinHostPort(master[0], master[1]), epoch: epoch}
	for i := range others {
		if about, err := others[i].AsStrMap(); err == nil {
			a.others = append(a.others, net.JoinHostPort(about["ip"], about["port"]))
		}
	}
	slices.Sort(a.others)
	return a
}
