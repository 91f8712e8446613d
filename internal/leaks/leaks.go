// Package leaks says what tests that look for goroutines left behind may find.
package leaks

import "go.uber.org/goleak"

// OfRueidis are goroutines that clients of rueidis leave behind and that end by themselves: after an attempt to connect
// that failed one sleeps for up to a second, and a client of a cluster closes what it needs no more after five.
func OfRueidis() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
	}
}
