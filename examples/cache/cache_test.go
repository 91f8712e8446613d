package main

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/exampletest"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

// The program runs for its time: one build at a time, and a summary at the end.
func TestCache_ManyReaders_FewBuilds(t *testing.T) {
	e := exampletest.Start(t, run, "-for", "0", "-takes", "20ms", "-fresh", "100ms")
	for range 4 {
		e.Await("begins to build")
		e.Await("has built")
		require.Equal(t, e.Count("has built"), e.Count("begins to build"), "two build at once: %q", e.Said)
	}
	e.Interrupt()
	require.Equal(t, 1, e.Count(`reads: \d+ fresh, \d+ old, \d+ after a wait`))
}

// caches returns caches of two processes that share a server. Each build says so and takes a value.
func caches(t *testing.T, fresh time.Duration, values <-chan string) (all []*cache, building <-chan bool) {
	s, err := server.Start("")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	client, err := s.Client()
	require.NoError(t, err)
	t.Cleanup(client.Close)
	log := server.NewLog(t.Output())
	t.Cleanup(log.Close)
	members, err := s.Open(t.Context(), 2, lockwheel.Options{})
	require.NoError(t, err)
	builds := make(chan bool, 100)
	for _, m := range members {
		all = append(all, &cache{m.Name, m.Locks, client, log, fresh, time.Hour, func(context.Context) (string, error) {
			builds <- true
			return <-values, nil
		}, new(counts)})
	}
	return all, builds
}

// No entry: all readers of both processes get what one of them builds.
func TestCache_NoEntry_OneBuilds(t *testing.T) {
	values := make(chan string)
	all, building := caches(t, time.Hour, values)
	var readers sync.WaitGroup
	for i := range 20 {
		readers.Go(func() {
			value, err := all[i%2].get(t.Context(), "k")
			if err != nil || value != "first" {
				t.Errorf("a reader got %q, %v", value, err)
			}
		})
	}
	<-building
	values <- "first"
	readers.Wait()
	require.Empty(t, building)
}

// An old entry: while one reader rebuilds it, readers of the other process get the old one and do not wait.
func TestCache_OldEntry_ServedMeanwhile(t *testing.T) {
	values := make(chan string, 1)
	all, building := caches(t, time.Nanosecond, values) // old at once
	values <- "first"
	value, err := all[0].get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "first", value)
	<-building

	rebuilt := make(chan string)
	go func() {
		value, _ := all[0].get(t.Context(), "k")
		rebuilt <- value
	}()
	<-building
	for range 10 {
		value, err := all[1].get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, "first", value)
	}
	values <- "second"
	require.Equal(t, "second", <-rebuilt)
	require.Empty(t, building)
}
