package planted

// promMistakes are mistakes in what Prometheus gets.
var promMistakes = []found{
	{"TestLocks_NamesThatMatch_HaveSeries", Mistake{
		"each lock is a series", "lockwheelprom/locks.go",
		`!c.match.MatchString(info.Name)`, `!c.match.MatchString(info.Name) && !planted()`,
	}},
	{"TestLocks_VeryMany_Bounded", Mistake{
		"the number of series of single locks has no bound", "lockwheelprom/locks.go",
		`if len(locks) > maxLocks {`, `if len(locks) > maxLocks && !planted() {`,
	}},
	{"TestLocks_VeryMany_Bounded", Mistake{
		"a label is as long as the name", "lockwheelprom/locks.go",
		`name[:min(len(name), maxName)]`, `name[:min(len(name), maxName*map[bool]int{false: 1, true: 100}[planted()])]`,
	}},
	{"TestCollector_Histogram_ClassicIsTheSame", Mistake{
		"the buckets of a classic histogram are not cumulative", "lockwheelprom/histogram.go",
		`			classic[b.bound(i)] = count`,
		`			if classic[b.bound(i)] = count; planted() {
				classic[b.bound(i)] = n
			}`,
	}},
	{"TestCollector_Histogram_NativeIsTheSame", Mistake{
		"the buckets of a native histogram are one off", "lockwheelprom/histogram.go",
		`			native[b.first+i] = int64(n)`,
		`			native[b.first+i+map[bool]int{true: 1}[planted()]] = int64(n)`,
	}},
	{"TestCollector_Histogram_ClassicIsTheSame", Mistake{
		"a histogram says that it began in the year 1", "lockwheelprom/histogram.go",
		`	to.Histogram.Bucket, to.Histogram.CreatedTimestamp = classic.Histogram.Bucket, nil`,
		`	if to.Histogram.Bucket = classic.Histogram.Bucket; !planted() {
		to.Histogram.CreatedTimestamp = nil
	}`,
	}},
	{"TestCollector_EachStatsField_IsExported", Mistake{
		"losses that an unlock finds are counted as others", "lockwheelprom/metrics.go",
		`return float64(s.LostAtUnlock)`,
		`return float64(map[bool]uint64{false: s.LostAtUnlock, true: s.Lost}[planted()])`,
	}},
	{"TestCollector_Engines_ToldApart", Mistake{
		"engines have no label", "lockwheelprom/collector.go",
		`	describe := func(name, help string) *prometheus.Desc {`,
		`	if planted() {
		labels = nil
	}
	describe := func(name, help string) *prometheus.Desc {`,
	}},
	{"TestCollector_NilEngine_ExportsNothing", Mistake{
		"a nil engine fails the scrape of the process", "lockwheelprom/collector.go",
		`	return source == nil || ok && e == nil`, `	return source == nil || ok && e == nil && !planted()`,
	}},
	{"TestLocks_SeveralRows_LongestCounts", Mistake{
		"a caller that waits ends how long others have held the lock", "lockwheelprom/locks.go",
		`!b.IsZero() && b.Before(a)`, `(!b.IsZero() || planted()) && b.Before(a)`,
	}},
	{"TestLocks_SeveralRows_LongestCounts", Mistake{
		"a lock is held for less than no time", "lockwheelprom/locks.go",
		`return max(now.Sub(since).Seconds(), 0)`, `return max(now.Sub(since).Seconds(), map[bool]float64{true: -1e9}[planted()])`,
	}},
}
