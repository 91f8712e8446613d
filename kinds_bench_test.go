package lockwheel_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// BenchmarkKindsAgainstPlain has 2048 callers lock and unlock, each a name of its own, with every kind of lock in
// turn, and prints the pairs a second and what part that is of what plain locks did just before and just after:
// the median of all rounds, of which -benchtime 20x is 20.
func BenchmarkKindsAgainstPlain(b *testing.B) {
	e := realSite(b).open(lockwheel.Options{})
	kinds := []struct {
		name string
		lock func(string) lockwheel.Mutex
	}{
		{"fenced", e.FencedMutex},
		{"read", func(name string) lockwheel.Mutex { return e.RWMutex("r" + name).RLocker() }},
		{"write", func(name string) lockwheel.Mutex { return e.RWMutex("r" + name).Writer() }},
		{"fair", e.FairMutex},
	}
	rates, parts := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		before := pairs(b, e.Mutex)
		for _, kind := range kinds {
			rate := pairs(b, kind.lock)
			after := pairs(b, e.Mutex)
			rates["plain"] = append(rates["plain"], after)
			rates[kind.name] = append(rates[kind.name], rate)
			parts[kind.name] = append(parts[kind.name], 2*rate/(before+after))
			before = after
		}
	}
	for name, all := range rates {
		b.ReportMetric(median(all), name+"/s")
	}
	for name, all := range parts {
		b.ReportMetric(median(all), name+"/plain")
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// pairs is how many a second 2048 callers have of one kind of lock.
func pairs(b *testing.B, lock func(string) lockwheel.Mutex) float64 {
	const callers, each = 2048, 4
	var all sync.WaitGroup
	began := time.Now()
	for i := range callers {
		all.Go(func() {
			m := lock(fmt.Sprint("n", i))
			for range each {
				hold, err := m.Lock(b.Context())
				if err == nil {
					err = hold.Unlock(b.Context())
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	require.False(b, b.Failed())
	return callers * each / time.Since(began).Seconds()
}
