package inspect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// A key that has another type by now, or is at another node, is left out of what is listed. Other errors are told.
func TestRefused_KeyElsewhere_NoError(t *testing.T) {
	t.Parallel()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}, ForceSingleClient: true, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	for text, passes := range map[string]bool{
		"WRONGTYPE x": true, "MOVED 1 a:1": true, "ASK 1 a:1": true, "TRYAGAIN x": true, "NOPERM x": false, "LOADING x": false,
	} {
		reply := client.Do(t.Context(), client.B().Eval().Script("return redis.error_reply(ARGV[1])").Numkeys(0).Arg(text).Build())
		require.ErrorContains(t, reply.Error(), text)
		assert.Equal(t, passes, (&Server{}).refused(reply) == nil, text)
	}
	require.NoError(t, (&Server{}).refused(client.Do(t.Context(), client.B().Get().Key("none").Build())))
}

// A question without a reply is an error, and not an answer that says that there are no locks.
func TestRead_ConnectionGone_Error(t *testing.T) {
	t.Parallel()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}, ForceSingleClient: true, DisableCache: true})
	require.NoError(t, err)
	client.Close()
	s, to := &Server{client: client}, &recognised{}
	_, err = s.sizes(t.Context(), client, []string{"a"}, to)
	require.Error(t, err)
	_, err = s.shapes(t.Context(), client, []candidate{{key: "a", size: 1}}, to)
	require.Error(t, err)
	require.Error(t, s.holders(t.Context(), client, []candidate{{key: "a", size: 1}}, to))
	_, err = s.Locked(t.Context(), "a")
	require.Error(t, err)
}

// If one node does not say how many clients listen, their number is not known, whatever the others say.
func TestListeners_OneNodeRefuses_Unknown(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	open := func(user string) Node {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{redis.Addr()}, ForceSingleClient: true, DisableCache: true, DisableAutoPipelining: true, Username: user, Password: user,
		})
		require.NoError(t, err)
		t.Cleanup(client.Close)
		return Node{client: client}
	}
	all := open("")
	allow := all.client.B().Arbitrary("ACL", "SETUSER", "few", "on", ">few", "~*", "&*", "+@all", "-pubsub").Build()
	require.NoError(t, all.client.Do(t.Context(), allow).Error())
	few := open("few")
	listener, done := all.client.Dedicate()
	t.Cleanup(done)
	listener.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {}})
	require.NoError(t, listener.Do(t.Context(), listener.B().Subscribe().Channel(scripts.RedissonKey(scripts.Channel, "a")).Build()).Error())
	for _, nodes := range [][]Node{{few, all}, {all, few}, {all, all}} {
		l := &Lock{Key: "a", Waiting: &Waiting{}}
		require.NoError(t, (&Server{client: all.client}).addListeners(t.Context(), nodes, []*Lock{l}))
		if nodes[0] == nodes[1] {
			assert.EqualValues(t, 2, l.Waiting.Clients, "each node is asked")
		} else {
			assert.EqualValues(t, -1, l.Waiting.Clients)
		}
	}
}

// The command is one client of its server, whatever it reads: an operator looks when the server may have many.
func TestOpen_ReadsManyKeys_OneConnection(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	before := strings.Count(redis.String(t, "CLIENT", "LIST"), "id=")
	s, err := Open(t.Context(), rueidis.ClientOption{InitAddress: []string{redis.Addr()}}, "")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	for i := range 20 {
		_, err := s.Locked(t.Context(), fmt.Sprint(i))
		require.NoError(t, err)
	}
	require.Equal(t, before+1, strings.Count(redis.String(t, "CLIENT", "LIST"), "id="))
}

// A scan can find a record twice, and there may be very many.
func TestListing_ManyEngines_SomeOnce(t *testing.T) {
	l := &Listing{ids: make(map[string]bool)}
	for range 2 {
		for i := range MaxAsked {
			require.NoError(t, l.add(&Engine{ID: fmt.Sprint(i)}))
		}
	}
	require.Len(t, l.engines, MaxAsked)
	require.ErrorIs(t, l.add(&Engine{ID: "another"}), errEnough)
	require.Len(t, l.engines, MaxAsked)
}

// A server that loads its data, or that a script keeps busy, tells nothing. Other errors are those of one question.
func TestNotNow_BusyOrLoading_Only(t *testing.T) {
	for text, is := range map[string]bool{
		"BUSY Redis is busy": true, "LOADING Redis is loading": true, "BUSYGROUP x": false, "BUSYKEY x": false, "NOPERM x": false,
	} {
		assert.Equal(t, is, notNow(fmt.Errorf("connecting: %w", errors.New(text))), text)
	}
	assert.False(t, notNow(nil))
}
