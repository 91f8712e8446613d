package redistest

import "go.uber.org/goleak"

// LeftByRueidis are the goroutines that clients of rueidis leave behind, which end by themselves: after an attempt to
// connect that failed one sleeps for up to a second, and a client of a cluster closes what it needs no more after five.
func LeftByRueidis() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
	}
}
