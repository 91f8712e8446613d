package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bodies returns the contents of messages, in their order.
func bodies(m *loopMessage) (names []any) {
	for ; m != nil; m = m.next {
		names = append(names, m.body)
	}
	return names
}

func TestMailIsTakenWholeAndInOrder(t *testing.T) {
	b := newMailbox()
	require.Nil(t, b.takeAll())
	for _, name := range []string{"1", "2", "3"} {
		require.True(t, b.post(&loopMessage{body: name}))
	}
	require.Equal(t, []any{"1", "2", "3"}, bodies(b.takeAll()))
	require.Nil(t, b.takeAll())
	b.post(&loopMessage{body: "4"})
	require.Equal(t, []any{"4"}, bodies(b.takeAll()))
}

func TestMailboxThatIsShutTakesNothing(t *testing.T) {
	b := newMailbox()
	b.post(&loopMessage{body: "1"})
	b.post(&loopMessage{body: "2"})
	require.Equal(t, []any{"1", "2"}, bodies(b.close()))
	late := &loopMessage{body: "3"}
	require.False(t, b.post(late))
	require.Nil(t, late.next, "kept")
}

func TestOnlyASleepingConsumerIsRung(t *testing.T) {
	b := newMailbox()
	b.post(&loopMessage{})
	require.Empty(t, b.wakeup, "it is awake")
	require.False(t, b.prepareSleep(), "there is mail")
	b.post(&loopMessage{})
	require.Empty(t, b.wakeup, "it did not lie down")
	b.takeAll()
	require.True(t, b.prepareSleep())
	b.post(&loopMessage{})
	b.post(&loopMessage{})
	require.Len(t, b.wakeup, 1, "rung once")
	<-b.wakeup
	require.False(t, b.prepareSleep(), "there is mail")
	require.Empty(t, b.wakeup)
	b.takeAll()
	require.True(t, b.prepareSleep())
}

// A consumer that looked before it announces its sleep would miss a message posted between, and its poster would not
// wake it. So it is seen asleep for a moment even if there is a message.
func TestAConsumerSaysThatItSleepsBeforeItLooks(t *testing.T) {
	b := newMailbox()
	b.post(&loopMessage{})
	seen, enough := make(chan struct{}), atomic.Bool{}
	defer enough.Store(true)
	go func() {
		for !b.asleep.Load() {
			if enough.Load() {
				return
			}
		}
		close(seen)
	}()
	for deadline := time.Now().Add(5 * time.Second); ; {
		for range 10_000 { // so that nearly all of its time goes there, also where it shares a processor
			if b.prepareSleep() {
				t.Fatal("it lies down beside mail")
			}
		}
		select {
		case <-seen:
			return
		default:
			require.True(t, time.Now().Before(deadline), "it looks first")
		}
	}
}

// A consumer that finds a message withdraws its announcement. If a producer was quicker, the consumer uses up the
// wakeup.
func TestConsumerThatGetsUpUsesTheRingThatCameMeanwhile(t *testing.T) {
	b := newMailbox()
	require.True(t, b.prepareSleep())
	b.post(&loopMessage{})
	require.Len(t, b.wakeup, 1)
	b.cancelSleep()
	require.Empty(t, b.wakeup)
	b.takeAll()
	require.True(t, b.prepareSleep())
	b.cancelSleep()
	require.False(t, b.asleep.Load())
	b.post(&loopMessage{})
	require.Empty(t, b.wakeup, "awake")
}

// Many producers, and one consumer that sleeps whenever it may. No message is lost, doubled or out of its producer's
// order, and the consumer never sleeps beside a message.
func TestMailboxLosesNeitherMailNorWakeUps(t *testing.T) {
	const producers, messages = 8, 20_000
	type note struct{ producer, number int }
	b := newMailbox()
	notes := make(map[*loopMessage]note, producers*messages)
	all := make([][]loopMessage, producers)
	for p := range producers {
		all[p] = make([]loopMessage, messages)
		for n := range messages {
			notes[&all[p][n]] = note{p, n}
		}
	}
	var group sync.WaitGroup
	for p := range producers {
		group.Go(func() {
			for n := range messages {
				if !b.post(&all[p][n]) {
					t.Error("refused")
				}
				if n%64 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	next, sleeps := [producers]int{}, 0
	for got := 0; got < producers*messages; {
		m := b.takeAll()
		for ; m != nil; m = m.next {
			note := notes[m]
			require.Equal(t, next[note.producer], note.number)
			next[note.producer]++
			got++
		}
		if got == producers*messages || !b.prepareSleep() {
			continue
		}
		sleeps++
		select {
		case <-b.wakeup:
		case <-time.After(20 * time.Second):
			t.Fatal("asleep beside mail")
		}
	}
	group.Wait()
	require.Nil(t, b.takeAll())
	t.Logf("slept %d times", sleeps)
}

// Every post either reaches the consumer or is rejected, also when it races with the close.
func TestPostThatCrossesTheEndIsTakenOrRefused(t *testing.T) {
	for range 300 {
		const producers, messages = 4, 50
		b := newMailbox()
		var taken [producers]int
		var group sync.WaitGroup
		for p := range producers {
			group.Go(func() {
				for range messages {
					if b.post(&loopMessage{}) {
						taken[p]++
					} else {
						break
					}
				}
			})
		}
		got := len(bodies(b.takeAll()))
		runtime.Gosched()
		got += len(bodies(b.close()))
		group.Wait()
		posted := 0
		for _, n := range taken {
			posted += n
		}
		require.Equal(t, posted, got)
	}
}

func TestMailThatIsPostedTogetherIsTakenTogether(t *testing.T) {
	const posters, rounds, size = 4, 200, 5
	b := newMailbox()
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for range rounds {
				chain := make([]loopMessage, size)
				for i := range chain {
					chain[i].body = [2]int{i, p}
					if i > 0 {
						chain[i].next = &chain[i-1]
					}
				}
				require.True(t, b.postChain(&chain[size-1], &chain[0]))
			}
		})
	}
	for taken := 0; taken < posters*rounds*size; {
		at := -1
		for m := b.takeAll(); m != nil; m = m.next {
			i := m.body.([2]int)[0]
			require.Equal(t, (at+1)%size, i, "in order, and not between others")
			at = i
			taken++
		}
		require.True(t, at == -1 || at == size-1, "a chain is never taken in parts")
		runtime.Gosched()
	}
	wg.Wait()
	b.close()
	one, other := &loopMessage{}, &loopMessage{}
	one.next = other
	require.False(t, b.postChain(one, other))
}
