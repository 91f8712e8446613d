package identity

import (
	"context"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

// Read returns the record of an engine. ok is false if it has none, or one that may not be read or is too long. It
// returns an error if the server does not reply. The calls have no deadline, because at the end of one rueidis would
// break the connection that others use.
func Read(client rueidis.Client, prefix, id string) (r Record, ok bool, err error) {
	key := Key(prefix, id)
	lengths := client.DoMulti(context.Background(), Lengths(client, key)...)
	for _, reply := range lengths {
		if err := reply.NonRedisError(); err != nil {
			return r, false, err
		}
	}
	if !Short(lengths) {
		return r, false, nil
	}
	reply := client.Do(context.Background(), client.B().Hmget().Key(key).Field(Names...).Build())
	values, err := reply.AsStrSlice()
	if _, rejected := rueidis.IsRedisErr(err); rejected {
		return r, false, nil
	}
	r, _, ok = Parse(id, values)
	return r, ok, err
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
