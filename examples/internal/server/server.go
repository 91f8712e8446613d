// Package server has what the examples share and a program of yours would not have. It has a server inside the process,
// so that an example starts in a fresh clone without Redis.
package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/embedded"
)

// Main runs an example until it is done or the process receives SIGINT or SIGTERM.
func Main(run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) { // interrupted before it had begun
		err = nil
	}
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Server is the server of an example: the one of the flag -redis, or one inside the process.
type Server struct {
	option   rueidis.ClientOption
	embedded *embedded.Server // nil: that of the flag
	engines  []*lockwheel.Engine
}

// Start returns the server that the URL names. If the URL is empty, it starts one inside the process. The caller ends
// it with Close.
func Start(url string) (*Server, error) {
	if url != "" {
		option, err := lockwheel.ParseURL(url)
		option.DisableCache = true // for Client: the examples do not cache
		return &Server{option: option}, err
	}
	started, err := embedded.Start()
	if err != nil {
		return nil, err
	}
	return &Server{option: started.ClientOption(), embedded: started}, nil
}

// Member is a part of an example that stands for a process.
type Member struct {
	Name  string // "member 1" and so on
	Locks *lockwheel.Engine
}

// Open opens engines for members of an example that stand for processes: a process opens one. Close closes them.
func (s *Server) Open(ctx context.Context, members int, opts lockwheel.Options) (all []Member, err error) {
	opts.Redis = s.option
	for i := range members {
		locks, err := lockwheel.Open(ctx, opts)
		if err != nil {
			return nil, err
		}
		s.engines = append(s.engines, locks)
		all = append(all, Member{fmt.Sprintf("member %d", i+1), locks})
	}
	return all, nil
}

// Client opens a client for what an example keeps in Redis beside its locks.
func (s *Server) Client() (rueidis.Client, error) { return rueidis.NewClient(s.option) }

// Close closes the engines, and ends the server if Start started it.
func (s *Server) Close() {
	for _, locks := range s.engines {
		locks.Close()
	}
	if s.embedded != nil {
		s.embedded.Close()
	}
}
