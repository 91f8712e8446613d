package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// latencies counts how long calls took. Its memory does not grow with their number: every power of two
// nanoseconds is cut into 32 buckets, so that a quantile is at most three per cent too long, and never
// too short. Safe for concurrent use.
type latencies struct {
	buckets [octaves * parts]atomic.Int64
	longest atomic.Int64
}

const (
	octaves = 40 // up to nearly five hours; what is longer counts as that
	parts   = 32
)

func (l *latencies) add(d time.Duration) {
	l.buckets[bucketOf(d)].Add(1)
	for seen := l.longest.Load(); int64(d) > seen && !l.longest.CompareAndSwap(seen, int64(d)); {
		seen = l.longest.Load()
	}
}

func (l *latencies) count() (n int64) {
	for i := range l.buckets {
		n += l.buckets[i].Load()
	}
	return n
}

func (l *latencies) max() time.Duration { return time.Duration(l.longest.Load()) }

// quantile is what the share q of all calls did not take longer than; 0 without calls.
func (l *latencies) quantile(q float64) time.Duration {
	rank := int64(q * float64(l.count()))
	for i := range l.buckets {
		if rank -= l.buckets[i].Load(); rank < 0 {
			return min(longestIn(i), l.max())
		}
	}
	return l.max()
}

// bucketOf keeps the five bits after the highest one.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < parts {
		return int(n)
	}
	shift := bits.Len64(n) - bits.Len64(parts)
	return min(shift*parts+int(n>>shift), octaves*parts-1)
}

// longestIn is the longest duration that a bucket counts.
func longestIn(bucket int) time.Duration {
	if bucket < parts {
		return time.Duration(bucket)
	}
	shift := bucket/parts - 1
	return time.Duration(bucket%parts+parts+1)<<shift - 1
}
