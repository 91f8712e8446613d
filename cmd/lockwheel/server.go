package main

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
	option rueidis.ClientOption
	inside bool // it runs in this process
	close  func()
}

// server is the one that was named, or an embedded one.
func (s settings) server() (server, error) {
	if s.redis == "" {
		return embed()
	}
	return server{option: s.option, close: func() {}}, nil
}

// address is where the server listens, without credentials.
func (s server) address() string { return strings.Join(s.option.InitAddress, ", ") }

// readServer reads host:port or a URL.
func readServer(text string) (rueidis.ClientOption, error) {
	if strings.Contains(text, "://") {
		option, err := lockwheel.ParseURL(strings.TrimSuffix(text, "/")) // behind a slash it wants a number
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
