package faults_test

import (
	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/proxy"
)

func linkFaults() []fault {
	return []fault{
		{name: "replies late", strike: set(proxy.Replies, proxy.Delay(40*time.Millisecond))},
		{name: "commands late", strike: set(proxy.Commands, proxy.Delay(40*time.Millisecond))},
		{name: "replies held up", strike: set(proxy.Replies, proxy.Hold)},
		{name: "commands held up", strike: set(proxy.Commands, proxy.Hold)},
		{name: "a network that heals", strike: set(proxy.Both, proxy.Hold)},
		{name: "bytes that trickle", strike: set(proxy.Both, proxy.Trickle(7, time.Millisecond))},
		{name: "a reply lost, its command run", strike: present(proxy.Replies, func() proxy.Fault { return proxy.CutAfter(0) })},
		{name: "a reply torn", strike: present(proxy.Replies, func() proxy.Fault { return proxy.CutAfter(1 + rand.IntN(40)) })},
		{name: "a command torn", strike: present(proxy.Commands, func() proxy.Fault { return proxy.CutAfter(rand.IntN(300)) })},
		{name: "commands that run late", strike: late},
		{name: "connections reset", strike: func(s *faultEnv) { s.onLinks((*proxy.Proxy).Cut) }},
		{name: "connections refused", strike: refuse},
		{name: "connected, then silence", strike: silence},
		{name: "half-open connections", strike: present(proxy.Both, func() proxy.Fault { return proxy.Drop }), silent: true},
		{name: "half-open pub/sub connections", strike: dropRequests, silent: true},
		{name: "messages held up", strike: listening(proxy.Hold)},
		{name: "subscriptions that fail", strike: dropReplies},
	}
}

func set(d proxy.Direction, f proxy.Fault) func(*faultEnv) {
	return func(s *faultEnv) { s.onLinks(func(p *proxy.Proxy) { p.Set(d, f) }) }
}

// present breaks the permanent connections, and no others.
func present(d proxy.Direction, f func() proxy.Fault) func(*faultEnv) {
	return func(s *faultEnv) {
		for _, p := range s.links {
			p.SetFor(proxy.Existing, d, f())
		}
		s.lasts()
	}
}

// late cuts connections with commands that have not arrived, and lets these arrive afterwards.
func late(s *faultEnv) {
	for _, p := range s.links {
		p.SetFor(proxy.Existing, proxy.Commands, proxy.Hold)
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0))
	}
	s.lasts()
	for _, p := range s.links {
		p.SetFor(proxy.Existing, proxy.Commands, proxy.Pass)
	}
}

func refuse(s *faultEnv) {
	s.onLinks(func(p *proxy.Proxy) {
		require.NoError(s.T, p.Refuse(true))
		p.Cut()
	})
}

func silence(s *faultEnv) {
	s.onLinks(func(p *proxy.Proxy) {
		p.SetFor(proxy.Upcoming, proxy.Both, proxy.Drop)
		p.Cut()
	})
	for _, p := range s.links {
		p.Cut() // after lost bytes the rest of the stream would be malformed
	}
}

func dropRequests(s *faultEnv) {
	for _, p := range s.links {
		p.SetFor(proxy.ExistingSubscribers, proxy.Both, proxy.Drop)
	}
	s.lasts()
}

func listening(f proxy.Fault) func(*faultEnv) {
	return func(s *faultEnv) {
		s.onLinks(func(p *proxy.Proxy) { p.SetFor(proxy.Subscribers, proxy.Replies, f) })
	}
}

// dropReplies resets every connection that subscribes.
func dropReplies(s *faultEnv) {
	s.onLinks(func(p *proxy.Proxy) { p.SetFor(proxy.Subscribers, proxy.Replies, proxy.CutAfter(rand.IntN(30))) })
}
