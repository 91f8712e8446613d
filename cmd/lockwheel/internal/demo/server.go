package demo

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
)

// server is where a demo runs.
type server struct {
	option   rueidis.ClientOption
	embedded bool // the server runs in this process
	close    func()
}

// server returns the named server, or an embedded one.
func (s settings) server() (server, error) {
	if s.redis == "" {
		return embed()
	}
	return server{option: s.option, close: func() {}}, nil
}

// address returns the server's addresses, without credentials.
func (s server) address() string { return strings.Join(s.option.InitAddress, ", ") }

// readServer parses host:port or a URL.
func readServer(text string) (rueidis.ClientOption, error) {
	if strings.Contains(text, "://") {
		option, err := lockwheel.ParseURL(strings.TrimSuffix(text, "/")) // behind a slash ParseURL expects a number
		if err != nil {
			return option, fmt.Errorf("-redis: %w", err)
		}
		return option, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return rueidis.ClientOption{}, errors.New("-redis: want host:port, or a URL as redis://host:6379")
	}
	return rueidis.ClientOption{InitAddress: []string{net.JoinHostPort(host, port)}}, nil
}
