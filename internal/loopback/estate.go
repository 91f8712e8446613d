package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports below those that systems use for outgoing connections (Linux from 32768, others from 49152). A client that
// keeps dialling a free port of that higher range sooner or later gets this very port as its own end. It is then
// connected to itself, and the server can never come back.
const (
	lowest = 20000
	above  = 32000
	block  = 400 // ports that are claimed together, including the first, which holds the claim
	blocks = (above - lowest) / block
)

// estate is the ports of one process: blocks that no other process uses. A server that closed a port therefore
// finds it free again, whatever else runs on the machine. A process owns a block while it listens on the block's
// first port. The system ends that with the process.
type estate struct {
	mu     sync.Mutex
	lowest int // first port of the lowest block
	blocks int
	start  int // the block that is tried first
	mine   []claim
	passed int // ports returned so far
}

type claim struct {
	proof net.Listener
	first int
}

var process = estate{lowest: lowest, blocks: blocks, start: rand.IntN(blocks)}

// next returns a port of the process. It returns no port a second time before it has returned all available ones.
func (e *estate) next() (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	const usable = block - 1
	if e.passed == len(e.mine)*usable {
		e.claimAnother()
	}
	if len(e.mine) == 0 {
		return 0, fmt.Errorf("loopback: others have all ports between %d and %d", lowest, above)
	}
	at := e.passed % (len(e.mine) * usable)
	e.passed++
	return e.mine[at/usable].first + 1 + at%usable, nil
}

// claimAnother claims a block. If there is no further one, it starts again with the first block that the process
// has.
func (e *estate) claimAnother() {
	for i := range e.blocks {
		first := e.lowest + (e.start+i)%e.blocks*block
		if proof, err := ListenOn(first); err == nil {
			e.mine = append(e.mine, claim{proof, first})
			return
		}
	}
	e.passed = 0
}
