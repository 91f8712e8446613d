package peers

import (
	"context"

	"github.com/redis/rueidis"
)

// PingPair sends a PING in place of a lock and another in place of an unlock: the two round trips that a lock needs.
var PingPair = ContestantSpec{
	Name:     "two PINGs",
	Module:   "github.com/redis/rueidis",
	Settings: "rueidis with a PING in place of each of lock and unlock; one connection",
	open:     openPingPair,
}

// Unlocked does nothing in place of a lock.
var Unlocked = ContestantSpec{
	Name:     "no lock",
	Settings: "nothing in place of lock and unlock",
	open:     func(Config) (Contestant, error) { return unlocked{}, nil },
}

type pingPair struct{ client rueidis.Client }

func openPingPair(c Config) (Contestant, error) {
	client, err := OpenPlain(c.Addr)
	return pingPair{client}, err
}

func (p pingPair) Close()                    { p.client.Close() }
func (p pingPair) Worker(string, int) Worker { return p }

func (p pingPair) Lock(ctx context.Context) error {
	return p.client.Do(ctx, p.client.B().Ping().Build()).Error()
}

func (p pingPair) Unlock() error { return p.Lock(context.Background()) }

type unlocked struct{}

func (unlocked) Close()                     {}
func (unlocked) Worker(string, int) Worker  { return unlocked{} }
func (unlocked) Lock(context.Context) error { return nil }
func (unlocked) Unlock() error              { return nil }
