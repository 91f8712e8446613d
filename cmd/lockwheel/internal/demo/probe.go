package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// probe inspects the server on its own connection and with plain commands, because the demo checks what the engines
// report.
type probe struct {
	client rueidis.Client
}

// replyTimeout is how long a probe waits for one reply. Its client retries until then.
const replyTimeout = 5 * time.Second

func newProbe(option rueidis.ClientOption) (probe, error) {
	option.DisableCache, option.AlwaysRESP2 = true, false // the engines speak RESP3, whatever the URL says
	client, err := rueidis.NewClient(option)
	if err != nil {
		return probe{}, fmt.Errorf("connecting to look into the server: %w", err)
	}
	return probe{client}, nil
}

func (p probe) close() { p.client.Close() }

func (p probe) do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	return doOn(ctx, p.client, command)
}

func doOn(ctx context.Context, client rueidis.Client, command rueidis.Completed) rueidis.RedisResult {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	return client.Do(ctx, command)
}

// masters returns the servers that have keys: the server, or each master of a cluster. A node that may not be asked for
// its role is looked at, too.
func (p probe) masters(ctx context.Context) (all []rueidis.Client, err error) {
	if p.client.Mode() != rueidis.ClientModeCluster {
		return []rueidis.Client{p.client}, nil
	}
	for _, node := range p.client.Nodes() {
		role, err := doOn(ctx, node, node.B().Role().Build()).ToArray()
		if _, rejected := rueidis.IsRedisErr(err); err != nil && !rejected {
			return nil, fmt.Errorf("asking a node of the cluster for its role: %w", err)
		}
		if len(role) > 0 {
			if is, _ := role[0].ToString(); is != "master" {
				continue
			}
		}
		all = append(all, node)
	}
	return all, nil
}

// version returns the server's name and version, if the server reports them.
func (p probe) version(ctx context.Context) string {
	info, err := p.do(ctx, p.client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return "a server that does not tell its version"
	}
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[key] = value
	}
	if version := fields["valkey_version"]; version != "" {
		return "Valkey " + version
	}
	return "Redis " + fields["redis_version"]
}

// leftovers is the data left in the server.
type leftovers struct {
	keys     []string // the first few
	count    int
	channels []string
}

// closeGrace is how long a server may take to notice that the engines' connections, and so their subscriptions, are
// closed.
const closeGrace = 3 * time.Second

// closePause is how long the probe pauses before it asks for the channels again: the server looks at all of them.
const closePause = 100 * time.Millisecond

// leftovers finds keys and channels with that text in their names. The text is literal if it contains no character of
// Redis' patterns.
func (p probe) leftovers(ctx context.Context, text string) (r leftovers, err error) {
	masters, err := p.masters(ctx)
	if err != nil {
		return r, err
	}
	for _, master := range masters {
		if err := scan(ctx, master, "*"+text+"*", &r); err != nil {
			return r, fmt.Errorf("looking for keys: %w", err)
		}
	}
	deadline := time.Now().Add(closeGrace)
	for {
		if r.channels, err = p.channels(ctx, masters, "*"+text+"*"); err != nil {
			return r, fmt.Errorf("looking for channels: %w", err)
		}
		if len(r.channels) == 0 || time.Now().After(deadline) {
			return r, nil
		}
		time.Sleep(closePause)
	}
}

// channels returns the channels that match, in a cluster the sharded ones, too.
func (p probe) channels(ctx context.Context, masters []rueidis.Client, pattern string) (all []string, err error) {
	for _, master := range masters {
		lists := []rueidis.Completed{master.B().PubsubChannels().Pattern(pattern).Build()}
		if p.client.Mode() == rueidis.ClientModeCluster {
			lists = append(lists, master.B().PubsubShardchannels().Pattern(pattern).Build())
		}
		for _, list := range lists {
			some, err := doOn(ctx, master, list).AsStrSlice()
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// scan scans all keys of a server, a few at a time so that other clients are not delayed.
func scan(ctx context.Context, server rueidis.Client, pattern string, into *leftovers) error {
	const few = 3
	seen := make(map[string]bool) // SCAN may return a key twice
	for cursor := uint64(0); ; {
		page, err := doOn(ctx, server, server.B().Scan().Cursor(cursor).Match(pattern).Count(1000).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for _, key := range page.Elements {
			if !seen[key] && len(into.keys) < few {
				into.keys = append(into.keys, key)
			}
			seen[key] = true
		}
		if cursor = page.Cursor; cursor == 0 {
			into.count += len(seen)
			return nil
		}
	}
}
