package sim

// simMemory is the memory of the histories, one after the other: the next one reuses what the one before took.
type simMemory struct {
	events   simEvents
	requests simArena[simRequest]
	holds    simArena[simHold]
	tenures  simArena[simTenure]
	calls    []*simCall
	called   int // how many calls are in use
	writes   []simWrite
	steps    *simSteps
}

func newSimMemory() *simMemory { return &simMemory{steps: &simSteps{}} }

// reset prepares for the next history. Nothing of the one before may be used any more.
func (m *simMemory) reset() {
	clear(m.events.todo)
	m.events = simEvents{heap: m.events.heap[:0], todo: m.events.todo[:0], spare: m.events.spare[:0]}
	m.requests.used, m.holds.used, m.tenures.used, m.called = 0, 0, 0, 0
	*m.steps = simSteps{}
}

// call returns an empty call. Its slices keep their capacity.
func (m *simMemory) call() *simCall {
	if m.called == len(m.calls) {
		m.calls = append(m.calls, &simCall{})
	}
	call := m.calls[m.called]
	m.called++
	*call = simCall{commands: call.commands[:0], replies: call.replies[:0]}
	return call
}

// simArena hands out zero values. Setting used back to zero makes all of them available again.
type simArena[T any] struct {
	chunks [][]T
	used   int
}

const simChunk = 64

func (a *simArena[T]) new() *T {
	chunk, at := a.used/simChunk, a.used%simChunk
	if chunk == len(a.chunks) {
		a.chunks = append(a.chunks, make([]T, simChunk))
	}
	a.used++
	place := a.chunks[chunk][at : at+1]
	clear(place)
	return &place[0]
}
