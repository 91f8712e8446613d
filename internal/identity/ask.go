package identity

import (
	"context"
	"slices"
	"time"

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
// or ctx ends. known is false if none came. err is not nil if the engine could not be asked: the server does not allow
// the question or does not reply. Ask can block for longer than ctx if the client has no connection left. In a cluster
// it uses the node of the engine's record, which has just replied to Read. Any node passes the messages on, but another
// one may not reply.
func Ask(ctx context.Context, client rueidis.Client, prefix, engine string, tenure uint64, key string) (a Answer, known bool, err error) {
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
		if err := listener.Do(ctx, choose).NonRedisError(); err != nil {
			return a, false, err
		}
	}
	subscribe := listener.B().Subscribe().Channel(AskerChannel(asker)).Build()
	question := listener.B().Publish().Channel(EngineChannel(engine)).Message(Question(asker, tenure, key)).Build()
	for _, command := range []rueidis.Completed{subscribe, question} {
		if err := listener.Do(ctx, command).Error(); err != nil {
			return a, false, err
		}
	}
	select {
	case text := <-answers:
		a, known = ParseAnswer(text)
	case err = <-broken:
	case <-ctx.Done():
	}
	return a, known, err
}

// WaitersReply is an answer, and when it came by the clock of this machine. The zero value is that of no engine.
type WaitersReply struct {
	Waiters
	Came time.Time
}

// Since returns when the first of the waiters came. There must be one.
func (r *WaitersReply) Since() time.Time { return r.Came.Add(-r.Age) }

// maxTogether is how many questions are sent together: each has the whole key, which may be long.
const maxTogether = 100

// AskWaiters asks engines how many of their callers wait for a lock. It listens on one connection of its own until all
// have replied, or for the given time after the last question. It returns the answers by the ids of the engines: of an
// engine that did not reply there is none. err is not nil if the server does not allow the questions or does not reply,
// or if ctx ended meanwhile. The answers are then those that had come, and nil if none had. It keeps at most as many
// answers as there are engines.
//
// AskWaiters can block for longer than ctx if the client has no connection left. In a cluster it uses the node of the
// lock's key.
func AskWaiters(ctx context.Context, client rueidis.Client, engines []string, key string, within time.Duration) (map[string]WaitersReply, error) {
	listener, release := client.Dedicate()
	defer release()
	defer listener.Close()
	asker := uuid.NewString()
	replies := make(chan WaitersReply, len(engines))
	left := make(map[string]bool, len(engines)) // those that have not replied; the connection's reader owns it
	for _, engine := range engines {
		left[engine] = true
	}
	asked := len(left)
	broken := listener.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		if w, ok := ParseWaiters(m.Message); ok && left[w.Engine] {
			delete(left, w.Engine)
			replies <- WaitersReply{w, time.Now()} // never blocks: each engine has a place
		}
	}})
	if client.Mode() == rueidis.ClientModeCluster { // the first command on such a connection chooses its node
		if err := listener.Do(ctx, listener.B().Exists().Key(key).Build()).NonRedisError(); err != nil {
			return nil, err
		}
	}
	if err := listener.Do(ctx, listener.B().Subscribe().Channel(AskerChannel(asker)).Build()).Error(); err != nil {
		return nil, err
	}
	answers := make(map[string]WaitersReply, len(engines))
	for some := range slices.Chunk(engines, maxTogether) {
		var questions []rueidis.Completed
		for _, engine := range some {
			questions = append(questions, listener.B().Publish().Channel(EngineChannel(engine)).Message(WaitersQuestion(asker, key)).Build())
		}
		for _, reply := range listener.DoMulti(ctx, questions...) {
			if err := reply.Error(); err != nil {
				return leftOf(answers, replies), err
			}
		}
	}
	for timeout := time.After(within); len(answers) < asked; {
		select {
		case r := <-replies:
			answers[r.Engine] = r
		case err := <-broken:
			return leftOf(answers, replies), err
		case <-ctx.Done():
			return leftOf(answers, replies), ctx.Err()
		case <-timeout:
			return answers, nil
		}
	}
	return answers, nil
}

// leftOf returns the answers that had come when asking failed, or nil.
func leftOf(answers map[string]WaitersReply, replies <-chan WaitersReply) map[string]WaitersReply {
	for {
		select {
		case r := <-replies:
			answers[r.Engine] = r
		default:
			if len(answers) == 0 {
				return nil
			}
			return answers
		}
	}
}
