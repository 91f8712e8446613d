package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports below those that systems give to outgoing connections (Linux from 32768, others from 49152). A client that keeps
// dialling a port of that higher range while nobody listens there is sooner or later given this very port as its own
// end, is then connected to itself, and the server can never come back.
const (
	lowest = 20000
	above  = 32000
	block  = 400 // ports that are claimed together, the claim among them
	blocks = (above - lowest) / block
)

// estate is the ports of one process: blocks that no other process uses, so that who went away from a port finds it free
// again, whatever runs beside. Whoever listens on the first port of a block has all of it; the system ends that with the process.
type estate struct {
	mu     sync.Mutex
	lowest int // of the first block
	blocks int
	start  int // the block that is tried first
	mine   []claim
	passed int // ports given out
}

type claim struct {
	proof net.Listener
	first int
}

var process = estate{lowest: lowest, blocks: blocks, start: rand.IntN(blocks)}

// next is a port of the process. It gives out none a second time before it had all that are to be had.
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

// claimAnother claims a block, or begins with those it has from the first again.
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
