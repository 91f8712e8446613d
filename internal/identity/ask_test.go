package identity

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

func newClient(t *testing.T, s *redistest.Server, user, password string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr()}, Username: user, Password: password, DisableCache: true, ForceSingleClient: true,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// answering plays an engine that replies to each question with these texts.
func answering(t *testing.T, s *redistest.Server, engine string, texts ...string) {
	t.Helper()
	c := newClient(t, s, "", "")
	listener, release := c.Dedicate()
	t.Cleanup(release)
	t.Cleanup(listener.Close)
	questions := make(chan string, 10)
	listener.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) { questions <- m.Message }})
	require.NoError(t, listener.Do(t.Context(), listener.B().Subscribe().Channel(EngineChannel(engine)).Build()).Error())
	go func() {
		for {
			select {
			case question := <-questions:
				m, ok := ParseMessage(question)
				if !ok || !m.Waiters || m.Key != "a b" {
					t.Errorf("a question %q", question)
				}
				for _, text := range texts {
					c.Do(context.Background(), c.B().Publish().Channel(AskerChannel(m.Asker)).Message(text).Build())
				}
			case <-t.Context().Done():
				return
			}
		}
	}()
}

func uuidOf(last string) string { return some[:len(some)-1] + last }

// Each engine that was asked has one answer, if it replies: its first. What others say on the channel counts for none,
// however much it is.
func TestAskWaiters_Answers_OfThoseAsked(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	one, none, silent, stranger := uuidOf("1"), uuidOf("2"), uuidOf("3"), uuidOf("4")
	text := func(engine string, waiting int) string {
		return (&Waiters{Engine: engine, Waiting: waiting, Age: time.Minute}).Text()
	}
	noise := slices.Repeat([]string{"held 7", text(stranger, 9)}, 50)
	answering(t, s, one, append(noise, text(one, 2), text(one, 3), text(one, 4))...)
	answering(t, s, none, text(none, 0))
	answering(t, s, silent)
	client := newClient(t, s, "", "")
	began := time.Now()
	answers, err := AskWaiters(t.Context(), client, []string{one, none}, "a b", time.Minute)
	require.NoError(t, err)
	require.Len(t, answers, 2)
	require.Equal(t, Waiters{Engine: one, Waiting: 2, Age: time.Minute}, answers[one].Waiters)
	require.Zero(t, answers[none].Waiting)
	reply := answers[one]
	require.WithinRange(t, reply.Came, began, time.Now())
	require.Equal(t, reply.Came.Add(-time.Minute), reply.Since())

	answers, err = AskWaiters(t.Context(), client, []string{one, silent, none}, "a b", time.Second)
	require.NoError(t, err, "one that does not reply is no error")
	require.NotContains(t, answers, silent)
	require.NotContains(t, answers, stranger)

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	answers, err = AskWaiters(ctx, client, []string{silent}, "a b", time.Hour)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, answers, "none came")
	require.Eventually(t, func() bool { return len(s.Strings(t, "PUBSUB", "CHANNELS", askerPrefix+"*")) == 0 }, 20*time.Second, time.Millisecond, "it listens no more")
}

// A connection can break while answers are awaited. Those that had come count; without any it was not possible to ask.
func TestAskWaiters_ConnectionBreaks_AnswersKept(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	one, silent := uuidOf("1"), uuidOf("2")
	engine := newClient(t, s, "", "")
	listener, release := engine.Dedicate()
	defer release()
	defer listener.Close()
	asked := make(chan string, 1)
	listener.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) { asked <- m.Message }})
	require.NoError(t, listener.Do(t.Context(), listener.B().Subscribe().Channel(EngineChannel(silent)).Build()).Error())
	s.Do(t, "ACL", "SETUSER", "asker", "reset", "on", ">word", "allkeys", "allchannels", "+@all")
	type outcome struct {
		answers map[string]WaitersReply
		err     error
	}
	for _, answered := range []bool{false, true} {
		done, client := make(chan outcome, 1), newClient(t, s, "asker", "word")
		go func() {
			answers, err := AskWaiters(t.Context(), client, []string{one, silent}, "a b", time.Hour)
			done <- outcome{answers, err}
		}()
		question, ok := ParseMessage(<-asked)
		require.True(t, ok)
		if answered {
			s.Do(t, "PUBLISH", AskerChannel(question.Asker), (&Waiters{Engine: one, Waiting: 1}).Text())
		}
		s.Do(t, "CLIENT", "KILL", "USER", "asker")
		got := <-done
		require.Error(t, got.err)
		if answered {
			require.Len(t, got.answers, 1)
			require.Equal(t, 1, got.answers[one].Waiting)
		} else {
			require.Nil(t, got.answers)
		}
	}
}

// Very many engines are asked some at a time, because each question has the whole key.
func TestAskWaiters_ManyEngines_AllAsked(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	last := uuidOf("9")
	answering(t, s, last, (&Waiters{Engine: last, Waiting: 1}).Text())
	engines := append(slices.Repeat([]string{some}, 2*maxTogether+1), last)
	answers, err := AskWaiters(t.Context(), newClient(t, s, "", ""), engines, "a b", 5*time.Second)
	require.NoError(t, err)
	require.Len(t, answers, 1)
	require.Contains(t, answers, last)
}

// What the server does not allow is said: no engine is to blame.
func TestAskWaiters_Forbidden_IsAnError(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	one := uuidOf("1")
	answering(t, s, one, (&Waiters{Engine: one}).Text())
	for _, rule := range []string{"-publish", "-subscribe", "resetchannels"} {
		s.Do(t, "ACL", "SETUSER", "few", "reset", "on", ">word", "allkeys", "allchannels", "+@all", rule)
		answers, err := AskWaiters(t.Context(), newClient(t, s, "few", "word"), []string{one}, "a b", time.Second)
		require.ErrorContains(t, err, "NOPERM", rule)
		require.Nil(t, answers, rule)
	}
}
