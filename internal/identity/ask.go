package identity

import (
	"context"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

// Read returns the records of engines, for those ids that have one. A record that may not be read counts as none. It
// returns an error if the server does not reply. The calls have no deadline, because at the end of one rueidis would
// break the connection that others use; ctx ends only the wait of a dedicated client.
func Read(client rueidis.Client, prefix string, ids []string) (map[string]Record, error) {
	calls := make([]rueidis.Completed, 0, len(ids))
	for _, id := range ids {
		calls = append(calls, client.B().Hmget().Key(Key(prefix, id)).Field(Names...).Build())
	}
	records := make(map[string]Record)
	if len(calls) == 0 {
		return records, nil
	}
	for i, reply := range client.DoMulti(context.Background(), calls...) {
		values, err := reply.AsStrSlice()
		if _, rejected := rueidis.IsRedisErr(err); err != nil && !rejected {
			return nil, err
		}
		if r, _, ok := Parse(ids[i], values); ok {
			records[ids[i]] = r
		}
	}
	return records, nil
}

// Ask asks an engine since when it has a tenure of a lock. It listens on a connection of its own until the answer comes
// or ctx ends; known is false if none came, also if the server does not allow the question. Ask can block for longer
// than ctx if the client has no connection left.
func Ask(ctx context.Context, client rueidis.Client, engine string, tenure uint64, key string) (a Answer, known bool) {
	node := client
	if client.Mode() == rueidis.ClientModeCluster { // an ordinary message reaches all nodes
		for _, n := range client.Nodes() {
			node = n
			break
		}
	}
	listener, release := node.Dedicate()
	defer release()
	defer listener.Close()
	asker := uuid.NewString()
	answers := make(chan string, 1)
	broken := listener.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		select {
		case answers <- m.Message:
		default: // one is enough
		}
	}})
	if listener.Do(ctx, listener.B().Subscribe().Channel(AskerChannel(asker)).Build()).Error() != nil {
		return a, false
	}
	question := client.B().Publish().Channel(EngineChannel(engine)).Message(Question(asker, tenure, key)).Build()
	if client.Do(context.Background(), question).Error() != nil {
		return a, false
	}
	select {
	case text := <-answers:
		return ParseAnswer(text)
	case <-broken:
	case <-ctx.Done():
	}
	return a, false
}
