// Package measure is arithmetic on measurements: samples and their medians, quantiles, a histogram, and what a
// process has used.
package measure

import "time"

// Sample is one stretch of one contestant at work.
type Sample struct {
	Pairs  int // locks that were taken and given back
	Took   time.Duration
	Client Usage
	Server time.Duration // processor time
}

// Series are the samples of one contestant. Each figure is the median of the samples' figures, so that one bad
// moment of the machine does not count; without samples it is zero.
type Series struct{ Samples []Sample }

// Add appends a sample.
func (s *Series) Add(sample Sample) { s.Samples = append(s.Samples, sample) }

// PairsPerSecond is the throughput.
func (s *Series) PairsPerSecond() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Pairs) / x.Took.Seconds() })
}

// NsPerPair is the time that passes for a pair, all goroutines taken together.
func (s *Series) NsPerPair() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Took) / float64(x.Pairs) })
}

// ClientCPU is this process's processor time for a pair.
func (s *Series) ClientCPU() time.Duration {
	return time.Duration(s.median(func(x Sample) float64 { return float64(x.Client.CPU) / float64(x.Pairs) }))
}

// ServerCPU is the server's processor time for a pair.
func (s *Series) ServerCPU() time.Duration {
	return time.Duration(s.median(func(x Sample) float64 { return float64(x.Server) / float64(x.Pairs) }))
}

// BytesPerPair is what is allocated for a pair.
func (s *Series) BytesPerPair() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Client.Bytes) / float64(x.Pairs) })
}

// AllocsPerPair is how many allocations a pair makes.
func (s *Series) AllocsPerPair() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Client.Allocs) / float64(x.Pairs) })
}

// median leaves out samples without a single pair, of which nothing can be said for a pair.
func (s *Series) median(figure func(Sample) float64) float64 {
	var figures []float64
	for _, sample := range s.Samples {
		if sample.Pairs > 0 {
			figures = append(figures, figure(sample))
		}
	}
	return Median(figures)
}
