package bench

import (
	"math"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// The names of Ceiling's standings.
const (
	CeilingPair    = "lockwheel"
	CeilingBatched = "server alone, batched scripts"
	CeilingSingle  = "server alone, single-lock scripts"
)

const (
	ceilingNames = 2048
	maxInFlight  = 16 // bursts in flight: enough that the server never waits
)

// CeilingResult is the limit of the server, and Pair measured in the same rounds.
type CeilingResult struct {
	Standings []Result
	Keys      float64 // per call, as Pair reached them in the rounds
	Sent      int     // keys per call of the raw calls: the same, rounded
}

// Ceiling compares lockwheel's Pair of 2048 goroutines with raw pipelined calls over plain TCP. Those use lockwheel's
// batched scripts, with as many keys per call as Pair reaches, and the baseline's single-lock scripts.
func Ceiling(s *Server, p Plan) (CeilingResult, error) {
	var c CeilingResult
	acquire, release, err := loadScripts(s.Addr)
	if err != nil {
		return c, err
	}
	ours, err := peers.OpenLockwheel(peers.Config{Addr: s.Addr})
	if err != nil {
		return c, err
	}
	defer closeWithTimeout(ours)
	// Its first round determines how many keys a call carries.
	pair := ownNames(CeilingPair, ours, ceilingNames, p.Round)
	if _, _, err := pair.run(); err != nil {
		return c, err
	}
	before := ours.Engine.Stats()
	if _, _, err := pair.run(); err != nil {
		return c, err
	}
	stats := ours.Engine.Stats()
	c.Sent = max(1, int(math.Round(keysPerCall(before.Commands, before.Batches, stats.Commands, stats.Batches))))
	batched, single := batchedBursts(ceilingNames, c.Sent), singleBursts(ceilingNames, c.Sent, acquire, release)
	alone := func(name string, bursts []burst) entry {
		return entry{name: name, run: func() (int, time.Duration, error) { return runPipelined(s.Addr, bursts, maxInFlight, p.Round) }}
	}
	c.Standings, err = runInterleaved(s, p.Rounds, []entry{pair, alone(CeilingBatched, batched), alone(CeilingSingle, single)})
	after := ours.Engine.Stats()
	c.Keys = keysPerCall(stats.Commands, stats.Batches, after.Commands, after.Batches)
	return c, err
}

func keysPerCall(commands, batches, laterCommands, laterBatches uint64) float64 {
	return float64(laterCommands-commands) / float64(max(laterBatches-batches, 1))
}
