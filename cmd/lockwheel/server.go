package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/rueidis"
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
		option, err := rueidis.ParseURL(strings.TrimSuffix(text, "/")) // behind a slash it wants a number
		if err != nil {
			return option, fmt.Errorf("-redis: %w", withoutSecret(err))
		}
		return option, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return rueidis.ClientOption{}, errors.New("-redis: want host:port, or a URL as redis://host:6379")
	}
	return rueidis.ClientOption{InitAddress: []string{net.JoinHostPort(host, port)}}, nil
}

// withoutSecret drops the URL from an error, as it may have a password in it.
func withoutSecret(err error) error {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		return fmt.Errorf("the URL cannot be read: %w", wrong.Err)
	}
	return err
}
