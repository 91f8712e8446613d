package sentinel

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// QuickestFirst returns the addresses of the sentinels, with one that replies as the first. rueidis asks one after the
// other, and waits for a silent one for as long as for a server. The order is as it was if the first replies within an
// eighth of the given time, or none within all of it. The others keep that time, and the end of ctx ends it, so that an
// error can name those that are silent. It asks the first sixteen.
func QuickestFirst(ctx context.Context, option *rueidis.ClientOption, within time.Duration) []string {
	addresses := option.InitAddress
	if len(addresses) < 2 {
		return addresses
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	// The caller may change the options while some are still asked.
	dial, dialer, secure := option.DialCtxFn, option.Sentinel.Dialer, option.Sentinel.TLSConfig
	var asked sync.WaitGroup
	replied := make(chan int, maxAsked)
	for i, address := range addresses[:min(len(addresses), maxAsked)] {
		asked.Go(func() {
			if pings(ctx, func() (net.Conn, error) { return dial(ctx, address, &dialer, secure) }) {
				replied <- i
			}
		})
	}
	go func() {
		asked.Wait()
		cancel()
	}()
	best := len(addresses)
	patience := time.After(within / 8)
	for best > 0 {
		select {
		case i := <-replied:
			best = min(best, i)
			if patience != nil {
				continue
			}
		case <-patience:
			patience = nil
			if best == len(addresses) && len(replied) == 0 {
				continue
			}
		case <-ctx.Done():
		}
		break
	}
	for len(replied) > 0 { // several cases of the select were ready
		best = min(best, <-replied)
	}
	if best == len(addresses) {
		return addresses
	}
	return slices.Concat(addresses[best:best+1], addresses[:best], addresses[best+1:])
}

// pings reports whether a sentinel replies to a PING with anything at all: it may want a password.
func pings(ctx context.Context, dial func() (net.Conn, error)) bool {
	conn, err := dial()
	if err != nil {
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	n, _ := conn.Read(make([]byte, 1))
	return n > 0
}
