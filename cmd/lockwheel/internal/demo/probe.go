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
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	return p.client.Do(ctx, command)
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

// leftovers finds keys and channels with that text in their names. The text is literal if it contains no character of
// Redis' patterns.
func (p probe) leftovers(ctx context.Context, text string) (r leftovers, err error) {
	if err := p.scan(ctx, "*"+text+"*", &r); err != nil {
		return r, fmt.Errorf("looking for keys: %w", err)
	}
	deadline := time.Now().Add(closeGrace)
	for {
		list := p.client.B().PubsubChannels().Pattern("*" + text + "*").Build()
		if r.channels, err = p.do(ctx, list).AsStrSlice(); err != nil {
			return r, fmt.Errorf("looking for channels: %w", err)
		}
		if len(r.channels) == 0 || time.Now().After(deadline) {
			return r, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// scan scans all keys, a few at a time so that other clients are not delayed.
func (p probe) scan(ctx context.Context, pattern string, into *leftovers) error {
	const few = 3
	seen := make(map[string]bool) // SCAN may return a key twice
	for cursor := uint64(0); ; {
		page, err := p.do(ctx, p.client.B().Scan().Cursor(cursor).Match(pattern).Count(1000).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for _, key := range page.Elements {
			seen[key] = true
			if len(seen) > len(into.keys) && len(into.keys) < few {
				into.keys = append(into.keys, key)
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			into.count = len(seen)
			return nil
		}
	}
}
