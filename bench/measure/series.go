// Package measure has the arithmetic of measurements: samples and their medians, quantiles, a histogram, and the
// resource usage of a process.
package measure

import "time"

// Sample is one stretch of work of one contestant.
type Sample struct {
	Pairs  int // locks that were acquired and released
	Took   time.Duration
	Client Usage
	Server time.Duration // processor time
}

// Series has the samples of one contestant. Each figure is the median of the samples' figures, so that a short
// disturbance of the machine does not count. Without samples it is zero.
type Series struct{ Samples []Sample }

// Add appends a sample.
func (s *Series) Add(sample Sample) { s.Samples = append(s.Samples, sample) }

// Only returns the series of one of the samples.
func (s *Series) Only(i int) Series { return Series{s.Samples[i : i+1]} }

// PairsPerSecond returns the throughput.
func (s *Series) PairsPerSecond() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Pairs) / x.Took.Seconds() })
}

// NsPerPair returns the time per pair, of all goroutines together.
func (s *Series) NsPerPair() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Took) / float64(x.Pairs) })
}

// ClientCPU returns this process's processor time per pair.
func (s *Series) ClientCPU() time.Duration {
	return time.Duration(s.median(func(x Sample) float64 { return float64(x.Client.CPU) / float64(x.Pairs) }))
}

// ServerCPU returns the server's processor time per pair.
func (s *Series) ServerCPU() time.Duration {
	return time.Duration(s.median(func(x Sample) float64 { return float64(x.Server) / float64(x.Pairs) }))
}

// BytesPerPair returns the bytes allocated per pair.
func (s *Series) BytesPerPair() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Client.Bytes) / float64(x.Pairs) })
}

// AllocsPerPair returns the allocations per pair.
func (s *Series) AllocsPerPair() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Client.Allocs) / float64(x.Pairs) })
}

// SleepsPerPair returns how often a thread of this process went to sleep per pair.
func (s *Series) SleepsPerPair() float64 {
	return s.median(func(x Sample) float64 { return float64(x.Client.Sleeps) / float64(x.Pairs) })
}

// median leaves out samples without a pair.
func (s *Series) median(figure func(Sample) float64) float64 {
	var figures []float64
	for _, sample := range s.Samples {
		if sample.Pairs > 0 {
			figures = append(figures, figure(sample))
		}
	}
	return Median(figures)
}
