package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// latencies is a histogram of call durations with constant memory. Each power of two nanoseconds is divided into 32
// buckets, so a quantile is at most 3 % too long, and never too short. Safe for concurrent use.
type latencies struct {
	buckets [octaves * parts]atomic.Int64
	longest atomic.Int64
}

const (
	octaves = 40 // up to nearly five hours; longer durations count as that
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

// quantile returns the duration that a part q of all calls did not exceed; 0 without calls.
func (l *latencies) quantile(q float64) time.Duration {
	rank := int64(q * float64(l.count()))
	for i := range l.buckets {
		if rank -= l.buckets[i].Load(); rank < 0 {
			return min(longestIn(i), l.max())
		}
	}
	return l.max()
}

// bucketOf returns the bucket of a duration: it keeps the five bits after the highest one.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < parts {
		return int(n)
	}
	shift := bits.Len64(n) - bits.Len64(parts)
	return min(shift*parts+int(n>>shift), octaves*parts-1)
}

// longestIn returns the longest duration that a bucket counts.
func longestIn(bucket int) time.Duration {
	if bucket < parts {
		return time.Duration(bucket)
	}
	shift := bucket/parts - 1
	return time.Duration(bucket%parts+parts+1)<<shift - 1
}
