package testport

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
	minPort    = 20000
	maxPort    = 32000
	blockSize  = 400 // ports that are claimed together, including the first, which holds the claim
	blockCount = (maxPort - minPort) / blockSize
)

// portPool is the ports of one process: blocks that no other process uses. A server that closed a port therefore
// finds it free again, whatever else runs on the machine. A process owns a block while it listens on the block's
// first port. The system ends that with the process.
type portPool struct {
	mu         sync.Mutex
	minPort    int // first port of the lowest block
	blockCount int
	firstTried int // the block that is tried first
	claimed    []portBlock
	given      int // ports returned so far
}

type portBlock struct {
	listener  net.Listener
	firstPort int
}

var processPool = portPool{minPort: minPort, blockCount: blockCount, firstTried: rand.IntN(blockCount)}

// next returns a port of the process. It returns no port a second time before it has returned all available ones.
func (e *portPool) next() (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	const usable = blockSize - 1
	if e.given == len(e.claimed)*usable {
		e.claimBlock()
	}
	if len(e.claimed) == 0 {
		return 0, fmt.Errorf("testport: others have all ports between %d and %d", minPort, maxPort)
	}
	at := e.given % (len(e.claimed) * usable)
	e.given++
	return e.claimed[at/usable].firstPort + 1 + at%usable, nil
}

// claimBlock claims a block. If there is no further one, it starts again with the first block that the process
// has.
func (e *portPool) claimBlock() {
	for i := range e.blockCount {
		first := e.minPort + (e.firstTried+i)%e.blockCount*blockSize
		if listener, err := ListenOn(first); err == nil {
			e.claimed = append(e.claimed, portBlock{listener, first})
			return
		}
	}
	e.given = 0
}
