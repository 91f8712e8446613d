package bench

import (
	"context"
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

const quorumServers = 3

// quorums compares a majority of three servers with redsync's, by 2048 goroutines with a name each. The servers are
// started here, and reached over a link like the one of s.
func quorums(s *Server, p Plan) (results []Result, err error) {
	var on servers
	defer func() { err = errors.Join(err, on.close()) }()
	for range quorumServers {
		one, err := OpenServer(context.Background(), "")
		if err != nil {
			return nil, err
		}
		on = append(on, one)
		if err := one.Delay(s.delay); err != nil {
			return nil, err
		}
	}
	var entries []entry
	for _, library := range []struct {
		name string
		open func(peers.Config, ...string) (peers.Contestant, error)
	}{{peers.Lockwheel.Name, peers.OpenLockwheelQuorum}, {peers.Redsync.Name, peers.OpenRedsyncQuorum}} {
		contestant, err := library.open(peers.Config{Callers: kindNames}, on.addrs()...)
		if err != nil {
			return nil, err
		}
		defer closeWithTimeout(contestant)
		entries = append(entries, ownNames(library.name, contestant, kindNames, p.Round))
	}
	return runInterleaved(on, p.Rounds, entries)
}

// servers are independent of each other, or the masters of a cluster.
type servers []*Server

func (on servers) addrs() (addrs []string) {
	for _, s := range on {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// CPU returns the processor time that all have used.
func (on servers) CPU() (all time.Duration, err error) {
	for _, s := range on {
		used, wrong := s.CPU()
		all, err = all+used, errors.Join(err, wrong)
	}
	return all, err
}

func (on servers) close() (err error) {
	for _, s := range on {
		err = errors.Join(err, s.Close())
	}
	return err
}
