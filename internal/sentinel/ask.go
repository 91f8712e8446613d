package sentinel

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"

	"github.com/redis/rueidis"
)

// question asks sentinels about a master. newQuestion makes one; it is immutable.
type question struct {
	option rueidis.ClientOption
	set    string
	dial   Dial
}

// newQuestion returns the question about the master of a client with those options. The connections are those that
// rueidis makes to sentinels for such a client, made by dial.
func newQuestion(redis *rueidis.ClientOption, dial Dial) *question {
	option := *redis
	option.Sentinel = rueidis.SentinelOption{}
	option.Username, option.Password = redis.Sentinel.Username, redis.Sentinel.Password
	option.ClientName, option.Dialer, option.TLSConfig = redis.Sentinel.ClientName, redis.Sentinel.Dialer, redis.Sentinel.TLSConfig
	option.SelectDB, option.ForceSingleClient = 0, true
	return &question{option, redis.Sentinel.MasterSet, dial}
}

// ask asks one sentinel on a connection of its own, and passes its answer to reply. It returns when the connection is
// closed. At the end of ctx the answer is that of a silent sentinel.
func (q *question) ask(ctx context.Context, address string, reply chan<- *answer) {
	option := q.option
	option.InitAddress = []string{address}
	option.DialCtxFn = func(_ context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		return q.dial(ctx, address, d, t)
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		if client != nil {
			client.Close()
		}
		reply <- failed(address, err)
		return
	}
	defer client.Close()
	reply <- q.answerOf(ctx, client, address)
}

// answerOf asks for the epoch first. If the sentinel replaces the master between the two, the next one has the epoch of
// the last one, and not the other way round. SENTINEL MASTER alone would not do. At the end of a failover it still has
// the address of the old master, with the epoch of the next one.
func (q *question) answerOf(ctx context.Context, client rueidis.Client, address string) *answer {
	replies := client.DoMulti(ctx,
		client.B().Arbitrary("SENTINEL", "MASTER").Args(q.set).Build(),
		client.B().SentinelGetMasterAddrByName().Master(q.set).Build(),
		client.B().SentinelSentinels().Master(q.set).Build(),
	)
	fields, err := replies[0].AsStrMap()
	if err != nil {
		return failed(address, err)
	}
	master, err := replies[1].AsStrSlice()
	if err != nil {
		return failed(address, err)
	}
	others, err := replies[2].ToArray()
	if err != nil {
		return failed(address, err)
	}
	return parseAnswer(address, fields, master, others)
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
