package demo

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLatencies_Quantile_Within3Percent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var l latencies
	var exact []time.Duration
	for range 50_000 {
		d := time.Duration(1) << random.IntN(38)
		d += time.Duration(random.Int64N(int64(d)))
		l.add(d)
		exact = append(exact, d)
	}
	slices.Sort(exact)
	for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999} {
		want, got := exact[int(q*float64(len(exact)))], l.quantile(q)
		assert.GreaterOrEqual(t, got, want, q)
		assert.LessOrEqual(t, float64(got), float64(want)*(1+1.0/subBuckets), q)
	}
	assert.Equal(t, exact[len(exact)-1], l.max())
	assert.Equal(t, l.max(), l.quantile(1))
	assert.EqualValues(t, len(exact), l.count())
}

func TestLatencies_Buckets_NoGaps(t *testing.T) {
	for bucket := range powersOfTwo*subBuckets - 1 {
		end := bucketMax(bucket)
		assert.Equal(t, bucket, bucketOf(end))
		assert.Equal(t, bucket+1, bucketOf(end+1))
	}
}

func TestLatencies_ExtremeDurations_Counted(t *testing.T) {
	var l latencies
	assert.Zero(t, l.quantile(0.5), "of none")
	l.add(-1)
	assert.Zero(t, l.quantile(0.5))
	l.add(1<<63 - 1)
	assert.EqualValues(t, 2, l.count())
	assert.Equal(t, time.Duration(1<<63-1), l.max())
}
