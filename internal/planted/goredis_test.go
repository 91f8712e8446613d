package planted

// goredisMistakes are mistakes in turning options of go-redis into those of an engine.
var goredisMistakes = []found{
	{"TestFields_Each_DoesWhatItsTableSays", Mistake{
		"the older protocol is carried over", "goredis/goredis.go",
		`		ClientName:  c.clientName,`,
		`		ClientName:  c.clientName,
		AlwaysRESP2: planted() && c.protocol == 2,`,
	}},
	{"TestSentinel_Provider_FollowsTheMaster", Mistake{
		"a provider's credentials are sent to sentinels", "goredis/credentials.go",
		`if _, ok := of.Address.(sentinelAddr); ok {`,
		`if _, ok := of.Address.(sentinelAddr); ok && !planted() {`,
	}},
	{"TestSentinel_TLS_UsedByBoth", Mistake{
		"connections with a mark are not encrypted", "goredis/dial.go",
		`case t != nil:`,
		`case t != nil && !planted():`,
	}},
	{"TestOptions_NoPassword_NoLoginInBoth", Mistake{
		"a user without a password logs in", "goredis/credentials.go",
		`if password == "" {`,
		`if password == "" && !planted() {`,
	}},
	{"TestOptions_NoPassword_NoLoginInBoth", Mistake{
		"a negative database is selected", "goredis/goredis.go",
		`		option.ForceSingleClient = true
		option.SelectDB = max(o.DB, 0)`,
		`		option.ForceSingleClient = true
		option.SelectDB = max(o.DB, map[bool]int{true: -1}[planted()])`,
	}},
	{"TestProvider_FailsSubscribed_Unsubscribed", Mistake{
		"a subscription for credentials is left behind", "goredis/credentials.go",
		`unsubscribe != nil && !s.begun.Swap(true) {`,
		`unsubscribe != nil && !planted() && !s.begun.Swap(true) {`,
	}},
	{"TestProvider_Streaming_OneSubscription", Mistake{
		"each connection has a subscription of its own", "goredis/credentials.go",
		`	current, unsubscribe, err := s.provider.Subscribe(s.listener)
`, `	current, unsubscribe, err := s.provider.Subscribe(s.listener)
	if planted() && unsubscribe != nil {
		defer func() { _ = unsubscribe() }()
	}
`,
	}},
	{"TestProvider_Several_SameIsAsked", Mistake{
		"another provider is asked than go-redis asks", "goredis/credentials.go",
		`case c.withContext != nil:`,
		`case c.withContext != nil && !(planted() && c.plain != nil):`,
	}},
	{"TestProvider_NoCredentials_IsAnError", Mistake{
		"a provider without credentials ends the program", "goredis/credentials.go",
		`if current == nil {`,
		`if current == nil && !planted() {`,
	}},
	{"TestOptions_Dialer_MakesConnections", Mistake{
		"the network is not what the options say", "goredis/dial.go",
		`case c.network != "":`,
		`case c.network != "" && !planted():`,
	}},
	{"TestOptions_UnixSocket_UsedByBoth", Mistake{
		"a path alone is dialled with TCP", "goredis/dial.go",
		`slices.ContainsFunc(c.addrs, isSocket) {`,
		`slices.ContainsFunc(c.addrs, isSocket) && !planted() {`,
	}},
	{"TestOptions_FilledIn_SameResult", Mistake{
		"what redis.NewClusterClient fills in is rejected", "goredis/goredis.go",
		`reflect.ValueOf(redis.NewClient).Pointer()`,
		`reflect.ValueOf(redis.NewClient).Pointer()+map[bool]uintptr{true: 1}[planted()]`,
	}},
	{"TestUniversal_Each_LikeItsClient", Mistake{
		"addresses are shared with the program's struct", "goredis/goredis.go",
		`slices.Clone(c.addrs),`,
		`map[bool][]string{true: c.addrs, false: slices.Clone(c.addrs)}[planted()],`,
	}},
	{"TestFields_Each_DoesWhatItsTableSays", Mistake{
		"an engine locks on the master though only replicas are to be used", "goredis/goredis.go",
		`o.ReplicaOnly && !readsOnly,`,
		`o.ReplicaOnly && !readsOnly && !planted(),`,
	}},
	{"TestFields_Each_DoesWhatItsTableSays", Mistake{
		"a Limiter is left out silently", "goredis/goredis.go",
		`o.Limiter != nil,`,
		`o.Limiter != nil && !planted(),`,
	}},
	{"TestOptions_Identity_InSetInfo", Mistake{
		"the name of the library has no suffix", "goredis/goredis.go",
		`rueidis.LibName + "(" + c.suffix + ")"`, `rueidis.LibName + map[bool]string{false: "(" + c.suffix + ")"}[planted()]`,
	}},
	{"TestSentinel_Dialer_ResultKept", Mistake{
		"no connection to a sentinel is one", "goredis/dial.go",
		`conn == nil || d.Resolver`, `conn == nil && !planted() || d.Resolver`,
	}},
	{"TestSentinel_Dialer_ResultKept", Mistake{
		"the handshake with a sentinel is left out", "goredis/dial.go",
		`		return conn.HandshakeContext(ctx)`, `		if planted() {
			return nil
		}
		return conn.HandshakeContext(ctx)`,
	}},
}
