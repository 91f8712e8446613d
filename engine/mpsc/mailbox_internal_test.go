package mpsc

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bodies returns the contents of messages, in their order.
func bodies(m *Node[any]) (names []any) {
	for ; m != nil; m = m.Next {
		names = append(names, m.Value)
	}
	return names
}

// TakeAll takes all messages at once, in the order in which they were posted.
func TestMailbox_TakeAll_InOrder(t *testing.T) {
	b := NewMailbox[any]()
	require.Nil(t, b.TakeAll())
	for _, name := range []string{"1", "2", "3"} {
		require.True(t, b.Post(&Node[any]{Value: name}))
	}
	require.Equal(t, []any{"1", "2", "3"}, bodies(b.TakeAll()))
	require.Nil(t, b.TakeAll())
	b.Post(&Node[any]{Value: "4"})
	require.Equal(t, []any{"4"}, bodies(b.TakeAll()))
}

// A closed mailbox rejects a message, and does not keep it.
func TestMailbox_Closed_RejectsPost(t *testing.T) {
	b := NewMailbox[any]()
	b.Post(&Node[any]{Value: "1"})
	b.Post(&Node[any]{Value: "2"})
	require.Equal(t, []any{"1", "2"}, bodies(b.Close()))
	late := &Node[any]{Value: "3"}
	require.False(t, b.Post(late))
	require.Nil(t, late.Next, "kept")
}

// A post wakes only a consumer that sleeps, and only once.
func TestMailbox_OnlyAsleep_Woken(t *testing.T) {
	b := NewMailbox[any]()
	b.Post(&Node[any]{})
	require.Empty(t, b.Wakeup, "it is awake")
	require.False(t, b.PrepareSleep(), "there is a message")
	b.Post(&Node[any]{})
	require.Empty(t, b.Wakeup, "it did not lie down")
	b.TakeAll()
	require.True(t, b.PrepareSleep())
	b.Post(&Node[any]{})
	b.Post(&Node[any]{})
	require.Len(t, b.Wakeup, 1, "rung once")
	<-b.Wakeup
	require.False(t, b.PrepareSleep(), "there is a message")
	require.Empty(t, b.Wakeup)
	b.TakeAll()
	require.True(t, b.PrepareSleep())
}

// A consumer that looked before it announces its sleep would miss a message posted between, and its poster would not
// wake it. So it is seen asleep for a moment even if there is a message.
func TestMailbox_Sleep_AnnouncedBeforeCheck(t *testing.T) {
	b := NewMailbox[any]()
	b.Post(&Node[any]{})
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
			if b.PrepareSleep() {
				t.Fatal("it lies down beside a message")
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
func TestMailbox_CancelSleep_UsesWakeup(t *testing.T) {
	b := NewMailbox[any]()
	require.True(t, b.PrepareSleep())
	b.Post(&Node[any]{})
	require.Len(t, b.Wakeup, 1)
	b.CancelSleep()
	require.Empty(t, b.Wakeup)
	b.TakeAll()
	require.True(t, b.PrepareSleep())
	b.CancelSleep()
	require.False(t, b.asleep.Load())
	b.Post(&Node[any]{})
	require.Empty(t, b.Wakeup, "awake")
}

// Many producers, and one consumer that sleeps whenever it may. No message is lost, doubled or out of its producer's
// order, and the consumer never sleeps beside a message.
func TestMailbox_ManyProducers_LosesNothing(t *testing.T) {
	const producers, messages = 8, 20_000
	type note struct{ producer, number int }
	b := NewMailbox[any]()
	notes := make(map[*Node[any]]note, producers*messages)
	all := make([][]Node[any], producers)
	for p := range producers {
		all[p] = make([]Node[any], messages)
		for n := range messages {
			notes[&all[p][n]] = note{p, n}
		}
	}
	var group sync.WaitGroup
	for p := range producers {
		group.Go(func() {
			for n := range messages {
				if !b.Post(&all[p][n]) {
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
		m := b.TakeAll()
		for ; m != nil; m = m.Next {
			note := notes[m]
			require.Equal(t, next[note.producer], note.number)
			next[note.producer]++
			got++
		}
		if got == producers*messages || !b.PrepareSleep() {
			continue
		}
		sleeps++
		select {
		case <-b.Wakeup:
		case <-time.After(20 * time.Second):
			t.Fatal("asleep beside a message")
		}
	}
	group.Wait()
	require.Nil(t, b.TakeAll())
	t.Logf("slept %d times", sleeps)
}

// Every post either reaches the consumer or is rejected, also when it races with the close.
func TestMailbox_CloseRace_TakenOrRejected(t *testing.T) {
	for range 300 {
		const producers, messages = 4, 50
		b := NewMailbox[any]()
		var taken [producers]int
		var group sync.WaitGroup
		for p := range producers {
			group.Go(func() {
				for range messages {
					if b.Post(&Node[any]{}) {
						taken[p]++
					} else {
						break
					}
				}
			})
		}
		got := len(bodies(b.TakeAll()))
		runtime.Gosched()
		got += len(bodies(b.Close()))
		group.Wait()
		posted := 0
		for _, n := range taken {
			posted += n
		}
		require.Equal(t, posted, got)
	}
}

// Messages that are posted together are taken together, in order, with no others between them.
func TestMailbox_PostChain_StaysTogether(t *testing.T) {
	const posters, rounds, size = 4, 200, 5
	b := NewMailbox[any]()
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for range rounds {
				chain := make([]Node[any], size)
				for i := range chain {
					chain[i].Value = [2]int{i, p}
					if i > 0 {
						chain[i].Next = &chain[i-1]
					}
				}
				require.True(t, b.PostChain(&chain[size-1], &chain[0]))
			}
		})
	}
	for taken := 0; taken < posters*rounds*size; {
		at := -1
		for m := b.TakeAll(); m != nil; m = m.Next {
			i := m.Value.([2]int)[0]
			require.Equal(t, (at+1)%size, i, "in order, and not between others")
			at = i
			taken++
		}
		require.True(t, at == -1 || at == size-1, "a chain is never taken in parts")
		runtime.Gosched()
	}
	wg.Wait()
	b.Close()
	one, other := &Node[any]{}, &Node[any]{}
	one.Next = other
	require.False(t, b.PostChain(one, other))
}

// Has counts what was posted and not taken yet.
func TestMailbox_Has_Counts(t *testing.T) {
	b := NewMailbox[int]()
	for posted := range 4 {
		for n := range 6 {
			require.Equal(t, n <= posted, b.Has(n), "%d of %d", n, posted)
		}
		b.Post(&Node[int]{})
	}
	b.TakeAll()
	require.False(t, b.Has(1))
}
