package bench

import (
	"math"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// The names of Ceiling's standings.
const (
	CeilingPair     = "lockwheel"
	CeilingReplayed = "server alone, Pair's calls again"
	CeilingBatched  = "server alone, batched scripts"
	CeilingSingle   = "server alone, single-lock scripts"
	CeilingUsed     = "lockwheel, after 2 048 callers"
	CeilingLoop     = "bare loop, the same scripts"
	CeilingLooks    = "bare loop that looks for each reply"
	CeilingRenewed  = "server alone, the renewals again"
)

const (
	ceilingNames = 2048
	maxInFlight  = 16                     // bursts in flight: enough that the server never waits
	recordFor    = 100 * time.Millisecond // of Pair's calls
)

// CeilingResult is the limit of the server, and Pair measured in the same rounds.
type CeilingResult struct {
	Standings []Result
	Keys      float64 // per call, as Pair reached them in the rounds
	Sent      int     // keys per call of the raw calls: the same, rounded

	One   []Result // of one caller: CeilingPair with a new engine, the same without Options.BusyWait, CeilingUsed, and CeilingLoop, which waits for each reply, as CeilingLooks does
	Renew []Result // renewals in place of pairs: CeilingPair, which renews each lock when it is due, and CeilingRenewed
}

// Ceiling compares lockwheel's Pair of 2048 goroutines with raw pipelined calls over plain TCP. One kind is Pair's own
// calls, in the order in which it sent them. The others are lockwheel's batched scripts, with as many keys per call as
// Pair reaches, and the baseline's single-lock scripts. One caller is compared with a bare loop over plain TCP, and the
// renewals of held locks with the same calls sent back to back.
func Ceiling(s *Server, p Plan) (CeilingResult, error) {
	var c CeilingResult
	ours, err := peers.OpenLockwheel(peers.Config{Addr: s.Addr})
	if err != nil {
		return c, err
	}
	defer closeWithTimeout(ours)
	if err := c.measurePair(s, p, ours); err != nil {
		return c, err
	}
	if err := c.measureOne(s, p, ours); err != nil {
		return c, err
	}
	c.Renew, err = ceilingOfRenewals(s, p)
	return c, err
}

// measureOne compares one caller with a bare loop. An engine that had several commands at once has more goroutines than
// a new one, see docs/measuring.md.
func (c *CeilingResult) measureOne(s *Server, p Plan, used *peers.LockwheelClient) error {
	var lone [2]entry
	for i, kind := range []peers.ContestantSpec{peers.Lockwheel, peers.LockwheelSleeps} {
		contestant, err := kind.Open(peers.Config{Addr: s.Addr})
		if err != nil {
			return err
		}
		defer closeWithTimeout(contestant)
		lone[i] = ownNames(kind.Name, contestant, 1, p.Round)
	}
	bursts := batchedBursts(1, 1)
	loop := func(name string, looks bool) entry {
		return entry{name: name, run: func() (int, time.Duration, error) { return runLoop(s.Addr, bursts, p.Round, looks) }}
	}
	var err error
	c.One, err = runInterleaved(s, p.Rounds, []entry{
		lone[0], lone[1], ownNames(CeilingUsed, used, 1, p.Round), loop(CeilingLoop, false), loop(CeilingLooks, true),
	})
	return err
}

// measurePair compares Pair with the server alone.
func (c *CeilingResult) measurePair(s *Server, p Plan, ours *peers.LockwheelClient) error {
	acquire, release, err := loadScripts(s.Addr)
	if err != nil {
		return err
	}
	// Its first round determines how many keys a call carries.
	pair := ownNames(CeilingPair, ours, ceilingNames, p.Round)
	if _, _, err := pair.once(); err != nil {
		return err
	}
	before := ours.Engine.Stats()
	if _, _, err := pair.once(); err != nil {
		return err
	}
	stats := ours.Engine.Stats()
	c.Sent = max(1, int(math.Round(keysPerCall(before.Commands, before.Batches, stats.Commands, stats.Batches))))
	replayed, err := recordPair(s, min(p.Round, recordFor))
	if err != nil {
		return err
	}
	batched, single := batchedBursts(ceilingNames, c.Sent), singleBursts(ceilingNames, c.Sent, acquire, release)
	alone := func(name string, bursts []burst) entry {
		return entry{name: name, run: func() (int, time.Duration, error) { return runPipelined(s.Addr, bursts, maxInFlight, p.Round) }}
	}
	c.Standings, err = runInterleaved(s, p.Rounds, []entry{
		pair, alone(CeilingReplayed, replayed), alone(CeilingBatched, batched), alone(CeilingSingle, single),
	})
	after := ours.Engine.Stats()
	c.Keys = keysPerCall(stats.Commands, stats.Batches, after.Commands, after.Batches)
	return err
}

func keysPerCall(commands, batches, laterCommands, laterBatches uint64) float64 {
	return float64(laterCommands-commands) / float64(max(laterBatches-batches, 1))
}

// recordPair returns the calls that Pair sends in a while, by an engine of its own.
func recordPair(s *Server, d time.Duration) ([]burst, error) {
	recorder, err := startRecorder(s.Addr)
	if err != nil {
		return nil, err
	}
	defer recorder.close()
	ours, err := peers.OpenLockwheel(peers.Config{Addr: recorder.addr()})
	if err != nil {
		return nil, err
	}
	defer closeWithTimeout(ours)
	pair := ownNames(CeilingPair, ours, ceilingNames, d)
	if _, _, err := pair.once(); err != nil { // a first time, which does not count
		return nil, err
	}
	calls, err := recorder.recorded(func() error { _, _, err := pair.once(); return err })
	if err != nil {
		return nil, err
	}
	return pairBursts(calls)
}
