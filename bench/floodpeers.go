package bench

import (
	"strconv"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// floodContestant is a contestant of a flood.
type floodContestant struct {
	name    string
	peer    bool
	waiters []int
	phases  func(*floodRun) []floodPhase
	open    func(n int) (floodClient, error)
}

// The ways in which lockwheel's callers wait or hold.
var (
	FloodAsync   = peers.Lockwheel.Name + ", LockAsync"
	FloodBlocked = peers.Lockwheel.Name + ", Lock"
	FloodReaders = peers.Lockwheel.Name + ", LockAsync to read"
	FloodGranted = peers.Lockwheel.Name + ", readers granted"
	FloodParts   = peers.Lockwheel.Name + ", names of one Multi"
)

func floodContestants(s *Server, p Plan, c FloodPlan) []floodContestant {
	return []floodContestant{
		{FloodAsync, false, c.Async, waiting, func(n int) (floodClient, error) {
			w, err := openLockwheelFlood(s, n, c.Own)
			return &asyncWaiters{lockwheelFlood: w}, err
		}},
		{FloodBlocked, false, c.Blocked, waiting, func(n int) (floodClient, error) {
			w, err := openLockwheelFlood(s, n, c.Own)
			if err != nil {
				return nil, err
			}
			both := &lockwheelBlocked{lockwheelFlood: w}
			both.goroutines.localFlood = &both.localFlood
			return both, nil
		}},
		{peers.Rueidislock.Name, true, c.Peers, waiting, func(n int) (floodClient, error) { return openRueidisFlood(s, n, c.Own) }},
		{peers.Redisson.Name, true, c.Peers, waiting, func(n int) (floodClient, error) { return openRedissonFlood(s, p, n, c.Own) }},
		{FloodReaders, false, c.Readers, waiting, func(n int) (floodClient, error) {
			w, err := openLockwheelFlood(s, n, false)
			return &waitingReaders{asyncWaiters{lockwheelFlood: w}}, err
		}},
		{FloodGranted, false, c.Granted, holding, func(n int) (floodClient, error) {
			w, err := openLockwheelFlood(s, n, false)
			return &grantedReaders{lockwheelFlood: w}, err
		}},
		{FloodParts, false, c.Parts, holding, func(n int) (floodClient, error) {
			w, err := openLockwheelFlood(s, n, true)
			return &partsOfOne{lockwheelFlood: w}, err
		}},
	}
}

// rueidisFlood is the flood of rueidislock, which is woken by changes of keys that it has read.
type rueidisFlood struct {
	blockedWaiters
	server *Server
	before int // SETs
}

const rueidisKey = "rueidislock:0:"

func (r *rueidisFlood) foreignHold() foreignHold {
	return foreignHold{rueidisKey + floodName, "string"}
}

// notifyCommand sets the key of a name again: it stays with another holder.
func (r *rueidisFlood) notifyCommand(i int) []any {
	return []any{"SET", rueidisKey + r.name(i), "another holder", "PX", foreignLease.Milliseconds()}
}

func (r *rueidisFlood) post() (err error) {
	if r.before, err = r.server.Calls("set"); err != nil {
		return err
	}
	r.before -= r.prober.started()
	return r.blockedWaiters.post()
}

// allWaiting counts SETs, which only rueidislock sends: one for each of its attempts, and one for each probe.
func (r *rueidisFlood) allWaiting() (bool, error) {
	probes := r.prober.started()
	now, err := r.server.Calls("set")
	return now-r.before-probes >= r.waiters, err
}

func openRueidisFlood(s *Server, n int, own bool) (floodClient, error) {
	client, err := peers.Rueidislock.Open(peers.Config{Addr: s.Addr, Lease: floodLease, Callers: acquireWorkers, Contended: true})
	if err != nil {
		return nil, err
	}
	h := newLocalFlood(client, n, own)
	return &rueidisFlood{blockedWaiters: blockedWaiters{localFlood: &h}, server: s}, nil
}

// redissonFlood is the flood of Redisson. Its waiters and its probes are in the Java process.
type redissonFlood struct {
	java   *peers.Java
	flood  *peers.JavaFlood
	server *Server
	own    bool
	n      int
	before int // PTTLs
	phases []*Phase
}

func openRedissonFlood(s *Server, p Plan, n int, own bool) (floodClient, error) {
	channels := 1
	if own {
		channels = n
	}
	java, err := peers.OpenRedisson(peers.Config{Addr: s.Addr, Lease: floodLease, Channels: channels}, 1, p.WarmUp)
	if err != nil {
		return nil, err
	}
	if err := java.SetRunning(true); err != nil {
		return nil, err
	}
	return &redissonFlood{java: java, flood: java.Flood(floodName, probeName, n, own, probeInterval), server: s, own: own, n: n}, nil
}

func (j *redissonFlood) foreignHold() foreignHold { return lockwheelHold }

func (j *redissonFlood) notifyCommand(i int) []any {
	if !j.own {
		i = 0
	}
	return channelOf(floodName + strconv.Itoa(i))
}

func (j *redissonFlood) acquireHolds(holds int) error { return j.java.Acquire(holds) }

func (j *redissonFlood) granted() int { return 0 }

func (j *redissonFlood) lost() (int, error) { return j.java.Lost() }

func (j *redissonFlood) begin(p *Phase) error {
	j.phases = append(j.phases, p)
	return j.flood.Begin(len(j.phases) - 1)
}

func (j *redissonFlood) end(*Phase) {}

func (j *redissonFlood) post() (err error) {
	if j.before, err = j.server.Calls("pttl"); err != nil {
		return err
	}
	return j.flood.Post()
}

// allWaiting counts what Redisson sends for waiters only: each failed attempt has a PTTL, one before it subscribes and
// one after.
func (j *redissonFlood) allWaiting() (bool, error) {
	now, err := j.server.Calls("pttl")
	return now-j.before >= 2*j.n, err
}

func (j *redissonFlood) ended() (int, error) { return j.flood.Ended() }

func (j *redissonFlood) cancel() error { return j.flood.Cancel() }

func (j *redissonFlood) used() (measure.Usage, error) { return j.java.Used() }

// stopProbes stores its probes in each phase.
func (j *redissonFlood) stopProbes() error {
	for i, phase := range j.phases {
		took, refused, err := j.flood.Probes(i)
		if err != nil {
			return err
		}
		phase.Refused += refused
		for _, d := range took {
			phase.Probe.Record(d)
		}
	}
	return nil
}

func (j *redissonFlood) footprint() Footprint {
	threads, rss, err := j.flood.Footprint()
	if err != nil {
		return Footprint{}
	}
	return Footprint{threads, rss}
}

func (j *redissonFlood) close() {
	_ = j.flood.End()
	j.java.Close()
}
