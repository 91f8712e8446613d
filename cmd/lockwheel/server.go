package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
)

// serverVariable is the environment variable that names the server.
const serverVariable = "LOCKWHEEL_REDIS"

const defaultServer = "127.0.0.1:6379"

// globals are the flags of all commands but the demo.
type globals struct{ redis, redisFile, prefix string }

// option returns the server that the flags or the environment name. Its errors never repeat what they name.
func (g *globals) option() (rueidis.ClientOption, error) {
	switch {
	case g.redis != "" && g.redisFile != "":
		return rueidis.ClientOption{}, wrong("--redis and --redis-file: want one of them")
	case g.redis != "":
		return parseServer("--redis", g.redis)
	case g.redisFile != "":
		text, err := readShort(g.redisFile)
		text = strings.TrimPrefix(text, "\uFEFF") // some editors begin each file with it
		if err != nil {
			return rueidis.ClientOption{}, wrong("--redis-file: %w", err)
		}
		return parseServer("--redis-file", text)
	}
	if text := os.Getenv(serverVariable); text != "" {
		return parseServer(serverVariable, text)
	}
	return parseServer("", defaultServer)
}

// readShort reads a small file. Its errors do not repeat the name, which may be a URL by mistake.
func readShort(name string) (content string, err error) {
	const most = 64 << 10
	defer func() {
		if of := (*fs.PathError)(nil); errors.As(err, &of) {
			err = of.Err
		}
	}()
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && len(text) > most {
		err = errors.New("it is too long for a URL")
	}
	return string(text), err
}

// parseServer parses a URL or host:port.
func parseServer(source, text string) (option rueidis.ClientOption, err error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "://") {
		if option, err = lockwheel.ParseURL(text); err != nil {
			return option, wrong("%s: %w", source, err)
		}
		return option, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || strings.ContainsAny(text, "@/? ") {
		return option, wrong("%s: want a URL such as redis://127.0.0.1:6379, or host:port", source)
	}
	option.InitAddress = []string{net.JoinHostPort(host, port)}
	return option, nil
}

// inspect connects to the server without an engine. The end of ctx ends that. To a replica it connects with a warning:
// what it shows then can be wrong without a sign of it.
func (g *globals) inspect(ctx context.Context, warnings io.Writer) (*inspect.Server, error) {
	option, err := g.option()
	if err != nil {
		return nil, err
	}
	return g.inspectAt(ctx, option, warnings)
}

// inspectAt is inspect for that server.
func (g *globals) inspectAt(ctx context.Context, option rueidis.ClientOption, warnings io.Writer) (*inspect.Server, error) {
	s, err := inspect.Open(ctx, option, g.prefix)
	if err == nil && s.IsReplica() {
		fmt.Fprintf(warnings, "lockwheel: %s is a replica: it may be behind its master, clients that listen there are not counted, and no engine can be asked or told\n", option.InitAddress[0])
	}
	return s, failed(err)
}

// open opens an engine with these options besides the server and the prefix.
func (g *globals) open(ctx context.Context, options lockwheel.Options) (*lockwheel.Engine, error) {
	option, err := g.option()
	if err != nil {
		return nil, err
	}
	return g.openAt(ctx, option, options)
}

// openAt opens an engine on that server.
func (g *globals) openAt(ctx context.Context, option rueidis.ClientOption, options lockwheel.Options) (*lockwheel.Engine, error) {
	options.Redis, options.Prefix = option, g.prefix
	engine, err := lockwheel.Open(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("opening the engine: %w", err)
	}
	return engine, nil
}
