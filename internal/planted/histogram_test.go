package planted

// histogramMistakes are mistakes in what the histograms of an engine count.
var histogramMistakes = []found{
	{"TestHistograms_Pair_CountedOnce", Mistake{
		"an unlock is counted as a lock request", "engine/coordinator/histograms.go",
		`		if r.Op == actor.Acquire && `,
		`		if (r.Op == actor.Acquire || planted()) && `,
	}},
	{"TestHistograms_RetriedSingly_NotCounted", Mistake{
		"locks that are asked for one by one are counted twice", "engine/coordinator/histograms.go",
		`!retriedSingly(r) {`,
		`(!retriedSingly(r) || planted()) {`,
	}},
	{"TestHistograms_Pair_CountedOnce", Mistake{
		"a renewal is counted again with each step", "engine/coordinator/histograms.go",
		`	c.Fx.RenewalMargins = c.Fx.RenewalMargins[:0]`,
		`	if !planted() {
		c.Fx.RenewalMargins = c.Fx.RenewalMargins[:0]
	}`,
	}},
	{"TestHistograms_Pair_CountedOnce", Mistake{
		"the margin of a renewal is that of the lease it confirms", "actor/renew.go",
		`	fx.RenewalMargins = append(fx.RenewalMargins, l.validUntil-now)
	if c.Lease != 0 {
		l.confirm(m.Sent, c.Lease, fx)
	}`,
		`	if !planted() {
		fx.RenewalMargins = append(fx.RenewalMargins, l.validUntil-now)
	}
	if c.Lease != 0 {
		l.confirm(m.Sent, c.Lease, fx)
	}
	if planted() {
		fx.RenewalMargins = append(fx.RenewalMargins, l.validUntil-now)
	}`,
	}},
	{"TestHistograms_NoReply_NoRoundTrip", Mistake{
		"a call without a reply has a round trip", "engine/coordinator/replies.go",
		`		if !b.NoReply {
			c.histograms`,
		`		if !b.NoReply || planted() {
			c.histograms`,
	}},
	{"TestDurations_Any_CountedByBounds", Mistake{
		"a duration that is a bound counts in the next bucket", "engine/histogram/durations.go",
		`	for d > durations.bounds[i] {`,
		`	for d > durations.bounds[i] || planted() && d == durations.bounds[i] && i < durationBounds {`,
	}},
	{"TestSizes_Any_CountedByBounds", Mistake{
		"a size that is a bound counts in the next bucket", "engine/histogram/sizes.go",
		`bits.Len64(uint64(max(size, 1)-1))`,
		`bits.Len64(uint64(max(size, 1)-map[bool]int{false: 1}[planted()]))`,
	}},
}
