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
// or ctx ends. known is false if none came, also if the server does not allow the question. Ask can block for longer
// than ctx if the client has no connection left. In a cluster it uses the node of the engine's record, which has just
// replied to Read. Any node passes the messages on, but another one may not reply.
func Ask(ctx context.Context, client rueidis.Client, prefix, engine string, tenure uint64, key string) (a Answer, known bool) {
	listener, release := client.Dedicate()
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
	if client.Mode() == rueidis.ClientModeCluster { // the first command on such a connection chooses its node
		choose := listener.B().Hstrlen().Key(Key(prefix, engine)).Field(Names[0]).Build()
		if listener.Do(ctx, choose).NonRedisError() != nil {
			return a, false
		}
	}
	subscribe := listener.B().Subscribe().Channel(AskerChannel(asker)).Build()
	question := listener.B().Publish().Channel(EngineChannel(engine)).Message(Question(asker, tenure, key)).Build()
	if listener.Do(ctx, subscribe).Error() != nil || listener.Do(ctx, question).Error() != nil {
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
