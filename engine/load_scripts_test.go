package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// Every script is at the server before the first lock needs it: in a cluster at each master that the client knows.
func TestProbe_Scripts_AtEachMaster(t *testing.T) {
	loaded := func(s *scriptedServer) int { return strings.Count(s.receivedOn(1), "SCRIPT LOAD ") }
	all := len(scripts.All())
	single, client := newScriptedServerWith(t, true, func(int, []string) string { return "" })
	_, err := Probe(t.Context(), client, 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, all, loaded(single))

	reply := func(_ int, words []string) string {
		if words[0] == "CLUSTER" {
			return "*3\r\n*3\r\n:0\r\n:99\r\n*2\r\n+a\r\n:1\r\n*3\r\n:100\r\n:199\r\n*2\r\n+unknown\r\n:1\r\n*3\r\n:200\r\n:16383\r\n*2\r\n+b\r\n:1\r\n"
		}
		return ""
	}
	a, clientA := newScriptedServerWith(t, true, reply)
	b, clientB := newScriptedServerWith(t, true, reply)
	_, err = Probe(t.Context(), &multiNodeClient{mode: rueidis.ClientModeCluster, nodes: map[string]rueidis.Client{"a:1": clientA, "b:1": clientB}}, 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, []int{all, all}, []int{loaded(a), loaded(b)})
}

// A server that does not reply to the scripts delays the start by the timeout at most.
func TestProbe_ScriptsUnanswered_GoesOn(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	_, client := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "SCRIPT" {
			<-gate
		}
		return ""
	})
	began := time.Now()
	_, err := Probe(t.Context(), client, 50*time.Millisecond)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 10*time.Second)
}
