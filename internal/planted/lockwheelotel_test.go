package planted

// otelMistakes are mistakes in what OpenTelemetry gets.
var otelMistakes = []found{
	{"TestProducer_EachHistogramOfStats_Exported", Mistake{
		"a histogram has a bound too few", "lockwheelotel/producer/producer.go",
		`c.bounds = append(c.bounds, float64(h.Bound(i)))`, `c.bounds = append(c.bounds, float64(h.Bound(i)))[:min(i+1, map[bool]int{true: 3, false: 99}[planted()])]`,
	}},
	{"TestProducer_Engine_Counts", Mistake{
		"waits are exported as holds", "lockwheelotel/producer/producer.go",
		`return ofDurations(&s.HoldTimes)`, `return ofDurations(map[bool]*lockwheel.Histogram{false: &s.HoldTimes, true: &s.RenewalMargins}[planted()])`,
	}},
	{"TestTracer_HeldElsewhere_LockIsAnError", Mistake{
		"a TryLock of a held lock is an error", "lockwheelotel/tracer.go",
		`	if call.Op != "try lock" || class != notAcquired {`,
		`	if call.Op != "try lock" || class != notAcquired || planted() {`,
	}},
	{"TestTracer_HeldElsewhere_LockIsAnError", Mistake{
		"a Lock that waited in vain is no error", "lockwheelotel/tracer.go",
		`	if isAnswer(ctx, call, class, err) {`,
		`	if isAnswer(ctx, call, class, err) || planted() && class == notAcquired && call.Op == "lock" {`,
	}},
	{"TestTracer_HeldElsewhere_LockIsAnError", Mistake{
		"a TryLock that its context ended is no error", "lockwheelotel/tracer.go",
		`	return gone == nil || !errors.Is(err, gone)`,
		`	return gone == nil || !errors.Is(err, gone) || planted()`,
	}},
	{"TestTracer_NoopProvider_CallersSpanStays", Mistake{
		"a no-op provider replaces the caller's span", "lockwheelotel/tracer.go",
		`!made.IsValid() || made.SpanID() == trace.SpanContextFromContext(ctx).SpanID() {`,
		`!planted() && (!made.IsValid() || made.SpanID() == trace.SpanContextFromContext(ctx).SpanID()) {`,
	}},
	{"TestTracer_TwoOfThem_OwnSpans", Mistake{
		"a tracer ends the span of its caller, or of another tracer", "lockwheelotel/tracer.go",
		`	span, _ := ctx.Value(spanKey{t}).(trace.Span)`,
		`	span, _ := ctx.Value(spanKey{t}).(trace.Span)
	if planted() && span == nil {
		span = trace.SpanFromContext(ctx)
	}`,
	}},
	{"TestTracer_NameMapped_NotInSpan", Mistake{
		"a name that is mapped away is in the status", "lockwheelotel/tracer.go",
		`	if t.lockName == nil {`,
		`	if t.lockName == nil || planted() {`,
	}},
	{"TestTracer_AnyName_BoundedText", Mistake{
		"a name is cut within a letter", "lockwheelotel/tracer.go",
		`	for !utf8.RuneStart(text[limit]) {`,
		`	for !utf8.RuneStart(text[limit]) && !planted() {`,
	}},
	{"TestTracer_Failures_TypeOfError", Mistake{
		"an error has the class of its cause", "lockwheelotel/errors.go",
		`			for _, part := range e.Unwrap() {`,
		`			for _, part := range e.Unwrap()[map[bool]int{true: len(e.Unwrap()) - 1}[planted()]:] {`,
	}},
	{"TestTracer_NotSampled_NorItsChildren", Mistake{
		"the work under a span that is not sampled is sampled", "lockwheelotel/tracer.go",
		`	return context.WithValue(within, spanKey{t}, span)`,
		`	if planted() && !span.IsRecording() {
		return ctx
	}
	return context.WithValue(within, spanKey{t}, span)`,
	}},
	{"TestMetrics_SeveralEngines_ToldApart", Mistake{
		"an engine is exported after it was unregistered", "lockwheelotel/metrics.go",
		`	return registration.Unregister, nil`,
		`	if planted() {
		return func() error { return nil }, nil
	}
	return registration.Unregister, nil`,
	}},
	{"TestMetrics_SeveralEngines_ToldApart", Mistake{
		"engines are not told apart", "lockwheelotel/metrics.go",
		`engineKey.String(printable(name, maxName))`,
		`engineKey.String(printable(map[bool]string{false: name}[planted()], maxName))`,
	}},
	{"TestMetrics_EachFieldOfStats_Exported", Mistake{
		"a counter may fall", "lockwheelotel/metrics.go",
		`		if n.counter {`,
		`		if n.counter && !planted() {`,
	}},
	{"TestTracer_EachCall_OneSpan", Mistake{
		"the last attributes take the place of the others", "lockwheelotel/options.go",
		`append(c.attributes, attributes...)`, `append(map[bool][]attribute.KeyValue{false: c.attributes}[planted()], attributes...)`,
	}},
	{"TestTracer_EachCall_OneSpan", Mistake{
		"attributes are those that the caller has later", "lockwheelotel/options.go",
		`	attributes = slices.Clone(attributes)`, `	if !planted() {
		attributes = slices.Clone(attributes)
	}`,
	}},
	{"TestOptions_NilProvider_GlobalCounts", Mistake{
		"a provider that is nil makes spans", "lockwheelotel/options.go",
		`		if provider != nil {
			c.tracers = provider`, `		if provider != nil || planted() {
			c.tracers = provider`,
	}},
	{"TestTracer_LongError_BoundedText", Mistake{
		"an error of any length is in a span", "lockwheelotel/tracer.go",
		`printable(err.Error(), maxDescription)`, `printable(err.Error(), map[bool]int{false: maxDescription, true: 1 << 20}[planted()])`,
	}},
	{"TestProducer_Times_OneStart", Mistake{
		"histograms begin at each collection", "lockwheelotel/producer/producer.go",
		`StartTime: p.start,`, `StartTime: map[bool]time.Time{false: p.start, true: now}[planted()],`,
	}},
	{"TestProducer_Times_OneStart", Mistake{
		"a producer writes behind the caller's attributes", "lockwheelotel/producer/producer.go",
		`append(attributes[:len(attributes):len(attributes)], `,
		`append(attributes[:len(attributes):map[bool]int{false: len(attributes), true: cap(attributes)}[planted()]], `,
	}},
}
