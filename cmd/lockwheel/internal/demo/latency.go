package demo

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// latencies is a histogram of call durations with constant memory. Each power of two nanoseconds is divided into 32
// buckets, so a quantile is at most 3 % too long, and never too short. Safe for concurrent use.
type latencies struct {
	buckets [powersOfTwo * subBuckets]atomic.Int64
	longest atomic.Int64
}

const (
	powersOfTwo = 40 // up to nearly five hours; longer durations count as that
	subBuckets  = 32
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
			return min(bucketMax(i), l.max())
		}
	}
	return l.max()
}

// bucketOf returns the bucket of a duration: it keeps the five bits after the highest one.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < subBuckets {
		return int(n)
	}
	shift := bits.Len64(n) - bits.Len64(subBuckets)
	return min(shift*subBuckets+int(n>>shift), powersOfTwo*subBuckets-1)
}

// bucketMax returns the longest duration that a bucket counts.
func bucketMax(bucket int) time.Duration {
	if bucket < subBuckets {
		return time.Duration(bucket)
	}
	shift := bucket/subBuckets - 1
	return time.Duration(bucket%subBuckets+subBuckets+1)<<shift - 1
}
